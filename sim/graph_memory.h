/* Memory that graphs allocate and own; it belongs to no pool. Sizes are bytes. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_work;

/* Makes the work that allocates memory on a device; work->range is the memory. */
CUresult sim_graph_memory_make(struct sim_context *context, int device, size_t bytes,
                               struct sim_work **out);
/* The same for the parameters of a node; params->dptr gets the address. */
CUresult sim_graph_memory_work(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct sim_work **out);
