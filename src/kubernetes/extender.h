/*
 * Answers a scheduler's requests (kube-scheduler/extender/v1): filter, prioritize, preempt and
 * bind, with the names of nodes only (nodeCacheCapable: true). Bodies in, bodies out; http.h has
 * the server.
 */
#pragma once
#include "kubernetes/api.h"
#include "kubernetes/cache.h"
#include "kubernetes/figures.h"
#include "kubernetes/http.h"
#include "kubernetes/lease.h"

enum {
    ATH_KUBE_NODES_MAX = 65536,  /* of a request */
    ATH_KUBE_VICTIMS_MAX = 1024, /* of a node */
};

struct ath_kube_extender {
    struct ath_kube_cache *cache;
    const struct ath_kube_api *api;
    struct ath_kube_lease *lease; /* NULL: no other process binds pods */
    struct ath_kube_figures figures;
};

/* Answers one request. Returns the status of HTTP, with the body in *out: JSON if the status is
 * 200, else a line of text. Any thread, and several at once. */
unsigned int ath_kube_extender_answer(struct ath_kube_extender *extender, enum ath_kube_verb verb,
                                      const char *body, size_t length, struct ath_text *out);
