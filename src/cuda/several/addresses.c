/* A sorted array for each server: looked up often, changed rarely. */
#include "config.h"

#include "cuda/several/addresses.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/client.h"
#include "remote/session/open.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ranges {
    struct ath_several_range *items; /* sorted by address */
    size_t count, capacity;
} all[ATH_SERVERS_MAX];

/* The number of ranges that begin at or before an address. */
static size_t ranges_up_to(const struct ranges *ranges, CUdeviceptr address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct ath_several_range *range_at(const struct ranges *ranges, CUdeviceptr address)
{
    size_t at = ranges_up_to(ranges, address);
    const struct ath_several_range *before = at ? &ranges->items[at - 1] : NULL;
    return before && address - before->address < before->bytes ? before : NULL;
}

static bool overlaps(const struct ranges *ranges, CUdeviceptr address, size_t bytes)
{
    size_t at = ranges_up_to(ranges, address);
    return range_at(ranges, address) ||
           (at < ranges->count && ranges->items[at].address - address < bytes);
}

bool ath_several_find(CUdeviceptr address, struct ath_several_range *out)
{
    unsigned int here = ath_several_here();
    size_t count = ath_several_count();
    pthread_rwlock_rdlock(&lock);
    const struct ath_several_range *found = here < count ? range_at(&all[here], address) : NULL;
    for (size_t i = 0; !found && i < count; i++)
        found = range_at(&all[i], address);
    if (found)
        *out = *found;
    pthread_rwlock_unlock(&lock);
    return found;
}

unsigned int ath_several_of_address(CUdeviceptr address)
{
    struct ath_several_range range;
    return ath_several_find(address, &range) ? range.index : ath_several_here();
}

bool ath_several_has_others(const struct ath_several *than)
{
    bool is_any = false;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < ath_several_count(); i++)
        is_any = is_any || (i != than->self.index && all[i].count);
    pthread_rwlock_unlock(&lock);
    return is_any;
}

static void add_range(struct ranges *ranges, const struct ath_several_range *range)
{
    size_t at = ranges_up_to(ranges, range->address);
    if (at && ranges->items[at - 1].address == range->address) {
        ranges->items[at - 1] = *range;
        return;
    }
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;
        struct ath_several_range *grown = realloc(ranges->items, capacity * sizeof *grown);
        if (!grown)
            return; /* lookups then choose the current context's server */
        ranges->items = grown;
        ranges->capacity = capacity;
    }
    memmove(&ranges->items[at + 1], &ranges->items[at],
            (ranges->count - at) * sizeof *ranges->items);
    ranges->items[at] = *range;
    ranges->count++;
}

static struct ath_several_range range_of(const struct ath_several *to, CUdeviceptr address,
                                         size_t bytes, bool is_host)
{
    return (struct ath_several_range){ address, bytes, to->self.index, is_host,
                                       ath_cuda_current_context() };
}

static void keep_range(const struct ath_several_range *range)
{
    pthread_rwlock_wrlock(&lock);
    add_range(&all[range->index], range);
    pthread_rwlock_unlock(&lock);
}

/* The caller holds the lock. A lost server's memory no longer counts. */
static bool overlaps_other_server(const struct ath_several_range *range)
{
    for (size_t i = 0; i < ath_several_count(); i++)
        if (i != range->index && overlaps(&all[i], range->address, range->bytes) &&
            !ath_several_is_lost(&ath_several_all[i]))
            return true;
    return false;
}

bool ath_several_is_taken(const struct ath_several *to, CUdeviceptr address, size_t bytes,
                          struct ath_several_rejected *rejected)
{
    const struct ath_several_range range = range_of(to, address, bytes, false);
    pthread_rwlock_wrlock(&lock);
    bool is_taken = overlaps_other_server(&range);
    if (!is_taken)
        add_range(&all[range.index], &range);
    pthread_rwlock_unlock(&lock);
    if (!is_taken)
        return false;
    rejected->addresses[rejected->count++] = address;
    rejected->behind = 2 * (rejected->behind ? rejected->behind : bytes);
    rejected->is_hopeless = rejected->count >= ATH_SEVERAL_REJECTED_MAX;
    return !rejected->is_hopeless;
}

void ath_several_put_behind(const struct ath_several *to, struct ath_several_rejected *rejected,
                            CUdeviceptr address)
{
    const struct ath_several_range range = range_of(to, address, rejected->behind, false);
    pthread_rwlock_rdlock(&lock);
    bool moves_the_next = address && overlaps_other_server(&range);
    pthread_rwlock_unlock(&lock);
    if (address)
        rejected->addresses[rejected->count++] = address;
    if (!moves_the_next)
        rejected->behind = 0;
}

CUresult ath_several_took(const struct ath_several *to, const struct ath_several_rejected *rejected)
{
    if (!rejected->is_hopeless)
        return CUDA_SUCCESS;
    if (ath_client_logs_calls())
        fprintf(stderr,
                "aitherion: '%s' has no memory left at addresses that other servers' memory does "
                "not have\n",
                to->self.server);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void ath_several_keep(const struct ath_several *to, CUdeviceptr address, size_t bytes)
{
    CUdeviceptr base = address;
    if (address && !bytes && to->calls.cuMemGetAddressRange_v2(&base, &bytes, address))
        return;
    const struct ath_several_range range = range_of(to, base, bytes, false);
    if (address)
        keep_range(&range);
}

void ath_several_keep_host(const struct ath_several *to, const void *memory, size_t bytes)
{
    const struct ath_several_range range = range_of(to, (uintptr_t)memory, bytes, true);
    keep_range(&range);
}

static void remove_at(struct ranges *ranges, size_t at)
{
    ranges->count--;
    memmove(&ranges->items[at], &ranges->items[at + 1],
            (ranges->count - at) * sizeof *ranges->items);
}

struct ath_several_range ath_several_leave(const struct ath_several *to, CUdeviceptr address)
{
    struct ranges *ranges = &all[to->self.index];
    struct ath_several_range range = { .bytes = 0 };
    pthread_rwlock_wrlock(&lock);
    size_t at = ranges_up_to(ranges, address);
    if (at && ranges->items[at - 1].address == address) {
        range = ranges->items[at - 1];
        remove_at(ranges, at - 1);
    }
    pthread_rwlock_unlock(&lock);
    return range;
}

void ath_several_stay(const struct ath_several_range *range)
{
    if (range->bytes)
        keep_range(range);
}

void ath_several_addresses_end(CUcontext context)
{
    unsigned int index = ath_instance_of((uintptr_t)context);
    if (!context || index >= ath_several_count())
        return;
    pthread_rwlock_wrlock(&lock);
    for (size_t i = all[index].count; i; i--)
        if (all[index].items[i - 1].context == context)
            remove_at(&all[index], i - 1);
    pthread_rwlock_unlock(&lock);
}
