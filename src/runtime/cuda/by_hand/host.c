/*
 * A list of what there is (programs have few), and the copies that mirrors are compared with.
 *
 * One lock for the list, one for mirrors: who pushes has it until the bytes have their place in the
 * order, so that no other thread's launch goes before them.
 */
#include "config.h"

#include "runtime/cuda/by_hand/host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runtime/cuda/by_hand/callback.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/zeroed.h"

enum {
    BLOCK = 64,                  /* what is compared at a time */
    PUSH_MAX = 16 * 1024 * 1024, /* bytes of a message, more or less */
};

struct entry {
    struct entry *next;
    struct ath_cuda_host facts;
    uint8_t *same; /* how it was when both sides were the same; NULL: no mirror */
    bool is_idle;  /* managed: pushed since the last synchronization, so the program kept off it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mirror_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static atomic_int entry_count, mirror_count;
static uint64_t last_id;
static atomic_bool has_displaced; /* a mirror that the GPU has at another address */

/* Where memory lies that the server does not know: nearly no parameter of a kernel is in between.
 */
static _Atomic(uintptr_t) unknown_first = UINTPTR_MAX, unknown_end;

/* The caller has the lock. */
static void find_unknown(void)
{
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (const struct entry *entry = entries; entry; entry = entry->next) {
        if (entry->facts.is_mapped)
            continue;
        if (entry->facts.address < first)
            first = entry->facts.address;
        if (entry->facts.address + entry->facts.bytes > end)
            end = entry->facts.address + entry->facts.bytes;
    }
    unknown_first = first;
    unknown_end = end;
}

size_t ath_cuda_host_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static struct entry *entry_of(const void *address)
{
    struct entry *entry = entries;
    while (entry && (uintptr_t)address - entry->facts.address >= entry->facts.bytes)
        entry = entry->next;
    return entry;
}

bool ath_cuda_host_find(const void *address, struct ath_cuda_host *out)
{
    if (!entry_count)
        return false;
    pthread_mutex_lock(&lock);
    const struct entry *entry = entry_of(address);
    if (entry)
        *out = entry->facts;
    pthread_mutex_unlock(&lock);
    return entry;
}

CUresult ath_cuda_host_add(const struct ath_cuda_host *facts, bool is_mirrored)
{
    ath_auto_free struct entry *entry = ath_cuda_zeroed(sizeof *entry);
    if (!entry)
        return CUDA_ERROR_OUT_OF_MEMORY;
    entry->facts = *facts;
    if (is_mirrored && !(entry->same = ath_cuda_zeroed(facts->bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    entry->facts.id = ++last_id;
    entry->next = entries;
    entry_count++;
    mirror_count += is_mirrored;
    entries = ath_steal(&entry);
    find_unknown();
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static struct entry *take(uintptr_t address, bool is_managed)
{
    pthread_mutex_lock(&mirror_lock);
    pthread_mutex_lock(&lock);
    struct entry **at = &entries;
    while (*at && ((*at)->facts.address != address ||
                   ((*at)->facts.kind == ATH_CUDA_HOST_MANAGED) != is_managed))
        at = &(*at)->next;
    struct entry *taken = *at;
    if (taken) {
        *at = taken->next;
        entry_count--;
        mirror_count -= taken->same != NULL;
        find_unknown();
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mirror_lock);
    return taken;
}

static void entry_free(struct entry *entry)
{
    if (entry)
        free(entry->same);
    free(entry);
}

bool ath_cuda_host_take(uintptr_t address, bool is_managed, struct ath_cuda_host *out)
{
    struct entry *entry = entry_count ? take(address, is_managed) : NULL;
    if (!entry)
        return false;
    *out = entry->facts;
    entry_free(entry);
    return true;
}

bool ath_cuda_host_has_mirrors(void)
{
    return mirror_count > 0;
}

uintptr_t ath_cuda_host_of_library(CUlibrary library)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = entries;
    while (entry && entry->facts.library != library)
        entry = entry->next;
    uintptr_t address = entry ? entry->facts.address : 0;
    pthread_mutex_unlock(&lock);
    return address;
}

void ath_cuda_host_clear(void)
{
    pthread_mutex_lock(&mirror_lock);
    pthread_mutex_lock(&lock);
    while (entries) {
        struct entry *next = entries->next;
        entry_free(entries);
        entries = next;
    }
    entry_count = 0;
    mirror_count = 0;
    has_displaced = false;
    find_unknown();
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mirror_lock);
}

/* ---- pushing ---- */

static bool block_differs(const uint8_t *now, const uint8_t *same, size_t bytes)
{
    return memcmp(now, same, bytes) != 0;
}

/* A run of blocks that differ, from *offset on; false: none. */
static bool next_run(const struct entry *entry, size_t *offset, size_t *out_length, size_t most)
{
    const uint8_t *now = (const uint8_t *)entry->facts.address;
    size_t at = *offset, end = entry->facts.bytes;
    const size_t stride = 1 << 16;
    while (at < end) { /* memcmp is fastest on much at once */
        size_t part = end - at < stride ? end - at : stride;
        if (at % stride == 0 && !block_differs(now + at, entry->same + at, part)) {
            at += part;
            continue;
        }
        part = end - at < BLOCK ? end - at : BLOCK;
        if (block_differs(now + at, entry->same + at, part))
            break;
        at += part;
    }
    *offset = at;
    while (at < end && at - *offset < most) {
        size_t part = end - at < BLOCK ? end - at : BLOCK;
        if (!block_differs(now + at, entry->same + at, part))
            break;
        at += part;
    }
    *out_length = at - *offset;
    return *out_length > 0;
}

struct run {
    struct run *next;
    uintptr_t address;
    size_t length;
    uint8_t *mask; /* NULL: every byte is changed */
    uint8_t bytes[];
};

static void runs_free(struct run **runs)
{
    while (*runs) {
        struct run *next = (*runs)->next;
        free((*runs)->mask);
        free(*runs);
        *runs = next;
    }
}

/* A copy of what differs: the program may write on. */
static struct run *copy_run(struct entry *entry, size_t offset, size_t length)
{
    const uint8_t *now = (const uint8_t *)entry->facts.address + offset;
    uint8_t *same = entry->same + offset;
    struct run *run = malloc(sizeof *run + length);
    uint8_t *mask = calloc(1, (length + 7) / 8);
    size_t changed = 0;
    if (!run || !mask) {
        free(run);
        free(mask);
        return NULL;
    }
    *run = (struct run){ .address = entry->facts.address + offset, .length = length, .mask = mask };
    memcpy(run->bytes, now, length);
    for (size_t i = 0; i < length; i++) {
        if (run->bytes[i] == same[i])
            continue;
        mask[i / 8] |= (uint8_t)(1u << i % 8);
        changed++;
    }
    memcpy(same, run->bytes, length);
    if (changed == length) {
        free(run->mask);
        run->mask = NULL;
    }
    return run;
}

static CUresult send_runs(const struct run *runs, uint32_t count, bool is_asked)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athPushMemory);
    if (status)
        return status;
    struct ath_wire_array list = ath_cuda_wire_push_memory_init_parts(
        ath_cuda_wire_call_init_push_memory(exchange.call), count);
    for (uint32_t i = 0; runs; runs = runs->next, i++) {
        struct ath_cuda_wire_memory_part_builder to = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_memory_part_set_address(to, runs->address);
        ath_cuda_wire_memory_part_set_data(to,
                                           (struct ath_wire_bytes){ runs->bytes, runs->length });
        if (runs->mask)
            ath_cuda_wire_memory_part_set_mask(
                to, (struct ath_wire_bytes){ runs->mask, (runs->length + 7) / 8 });
    }
    return ath_cuda_end(&exchange, is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange));
}

