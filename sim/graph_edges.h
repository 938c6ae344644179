/* The edges between the nodes of a graph. A node has a list of the nodes that it needs. */
#pragma once
#include "sim/sim.h"

struct sim_node;

/* Returns whether there is an edge from the other node to this one. */
bool sim_node_needs(const struct sim_node *node, const struct sim_node *other);
/* Adds an edge from the other node to this one. */
CUresult sim_node_add_need(struct sim_node *node, struct sim_node *other);

/* Returns whether no edge has a port or a type; edges NULL: none has. */
bool sim_edges_are_plain(const CUgraphEdgeData *edges, size_t count);
