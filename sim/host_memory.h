/* Host memory that devices use too: pinned, registered and managed memory. Sizes are bytes. */
#pragma once
#include "sim/sim.h"

struct sim_range;

/* The same as cuMemAllocManaged(), but without a context. */
CUresult sim_managed_memory(size_t bytes, uint64_t *out_address);
/* Unmaps the memory of a range; the range itself stays. */
void sim_host_memory_end(const struct sim_range *range);