/* What of a mirror fits into a message, from *offset on. */
static CUresult push_some(struct entry *entry, size_t *offset, bool is_asked)
{
    __attribute__((cleanup(runs_free))) struct run *runs = NULL;
    size_t total = 0, length;
    uint32_t count = 0;
    while (total < PUSH_MAX && next_run(entry, offset, &length, PUSH_MAX - total)) {
        struct run *run = copy_run(entry, *offset, length);
        if (!run)
            return CUDA_ERROR_OUT_OF_MEMORY;
        run->next = runs;
        runs = run;
        *offset += length;
        total += length + BLOCK;
        count++;
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): runs_free() has them */
    return count ? send_runs(runs, count, is_asked) : CUDA_SUCCESS;
}

/* A program must keep off managed memory while the GPU is at work, where there is no concurrent
 * access (client_unified.c). Many do not ask: at least variables and what else takes little time to
 * compare may be written at any time. */
enum { ALWAYS_COMPARED = 64 * 1024 };

CUresult ath_cuda_host_push_all(bool is_asked)
{
    CUresult status = CUDA_SUCCESS;
    if (!mirror_count)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&mirror_lock);
    for (struct entry *entry = entries; entry && !status; entry = entry->next) {
        if (!entry->same || entry->is_idle)
            continue;
        for (size_t offset = 0; !status && offset < entry->facts.bytes;)
            status = push_some(entry, &offset, is_asked);
        entry->is_idle =
            entry->facts.kind == ATH_CUDA_HOST_MANAGED && entry->facts.bytes > ALWAYS_COMPARED;
    }
    pthread_mutex_unlock(&mirror_lock);
    return status;
}

