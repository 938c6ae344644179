/* Memory that the simulator maps in the program's address space. Sizes are bytes. */
#pragma once
#include "sim/sim.h"

enum { SIM_PLACES = 2 << 20 /* a usual alignment */ };
/* Maps new memory; alignment is a power of two. Returns NULL on failure; free it with munmap(). */
void *sim_map(size_t bytes, size_t alignment, int protection);

static inline size_t sim_round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}
