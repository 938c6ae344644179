/* Pushes the bytes of mirrors that the program has changed. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/client.h"
#include "cuda/client/mirror_entry.h"
#include "cuda/client/page_tracking.h"
#include "cuda/common/byte_mask.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

enum {
    BLOCK = 64,                  /* bytes that are compared at a time */
    PUSH_MAX = 16 * 1024 * 1024, /* bytes in a message, roughly */
};

static bool block_differs(const uint8_t *now, const uint8_t *shadow, size_t bytes)
{
    return memcmp(now, shadow, bytes) != 0;
}

/* A walk over the parts of a mirror that may have changed, one stretch after the other. */
struct walk {
    struct ath_cuda_mirror_entry *entry;
    size_t at, end; /* the rest of the stretch, not compared yet */
    size_t taken;   /* the end of the stretches so far */
    bool is_quiet;  /* no tracked page was written */
    struct ath_page_walk written;
};

static struct walk walk_over(struct ath_cuda_mirror_entry *entry)
{
    return (struct walk){ .entry = entry,
                          .written = { .at = entry->facts.address + entry->tracked_first,
                                       .end = entry->facts.address + entry->tracked_end } };
}

/* Returns the end of the next written pages. If the kernel no longer tracks them, all the rest
 * counts as written. */
static size_t written_end(struct walk *walk)
{
    struct ath_cuda_mirror_entry *entry = walk->entry;
    uintptr_t first, end;
    int status = walk->is_quiet ? -ENODATA : ath_page_tracking_next(&walk->written, &first, &end);
    if (!status) {
        walk->at = first - entry->facts.address;
        return end - entry->facts.address;
    }
    if (status == -ENODATA)
        walk->at = entry->tracked_end;
    else
        entry->tracked_end = entry->tracked_first;
    return entry->facts.bytes;
}

static bool next_stretch(struct walk *walk)
{
    const struct ath_cuda_mirror_entry *entry = walk->entry;
    walk->at = walk->taken;
    if (entry->is_unsure || walk->at >= entry->tracked_end)
        walk->end = entry->facts.bytes;
    else if (walk->at < entry->tracked_first)
        walk->end = entry->tracked_first;
    else
        walk->end = written_end(walk);
    walk->taken = walk->end;
    return walk->at < walk->end;
}

/* Skips equal bytes. Large comparisons are fastest. */
static void pass_same(struct walk *walk)
{
    const uint8_t *now = (const uint8_t *)walk->entry->facts.address, *shadow = walk->entry->shadow;
    const size_t stride = 1 << 16;
    while (walk->at < walk->end) {
        size_t left = walk->end - walk->at, part = left < stride ? left : stride;
        if (walk->at % stride == 0 && !block_differs(now + walk->at, shadow + walk->at, part)) {
            walk->at += part;
            continue;
        }
        part = left < BLOCK ? left : BLOCK;
        if (block_differs(now + walk->at, shadow + walk->at, part))
            return;
        walk->at += part;
    }
}

