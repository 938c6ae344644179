/*
 * The parts that a pod with GPUs of aitherion gets at its creation, as operations of a JSON patch.
 * Pure computation.
 *
 *     schedulerName     of the scheduler that asks the extender, if the pod names none of its own
 *     a volume          aitherion's client library, which an init container copies there
 *     a Secret          with the key of the runtimes
 *     in containers that ask for GPUs: both volumes, and variables that name the runtime, the GPUs
 *     and the limits. They come from the annotations that the binding writes, by the downward API
 *
 * A pod with the annotation aitherion.io/inject: "false" gets the schedulerName alone.
 */
#pragma once
#include <jansson.h>

struct ath_kube_injection {
    const char *image;     /* Debian's form of folders, with the client library and /bin/sh */
    const char *scheduler; /* a schedulerName; NULL: it is left as it is */
    const char *secret;    /* the name of a Secret in the pod's namespace, with the member "key" */
};

/* Returns the operations: an empty list if the pod asks for no GPU, or has everything already. The
 * caller frees the list. */
json_t *ath_kube_inject(const json_t *pod, const struct ath_kube_injection *injection);
