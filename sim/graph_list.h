/*
 * The list that a launch of a graph runs: its works one after another, in an order that the edges
 * allow. Works of child graphs are part of the list.
 *
 * A list is counted: each executable graph and each launch holds a reference.
 */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_graph;
struct sim_node;
struct sim_work;

/* The dependencies of a list's works, each as the number of an item. */
struct sim_list_shape {
    unsigned int refs;
    size_t count;
    size_t needs[];
};

/* The list that a launch runs: works in order, followed by the works that hold objects. The list
 * does not change while a launch has a reference to it. */
struct sim_list {
    unsigned int refs;
    size_t count, hold_count;
    struct sim_list_shape *shape;
    struct sim_list_item {
        struct sim_work *work;
        const struct sim_node *node; /* identifies the node; never dereferenced */
        bool is_disabled;
        size_t inside;                 /* works of a child graph: the next items */
        size_t first_need, need_count; /* of the shape */
    } items[];
};

/* Makes the list of a graph, with one reference. Returns an error if the graph has a cycle. */
CUresult sim_list_make(struct sim_graph *graph, struct sim_list **out);
void sim_list_drop(struct sim_list *list); /* takes NULL */
/* Copies a list's bytes, with room for more items. The works are the caller's to reference. */
struct sim_list *sim_list_copy(const struct sim_list *list, size_t more);
/* Runs the works. Call without the lock. */
CUresult sim_list_run(const struct sim_list *list, struct sim_context *context);

/* Runs the nodes of a graph once. Call without the lock. */
CUresult sim_graph_run(struct sim_graph *graph, struct sim_context *context);
