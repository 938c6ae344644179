/*
 * A list of what there is (programs have few), and the copies that mirrors are compared with.
 *
 * One lock for the list, one for mirrors: who pushes has it until the bytes have their place in the
 * order, so that no other thread's launch goes before them.
 */
#include "config.h"

#include "runtime/cuda/by_hand/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "runtime/cuda/by_hand/callback.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/by_hand/mapped_file.h"
#include "runtime/cuda/by_hand/sides.h"
#include "runtime/cuda/changed.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/same.h"
#include "runtime/cuda/written.h"
#include "runtime/cuda/zeroed.h"

enum {
    BLOCK = 64,                  /* what is compared at a time */
    PUSH_MAX = 16 * 1024 * 1024, /* bytes of a message, more or less */
};

struct entry {
    struct entry *next;
    struct ath_cuda_host facts;
    uint8_t *same;  /* how it was when both sides were the same; NULL: no mirror */
    bool is_pushed; /* since the last synchronization */
    bool is_unsure; /* all of it may differ, whatever the kernel says */
    bool is_aside;  /* the server frees it: nothing is pushed */
    bool is_gone;   /* the program unmapped what it registered: see find_gone() */

    /* Offsets of the whole pages that the kernel watches (written.h); none: the same. */
    size_t watched_first, watched_end;
    uint64_t faults; /* before they were walked over last */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mirror_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static atomic_int entry_count, mirror_count;
static uint64_t last_id;
static atomic_bool waits_for_memory; /* a stream may, from the first one that was told to */
static atomic_bool has_displaced;    /* a mirror that the GPU has at another address */

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

static bool has_of(uintptr_t first, size_t bytes, bool is_mirror)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = entries;
    while (entry &&
           ((is_mirror && !entry->same) || first >= entry->facts.address + entry->facts.bytes ||
            entry->facts.address >= first + bytes))
        entry = entry->next;
    pthread_mutex_unlock(&lock);
    return entry;
}

bool ath_cuda_host_has_of(const void *address, size_t bytes)
{
    return has_of((uintptr_t)address, bytes, false);
}

CUresult ath_cuda_host_bring(const void *address, size_t bytes, CUstream stream)
{
    bool is_there =
        mirror_count && !ath_cuda_is_capturing() && has_of((uintptr_t)address, bytes, true);
    return is_there ? ath_cuda_do_cuStreamSynchronize(stream) : CUDA_SUCCESS;
}

static bool is_watched(const struct entry *entry)
{
    return entry->watched_end > entry->watched_first;
}

/* Less is compared sooner than the kernel is asked. */
enum { ALWAYS_COMPARED = 64 * 1024 };

/* Pages that are in nothing else. What the program registered is its own business. */
static void watch(struct entry *entry)
{
    size_t page = ath_cuda_host_pages(1);
    uintptr_t first = ath_cuda_host_pages(entry->facts.address);
    uintptr_t end = (entry->facts.address + entry->facts.bytes) / page * page;
    if (entry->facts.bytes <= ALWAYS_COMPARED || entry->facts.kind == ATH_CUDA_HOST_REGISTERED ||
        ath_written_watch(first, end - first))
        return;
    entry->watched_first = first - entry->facts.address;
    entry->watched_end = end - entry->facts.address;
}

