/*
 * Keeps a node's ComputeNode and labels as the agent has them: sends what has changed, and
 * everything again every five minutes, since another program may have deleted or changed it. One
 * thread at a time.
 */
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "kubernetes/api.h"

struct ath_kube_agent {
    const struct ath_kube_api *api;
    const char *node;
    uint64_t (*clock)(void); /* milliseconds that only go forward */

    json_t *status, *labels;       /* what the API server has taken; NULL: nothing */
    uint64_t status_ms, labels_ms; /* when it did */
    unsigned int failures;         /* since the last success */
};

void ath_kube_agent_free(struct ath_kube_agent *agent);

/*
 * Sends a status and labels (report.h) if that is due. Returns 0 if the API server has both;
 * *out_wait_ms is then 0. Else a negative errno with err, and how long to wait before the next
 * step: 1 s after the first failure, then twice as long up to 30 s, or as the server asks.
 */
int ath_kube_agent_step(struct ath_kube_agent *agent, const json_t *status, const json_t *labels,
                        unsigned int *out_wait_ms, struct ath_err *err);

/* Returns the ComputeNode as a whole, for people. The caller frees it. */
json_t *ath_kube_agent_object(const char *node, const json_t *status);
