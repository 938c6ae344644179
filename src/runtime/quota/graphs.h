/*
 * Memory of graphs: their allocation nodes take it when a graph is launched, and the driver keeps
 * it for the next launch. It counts as the driver reserves it. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-server.h"

/* Checks whether the share has room for an allocation node of a graph, which a launch will take
 * later. Returns CUDA_ERROR_OUT_OF_MEMORY if not. */
CUresult ath_graphs_check_room(size_t device, uint64_t bytes);

/* Brings the board up to date with what the driver has reserved for graphs. */
void ath_graphs_count(void);

/* Returns whether any device may have memory of graphs. */
bool ath_graphs_have_memory(void);
