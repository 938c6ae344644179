/* Copies of two and three dimensions, for batches and for nodes of graphs. Any thread. */
#pragma once
#include <stdbool.h>

#include "cuda/api/cuda_api.h"

/* Makes a copy in a stream. is_asked: the copy is on the default stream and complete on return. */
CUresult ath_cuda_copy_box(CUDA_MEMCPY3D_PEER copy, CUstream stream, bool is_asked);

/* Turns the unified addresses of a copy into host or device addresses. */
void ath_cuda_settle_ends(CUDA_MEMCPY3D_PEER *copy);

/* The copy without contexts. */
CUDA_MEMCPY3D ath_cuda_box_to_3d(const CUDA_MEMCPY3D_PEER *copy);
