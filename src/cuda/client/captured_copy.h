/*
 * Copies of pageable memory in graphs, captured or added as nodes (copy_node.c). Each launch of the
 * graph must read or write the program's bytes again, and the GPU cannot reach them. So a host
 * function in the graph moves the bytes to or from pinned memory, and the GPU copies that memory.
 * The pinned memory stays as long as a graph has it; afterwards the next such copy reuses it.
 */
#pragma once
#include <stdbool.h>

#include "cuda/api/cuda_api.h"

/* Returns whether a stream captures. */
bool ath_cuda_is_stream_capturing(CUstream stream);

/* Adds a copy to the graph that the stream captures. One end or both ends are host memory. If both
 * are, the host function copies alone. */
CUresult ath_cuda_captured_copy(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);

/* The same for a copy that is a node of the program's, so that the node can tell the copy. A copy
 * without pageable memory is left to the driver. */
CUresult ath_cuda_captured_node(const CUDA_MEMCPY3D *copy, bool is_pageable, CUstream stream);

/* Returns whether a host function and its data belong to a node of the program's; if so, *out is
 * the node's copy. */
bool ath_cuda_captured_node_of(CUhostFn function, const void *data, CUDA_MEMCPY3D *out);

/* Returns whether any node of the program's was captured. */
bool ath_cuda_is_any_node_captured(void);
