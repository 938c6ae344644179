/* Conditional nodes of graphs. */
#pragma once
#include "sim/sim.h"

struct sim_work;

CUresult sim_condition_work(const void *params, struct sim_work **out);
CUgraph *sim_condition_bodies(struct sim_work *work);
void sim_condition_launch(struct sim_work *work); /* before a launch's first node; takes the lock */
bool sim_condition_set(CUgraphConditionalHandle handle, unsigned int value); /* takes the lock */
