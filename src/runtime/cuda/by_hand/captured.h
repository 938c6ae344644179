/*
 * Copies in graphs, captured or added as nodes (client_rectangle.c), of memory that the GPU cannot
 * reach by itself: a graph takes and gives the program's bytes anew at each launch. A function of
 * the program's side moves them to or from pinned memory, in the graph's order, and the GPU copies
 * that. What it needs stays as long as a graph has it, which may be launched at any time, and is
 * then the next such copy's.
 */
#pragma once
#include <stdbool.h>

#include "runtime/cuda/cuda_api.h"

/* Whether a stream captures. */
bool ath_cuda_captures(CUstream stream);

/* Between the GPU's memory and such, which is the source or the target, or between two places of
 * host memory, which the program's function copies alone. */
CUresult ath_cuda_captured_box(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
