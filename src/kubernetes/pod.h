/*
 * The request of a pod, and the GPUs that it has: read from its JSON, as the API server and the
 * scheduler write it. Pure computation.
 *
 * Resources of containers (limits, or requests if there are none) are counted for the whole pod,
 * as the scheduler counts them:
 *
 *     aitherion.io/gpu          number of GPUs; 1 if only one of the others is given
 *     aitherion.io/gpu-memory   memory of all its GPUs together; also ai.compute/vram
 *     aitherion.io/gpu-share    percent of the time of one GPU, of all its GPUs together
 *     aitherion.io/gpu-tflops   the same as dense FP16 throughput in 10^12 operations per second;
 *                               also ai.compute/tflops-fp16. Its model says which part of a GPU
 *                               that is (place/gpu_models.h)
 *
 * GPUs with none of the last three are whole GPUs, which no other pod gets. Annotations:
 *
 *     aitherion.io/numa-policy      none, single-numa, best-effort (if not given), restricted
 *     aitherion.io/gpu-model        only GPUs of this model
 *     aitherion.io/preferred-model  rather GPUs of this model
 *     aitherion.io/gpu-location     same-node (if not given); any-node: the runtime of another node
 *                                   may serve the GPUs
 *     aitherion.io/gpus             set when a node was chosen: the GPUs by UUID
 *     aitherion.io/gpu-node         set with them if another node has the GPUs
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"
#include "place/choose.h"
#include "place/gpu_models.h"

#define ATH_KUBE_GPUS_ANNOTATION "aitherion.io/gpus"
#define ATH_KUBE_GPU_NODE_ANNOTATION "aitherion.io/gpu-node"

enum {
    ATH_KUBE_GPUS_MAX = 64, /* of a node */
    ATH_KUBE_NAME_MAX = 253,
    ATH_KUBE_UID_MAX = 128,
    ATH_KUBE_CONTAINERS_MAX = 512,
};

struct ath_kube_wish {
    size_t gpu_count; /* 0: the pod asks for no GPU */
    bool is_whole;
    int64_t memory_bytes; /* of each GPU; 0 with a share: the share's part of its memory */
    int share_percent;    /* of each GPU; 0: none */
    int64_t tflops;       /* of each GPU, in place of a share; 0: none */
    bool is_anywhere;     /* GPUs of other nodes will do */
    enum ath_place_policy policy;
    char *model, *preferred_model;                         /* NULL: any */
    const struct ath_gpu_model *model_row, *preferred_row; /* of the table; NULL: not there */
};

/* A pod as quotas see it. */
struct ath_kube_claim {
    char *space;
    char *priority; /* the name of its priority class; NULL: none */
    json_t *labels; /* NULL: none */
};

/* Owns its texts. */
struct ath_kube_pod {
    char *name, *space, *uid; /* space: the namespace */
    char *node;               /* NULL: none yet */
    char *gpu_node;           /* that has its GPUs; NULL: the same */
    int priority;             /* a larger one may evict a smaller one */
    bool is_over;             /* Succeeded or Failed */
    struct ath_kube_claim claim;
    struct ath_kube_wish wish;
    struct ath_texts gpus; /* of the annotation */
};

void ath_kube_wish_free(struct ath_kube_wish *wish);
void ath_kube_wish_copy(const struct ath_kube_wish *wish, struct ath_kube_wish *out);

/* Returns the percent of the time of a GPU of a model that the wish takes of each GPU, rounded: 0
 * if it states no part of the time, more than 100 if the GPU is too slow or its throughput is not
 * known. model: NULL if the table lacks it. */
int ath_kube_wish_share(const struct ath_kube_wish *wish, const struct ath_gpu_model *model);
void ath_kube_claim_free(struct ath_kube_claim *claim);
void ath_kube_pod_free(struct ath_kube_pod *pod);

/*
 * Reads a pod. Returns 0; -EBADMSG with err if it is no pod (then *out is empty); -EINVAL with err
 * if its request has a fault. *out is then whole, but the wish asks for no GPU if a resource has
 * the fault, and has the usual policy if the annotation does: a pod that has GPUs keeps them
 * whatever happens to its annotations.
 */
int ath_kube_pod_read(const json_t *json, struct ath_kube_pod *out, struct ath_err *err);

/* Returns the text of a member, or NULL if it is no text, empty, longer than max, or has a NUL. The
 * text belongs to json. */
const char *ath_kube_text(const json_t *object, const char *member, size_t max);

/* Returns whether a text is the name of an object, which can stand in a path: at most
 * ATH_KUBE_NAME_MAX lower-case letters, digits, '-' and '.', and none of the last two first. False
 * for NULL. */
bool ath_kube_is_name(const char *text);

/* Returns whether a container asks for one of the resources. */
bool ath_kube_asks_for_gpus(const json_t *container);

/* Returns the resource that a container asks for under one of aitherion's names
 * ("aitherion.io/...", "ai.compute/...") and that aitherion does not have; NULL if there is none.
 * The name belongs to the container. */
const char *ath_kube_unknown_resource(const json_t *container);
