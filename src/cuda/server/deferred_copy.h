/*
 * Copies from the GPU to the client's pinned memory whose call the client does not wait for. The
 * data go ahead of the answer to a call that synchronizes, like changes of mirrors (regions.h), as
 * soon as the stream has passed the copy. Any thread.
 */
#pragma once
#include <stdint.h>

#include "cuda/api/cuda_api.h"

struct ath_cuda_deferred; /* one copy */
struct ath_cuda_served;
struct ath_wire_builder;

/* Copies into memory of its own. address: where the client wants the bytes. */
void ath_cuda_defer_copy(struct ath_cuda_served *served, uint64_t address, CUdeviceptr source,
                         uint64_t bytes, CUstream stream);

/*
 * Puts the next copy that is done into an answer to no call, and lends its data to it. Returns NULL
 * if there is none. The caller calls told() when the answer is written.
 */
struct ath_cuda_deferred *ath_cuda_deferred_tell(struct ath_wire_builder *answer);
void ath_cuda_deferred_told(struct ath_cuda_deferred *copy);
