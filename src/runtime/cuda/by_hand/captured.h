/*
 * Copies in graphs, captured or added as nodes (client_rectangle.c), of memory that the GPU cannot
 * reach by itself: a graph takes and gives the program's bytes anew at each launch. A function of
 * the program's side moves them to or from pinned memory, in the graph's order, and the GPU copies
 * that. What it needs stays as long as a graph has it, which may be launched at any time, and is
 * then the next such copy's.
 */
#pragma once
#include <stddef.h>

#include "runtime/cuda/cuda_api.h"

/* Whether a copy failed because its stream captures. */
bool ath_cuda_is_captured(CUstream stream, CUresult status);

CUresult ath_cuda_captured_to(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult ath_cuda_captured_from(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
