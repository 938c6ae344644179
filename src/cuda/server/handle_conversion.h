/* The conversions of a served call's handles (struct ath_cuda_side). */
#pragma once
#include "cuda/server/server.h"

/* Returns the driver's handle for the client's. If the client must not use the handle, the status
 * of the side says so. */
uint64_t ath_cuda_served_to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire);

/* Returns the client's handle for one that the driver returned, and notes its object. */
uint64_t ath_cuda_served_to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own);
