/*
 * The rules of the webhook: objects that may not be written. Pure computation.
 *
 *     pods, new          no annotations of a binding; no node; a request that can be understood
 *     pods, changed      the annotations of a binding stay as they are, also when the status is
 *                        written
 *     bindings           annotations of a binding only from the extender
 *     ComputeNodes       from an agent only that of its own node, if the API server tells the node
 *                        of the agent (since Kubernetes 1.30)
 *     ComputeQuotas      without faults
 */
#pragma once
#include "kubernetes/review.h"

struct ath_kube_guard {
    const char *binder; /* the user name of the extender; NULL: none */
    const char *agent;  /* the user name of agents; NULL: not checked */
};

/* Returns NULL if the object may be written, else the reason for people. The caller frees it. */
char *ath_kube_guard_check(const struct ath_kube_guard *guard,
                           const struct ath_kube_review *review);
