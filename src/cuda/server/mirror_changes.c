/* Keeps mirrors the same as the client's memory: takes the client's changes, and finds those of the
 * GPU. cuda/client/mirror.h says how. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "cuda/common/byte_mask.h"
#include "cuda/server/region.h"
#include "cuda/server/regions.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"
#include "remote/transport/team.h"

enum {
    BLOCK = 64,
    PULL_MAX = 16 * 1024 * 1024,
    WIDEST = 16 * 1024 * 1024, /* what is compared at once */
};

/* Takes the program's bytes: those that the mask names, or all without a mask. Bytes behind the end
 * of the mask are not taken. */
static void apply(const struct ath_cuda_region *region, uint64_t address,
                  struct ath_wire_bytes data, struct ath_wire_bytes mask)
{
    uint8_t *now = region->here + (address - region->address);
    uint8_t *same = region->same + (address - region->address);
    const size_t end = data.length;
    if (!mask.length) {
        memcpy(now, data.data, end);
        memcpy(same, data.data, end);
        return;
    }
    for (size_t i = 0; i < end && i / 8 < mask.length; i += 8) {
        unsigned int bits = mask.data[i / 8];
        if (bits == UINT8_MAX && i + 8 <= end) {
            memcpy(now + i, data.data + i, 8);
            memcpy(same + i, data.data + i, 8);
            continue;
        }
        for (; bits; bits &= bits - 1) {
            const size_t at = i + (size_t)__builtin_ctz(bits);
            if (at < end)
                now[at] = same[at] = data.data[at];
        }
    }
}

void ath_cuda_serve_athPushMemory(struct ath_cuda_served *served)
{
    struct ath_wire_list parts =
        ath_cuda_wire_push_memory_parts(ath_cuda_wire_call_push_memory(served->call));
    served->status = CUDA_SUCCESS;
    pthread_mutex_lock(&served->session->lock);
    for (uint32_t i = 0; !served->status && i < parts.count; i++) {
        struct ath_cuda_wire_memory_part part = { ath_wire_list_struct(parts, i) };
        uint64_t address = ath_cuda_wire_memory_part_address(part);
        struct ath_wire_bytes data = ath_cuda_wire_memory_part_data(part);
        const struct ath_cuda_region *region =
            ath_cuda_region_of(served->session, address, data.length);
        if (region && region->same)
            apply(region, address, data, ath_cuda_wire_memory_part_mask(part));
        else
            served->status = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&served->session->lock);
}

struct change {
    struct change *next;
    uint64_t address;
    size_t length;
    const uint8_t *bytes; /* in the region's copy */
    uint8_t *mask;        /* NULL: every byte is changed */
};

static struct ath_team *helpers;

static void make_helpers(void)
{
    helpers = ath_team_make_helpers();
}

/* Skips bytes that are the same, in growing steps while nothing differs, because the bytes behind a
 * difference are compared again. */
static size_t pass_same(const struct ath_cuda_region *region, size_t at)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint8_t *now = region->here;
    const size_t end = region->end;
    size_t most = ATH_TEAM_STRIDE;
    pthread_once(&once, make_helpers);
    while (at < end) {
        if (at % ATH_TEAM_STRIDE == 0) {
            size_t part = end - at < most ? end - at : most;
            size_t same = ath_team_compare(helpers, now + at, region->same + at, part);
            most *= most < WIDEST ? 4 : 1;
            at += same;
            if (same == part)
                continue;
        }
        size_t part = end - at < BLOCK ? end - at : BLOCK;
        if (memcmp(now + at, region->same + at, part))
            break;
        at += part;
    }
    return at;
}

/* Returns the change of a part of a region, and updates the region's copy. The GPU may still be
 * writing, so a copy of the part is sent, not the region itself. Returns NULL if memory runs
 * out. */
static struct change *take_over(struct ath_cuda_side *side, struct ath_cuda_region *region,
                                size_t first, size_t length)
{
    uint8_t *same = region->same + first;
    struct change *change = ath_cuda_room(side, 1, sizeof *change);
    uint8_t *mask = ath_cuda_room(side, ath_byte_mask_bytes(length), 1);
    uint8_t *now = ath_cuda_room(side, length, 1);
    if (!change || !mask || !now)
        return NULL;
    memcpy(now, region->here + first, length);
    bool is_all = ath_byte_mask_fill(now, same, length, mask);
    memcpy(same, now, length);
    *change = (struct change){ .address = region->address + first,
                               .length = length,
                               .bytes = now,
                               .mask = is_all ? NULL : mask };
    return change;
}

/* Returns the next run of blocks that the GPU changed, or NULL if there is none or no memory. */
static struct change *next_change(struct ath_cuda_side *side, struct ath_cuda_region *region,
                                  size_t *offset, size_t most)
{
    const size_t first = pass_same(region, *offset), end = region->end;
    size_t at = first;
    while (at < end && at - first < most) {
        size_t part = end - at < BLOCK ? end - at : BLOCK;
        if (!memcmp(region->here + at, region->same + at, part))
            break;
        at += part;
    }
    *offset = at;
    return at > first ? take_over(side, region, first, at - first) : NULL;
}

/* Finds as many changes as fit into a message. */
static struct change *find_changes(struct ath_cuda_session *session, struct ath_cuda_side *side,
                                   uint32_t *out_count)
{
    struct change *first = NULL, **last = &first;
    size_t total = 0;
    *out_count = 0;
    pthread_mutex_lock(&session->lock);
    for (struct ath_cuda_region *region = session->regions; region; region = region->next) {
        size_t offset = region->first;
        while (region->same && offset < region->end && total < PULL_MAX) {
            struct change *change = next_change(side, region, &offset, PULL_MAX - total);
            if (!change)
                break;
            *last = change;
            last = &change->next;
            total += change->length + BLOCK;
            ++*out_count;
        }
    }
    pthread_mutex_unlock(&session->lock);
    return first;
}

static void tell(const struct change *change, uint32_t count, struct ath_wire_builder *answer)
{
    struct ath_wire_array parts =
        ath_cuda_wire_answer_init_changes(ath_cuda_wire_answer_start(answer), count);
    for (uint32_t i = 0; change; change = change->next, i++) {
        struct ath_cuda_wire_memory_part_builder to = { ath_wire_array_struct(parts, i) };
        ath_cuda_wire_memory_part_set_address(to, change->address);
        ath_cuda_wire_memory_part_set_data(
            to, (struct ath_wire_bytes){ change->bytes, change->length });
        if (change->mask)
            ath_cuda_wire_memory_part_set_mask(
                to, (struct ath_wire_bytes){ change->mask, ath_byte_mask_bytes(change->length) });
    }
}

int ath_cuda_changes(struct ath_cuda_session *session, struct ath_wire_builder *answer)
{
    struct ath_cuda_side side = { .status = CUDA_SUCCESS };
    uint32_t count;
    const struct change *changes = find_changes(session, &side, &count);
    if (changes)
        tell(changes, count, answer);
    int status = side.status ? -ENOMEM : changes != NULL;
    ath_cuda_side_free(&side);
    return status;
}

/* The changes go ahead of the answer, as for every call that synchronizes (call_threads.c). */
void ath_cuda_serve_athPullMemory(struct ath_cuda_served *served)
{
    served->status = CUDA_SUCCESS;
}
