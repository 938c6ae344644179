/*
 * Fuzzes a session with a driver that has state and really frees: an input is a sequence of calls,
 * each right by the schema, from whose tables they are built. Their numbers are handles and
 * addresses of earlier answers (also of things that have ended since), small numbers, powers of
 * two, and any bytes. The simulated driver serves them, and ends the process if a wrong handle
 * reaches it, as a real driver may. Changes of mirrors are looked for behind each call that
 * synchronizes.
 *
 * With FUZZ_CALLS in the environment the calls and their results are printed, for reading a
 * finding.
 *
 * A client waits forever if it wants to. So calls that wait for the client, or for a value in
 * memory, are left out, and so are loops of graphs.
 */
#include "config.h"

#include <dlfcn.h>
#include <unistd.h>

#include "base/host_budget.h"
#include "cuda/server/deferred_copy.h"
#include "cuda/server/pinned_room.h"
#include "cuda/server/regions.h"
#include "cuda/server/server.h"
#include "proto/cuda-wire.h"
#include "remote/wire/frame.h"

#include "fuzz.h"

enum {
    ANSWER_MAX = 64 << 20,
    CALLS_MAX = 64,
    DEPTH_MAX = 4,
    ITEMS_MAX = 4,
    KNOWN_MAX = 32,
    CONTEXTS_MAX = 256,
    HOST_BUDGET = 64 << 20,
    MANAGED_MAX = 1 << 20,
    DEVICES = 2,
};

int LLVMFuzzerInitialize(int *count, char ***arguments);
int __lsan_is_turned_off(void);
const char *__asan_default_options(void);

/* Memory that the driver holds for a call ends with the process. */
int __lsan_is_turned_off(void)
{
    return 1;
}

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

/* ---- the host's memory ---- */

/* A server's process has one session and keeps its pinned rooms, which are counted apart here
 * (ld --wrap). */
static int64_t taken, of_rooms;

bool __real_ath_pinned_room_make(struct ath_pinned_room *room, size_t capacity);
bool __wrap_ath_pinned_room_make(struct ath_pinned_room *room, size_t capacity);
void __real_ath_pinned_room_end(struct ath_pinned_room *room, const struct ath_cuda_driver *of);
void __wrap_ath_pinned_room_end(struct ath_pinned_room *room, const struct ath_cuda_driver *of);

bool __wrap_ath_pinned_room_make(struct ath_pinned_room *room, size_t capacity)
{
    const int64_t before = taken;
    bool is_made = __real_ath_pinned_room_make(room, capacity);
    of_rooms += taken - before;
    return is_made;
}

void __wrap_ath_pinned_room_end(struct ath_pinned_room *room, const struct ath_cuda_driver *of)
{
    const int64_t before = taken;
    __real_ath_pinned_room_end(room, of);
    of_rooms += taken - before;
}

static bool take(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    if (kind != ATH_HOST_BYTES)
        return true;
    if (amount > HOST_BUDGET - (taken - of_rooms))
        return false;
    taken += amount;
    return true;
}

static void give(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    taken -= kind == ATH_HOST_BYTES ? amount : 0;
    insist(taken >= 0, "no more is given back than was taken");
}

/* ---- the driver ---- */

static struct ath_cuda_driver driver;
static bool prints_calls;
static CUcontext contexts[CONTEXTS_MAX]; /* that this input has made */
static size_t context_count;
static CUresult (*create_context)(CUcontext *context, unsigned int flags, CUdevice device);
static CUresult (*destroy_context)(CUcontext context);
static CUresult (*create_managed)(CUdeviceptr *address, size_t bytes, unsigned int flags);

static CUresult note_context(CUcontext *context, unsigned int flags, CUdevice device)
{
    CUresult status = context_count == CONTEXTS_MAX ? CUDA_ERROR_OUT_OF_MEMORY
                                                    : create_context(context, flags, device);
    if (!status)
        contexts[context_count++] = *context;
    return status;
}

