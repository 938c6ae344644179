/* Executable graphs. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_exec;
struct sim_graph;
struct sim_list;

void sim_exec_end(struct sim_exec *exec);
void sim_list_drop(struct sim_list *list);

/* Runs the nodes once, one after another. Call without the lock. */
CUresult sim_graph_run(struct sim_graph *graph, struct sim_context *context);