CUresult ath_cuda_host_add(const struct ath_cuda_host *facts, bool is_mirrored)
{
    ath_auto_free struct entry *entry = ath_cuda_zeroed(sizeof *entry);
    if (!entry)
        return CUDA_ERROR_OUT_OF_MEMORY;
    entry->facts = *facts;
    if (is_mirrored && !(entry->same = ath_cuda_same_make(facts->bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (is_mirrored)
        watch(entry);
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

bool ath_cuda_host_of_context(CUcontext context, struct ath_cuda_host *out)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = entries;
    while (entry && (!entry->same || entry->facts.context != context || entry->facts.library))
        entry = entry->next;
    if (entry)
        *out = entry->facts;
    pthread_mutex_unlock(&lock);
    return entry;
}

bool ath_cuda_host_set_aside(uintptr_t address, bool is_aside)
{
    pthread_mutex_lock(&mirror_lock);
    pthread_mutex_lock(&lock);
    struct entry *entry = entry_of((const void *)address);
    bool is_managed =
        entry && entry->facts.address == address && entry->facts.kind == ATH_CUDA_HOST_MANAGED;
    if (is_managed)
        entry->is_aside = is_aside;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mirror_lock);
    return is_managed;
}

void ath_cuda_host_set_library_aside(CUlibrary library)
{
    pthread_mutex_lock(&mirror_lock);
    pthread_mutex_lock(&lock);
    for (struct entry *entry = entries; library && entry; entry = entry->next)
        if (entry->facts.library == library)
            entry->is_aside = true;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mirror_lock);
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

/* ---- pushing ---- */

static bool block_differs(const uint8_t *now, const uint8_t *same, size_t bytes)
{
    return memcmp(now, same, bytes) != 0;
}

/* What of a mirror may have changed: one stretch after the other. */
struct walk {
    struct entry *entry;
    size_t at, end; /* of a stretch: what has not been compared yet */
    size_t taken;   /* up to here stretches were handed out */
    bool is_quiet;  /* nothing is written in the watched pages */
    struct ath_written written;
};

static struct walk walk_over(struct entry *entry)
{
    return (struct walk){ .entry = entry,
                          .written = { .at = entry->facts.address + entry->watched_first,
                                       .end = entry->facts.address + entry->watched_end } };
}

/* Where the kernel watches it no more, all that is left. */
static size_t written_end(struct walk *walk)
{
    struct entry *entry = walk->entry;
    uintptr_t first, end;
    int status = walk->is_quiet ? -ENODATA : ath_written_next(&walk->written, &first, &end);
    if (!status) {
        walk->at = first - entry->facts.address;
        return end - entry->facts.address;
    }
    if (status == -ENODATA)
        walk->at = entry->watched_end;
    else
        entry->watched_end = entry->watched_first;
    return entry->facts.bytes;
}

static bool next_stretch(struct walk *walk)
{
    const struct entry *entry = walk->entry;
    walk->at = walk->taken;
    if (entry->is_unsure || walk->at >= entry->watched_end)
        walk->end = entry->facts.bytes;
    else if (walk->at < entry->watched_first)
        walk->end = entry->watched_first;
    else
        walk->end = written_end(walk);
    walk->taken = walk->end;
    return walk->at < walk->end;
}

/* Passes over what is the same. Comparing is fastest with much at once. */
static void pass_same(struct walk *walk)
{
    const uint8_t *now = (const uint8_t *)walk->entry->facts.address, *same = walk->entry->same;
    const size_t stride = 1 << 16;
    while (walk->at < walk->end) {
        size_t left = walk->end - walk->at, part = left < stride ? left : stride;
        if (walk->at % stride == 0 && !block_differs(now + walk->at, same + walk->at, part)) {
            walk->at += part;
            continue;
        }
        part = left < BLOCK ? left : BLOCK;
        if (block_differs(now + walk->at, same + walk->at, part))
            return;
        walk->at += part;
    }
}

/* A run of blocks that differ; false: none. */
static bool next_run(struct walk *walk, size_t *out_offset, size_t *out_length, size_t most)
{
    const uint8_t *now = (const uint8_t *)walk->entry->facts.address, *same = walk->entry->same;
    do
        pass_same(walk);
    while (walk->at == walk->end && next_stretch(walk));
    *out_offset = walk->at;
    while (walk->at < walk->end && walk->at - *out_offset < most) {
        size_t left = walk->end - walk->at, part = left < BLOCK ? left : BLOCK;
        if (!block_differs(now + walk->at, same + walk->at, part))
            break;
        walk->at += part;
    }
    *out_length = walk->at - *out_offset;
    return *out_length > 0;
}

struct run {
    struct run *next;
    uintptr_t address;
    size_t length;
    uint8_t *same; /* of the entry: what it holds once the server has the bytes */
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
    uint8_t *mask = malloc(ath_changed_mask_bytes(length));
    if (!run || !mask) {
        free(run);
        free(mask);
        return NULL;
    }
    *run = (struct run){
        .address = entry->facts.address + offset, .length = length, .same = same, .mask = mask
    };
    memcpy(run->bytes, now, length);
    if (ath_changed_mask(run->bytes, same, length, mask) == length) {
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
                to, (struct ath_wire_bytes){ runs->mask, ath_changed_mask_bytes(runs->length) });
    }
    return ath_cuda_end(&exchange, is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange));
}

static bool is_over(const struct walk *walk)
{
    return walk->at == walk->end && walk->taken == walk->entry->facts.bytes;
}