static CUresult forget_context(CUcontext context)
{
    CUresult status = destroy_context(context);
    for (size_t i = 0; !status && i < context_count; i++)
        if (contexts[i] == context)
            contexts[i--] = contexts[--context_count];
    return status;
}

/* Pages of managed memory that were never written cost the simulated driver nothing, so it gives
 * terabytes. The search for changes reads all of them: that is slow, and no finding. */
static CUresult allocate_managed(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    return bytes > MANAGED_MAX ? CUDA_ERROR_OUT_OF_MEMORY : create_managed(address, bytes, flags);
}

/* Ends all that lives in contexts, so that inputs do not depend on earlier ones. */
static void end_contexts(void)
{
    while (context_count)
        destroy_context(contexts[--context_count]);
    for (CUdevice device = 0; device < DEVICES; device++)
        driver.cuDevicePrimaryCtxReset_v2(device);
    driver.cuCtxSetCurrent(NULL);
}

/* ---- the methods ---- */

static const char *const left_out[] = {
    "athNextCallback",
    "cuLaunchHostFunc",
    "cuStreamAddCallback",
    "cuGraphAddHostNode",
    "cuGraphHostNodeSetParams",
    "cuGraphExecHostNodeSetParams",
    "cuStreamWaitValue32",
    "cuStreamWaitValue32_v2",
    "cuStreamWaitValue64",
    "cuStreamWaitValue64_v2",
    "cuStreamBatchMemOp",
    "cuStreamBatchMemOp_v2",
    "cuGraphAddBatchMemOpNode",
    "cuGraphBatchMemOpNodeSetParams",
    "cuGraphExecBatchMemOpNodeSetParams",
    "cuGraphConditionalHandleCreate",
    "athGraphAddConditionalNode",
};

/* About the lives of memory and code: half of all calls. */
static const char *const favoured[] = {
    "cuCtxCreate_v2",
    "cuCtxDestroy_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxReset_v2",
    "cuMemAlloc_v2",
    "cuMemAllocManaged",
    "cuMemFree_v2",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "athPushMemory",
    "athPullMemory",
    "athHostCopy",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyAsync",
    "cuMemsetD8Async",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuModuleGetGlobal",
    "cuLibraryLoadData",
    "cuLibraryUnload",
    "cuLibraryGetManaged",
    "cuLibraryGetKernel",
    "cuLaunchKernel",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuCtxSynchronize",
};

static uint16_t methods[ATH_CUDA_METHOD_COUNT], first_methods[sizeof favoured / sizeof *favoured];
static size_t method_count, first_count;

static bool is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static void find_methods(void)
{
    for (uint16_t i = 0; i < ATH_CUDA_METHOD_COUNT; i++) {
        const char *name = ath_cuda_methods[i].name;
        if (!ath_cuda_dispatch[i].serve || !name ||
            is_in(left_out, sizeof left_out / sizeof *left_out, name))
            continue;
        methods[method_count++] = i;
        for (size_t at = 0; at < sizeof favoured / sizeof *favoured; at++)
            if (!strcmp(favoured[at], name)) {
                first_methods[at] = i; /* in the order above: seeds.py names them by it */
                first_count++;
            }
    }
    insist(method_count > 300 && first_count == sizeof favoured / sizeof *favoured,
           "the names are those of methods");
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    static const struct ath_host_budget budget = { .take = take, .give = give };
    char path[4096];
    (void)count;
    (void)arguments;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path / 2);
    insist(length > 0, "this program has a path");
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    strcat(path, "/../../lib/aitherion/sim/libcuda.so.1");
    setenv("AITHERION_SIM_DEVICES", "2", true);
    setenv("AITHERION_SIM_MEMORY", "256M", true);
    setenv("AITHERION_SIM_HANDLES", "trusted", true); /* a wrong handle ends the driver */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    insist(library != NULL, "the simulated driver is built");
    ath_cuda_driver_load(library, &driver);
    insist(!driver.cuInit(0), "the simulated driver begins");
    create_context = driver.cuCtxCreate_v2;
    destroy_context = driver.cuCtxDestroy_v2;
    create_managed = driver.cuMemAllocManaged;
    driver.cuCtxCreate_v2 = note_context;
    driver.cuCtxDestroy_v2 = forget_context;
    driver.cuMemAllocManaged = allocate_managed;
    ath_host_budget_set(&budget);
    prints_calls = getenv("FUZZ_CALLS");
    find_methods();
    return 0;
}

