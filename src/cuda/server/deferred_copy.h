/*
 * Copies from the GPU to the client's pinned memory whose call the client does not wait for. The
 * data go ahead of the answer to a call that synchronizes, like changes of mirrors (regions.h), as
 * soon as the stream has passed the copy. Any thread.
 */
#pragma once
#include <stdint.h>

#include "cuda/api/cuda_api.h"

struct ath_cuda_served;
struct ath_wire_builder;

/* Copies into memory of its own. address: where the client wants the bytes. */
void ath_cuda_defer_copy(struct ath_cuda_served *served, uint64_t address, CUdeviceptr source,
                         uint64_t bytes, CUstream stream);

/* Puts the next copy that is done into an answer to no call. Returns 1, or 0 if there is none. */
int ath_cuda_deferred_data(struct ath_wire_builder *answer);
