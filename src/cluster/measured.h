/* Measured figures of pairs of nodes as figures of the cluster's links, and which pairs to measure.
 * Pure computation. */
#pragma once
#include "cluster/cluster.h"
#include "cluster/pairs.h"

/*
 * Gives the links of a finished cluster the figures that were measured.
 *
 * A pair crosses all links between its nodes, so each of them is at least as fast as the pair. A
 * node's link gets the bandwidth of the fastest pair through it. So does a switch's link, except if
 * that pair is about as fast as its nodes' own links: one pair cannot fill such a link, which then
 * keeps a higher bandwidth of the description. A pair counts with its slower direction.
 *
 * Half a round trip is the latency of all links between the two nodes together. Pairs with few
 * switches between them give the latencies of the lower links, farther pairs the rest.
 *
 * The figures of links are rounded to two digits, so that noise does not decide between places.
 *
 * Returns how many pairs have a node that the cluster lacks; they are left out.
 */
size_t ath_cluster_apply_pairs(struct ath_cluster *cluster, const struct ath_cluster_pairs *pairs);

/*
 * Chooses the nodes to which a node measures, in the order of the tree.
 *
 * is_sample    one node on each level: one below its own switch, one below the next switch but not
 *              below its own, and so on. Nodes that do this at the same time choose different ones
 * is_excluded  for each node; NULL: none
 * out          room for node_count numbers
 *
 * Returns how many. Nodes to which there is no way are left out.
 */
size_t ath_cluster_targets(const struct ath_cluster *cluster, size_t node, bool is_sample,
                           const bool *is_excluded, size_t *out);
