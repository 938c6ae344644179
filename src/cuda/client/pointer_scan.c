/*
 * Finds addresses of pinned memory in bytes that kernels can read. A kernel reaches this memory
 * only by an address that the program gave it, and nearly always as a whole word at a multiple of
 * eight bytes. docs/runtime.md ("Pinned memory that kernels reach") says which addresses are not
 * found.
 */
#include "config.h"

#include <string.h>

#include "cuda/client/mirror_entry.h"
#include "cuda/client/staging.h"
#include "remote/transport/team.h"

enum { WORD = sizeof(uint64_t), PIECE = 4096, LARGE = 512 * 1024 };

static bool is_in(struct ath_cuda_word_range range, uint64_t word)
{
    return word - range.first < range.span;
}

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Two words as the processor compares them at once. */
typedef uint32_t halves __attribute__((vector_size(2 * WORD)));
typedef int32_t outcomes __attribute__((vector_size(2 * WORD)));

/* Returns which halves, as unsigned numbers, are none of first to last. x86-64 compares vectors of
 * signed numbers only (without AVX-512), so both sides are moved: first becomes the least signed
 * number. */
static inline outcomes are_outside(halves now, uint32_t first, uint32_t last)
{
    const uint32_t least = UINT32_C(1) << 31;
    return (outcomes)(now - (first - least)) > (int32_t)(last - first + least);
}

/* Returns whether a piece may have an address: looks at the upper halves of words only, and has no
 * branch for each word, so that large copies lose little time. Few data have such upper halves. */
static bool may_have_any(struct ath_cuda_word_range range, const uint8_t *bytes, size_t length)
{
    enum { UPPER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };
    const uint32_t first = (uint32_t)(range.first >> 32);
    const uint32_t last = (uint32_t)((range.first + range.span - 1) >> 32);
    outcomes outside = { -1, -1, -1, -1 }, others = outside;
    halves now[4];
    size_t i = 0;
    for (; i + sizeof now <= length; i += sizeof now) {
        memcpy(now, bytes + i, sizeof now);
        outside &= are_outside(now[0], first, last) & are_outside(now[1], first, last);
        others &= are_outside(now[2], first, last) & are_outside(now[3], first, last);
    }
    outside &= others;
    bool may_have = !outside[UPPER] || !outside[2 + UPPER];
    for (; i + WORD <= length && !may_have; i += WORD)
        may_have = is_in(range, word_at(bytes + i));
    return may_have;
}

static struct ath_cuda_word_range closed_range(int which)
{
    const uint64_t first = ath_cuda_mirrors.closed[which].first;
    const uint64_t end = ath_cuda_mirrors.closed[which].end;
    return (struct ath_cuda_word_range){ first, end > first ? end - first : 0 };
}

static void take_ranges(struct ath_cuda_pointer_search *search, const uint8_t *bytes)
{
    for (int i = 0; i < ATH_CUDA_WORD_RANGES; i++)
        search->ranges[i] = closed_range(i);
    search->bytes = bytes;
    search->may_find = false;
}

static bool has_ranges(const struct ath_cuda_pointer_search *search)
{
    return search->ranges[0].span || search->ranges[1].span;
}

static void search_share(void *job, size_t begin, size_t end)
{
    struct ath_cuda_pointer_search *search = job;
    for (size_t at = begin, length; at < end && !search->may_find; at += length) {
        length = end - at < PIECE ? end - at : PIECE;
        for (int i = 0; i < ATH_CUDA_WORD_RANGES; i++)
            if (search->ranges[i].span &&
                may_have_any(search->ranges[i], search->bytes + at, length))
                search->may_find = true;
    }
}

/* One processor reads large memory more slowly than several connections send it. */
static bool is_large_without(const uint8_t *bytes, size_t length)
{
    struct ath_cuda_pointer_search search;
    if (length < LARGE)
        return false;
    take_ranges(&search, bytes);
    if (has_ranges(&search))
        ath_team_divide(ath_cuda_helpers(), length, search_share, &search);
    return !search.may_find;
}