/* What has the GPU read or write memory by an address, and what asks whether it is done: it may
 * wait for what the program writes. */
static const char *const touching_beginnings[] = {
    "cuLaunch",      "cuGraphLaunch",     "cuMemcpy",     "cuMemset",
    "athHostCopy",   "cuMemPrefetch",     "cuMemDiscard", "cuMemBatchDecompress",
    "cuStreamWrite", "cuStreamWaitValue", "cuStreamSync", "cuStreamBatchMemOp",
    "cuStreamQuery", "cuEventQuery",      "cuEventSync",  "cuCtxSync",
    "athQuiesce",
};
static bool is_touching[ATH_CUDA_METHOD_COUNT];
static pthread_once_t touching_once = PTHREAD_ONCE_INIT;

static void find_touching(void)
{
    for (size_t method = 0; method < ATH_CUDA_METHOD_COUNT; method++)
        for (size_t i = 0; i < sizeof touching_beginnings / sizeof *touching_beginnings; i++)
            if (!strncmp(ath_cuda_methods[method].name, touching_beginnings[i],
                         strlen(touching_beginnings[i])))
                is_touching[method] = true;
}

CUresult ath_cuda_host_push(enum ath_cuda_method method)
{
    if (!mirror_count)
        return CUDA_SUCCESS;
    pthread_once(&touching_once, find_touching);
    return is_touching[method] ? ath_cuda_host_push_all(false) : CUDA_SUCCESS;
}

/* ---- pulling ---- */

/* What the program changed meanwhile stays: it is pushed next time. */
static void apply(const struct entry *entry, size_t offset, struct ath_wire_bytes data)
{
    uint8_t *now = (uint8_t *)entry->facts.address + offset, *same = entry->same + offset;
    if (!memcmp(now, same, data.length))
        memcpy(now, data.data, data.length);
    else
        for (size_t i = 0; i < data.length; i++)
            if (now[i] == same[i])
                now[i] = data.data[i];
    memcpy(same, data.data, data.length);
}

static CUresult take_part(struct ath_cuda_wire_memory_part part)
{
    struct ath_wire_bytes data = ath_cuda_wire_memory_part_data(part);
    uintptr_t address = (uintptr_t)ath_cuda_wire_memory_part_address(part);
    const struct entry *entry = entry_of((const void *)address);
    if (!entry || !entry->same ||
        data.length > entry->facts.bytes - (address - entry->facts.address))
        return CUDA_ERROR_DEVICE_UNAVAILABLE; /* no server of ours says so */
    apply(entry, address - entry->facts.address, data);
    return CUDA_SUCCESS;
}

static CUresult pull_some(bool *is_more)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athPullMemory);
    if (status)
        return status;
    ath_cuda_wire_call_set_pull_memory(exchange.call);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct ath_cuda_wire_pull_memory_result answer =
            ath_cuda_wire_answer_pull_memory(exchange.answer);
        struct ath_wire_list parts = ath_cuda_wire_pull_memory_result_parts(answer);
        for (uint32_t i = 0; !status && i < parts.count; i++)
            status =
                take_part((struct ath_cuda_wire_memory_part){ ath_wire_list_struct(parts, i) });
        *is_more = ath_cuda_wire_pull_memory_result_is_more(answer);
    }
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_host_pull_all(void)
{
    CUresult status = CUDA_SUCCESS;
    bool is_more = mirror_count > 0;
    if (!is_more)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&mirror_lock);
    for (struct entry *entry = entries; entry; entry = entry->next)
        entry->is_idle = false;
    while (is_more && !status)
        status = pull_some(&is_more);
    pthread_mutex_unlock(&mirror_lock);
    return status;
}

/* What is set in the host's memory by a call that has an answer is there when it returns
 * (docs.nvidia.com/cuda/cuda-driver-api, "API synchronization behavior"). */
static bool synchronizes(enum ath_cuda_method method)
{
    return ath_cuda_methods[method].is_blocking || method == ATH_CUDA_METHOD_cuStreamQuery ||
           method == ATH_CUDA_METHOD_cuEventQuery ||
           !strncmp(ath_cuda_methods[method].name, "cuMemsetD", strlen("cuMemsetD"));
}

CUresult ath_cuda_host_pull(enum ath_cuda_method method)
{
    return mirror_count && method != ATH_CUDA_METHOD_athNextCallback && synchronizes(method)
               ? ath_cuda_host_pull_all()
               : CUDA_SUCCESS;
}

/* ---- memory that the server knows ---- */

