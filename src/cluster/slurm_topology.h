/* Reads the switches of Slurm's topology.conf (topology/tree). Pure computation. */
#pragma once
#include "cluster/cluster.h"

/*
 * Adds the switches of a topology.conf to a cluster, and the nodes that they name, without a
 * machine. name: the file in messages. Returns 0, or -EINVAL with err, which names the line.
 */
int ath_slurm_topology_add(const char *name, const char *text, struct ath_cluster *cluster,
                           struct ath_err *err);

/* True if a text has a line of topology.conf. */
bool ath_slurm_topology_is(const char *text);
