/* The ranges of the address space that the driver knows, in an array sorted by address. */
#include "config.h"

#include "sim/range.h"

#include <stdlib.h>
#include <string.h>

#include "sim/device_memory.h"
#include "sim/host_memory.h"
#include "sim/ipc.h"
#include "sim/virtual.h"

static struct sim_range **ranges;
static size_t range_count, range_room;
static unsigned long long last_id;

/* Returns the number of ranges that begin at or below an address. */
static size_t count_up_to(uint64_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct sim_range *sim_range_at(uint64_t address)
{
    size_t count = count_up_to(address);
    struct sim_range *range = count ? ranges[count - 1] : NULL;
    return range && address - range->base < range->bytes ? range : NULL;
}

const struct sim_range *sim_range_of(uint64_t base, size_t bytes)
{
    const struct sim_range *last = sim_range_at(base + bytes - 1), *first = sim_range_at(base);
    size_t count = count_up_to(base + bytes - 1);
    if (last || first)
        return last ? last : first;
    return count && ranges[count - 1]->base >= base ? ranges[count - 1] : NULL;
}

struct sim_range *sim_range_number(size_t number)
{
    return number < range_count ? ranges[number] : NULL;
}

CUresult sim_range_add(const struct sim_range *range, struct sim_range **out)
{
    if (range_count == range_room) {
        size_t room = range_room ? 2 * range_room : 64;
        struct sim_range **grown = realloc(ranges, room * sizeof *grown);
        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        ranges = grown;
        range_room = room;
    }
    struct sim_range *added = malloc(sizeof *added);
    if (!added)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *added = *range;
    added->id = ++last_id;
    size_t at = count_up_to(range->base);
    memmove(ranges + at + 1, ranges + at, (range_count - at) * sizeof *ranges);
    ranges[at] = added;
    range_count++;
    *out = added;
    return CUDA_SUCCESS;
}

static void forget_range(struct sim_range *range)
{
    size_t at = count_up_to(range->base) - 1;
    memmove(ranges + at, ranges + at + 1, (range_count - at - 1) * sizeof *ranges);
    range_count--;
    free(range);
}

void sim_range_end(struct sim_range *range)
{
    switch (range->memory) {
    case SIM_DEVICE_MEMORY:
        sim_device_memory_end(range);
        break;
    case SIM_HOST_MEMORY:
    case SIM_MANAGED_MEMORY:
        sim_host_memory_end(range);
        break;
    case SIM_MAPPED_MEMORY:
        sim_allocation_drop(range->allocation);
        break;
    case SIM_FOREIGN_MEMORY:
        sim_foreign_end(range);
        break;
    case SIM_REGISTERED_MEMORY:
        break;
    }
    forget_range(range);
}

void sim_context_end_memory(struct sim_context *context)
{
    for (size_t i = range_count; i-- > 0;)
        if (ranges[i]->context == context && !ranges[i]->is_of_graph)
            sim_range_end(ranges[i]);
}

bool sim_is_known(uint64_t address, size_t bytes)
{
    while (bytes) {
        const struct sim_range *range = sim_range_at(address);
        if (!range)
            return false;
        size_t rest = range->bytes - (size_t)(address - range->base);
        size_t step = rest < bytes ? rest : bytes;
        address += step;
        bytes -= step;
    }
    return true;
}

unsigned char *sim_reach(uint64_t address, bool is_write, size_t *out_bytes)
{
    SIM_LOCKED;
    const struct sim_range *range = sim_range_at(address);
    if (!range || !(is_write ? range->is_writable : range->is_readable))
        return NULL;
    size_t offset = (size_t)(address - range->base);
    *out_bytes = range->bytes - offset;
    return range->backing + offset;
}