static CUresult tell_server(const struct ath_cuda_host *facts, CUdeviceptr *out_device)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemHostRegister_v2);
    if (status)
        return status;
    struct ath_cuda_wire_mem_host_register_v2_builder call =
        ath_cuda_wire_call_init_mem_host_register_v2(exchange.call);
    ath_cuda_wire_mem_host_register_v2_set_memory(call, facts->address);
    ath_cuda_wire_mem_host_register_v2_set_bytes(call, facts->bytes);
    ath_cuda_wire_mem_host_register_v2_set_flags(call, CU_MEMHOSTREGISTER_DEVICEMAP);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *out_device =
            ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_ADDRESS,
                            ath_cuda_wire_mem_host_register_v2_result_address(
                                ath_cuda_wire_answer_mem_host_register_v2(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

/* Natively the memory was pinned before a capture began, so that it comes to the server now must
 * not break one. */
static CUresult tell_server_relaxed(const struct ath_cuda_host *facts, CUdeviceptr *out_device)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUstreamCaptureMode mode = thread->mode;
    thread->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult status = tell_server(facts, out_device);
    thread->mode = mode;
    return status;
}

/* The lock is not held while the server is asked: two threads may, then one is told that it is
 * there already, and waits for the other. */
static CUresult make_mirror(uintptr_t address)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct ath_cuda_host facts;
    CUresult status = CUDA_SUCCESS;
    pthread_mutex_lock(&one_at_a_time);
    if (ath_cuda_host_find((const void *)address, &facts) && !facts.is_mapped) {
        ath_auto_free uint8_t *same = ath_cuda_zeroed(facts.bytes);
        CUdeviceptr device = 0;
        status = same ? tell_server_relaxed(&facts, &device) : CUDA_ERROR_OUT_OF_MEMORY;
        pthread_mutex_lock(&mirror_lock);
        pthread_mutex_lock(&lock);
        struct entry *entry = status ? NULL : entry_of((const void *)address);
        if (entry) {
            entry->same = ath_steal(&same);
            entry->facts.is_mapped = true;
            entry->facts.device = device;
            if (device != entry->facts.address)
                has_displaced = true;
            mirror_count++;
            find_unknown();
        }
        pthread_mutex_unlock(&lock);
        pthread_mutex_unlock(&mirror_lock);
    }
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

CUresult ath_cuda_host_map(const void *address)
{
    struct ath_cuda_host facts;
    return ath_cuda_host_find(address, &facts) && !facts.is_mapped ? make_mirror(facts.address)
                                                                   : CUDA_SUCCESS;
}

/*
 * Pinned memory that is not shared is best copied when the call is made. But where a function of
 * the program may fill it before its turn comes, or a graph copies it again and again, the GPU must
 * copy it by itself: from its mirror. Where it has one already it may have written there, too.
 */
bool ath_cuda_host_reaches(const void *address, size_t bytes)
{
    struct ath_cuda_host found;
    if (!ath_cuda_host_find(address, &found) ||
        (uintptr_t)address - found.address + bytes > found.bytes)
        return false;
    if (found.is_mapped || found.shared || found.kind == ATH_CUDA_HOST_MANAGED)
        return found.is_mapped;
    return (ath_cuda_callbacks_due() || ath_cuda_is_capturing()) && !ath_cuda_host_map(address);
}

bool ath_cuda_host_is_mirror(CUdeviceptr address)
{
    struct ath_cuda_host found;
    return mirror_count && ath_cuda_host_find((const void *)(uintptr_t)address, &found) &&
           found.is_mapped && !found.shared;
}

bool ath_cuda_host_is_copied_here(CUdeviceptr address, size_t bytes)
{
    struct ath_cuda_host found;
    const void *memory = (const void *)(uintptr_t)address;
    return ath_cuda_host_find(memory, &found) && found.kind != ATH_CUDA_HOST_MANAGED &&
           !found.shared && (uintptr_t)address - found.address + bytes <= found.bytes &&
           !ath_cuda_host_reaches(memory, bytes);
}

uint64_t ath_cuda_host_device_address(uint64_t address)
{
    struct ath_cuda_host found;
    if (!has_displaced || !ath_cuda_host_find((const void *)(uintptr_t)address, &found) ||
        !found.is_mapped || !found.device)
        return address;
    return found.device + (address - found.address);
}

CUresult ath_cuda_host_map_parameters(const void *parameters, size_t bytes)
{
    const uintptr_t first = unknown_first, end = unknown_end;
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; end && !status && i + sizeof(uintptr_t) <= bytes; i += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, (const uint8_t *)parameters + i, sizeof word);
        if (word >= first && word < end)
            status = ath_cuda_host_map((const void *)word);
    }
    return status;
}
