/*
 * A ComputeQuota (aitherion.io/v1alpha1): what pods of a namespace may have together. Pure
 * computation.
 *
 *     metadata: {namespace: team-a, name: training}
 *     spec:
 *       hard:
 *         gpu: 8                        also aitherion.io/gpu
 *         gpu-memory: 2000Gi            also aitherion.io/gpu-memory, vram, ai.compute/vram
 *         gpu-share: 400                also aitherion.io/gpu-share
 *         gpu-tflops: 10000             also aitherion.io/gpu-tflops, tflops-fp16,
 *                                       ai.compute/tflops-fp16
 *       scopes: [{priority: high}]      pods of one of these priority classes; none: all pods
 *       selector: {matchLabels: {team: a}}
 *
 * A pod must state each amount that a quota of it limits. Whole GPUs have 100 % of their time. Time
 * and throughput follow from each other if the pod names a model of the table
 * (aitherion.io/gpu-model).
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kubernetes/pod.h"

enum ath_kube_amount {
    ATH_KUBE_AMOUNT_GPUS,
    ATH_KUBE_AMOUNT_MEMORY, /* bytes */
    ATH_KUBE_AMOUNT_SHARE,  /* percent of the time of one GPU */
    ATH_KUBE_AMOUNT_TFLOPS, /* dense FP16, in 10^12 operations per second */
    ATH_KUBE_AMOUNTS
};

/* Owns its texts. A quota with a fault allows no pod. */
struct ath_kube_quota {
    char *space, *name;
    char *fault;                    /* NULL: none */
    int64_t hard[ATH_KUBE_AMOUNTS]; /* -1: no limit */
    struct ath_texts priorities;    /* names of priority classes */
    json_t *labels;                 /* that pods must have; NULL: none */
};

void ath_kube_quota_free(struct ath_kube_quota *quota);

/* Reads a quota. A fault of its spec is in out->fault. Returns 0, or -EBADMSG with err if it has no
 * name and namespace; *out is then empty. */
int ath_kube_quota_read(const json_t *json, struct ath_kube_quota *out, struct ath_err *err);

/* Returns whether a quota counts a pod. */
bool ath_kube_quota_concerns(const struct ath_kube_quota *quota,
                             const struct ath_kube_claim *claim);

/* Adds what a pod with this wish has. */
void ath_kube_amounts_add(const struct ath_kube_wish *wish, int64_t sums[ATH_KUBE_AMOUNTS]);

/* Returns why a quota does not allow a pod beside those that have `used`, for people; or NULL. The
 * caller frees it. */
char *ath_kube_quota_refusal(const struct ath_kube_quota *quota, const struct ath_kube_wish *wish,
                             const int64_t used[ATH_KUBE_AMOUNTS]);
