/* Nodes of graphs: the work of each kind, from the structures of CUDA. */
#pragma once
#include "sim/sim.h"

struct sim_work;

/* Makes the work of one kind of node from the caller's structure. */
typedef CUresult sim_make_work(const void *params, struct sim_work **out);
sim_make_work sim_make_kernel, sim_make_kernel_v1, sim_make_copy, sim_make_fill, sim_make_host,
    sim_make_record, sim_make_wait;

/* Returns the function for a general description of a node, and through out what to give it; NULL
 * if this kind is not simulated. */
sim_make_work *sim_maker_of(const CUgraphNodeParams *params, const void **out);

/* Returns whether the work cannot be changed: that of memory nodes (cuda.h, cuGraphNodeSetParams)
 * and of conditional nodes. make may be NULL. */
bool sim_maker_is_fixed(sim_make_work *make);
