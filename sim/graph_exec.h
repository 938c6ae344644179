/*
 * Executable graphs.
 *
 * Files: graph_exec.c makes and launches them, graph_exec_node.c changes single nodes,
 * graph_exec_update.c takes over another graph.
 */
#pragma once
#include "sim/sim.h"

struct sim_list;
struct sim_mark;

struct sim_exec {
    struct sim_object object;
    struct sim_list *list;
    unsigned long long flags;
    struct sim_mark *last; /* of the newest launch; the next launch waits for it */
};

/* Finds an executable graph for a call that needs the driver. */
CUresult sim_exec_find(CUgraphExec handle, struct sim_exec **out);
void sim_exec_end(struct sim_exec *exec);