/* ---- numbers ---- */

static struct fuzz_input input;   /* of this call */
static uint64_t known[KNOWN_MAX]; /* handles and addresses, the last ones */
static size_t known_count;

static void learn(uint64_t value)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (known[i] == value)
            return;
    known[known_count++ % (KNOWN_MAX - 1)] = value; /* the last one is the context */
}

/* Addresses that a client may want for its own memory. */
static void learn_addresses(void)
{
    memset(known, 0, sizeof known);
    known_count = 0;
    learn(UINT64_C(0x200000000000));
    learn(UINT64_C(0x200000002100));              /* not at the beginning of a page */
    learn((uintptr_t)&known_count / 4096 * 4096); /* where this process has memory */
}

/* A handle or an address, by its age: 0 is the last one. */
static uint64_t recent(uint64_t number)
{
    return known[(known_count + KNOWN_MAX - 2 - number % (KNOWN_MAX - 1)) % (KNOWN_MAX - 1)];
}

static uint64_t number(void)
{
    uint64_t kind = fuzz_take(&input, 1), which = kind >> 3;
    switch (kind & 7) {
    case 0:
        return which ? which : 0;
    case 1:
    case 2:
        return recent(which % 8);
    case 3:
        return known[which % KNOWN_MAX];
    case 4:
        return recent(which % 8) + fuzz_take(&input, 2);
    case 5:
        return UINT64_C(1) << (which + (fuzz_take(&input, 1) & 32));
    case 6:
        return fuzz_take(&input, 1) | which << 32;
    default:
        return which & 1 ? fuzz_take(&input, 8) : fuzz_take(&input, 2);
    }
}

/* ---- calls, from the tables of the schema ---- */

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[64];\n"
    ".visible .global .attribute(.managed) .align 4 .b8 shared_table[5000];\n"
    ".visible .entry fill(.param .u64 p, .param .f32 v, .param .u32 n) { ret; }\n"
    ".visible .entry put_address(.param .u64 w, .param .u64 a) { ret; }\n";

static const char *text(void)
{
    static const char *const texts[] = { "fill",  "shared_table", "table",
                                         "",      "put_address",  "a name that no code has",
                                         "%s%n/", "\xff\xfe" };
    return texts[fuzz_take(&input, 1) % (sizeof texts / sizeof *texts)];
}

static struct ath_wire_bytes bytes(void)
{
    static const uint8_t zeros[100000];
    static const size_t sizes[] = { 1, 8, 64, 4096, 5000, sizeof zeros };
    uint64_t kind = fuzz_take(&input, 1);
    if (kind < 0x40)
        return (struct ath_wire_bytes){ (const uint8_t *)code, sizeof code };
    if (kind < 0x80)
        return (struct ath_wire_bytes){ zeros, sizes[kind % (sizeof sizes / sizeof *sizes)] };
    struct fuzz_input part = fuzz_part(&input, kind - 0x80);
    return (struct ath_wire_bytes){ part.at, fuzz_left(&part) };
}

static void fill_pointers(struct ath_wire_place to, const struct ath_wire_shape *shape, int depth);

static void fill(struct ath_wire_place to, const struct ath_wire_shape *shape, int depth)
{
    for (uint32_t i = 0; i < shape->data_words; i++)
        ath_wire_set_u64(to, i * ATH_WIRE_WORD, number(), 0);
    fill_pointers(to, shape, depth);
}

