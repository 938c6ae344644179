/* Device memory and managed memory, and mapping memory in the address space of the program. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_pool;
struct sim_range;

enum { SIM_ALIGNMENT = 512 /* of device memory, and the gap between two allocations */ };

/* Allocates device memory; charges the device, unless a pool has paid for it. */
CUresult sim_device_memory(struct sim_context *context, int device, size_t bytes,
                           struct sim_pool *pool, struct sim_range **out);
/* The same as cuMemAllocManaged(), but without a context. */
CUresult sim_managed_memory(size_t bytes, uint64_t *out_address);

enum { SIM_PLACES = 2 << 20 /* a usual alignment */ };
/* Maps new memory; alignment is a power of two. Returns NULL on failure; free it with munmap(). */
void *sim_map(size_t bytes, size_t alignment, int protection);

/* Frees the memory of a context. */
void sim_context_end_memory(struct sim_context *context);

/* Returns the descriptor of the arena, and the offset of a range in it (range may be NULL); -1 if
 * there is no arena. */
int sim_arena_place(const struct sim_range *range, size_t *out_offset);