/* Finds a run of blocks that differ. Returns false if there is none. */
static bool next_run(struct walk *walk, size_t *out_offset, size_t *out_length, size_t most)
{
    const uint8_t *now = (const uint8_t *)walk->entry->facts.address, *shadow = walk->entry->shadow;
    do
        pass_same(walk);
    while (walk->at == walk->end && next_stretch(walk));
    *out_offset = walk->at;
    while (walk->at < walk->end && walk->at - *out_offset < most) {
        size_t left = walk->end - walk->at, part = left < BLOCK ? left : BLOCK;
        if (!block_differs(now + walk->at, shadow + walk->at, part))
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
    uint8_t *shadow; /* in the entry's shadow copy, updated when the server has the bytes */
    uint8_t *mask;   /* NULL: every byte has changed */
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

/* Looks for addresses in bytes that were just copied, with the whole words at both ends. */
static void note_pointers(const struct ath_cuda_mirror_entry *entry, size_t offset, size_t length)
{
    const size_t word = sizeof(uint64_t), end = entry->facts.bytes;
    size_t first = offset < word ? 0 : offset - word, behind = offset + length;
    behind = end - behind < word ? end : behind + word;
    ath_cuda_mirrors_note_pointers((const uint8_t *)entry->facts.address + first, behind - first);
}

/* Copies the bytes of a run, since the program may go on writing. */
static struct run *copy_run(struct ath_cuda_mirror_entry *entry, size_t offset, size_t length)
{
    const uint8_t *now = (const uint8_t *)entry->facts.address + offset;
    uint8_t *shadow = entry->shadow + offset;
    struct run *run = malloc(sizeof *run + length);
    uint8_t *mask = malloc(ath_byte_mask_bytes(length));
    if (!run || !mask) {
        free(run);
        free(mask);
        return NULL;
    }
    *run = (struct run){
        .address = entry->facts.address + offset, .length = length, .shadow = shadow, .mask = mask
    };
    memcpy(run->bytes, now, length);
    note_pointers(entry, offset, length);
    if (ath_byte_mask_fill(run->bytes, shadow, length, mask)) {
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
                to, (struct ath_wire_bytes){ runs->mask, ath_byte_mask_bytes(runs->length) });
    }
    return ath_cuda_end(&exchange, is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange));
}

static bool is_over(const struct walk *walk)
{
    return walk->at == walk->end && walk->taken == walk->entry->facts.bytes;
}

/* Pushes as much of a mirror as fits into one message. */
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
        memcpy(run->shadow, run->bytes, run->length);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): runs_free() has them */
    return status;
}

/*
 * Natively a launch sees the program's earlier writes, even while the GPU works. Finding these
 * writes is cheap if the kernel tracks pages and no page fault happened: only the partial pages at
 * the ends are compared. Large memory without tracking is compared only once between two
 * synchronizations. Without concurrent access (pointer_attribute.c) a program must not touch
 * managed memory in between.
 */
static bool is_left_alone(const struct ath_cuda_mirror_entry *entry)
{
    return entry->is_pushed && !ath_cuda_mirror_is_tracked(entry) &&
           entry->facts.kind == ATH_CUDA_HOST_MANAGED &&
           entry->facts.bytes > ATH_CUDA_ALWAYS_COMPARED;
}

static CUresult push_entry(struct ath_cuda_mirror_entry *entry, uint64_t faults, bool is_asked)
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

static CUresult push_each(bool is_asked)
{
    CUresult status = CUDA_SUCCESS;
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    uint64_t faults = 0; /* not looked up yet */
    ath_cuda_mirrors_find_gone();
    for (struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries; entry && !status;
         entry = entry->next) {
        if (!faults && ath_cuda_mirror_is_tracked(entry))
            faults = ath_page_tracking_faults();
        if (entry->shadow && !entry->is_aside && !entry->is_gone && !is_left_alone(entry))
            status = push_entry(entry, faults, is_asked);
    }
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
    return status;
}

/* Memory whose address was just pushed must be there, too, before a kernel runs. While a callback
 * is due nothing can be opened: the driver may wait for the callback. The next launch opens it. */
CUresult ath_cuda_mirror_push_all(bool is_asked)
{
    if (!ath_cuda_mirrors.mirror_count)
        return CUDA_SUCCESS;
    CUresult status = push_each(is_asked);
    while (!status && !is_asked && ath_cuda_mirrors_open_marked(&status) && !status)
        status = push_each(is_asked);
    return status;
}

CUresult ath_cuda_mirror_push(enum ath_cuda_method method)
{
    if (ath_cuda_methods[method].awaits_memory)
        ath_cuda_mirrors.waits_for_memory = true;
    if (!ath_cuda_mirrors.mirror_count)
        return CUDA_SUCCESS;
    return ath_cuda_methods[method].touches ? ath_cuda_mirror_push_all(false) : CUDA_SUCCESS;
}