static void fill_items(struct ath_wire_array to, const struct ath_wire_type *item, int depth)
{
    for (uint32_t i = 0; i < to.count; i++) {
        if (item->kind == ATH_WIRE_SCALAR)
            ath_wire_array_set_bits(to, i, number());
        else if (item->kind == ATH_WIRE_TEXT)
            ath_wire_array_set_text(to, i, text());
        else if (item->kind == ATH_WIRE_DATA)
            ath_wire_array_set_data(to, i, bytes());
        else if (item->kind == ATH_WIRE_STRUCT)
            fill(ath_wire_array_struct(to, i), item->shape, depth + 1);
    }
}

static void fill_pointer(struct ath_wire_place to, const struct ath_wire_pointer *pointer,
                         int depth)
{
    const struct ath_wire_type *type = pointer->type;
    if (type->kind == ATH_WIRE_GROUP) {
        fill_pointers(to, type->shape, depth);
        return;
    }
    if (depth == DEPTH_MAX)
        return;
    if (type->kind == ATH_WIRE_TEXT)
        ath_wire_set_text(to, pointer->index, text());
    else if (type->kind == ATH_WIRE_DATA)
        ath_wire_set_data(to, pointer->index, bytes());
    else if (type->kind == ATH_WIRE_STRUCT)
        fill(ath_wire_init(to, pointer->index, type->shape), type->shape, depth + 1);
    else if (type->kind == ATH_WIRE_LIST)
        fill_items(ath_wire_init_list(to, pointer->index, type->item,
                                      (uint32_t)fuzz_take(&input, 1) % (ITEMS_MAX + 1)),
                   type->item, depth);
}

/* The members of a union that are numbers are chosen by the number that stands where the tag is. */
static void fill_pointers(struct ath_wire_place to, const struct ath_wire_shape *shape, int depth)
{
    for (size_t i = 0; i < shape->fixed; i++)
        fill_pointer(to, &shape->pointers[i], depth);
    size_t members = shape->count - shape->fixed;
    size_t member = members ? (size_t)fuzz_take(&input, 1) % (members + 1) : 0;
    if (!member)
        return;
    const struct ath_wire_pointer *chosen = &shape->pointers[shape->fixed + member - 1];
    ath_wire_set_u16(to, shape->tag_offset, (uint16_t)chosen->tag, 0);
    fill_pointer(to, chosen, depth);
}

static const struct ath_wire_pointer *argument_of(uint16_t tag)
{
    const struct ath_wire_shape *shape = &ath_cuda_wire_call_shape;
    for (size_t i = 0; i < shape->count; i++)
        if (shape->pointers[i].tag == tag)
            return &shape->pointers[i];
    return NULL;
}

static struct ath_cuda_wire_call_builder begin_call(struct ath_wire_builder *builder)
{
    struct ath_cuda_wire_call_builder call = ath_cuda_wire_call_start(builder);
    uint64_t kind = fuzz_take(&input, 1);
    ath_cuda_wire_call_set_number(call, 1);
    ath_cuda_wire_call_set_thread(call, kind & 1);
    ath_cuda_wire_call_set_is_asked(call, !(kind & 2));
    ath_cuda_wire_call_set_capture_mode(call, kind >> 2 & 3);
    ath_cuda_wire_call_set_context(call, kind & 0x10 ? number() : known[KNOWN_MAX - 1]);
    return call;
}

/* A call has the bytes of its own length, so that a change in one call leaves the others as they
 * are. Returns the method. */
static uint16_t build_call(struct ath_wire_builder *builder, struct fuzz_input *calls)
{
    uint64_t which = fuzz_take(calls, 2);
    input = fuzz_part(calls, (size_t)fuzz_take(calls, 1));
    uint16_t method = which & 1 ? first_methods[(which >> 1) % first_count]
                                : methods[(which >> 1) % method_count];
    struct ath_cuda_wire_call_builder call = begin_call(builder);
    uint16_t tag = (uint16_t)(method + 1);
    ath_wire_set_u16(call.at, ath_cuda_wire_call_shape.tag_offset, tag, 0);
    const struct ath_wire_pointer *argument = argument_of(tag);
    if (argument)
        fill_pointer(call.at, argument, 0);
    return method;
}

