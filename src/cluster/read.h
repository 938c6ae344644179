/*
 * Reads a cluster: a cluster.yaml, Slurm's topology.conf, or a folder with a file of `aitherion
 * discover --json` for each node.
 */
#pragma once
#include "cluster/cluster.h"
#include "config/faults.h"

/*
 * Reads the file or folder, which decides by its content what it is. Returns 0 with *out finished,
 * which the caller frees with ath_cluster_free(), or a negative errno with err: "cluster-invalid"
 * (then *faults may hold every fault of a cluster.yaml with its place), or why a file cannot be
 * read.
 */
int ath_cluster_read(const char *path, struct ath_cluster *out, struct ath_faults *faults,
                     struct ath_err *err);

/* The same for the text of a cluster.yaml or of a topology.conf; length excludes the NUL behind it.
 * name: the file in messages, from whose folder the paths in the text begin. */
int ath_cluster_parse(const char *name, const char *text, size_t length, struct ath_cluster *out,
                      struct ath_faults *faults, struct ath_err *err);