/* Finds the next word that is in a range, from *at on. Returns false if there is none. */
static bool next_in(struct ath_cuda_word_range range, const uint8_t *bytes, size_t length,
                    size_t *at)
{
    while (*at + WORD <= length) {
        size_t end = length - *at < PIECE ? length : *at + PIECE;
        if (!may_have_any(range, bytes + *at, end - *at))
            *at += (end - *at) / WORD * WORD;
        for (; *at + WORD <= end; *at += WORD)
            if (is_in(range, word_at(bytes + *at)))
                return true;
    }
    return false;
}

/* Calls take for each address of closed memory in the bytes, and for the byte before it: the
 * address may be the end of memory. */
static CUresult each_address(const uint8_t *bytes, size_t length,
                             CUresult (*take)(uint64_t address))
{
    CUresult status = CUDA_SUCCESS;
    if (is_large_without(bytes, length))
        return CUDA_SUCCESS;
    for (int i = 0; i < ATH_CUDA_WORD_RANGES; i++) {
        const struct ath_cuda_word_range range = closed_range(i);
        for (size_t at = 0; range.span && !status && next_in(range, bytes, length, &at);
             at += WORD) {
            uint64_t word = word_at(bytes + at);
            status = take(word);
            if (!status)
                status = take(word - 1);
        }
    }
    return status;
}

static CUresult open_at(uint64_t address)
{
    return ath_cuda_host_open((const void *)(uintptr_t)address);
}

CUresult ath_cuda_host_open_pointers(const void *bytes, size_t length, uint64_t at)
{
    size_t skipped = (size_t)(-at % WORD);
    return skipped < length
               ? each_address((const uint8_t *)bytes + skipped, length - skipped, open_at)
               : CUDA_SUCCESS;
}

/* ---- a search beside other work ---- */

void ath_cuda_pointer_search_begin(struct ath_cuda_pointer_search *search)
{
    size_t skipped = (size_t)(-search->at % WORD);
    if (search->length < LARGE)
        return;
    take_ranges(search, (const uint8_t *)((uintptr_t)search->all + skipped));
    search->is_begun =
        has_ranges(search) &&
        ath_team_begin(ath_cuda_helpers(), search->length - skipped, search_share, search);
}

CUresult ath_cuda_pointer_search_end(struct ath_cuda_pointer_search *search)
{
    const size_t length = search->length;
    search->length = 0;
    if (search->is_begun) {
        ath_team_finish(ath_cuda_helpers());
        search->is_begun = false;
        if (!search->may_find)
            return CUDA_SUCCESS;
    }
    return ath_cuda_host_open_pointers(search->all, length, search->at);
}

/* ---- in mirrors ---- */

static CUresult mark_at(uint64_t address)
{
    struct ath_cuda_mirror_entry *entry =
        ath_cuda_mirror_entry_of((const void *)(uintptr_t)address);
    if (entry && !entry->facts.is_open)
        entry->is_pointed = true;
    return CUDA_SUCCESS;
}

void ath_cuda_mirrors_note_pointers(const uint8_t *bytes, size_t length)
{
    size_t skipped = (size_t)(-(uintptr_t)bytes % WORD);
    if (skipped < length)
        each_address(bytes + skipped, length - skipped, mark_at);
}

static uintptr_t next_marked(void)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    const struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries;
    while (entry && !entry->is_pointed)
        entry = entry->next;
    uintptr_t address = entry ? entry->facts.address : 0;
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
    return address;
}

bool ath_cuda_mirrors_open_marked(CUresult *out_status)
{
    uintptr_t first = next_marked();
    for (uintptr_t at = first; at && !*out_status; at = next_marked())
        *out_status = ath_cuda_host_open((const void *)at);
    return first;
}