/* ---- serving ---- */

static void print_call(uint16_t method, struct ath_wire_builder *builder)
{
    size_t length;
    int status;
    const uint8_t *frame = ath_wire_finish(builder, &length, &status);
    fprintf(stderr, "%s", ath_cuda_methods[method].name);
    for (size_t at = ATH_FRAME_HEAD; frame && at < length && at < 160; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, frame + at, sizeof word);
        fprintf(stderr, " %llx", (unsigned long long)le64toh(word));
    }
    fprintf(stderr, "\n");
}

/* Handles and addresses are above the numbers that sizes and pointers of the wire have. */
static void learn_from(const uint8_t *message, size_t length)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= length; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, message + at, sizeof word);
        word = le64toh(word);
        if (word >> 40 && !(word >> 47))
            learn(word);
    }
}

static void check_answer(struct ath_wire_builder *builder)
{
    struct ath_cuda_wire_answer answer;
    size_t length;
    int status;
    const uint8_t *frame = ath_wire_finish(builder, &length, &status);
    insist(frame != NULL, "an answer fits");
    insist(!ath_cuda_wire_answer_open(frame + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD, &answer),
           "an answer is right");
    if (prints_calls)
        fprintf(stderr, "    %d\n", ath_cuda_wire_answer_status(answer));
    learn_from(frame + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD);
}

static void serve(struct ath_cuda_worker *worker, struct ath_wire_builder *call)
{
    struct ath_wire_builder answer = { .max_bytes = ANSWER_MAX };
    size_t length;
    int status;
    const uint8_t *frame = ath_wire_finish(call, &length, &status);
    if (!frame)
        return;
    int served = ath_cuda_serve(worker, frame + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD, &answer);
    insist(served >= 0, "a call from the schema's tables is right");
    if (served)
        check_answer(&answer);
    ath_wire_builder_free(&answer);
}

static void find_changes(struct ath_cuda_session *session)
{
    struct ath_wire_builder changes = { .max_bytes = ANSWER_MAX };
    for (struct ath_cuda_deferred *copy; (copy = ath_cuda_deferred_tell(&changes));)
        ath_cuda_deferred_told(copy);
    while (ath_cuda_changes(session, &changes) > 0)
        check_answer(&changes);
    ath_wire_builder_free(&changes);
}

/* The primary context of the first device, as nearly every program has it. */
static void begin(struct ath_cuda_worker *worker, struct ath_wire_builder *builder)
{
    CUcontext primary;
    struct ath_cuda_wire_call_builder call = ath_cuda_wire_call_start(builder);
    ath_cuda_wire_call_set_is_asked(call, true);
    ath_cuda_wire_device_primary_ctx_retain_set_device(
        ath_cuda_wire_call_init_device_primary_ctx_retain(call), 0);
    serve(worker, builder);
    insist(!driver.cuDevicePrimaryCtxRetain(&primary, 0) && !driver.cuDevicePrimaryCtxRelease_v2(0),
           "there is a context");
    known[KNOWN_MAX - 1] = (uintptr_t)primary;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ath_cuda_session session;
    struct ath_wire_builder builder = { .max_bytes = ANSWER_MAX };
    struct fuzz_input calls = { data, data + size };
    learn_addresses();
    ath_cuda_session_init(&session, &driver);
    struct ath_cuda_worker worker = { .session = &session };
    begin(&worker, &builder);
    for (int i = 0; i < CALLS_MAX && fuzz_left(&calls); i++) {
        uint16_t method = build_call(&builder, &calls);
        if (prints_calls)
            print_call(method, &builder);
        serve(&worker, &builder);
        if (ath_cuda_methods[method].synchronizes)
            find_changes(&session);
    }
    end_contexts();
    ath_cuda_session_free(&session);
    ath_wire_builder_free(&builder);
    insist(taken == of_rooms, "a session that has ended holds no memory of the host");
    return 0;
}
