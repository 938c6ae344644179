/* The table of rules for objects, and the check of each. */
#include "config.h"

#include "kubernetes/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/pod.h"
#include "kubernetes/quota.h"

/* The annotations that the extender writes with a binding. */
static const char *const protected_names[] = {
    ATH_KUBE_GPUS_ANNOTATION,
    "aitherion.io/numa-nodes",
    "aitherion.io/runtime",
    ATH_KUBE_GPU_NODE_ANNOTATION,
    "aitherion.io/memory-of-each-gpu",
    "aitherion.io/share-of-each-gpu",
};

static const json_t *annotation_of(const json_t *object, const char *name)
{
    const json_t *metadata = json_object_get(object, "metadata");
    return json_object_get(json_object_get(metadata, "annotations"), name);
}

static const char *first_protected(const json_t *object)
{
    for (size_t i = 0; i < ATH_COUNT(protected_names); i++)
        if (annotation_of(object, protected_names[i]))
            return protected_names[i];
    return NULL;
}

static char *refuse_annotation(const char *name)
{
    return ath_xasprintf("only the scheduler writes the annotation '%s', with the binding of a "
                         "pod: leave it out",
                         name);
}

/* ---- pods ---- */

static char *check_resources(const json_t *spec, const char *list)
{
    const json_t *containers = json_object_get(spec, list);

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const char *name = ath_kube_unknown_resource(json_array_get(containers, i));
        if (name)
            return ath_xasprintf("the resource '%.253s' is not known: ask for aitherion.io/gpu, "
                                 "aitherion.io/gpu-memory (also ai.compute/vram), "
                                 "aitherion.io/gpu-share or aitherion.io/gpu-tflops (also "
                                 "ai.compute/tflops-fp16)",
                                 name);
    }
    return NULL;
}

static char *check_new_pod(const struct ath_kube_guard *guard, const struct ath_kube_review *review)
{
    const json_t *spec = json_object_get(review->object, "spec");
    const char *name = first_protected(review->object);
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    struct ath_err err = { 0 };
    (void)guard;

    if (name)
        return refuse_annotation(name);
    char *why = check_resources(spec, "containers");
    if (!why)
        why = check_resources(spec, "initContainers");
    if (why)
        return why;
    if (ath_kube_pod_read(review->object, &pod, &err))
        return ath_xasprintf("the pod cannot get GPUs: %s", err.message);
    if (pod.wish.gpu_count && pod.node)
        return ath_xasprintf("a pod with GPUs goes to the node that has them: leave out "
                             "spec.nodeName ('%s')",
                             pod.node);
    return NULL;
}

static char *check_changed_pod(const struct ath_kube_guard *guard,
                               const struct ath_kube_review *review)
{
    (void)guard;
    for (size_t i = 0; i < ATH_COUNT(protected_names); i++) {
        const json_t *old = annotation_of(review->old_object, protected_names[i]);
        const json_t *new = annotation_of(review->object, protected_names[i]);
        if (old != new && (!old || !new || !json_equal(old, new)))
            return refuse_annotation(protected_names[i]);
    }
    return NULL;
}

static char *check_binding(const struct ath_kube_guard *guard, const struct ath_kube_review *review)
{
    const char *name = first_protected(review->object);
    if (!name || (guard->binder && !strcmp(review->user, guard->binder)))
        return NULL;
    return refuse_annotation(name);
}

/* ---- ComputeNodes ---- */

static char *check_node(const struct ath_kube_guard *guard, const struct ath_kube_review *review)
{
    const json_t *nodes = json_object_get(review->extra, "authentication.kubernetes.io/node-name");
    const char *node = json_string_value(json_array_get(nodes, 0));
    const char *name =
        ath_kube_text(json_object_get(review->object, "metadata"), "name", ATH_KUBE_NAME_MAX);

    if (!guard->agent || strcmp(review->user, guard->agent) != 0 || !node ||
        (name && !strcmp(node, name)))
        return NULL;
    return ath_xasprintf("the agent of the node '%.253s' may not write the ComputeNode '%s'", node,
                         name ? name : "");
}

/* ---- ComputeQuotas ---- */

static char *check_quota(const struct ath_kube_guard *guard, const struct ath_kube_review *review)
{
    ATH_AUTO(ath_kube_quota) quota = { 0 };
    struct ath_err err = { 0 };
    (void)guard;

    if (ath_kube_quota_read(review->object, &quota, &err))
        return ath_xstrdup(err.message);
    return quota.fault ? ath_xstrdup(quota.fault) : NULL;
}

/* ---- rules ---- */

static const struct rule {
    const char *resource, *subresource; /* NULL: any */
    const char *operation;
    char *(*check)(const struct ath_kube_guard *guard, const struct ath_kube_review *review);
} rules[] = {
    { "pods", "", "CREATE", check_new_pod },
    { "pods", NULL, "UPDATE", check_changed_pod }, /* the status is written with annotations */
    { "pods", "binding", "CREATE", check_binding },
    { "bindings", "", "CREATE", check_binding }, /* the older form of a binding */
    { "computenodes", NULL, "CREATE", check_node },
    { "computenodes", NULL, "UPDATE", check_node },
    { "computequotas", "", "CREATE", check_quota },
    { "computequotas", "", "UPDATE", check_quota },
};

char *ath_kube_guard_check(const struct ath_kube_guard *guard, const struct ath_kube_review *review)
{
    for (size_t i = 0; i < ATH_COUNT(rules); i++) {
        const struct rule *rule = &rules[i];
        if (!strcmp(rule->resource, review->resource) &&
            !strcmp(rule->operation, review->operation) &&
            (!rule->subresource || !strcmp(rule->subresource, review->subresource)))
            return rule->check(guard, review);
    }
    return NULL;
}
