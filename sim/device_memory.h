/* Device memory: pieces of the arena, charged to a device or a pool. Sizes are bytes. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_pool;
struct sim_range;

/* Allocates device memory; charges the device, unless a pool has paid for it. */
CUresult sim_device_memory(struct sim_context *context, int device, size_t bytes,
                           struct sim_pool *pool, struct sim_range **out);
/* Frees the memory of a range; the range itself stays. */
void sim_device_memory_end(const struct sim_range *range);
