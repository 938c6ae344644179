/*
 * Parts of graphs that graph.c, graph_node.c and graph_exec.c share. All functions need the lock,
 * except the last three.
 */
#pragma once
#include "sim/sim.h"

/* A reference that a graph, its copies and their launches keep to an object of the program. */
struct sim_hold {
    struct sim_work *work; /* its end() drops one reference */
    struct sim_hold *next;
};

/* Numbers the nodes in an order that their edges allow. Returns false if there is a cycle. */
bool sim_graph_sort(struct sim_graph *graph);

/* Returns whether the work is a child graph's. */
bool sim_work_is_child(const struct sim_work *work);

/* Makes work the work of a child graph, which is a copy; ends the work on failure. */
CUresult sim_graph_hold_copy(const struct sim_graph *graph, struct sim_work *work);

/* Makes work the work of a child graph. The graph is moved (cuda.h,
 * CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE): its nodes keep their handles. */
CUresult sim_graph_hold_moved(struct sim_graph *graph, struct sim_work *work);

/* Finds a node for a call that needs the driver. Returns an error if there is no such node. */
CUresult sim_node_find(CUgraphNode handle, struct sim_node **out);

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

/* Returns whether no edge has a port or a type; edges NULL: none has. */
bool sim_edges_are_plain(const CUgraphEdgeData *edges, size_t count);
