/*
 * A ComputeNode (aitherion.io/v1alpha1): the GPUs of a node, as its agent publishes them. Pure
 * computation.
 *
 *     metadata: {name: node1}                  the name of the Node
 *     status:
 *       phase: Ready                           anything else: no pod is placed there
 *       runtime: 10.0.0.1:50051                of aitherion-runtime; optional
 *       numaNodes: [0, 8]                      with CPUs; optional
 *       devices:
 *       - {uuid: GPU-..., model: NVIDIA A100-SXM4-80GB, memory: 80Gi, numaNode: 0, healthScore:
 * 100} links:                                 two devices by their place in the list
 *       - {devices: [0, 1], bytesPerSecond: 300000000000}
 *
 * Unknown members are left out. bytesPerSecond is in one direction. Health 0 is a GPU that cannot
 * be used.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "numa/machine.h"
#include "place/gpu_models.h"

struct ath_kube_node {
    char *name;
    bool is_ready;
    char *runtime;              /* NULL: none */
    struct ath_machine machine; /* GPUs with uuid, model, memory, NUMA node and health score */
    int64_t *bandwidths;        /* for ath_set_best() */
    const struct ath_gpu_model **models; /* of each GPU, in the table; NULL: not there */
};

void ath_kube_node_free(struct ath_kube_node *node);

/* Reads a ComputeNode. Returns 0, or -EBADMSG with err, which names the fault; *out is then
 * empty. */
int ath_kube_node_read(const json_t *json, struct ath_kube_node *out, struct ath_err *err);
