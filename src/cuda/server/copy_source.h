/*
 * The data of a call that a copy reads. Most drivers have read pageable memory when their function
 * returns, but pinned memory, and on some machines all memory, is read when the copy's turn in its
 * stream comes.
 */
#pragma once
#include <stdbool.h>

#include "cuda/server/served_call.h"

struct ath_copy_kept;
struct ath_pinned_room;

struct ath_copy_source {
    const void *bytes;            /* NULL: refused; served->status says why */
    struct ath_pinned_room *room; /* the GPU reads it when the copy's turn comes */
    struct ath_copy_kept *kept;   /* the same; freed behind the copy */
};

/* Returns data that the driver may read after its call: the call's own data if they lie in a pinned
 * room, or if the driver waits or does not read late. */
struct ath_copy_source ath_copy_source_take(struct ath_cuda_served *served,
                                            struct ath_wire_bytes data, bool is_waited);

/* Called behind the driver's call. A room is not used again before the GPU has passed the copy.
 * Data that are kept are freed then, or at once if much is kept already. */
void ath_copy_source_leave(struct ath_cuda_served *served, const struct ath_copy_source *source,
                           CUstream stream);