/* What of a mirror fits into a message. */
static CUresult push_some(struct walk *walk, bool is_asked)
{
    __attribute__((cleanup(runs_free))) struct run *runs = NULL;
    size_t total = 0, offset, length;
    uint32_t count = 0;
    while (total < PUSH_MAX && next_run(walk, &offset, &length, PUSH_MAX - total)) {
        struct run *run = copy_run(walk->entry, offset, length);
        if (!run) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as below */
            return CUDA_ERROR_OUT_OF_MEMORY;
        run->next = runs;
        runs = run;
        total += length + BLOCK;
        count++;
    }
    CUresult status = count ? send_runs(runs, count, is_asked) : CUDA_SUCCESS;
    for (const struct run *run = runs; run && !status; run = run->next)
        memcpy(run->same, run->bytes, run->length);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): runs_free() has them */
    return status;
}

/*
 * Natively a launch sees what the program wrote before it, also while the GPU is at work. To find
 * that costs little where the kernel watches and nobody waited for a page: the ends that fill no
 * page. Where it does not, what is large is not compared again before the next synchronization:
 * without concurrent access (client_unified.c) a program must keep off managed memory until then.
 */
static bool is_left_alone(const struct entry *entry)
{
    return entry->is_pushed && !is_watched(entry) && entry->facts.kind == ATH_CUDA_HOST_MANAGED &&
           entry->facts.bytes > ALWAYS_COMPARED;
}

/* Natively what is registered stays pinned, also where the program unmaps it without taking the
 * registration back. The caller has mirror_lock. */
static void find_gone(void)
{
    for (struct entry *entry = entries; entry; entry = entry->next)
        entry->is_gone =
            entry->same && entry->facts.kind == ATH_CUDA_HOST_REGISTERED &&
            !ath_cuda_is_all_mapped((const void *)entry->facts.address, entry->facts.bytes);
}

static CUresult push_entry(struct entry *entry, uint64_t faults, bool is_asked)
{
    struct walk walk = walk_over(entry);
    CUresult status = CUDA_SUCCESS;
    walk.is_quiet = entry->is_pushed && entry->faults == faults;
    entry->faults = faults;
    while (!status && !is_over(&walk))
        status = push_some(&walk, is_asked);
    entry->is_pushed = !status;
    entry->is_unsure = status;
    return status;
}

CUresult ath_cuda_host_push_all(bool is_asked)
{
    CUresult status = CUDA_SUCCESS;
    if (!mirror_count)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&mirror_lock);
    uint64_t faults = 0; /* not asked for yet */
    find_gone();
    for (struct entry *entry = entries; entry && !status; entry = entry->next) {
        if (!faults && is_watched(entry))
            faults = ath_written_faults();
        if (entry->same && !entry->is_aside && !entry->is_gone && !is_left_alone(entry))
            status = push_entry(entry, faults, is_asked);
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
    if (method == ATH_CUDA_METHOD_cuStreamWaitValue32_v2 ||
        method == ATH_CUDA_METHOD_cuStreamWaitValue64_v2 ||
        method == ATH_CUDA_METHOD_cuStreamBatchMemOp_v2)
        waits_for_memory = true;
    if (!mirror_count)
        return CUDA_SUCCESS;
    pthread_once(&touching_once, find_touching);
    return is_touching[method] ? ath_cuda_host_push_all(false) : CUDA_SUCCESS;
}

/* ---- pulling ---- */

/* Answers that bring what the GPU changed, in their order. They are taken over by whoever waited
 * for the GPU, and not by whoever reads: that one may be needed for a push to get on. */
static pthread_mutex_t arrived_lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrived {
    struct arrived *next;
    struct ath_frame answer;
} * arrived, **arrived_last = &arrived;

/* Parts of memory that the client is about to add: another thread's call brought them. */
enum { EARLY_MAX = 1024 };
static struct early {
    struct early *next;
    uintptr_t address;
    size_t length;
    uint8_t bytes[];
} * early;
static int early_count;

int ath_cuda_host_take_changes(struct ath_frame *answer)
{
    struct arrived *one = malloc(sizeof *one);
    if (!one)
        return -ENOMEM;
    *one = (struct arrived){ .answer = *answer };
    *answer = (struct ath_frame){ 0 };
    pthread_mutex_lock(&arrived_lock);
    *arrived_last = one;
    arrived_last = &one->next;
    pthread_mutex_unlock(&arrived_lock);
    return 0;
}

static struct arrived *take_arrived(void)
{
    pthread_mutex_lock(&arrived_lock);
    struct arrived *all = arrived;
    arrived = NULL;
    arrived_last = &arrived;
    pthread_mutex_unlock(&arrived_lock);
    return all;
}

static bool is_changed(struct ath_wire_bytes mask, size_t i)
{
    return !mask.length || mask.data[i / 8] >> i % 8 & 1;
}

