/* Binds a pod to a node: GPUs are reserved, then one call writes the annotations with the
 * binding. */
#pragma once
#include "kubernetes/api.h"
#include "kubernetes/cache.h"
#include "kubernetes/lease.h"

struct ath_kube_binding {
    const char *name, *space, *uid, *node;
};

/*
 * Returns 0, or a negative errno with err; the GPUs are then free again, except if it is not known
 * whether the API server has bound the pod: then the pod keeps them until the API server shows what
 * has become of it. lease: must be held for each call that changes something; NULL: no other
 * process binds pods. Any thread, and several at once.
 */
int ath_kube_bind(const struct ath_kube_api *api, struct ath_kube_cache *cache,
                  struct ath_kube_lease *lease, const struct ath_kube_binding *binding,
                  struct ath_err *err);
