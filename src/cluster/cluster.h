/*
 * The model of a cluster: a tree of switches with nodes below them, and racks. Pure computation.
 *
 * Each node and each switch has one link upwards, with a bandwidth in one direction and a latency.
 * The way between two nodes goes up to the first switch above both. Unknown figures are
 * ATH_UNKNOWN. A cluster owns everything it points to. It is read-only after
 * ath_cluster_finish(), so several threads may read it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"
#include "numa/machine.h"

enum {
    ATH_CLUSTER_NODES_MAX = 65536,
    ATH_CLUSTER_LEVELS_MAX = 16,
    ATH_CLUSTER_WAY_MAX = 2 * ATH_CLUSTER_LEVELS_MAX /* links between two nodes */
};

#define ATH_CLUSTER_NONE SIZE_MAX /* no index */

struct ath_cluster_link {
    int64_t bytes_per_s, latency_ns; /* in one direction; ATH_UNKNOWN */
};

struct ath_cluster_switch {
    char *name;
    size_t above; /* the switch above; ATH_CLUSTER_NONE: none */
    struct ath_cluster_link up;
    bool is_measured; /* the bandwidth of `up` was measured */
    size_t depth;     /* switches above */
    size_t height;    /* of the tree below: 0 if only nodes are below */
};

/* Nodes whose free GPUs and bandwidths are the same share a shape, so that a choice is made
 * once. */
struct ath_cluster_shape {
    const struct ath_machine *machine; /* of the first of these nodes */
    int64_t *bandwidths;               /* for ath_set_best() */
    bool *is_free;                     /* for each GPU: can be used, and not busy */
    size_t free_count;
};

struct ath_cluster_node {
    char *name;
    size_t rack, leaf; /* indexes; ATH_CLUSTER_NONE: not given */
    struct ath_cluster_link up;
    bool is_measured;                  /* the bandwidth of `up` was measured */
    char *runtime;                     /* address of aitherion-runtime; NULL: not given */
    const struct ath_machine *machine; /* belongs to the cluster */
    bool is_counted; /* the machine was made from counts: it has no addresses, CPUs and memory */
    size_t shape;
    size_t order; /* place among all nodes, such that nodes below one switch stand together */
};

struct ath_cluster {
    char *name; /* NULL if not given */
    char **racks;
    size_t rack_count;
    struct ath_cluster_switch *switches;
    size_t switch_count;
    struct ath_cluster_node *nodes;
    size_t node_count;
    struct ath_machine **machines;
    size_t machine_count;
    struct ath_cluster_shape *shapes;
    size_t shape_count;
    bool has_implied_switch; /* the description names no switch: all nodes are on one */
    /* Set by ath_cluster_finish(): for each switch s, the nodes nodes_of[node_starts[s]] up to
     * node_starts[s + 1], and in the same way the switches right below. */
    size_t *node_starts, *nodes_of;
    size_t *switch_starts, *switches_of;
};

void ath_cluster_free(struct ath_cluster *cluster);

/* Add a part, and return its index. Texts are copied. A rack that is there already is found. */
size_t ath_cluster_add_rack(struct ath_cluster *cluster, const char *name);
size_t ath_cluster_add_switch(struct ath_cluster *cluster, const char *name);
size_t ath_cluster_add_node(struct ath_cluster *cluster, const char *name);

/* Takes a finished machine, which is emptied, and returns the cluster's own. */
const struct ath_machine *ath_cluster_add_machine(struct ath_cluster *cluster,
                                                  struct ath_machine *machine);

/* Returns the index of the shape of a machine with busy GPUs (their numbers). */
size_t ath_cluster_add_shape(struct ath_cluster *cluster, const struct ath_machine *machine,
                             const struct ath_idset *busy);

/*
 * Completes a cluster: adds a switch if there is none, checks that names are unique and that no
 * switch is above itself, and sets depths, heights and orders. Returns 0, or -EINVAL with err.
 */
int ath_cluster_finish(struct ath_cluster *cluster, struct ath_err *err);

/* Return the index of the part with a name, or ATH_CLUSTER_NONE. By linear searches. */
size_t ath_cluster_find_switch(const struct ath_cluster *cluster, const char *name);
size_t ath_cluster_find_rack(const struct ath_cluster *cluster, const char *name);
size_t ath_cluster_find_node(const struct ath_cluster *cluster, const char *name);

/* The way between two nodes. */
struct ath_cluster_path {
    bool is_connected;
    struct ath_cluster_link link; /* the slowest bandwidth, and all latencies together */
    size_t hops;                  /* switches on the way */
};

/*
 * Finds the links between two nodes: the number of a node, or node_count + the number of a switch,
 * stands for its link upwards. Returns how many, and 0 if there is no way or both are one node.
 */
size_t ath_cluster_links(const struct ath_cluster *cluster, size_t a, size_t b,
                         size_t out[ATH_CLUSTER_WAY_MAX]);

/* Finds the way between two nodes. From a node to itself it has no link and no hops. */
void ath_cluster_path(const struct ath_cluster *cluster, size_t a, size_t b,
                      struct ath_cluster_path *out);

/* The GPUs of all nodes, and the free ones. */
size_t ath_cluster_gpus(const struct ath_cluster *cluster);
size_t ath_cluster_free_gpus(const struct ath_cluster *cluster);

/* Returns the number of free GPUs of a node. */
size_t ath_cluster_free_on(const struct ath_cluster *cluster, size_t node);

/* Returns the smaller of two figures; ATH_UNKNOWN if one is unknown. */
int64_t ath_cluster_slower(int64_t a, int64_t b);