/* Only what the GPU changed: beside it another thread may write, or have written and pushed. What
 * the program changed meanwhile stays, and is pushed next time. */
static void apply(uint8_t *now, uint8_t *same, struct ath_wire_bytes data,
                  struct ath_wire_bytes mask)
{
    for (size_t i = 0; i < data.length; i++) {
        if (!is_changed(mask, i))
            continue;
        if (now[i] == same[i])
            now[i] = data.data[i];
        same[i] = data.data[i];
    }
}

/* Of memory that was just made; all of it counts. */
static CUresult keep_early(uintptr_t address, struct ath_wire_bytes data)
{
    struct early *one = early_count < EARLY_MAX ? malloc(sizeof *one + data.length) : NULL;
    if (!one)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *one = (struct early){ .next = early, .address = address, .length = data.length };
    memcpy(one->bytes, data.data, data.length);
    early = one;
    early_count++;
    return CUDA_SUCCESS;
}

static CUresult take_part(struct ath_cuda_wire_memory_part part)
{
    struct ath_wire_bytes data = ath_cuda_wire_memory_part_data(part);
    struct ath_wire_bytes mask = ath_cuda_wire_memory_part_mask(part);
    uintptr_t address = (uintptr_t)ath_cuda_wire_memory_part_address(part);
    const struct entry *entry = entry_of((const void *)address);
    if (!entry)
        return keep_early(address, data);
    size_t offset = address - entry->facts.address;
    if (!entry->same || data.length > entry->facts.bytes - offset ||
        (mask.length && mask.length < ath_changed_mask_bytes(data.length)))
        return CUDA_ERROR_DEVICE_UNAVAILABLE; /* no server of ours says so */
    if (entry->is_gone)
        return CUDA_SUCCESS;
    apply((uint8_t *)entry->facts.address + offset, entry->same + offset, data, mask);
    return CUDA_SUCCESS;
}

static CUresult take_answer(const struct ath_frame *frame)
{
    struct ath_cuda_wire_answer answer;
    CUresult status = CUDA_SUCCESS;
    if (ath_cuda_wire_answer_open(ath_frame_message(frame), ath_frame_message_length(frame),
                                  &answer))
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    struct ath_wire_list parts = ath_cuda_wire_answer_changes(answer);
    for (uint32_t i = 0; !status && i < parts.count; i++)
        status = take_part((struct ath_cuda_wire_memory_part){ ath_wire_list_struct(parts, i) });
    return status;
}

/* Those whose memory is there by now. */
static void take_early(void)
{
    for (struct early **at = &early, *one; (one = *at);) {
        const struct entry *entry = entry_of((const void *)one->address);
        size_t offset = entry ? one->address - entry->facts.address : 0;
        if (!entry) {
            at = &one->next;
            continue;
        }
        if (entry->same && !entry->is_gone && one->length <= entry->facts.bytes - offset)
            apply((uint8_t *)entry->facts.address + offset, entry->same + offset,
                  (struct ath_wire_bytes){ one->bytes, one->length },
                  (struct ath_wire_bytes){ NULL, 0 });
        *at = one->next;
        early_count--;
        free(one);
    }
}

/* The caller has mirror_lock. */
static CUresult take_all(void)
{
    CUresult status = CUDA_SUCCESS;
    struct arrived *all = take_arrived();
    if (all || early)
        find_gone();
    if (early)
        take_early();
    for (struct arrived *next; all; all = next) {
        next = all->next;
        if (!status)
            status = take_answer(&all->answer);
        ath_frame_free(&all->answer);
        free(all);
    }
    return status;
}

static CUresult take_changes(void)
{
    pthread_mutex_lock(&mirror_lock);
    for (struct entry *entry = entries; entry; entry = entry->next)
        entry->is_pushed = false;
    CUresult status = take_all();
    pthread_mutex_unlock(&mirror_lock);
    return status;
}

CUresult ath_cuda_host_pull(enum ath_cuda_method method)
{
    return mirror_count && ath_cuda_synchronizes(method) ? take_changes() : CUDA_SUCCESS;
}

CUresult ath_cuda_host_pull_all(void)
{
    struct ath_cuda_exchange exchange;
    if (!mirror_count)
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athPullMemory);
    if (status)
        return status;
    ath_cuda_wire_call_set_pull_memory(exchange.call);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

/* ---- memory that the server knows ---- */

/* The pages of a file that the program has mapped: other processes may have them, too. Without one
 * *out_shared stays 0. */
