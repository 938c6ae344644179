/* Graphs: nodes with works, and the edges between them. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_node;
struct sim_user_object;
struct sim_work;

struct sim_nodes {
    size_t count;
    struct sim_node *items[];
};

struct sim_node {
    struct sim_object object;
    struct sim_graph *graph;
    struct sim_work *work;
    struct sim_node **needs; /* its dependencies */
    size_t need_count;
    const struct sim_node *copied_from;
    size_t order; /* its position when sorted, from 1; scratch */
};

struct sim_graph {
    struct sim_object object;
    struct sim_node **nodes;
    size_t count, room;
    struct sim_hold *holds;
    bool is_held;  /* by a capture: must not be destroyed */
    bool is_body;  /* of a conditional node: must not be destroyed */
    bool is_child; /* of a node: must not be destroyed */
    bool is_moved; /* a child that was a graph of its own before: it has the header's restrictions
                    * (cuda.h, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) */
};

/* A reference that a graph, its copies and their launches keep to an object of the program. */
struct sim_hold {
    struct sim_work *work; /* its end() drops one reference */
    struct sim_hold *next;
};

CUresult sim_graph_new(struct sim_graph **out);
void sim_graph_end(struct sim_graph *graph);
CUresult sim_graph_find(CUgraph handle, struct sim_graph **out);

/* Takes over the reference to work, also on failure. */
CUresult sim_node_add(struct sim_graph *graph, struct sim_node *const *needs, size_t need_count,
                      struct sim_work *work, struct sim_node **out);

bool sim_nodes_are_of(const struct sim_graph *graph, const CUgraphNode *nodes, size_t count);

/* Finds a node for a call that needs the driver. Returns an error if there is no such node. */
CUresult sim_node_find(CUgraphNode handle, struct sim_node **out);

/* Adds a reference that the graph, its copies and their launches keep: work that does nothing and
 * has a user_object. Takes over the reference to work, also on failure. work may be NULL: out of
 * memory. */
CUresult sim_graph_hold(struct sim_graph *graph, struct sim_work *work);
size_t sim_graph_count_holds(const struct sim_graph *graph,
                             const struct sim_user_object *object); /* NULL: any object */
void sim_graph_drop_hold(struct sim_graph *graph, const struct sim_user_object *object);

/* Numbers the nodes in an order that their edges allow. Returns false if there is a cycle. */
bool sim_graph_sort(struct sim_graph *graph);

/* Returns whether the work is a child graph's. */
bool sim_work_is_child(const struct sim_work *work);

/* Makes work the work of a child graph, which is a copy; ends the work on failure. */
CUresult sim_graph_hold_copy(const struct sim_graph *graph, struct sim_work *work);

/* Makes work the work of a child graph. The graph is moved (cuda.h,
 * CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE): its nodes keep their handles. */
CUresult sim_graph_hold_moved(struct sim_graph *graph, struct sim_work *work);
