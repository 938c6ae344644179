/* Memory that a graph allocates. */
#pragma once
#include "sim/sim.h"

struct sim_work;

CUresult sim_graph_memory_work(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct sim_work **out);