static CUresult share_file(const struct ath_cuda_host *facts, uint64_t *out_shared)
{
    ath_auto_close int fd = -1;
    uint64_t offset = 0;
    if (facts->kind != ATH_CUDA_HOST_REGISTERED ||
        !ath_cuda_mapped_file((const void *)facts->address, facts->bytes, &fd, &offset))
        return CUDA_SUCCESS;
    size_t before = facts->address % ath_cuda_host_pages(1);
    int status =
        fd < 0 ? -ENOTSUP
               : ath_cuda_link_share_file(fd, offset, ath_cuda_host_pages(before + facts->bytes),
                                          (const void *)(facts->address - before), out_shared);
    return !status             ? CUDA_SUCCESS
           : status == -EINVAL ? CUDA_ERROR_INVALID_VALUE
                               : CUDA_ERROR_NOT_SUPPORTED;
}

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
    ath_cuda_wire_mem_host_register_v2_set_shared(call, facts->shared);
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

/* same: of a mirror. */
static void note_mapped(const struct ath_cuda_host *facts, uint8_t *same)
{
    pthread_mutex_lock(&mirror_lock);
    pthread_mutex_lock(&lock);
    struct entry *entry = entry_of((const void *)facts->address);
    if (entry) {
        entry->same = same;
        entry->is_unsure = true; /* the program had it before */
        if (same)
            watch(entry);
        entry->facts.is_mapped = true;
        entry->facts.shared = facts->shared;
        entry->facts.device = facts->device;
        if (facts->device != facts->address)
            has_displaced = true;
        mirror_count += same != NULL;
        find_unknown();
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mirror_lock);
    if (!entry)
        ath_cuda_same_free(same, facts->bytes);
}

static CUresult map(struct ath_cuda_host *facts, bool is_mirror_enough)
{
    CUresult status = share_file(facts, &facts->shared);
    if (status == CUDA_ERROR_NOT_SUPPORTED && is_mirror_enough)
        status = CUDA_SUCCESS;
    if (status)
        return status;
    uint8_t *same = facts->shared ? NULL : ath_cuda_same_make(facts->bytes);
    status = same || facts->shared ? tell_server_relaxed(facts, &facts->device)
                                   : CUDA_ERROR_OUT_OF_MEMORY;
    if (!status) {
        note_mapped(facts, same);
        return CUDA_SUCCESS;
    }
    ath_cuda_same_free(same, facts->bytes);
    if (facts->shared)
        ath_cuda_link_unshare(facts->shared);
    return status;
}

/* The lock is not held while the server is asked: two threads may, then one waits for the other. */
static CUresult map_if_not_yet(const void *address, bool is_mirror_enough)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct ath_cuda_host facts;
    CUresult status = CUDA_SUCCESS;
    if (!ath_cuda_host_find(address, &facts) || facts.is_mapped)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&one_at_a_time);
    if (ath_cuda_host_find(address, &facts) && !facts.is_mapped)
        status = map(&facts, is_mirror_enough);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

CUresult ath_cuda_host_map(const void *address)
{
    return map_if_not_yet(address, true);
}

CUresult ath_cuda_host_map_for_kernels(const void *address)
{
    return map_if_not_yet(address, false);
}

bool ath_cuda_host_may_hold(void)
{
    return waits_for_memory || ath_cuda_callbacks_due();
}

/*
 * Pinned memory that is not shared is best copied when the call is made. But where the program may
 * fill it before its turn comes, or a graph copies it again and again, the GPU must copy it by
 * itself: from its mirror. Where it has one already it may have written there, too.
 */
bool ath_cuda_host_reaches(const void *address, size_t bytes)
{
    struct ath_cuda_host found;
    if (!ath_cuda_host_find(address, &found) ||
        (uintptr_t)address - found.address + bytes > found.bytes)
        return false;
    if (found.is_mapped || found.shared || found.kind == ATH_CUDA_HOST_MANAGED)
        return found.is_mapped;
    return (ath_cuda_host_may_hold() || ath_cuda_is_capturing()) && !ath_cuda_host_map(address);
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

/* ---- the end ---- */

static struct entry *take(uintptr_t address, bool is_managed)
{
    pthread_mutex_lock(&mirror_lock);
    take_all(); /* nothing that arrived for it is left for what comes to its place */
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
        ath_cuda_same_free(entry->same, entry->facts.bytes);
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

void ath_cuda_host_clear(void)
{
    pthread_mutex_lock(&mirror_lock);
    take_all();
    while (early) {
        struct early *next = early->next;
        free(early);
        early = next;
    }
    early_count = 0;
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
