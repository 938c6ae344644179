/* Binds a pod to a node: GPUs are reserved, then one call writes the annotations with the binding.
 */
#pragma once
#include "kubernetes/api.h"
#include "kubernetes/cache.h"

struct ath_kube_binding {
    const char *name, *space, *uid, *node;
};

/* Returns 0, or a negative errno with err; the GPUs are then free again, except if it is not known
 * whether the API server has bound the pod: then the reservation lasts until it expires. Any
 * thread, and several at once. */
int ath_kube_bind(const struct ath_kube_api *api, struct ath_kube_cache *cache,
                  const struct ath_kube_binding *binding, struct ath_err *err);
