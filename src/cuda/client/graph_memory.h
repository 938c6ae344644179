/* The addresses of memory that graphs allocate. Any thread. */
#pragma once
#include <stdbool.h>

#include "cuda/api/cuda_api.h"

/* Returns whether a graph allocates this address. The driver does not know before the graph runs:
 * until then the memory does not exist. */
bool ath_cuda_is_graph_memory(CUdeviceptr address);

/* Notes memory that a stream allocated. If no stream of the process is capturing, the memory does
 * not belong to a graph and is not noted. Memory of no graph does no harm in the list. */
void ath_cuda_graph_memory_note(CUdeviceptr address, size_t bytes);
