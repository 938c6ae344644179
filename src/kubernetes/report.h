/*
 * The facts that an agent publishes about its node: the status of a ComputeNode (compute_node.h
 * reads it), and labels of the Node. Pure computation.
 *
 * Published are NVIDIA's GPUs with a UUID, at most 64, in the order of the PCI bus. A GPU that the
 * driver has lost has health score 0. Facts that are not known are left out.
 */
#pragma once
#include <jansson.h>

#include "numa/machine.h"

struct ath_kube_report_options {
    const char *runtime; /* address of the node's aitherion-runtime; NULL: none */
    const char *fault;   /* why no pod should be placed on the node; NULL: phase Ready */
};

/* Returns the status. Members that may be missing are null, so that a merge patch removes them. The
 * caller frees it. */
json_t *ath_kube_report_status(const struct ath_machine *machine,
                               const struct ath_kube_report_options *options);

/*
 * Returns the labels: aitherion.io/gpu-count, aitherion.io/gpu-usable and aitherion.io/gpu-model
 * (of the first GPU; null if there is none). kube-scheduler tries refused pods again when a label
 * of a Node changes, and not when a ComputeNode does, so gpu-usable is what brings pods back after
 * a repair. status: what ath_kube_report_status() has returned. The caller frees the result.
 */
json_t *ath_kube_report_labels(const json_t *status);
