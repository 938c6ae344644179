/* Reads resources and annotations of a pod. */
#include "config.h"

#include "kubernetes/pod.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "kubernetes/quantity.h"

enum { GPU, MEMORY, SHARE, TFLOPS, RESOURCES };
enum { GFLOPS_OF_TFLOPS = 1000, TOO_MUCH = 101 };

static const struct resource {
    const char *name;
    int kind;
} resources[] = {
    { "aitherion.io/gpu", GPU },           { "aitherion.io/gpu-memory", MEMORY },
    { "ai.compute/vram", MEMORY },         { "aitherion.io/gpu-share", SHARE },
    { "aitherion.io/gpu-tflops", TFLOPS }, { "ai.compute/tflops-fp16", TFLOPS },
};

void ath_kube_wish_free(struct ath_kube_wish *wish)
{
    free(wish->model);
    free(wish->preferred_model);
    *wish = (struct ath_kube_wish){ 0 };
}

void ath_kube_wish_copy(const struct ath_kube_wish *wish, struct ath_kube_wish *out)
{
    *out = *wish;
    out->model = ath_xstrdup(wish->model);
    out->preferred_model = ath_xstrdup(wish->preferred_model);
}

int ath_kube_wish_share(const struct ath_kube_wish *wish, const struct ath_gpu_model *model)
{
    int64_t gflops = model ? model->figures[ATH_GPU_FP16] : ATH_UNKNOWN;

    if (!wish->tflops)
        return wish->share_percent;
    if (gflops <= 0 || wish->tflops > gflops / GFLOPS_OF_TFLOPS + 1)
        return TOO_MUCH;
    int64_t percent = (wish->tflops * GFLOPS_OF_TFLOPS * 100 + gflops / 2) / gflops;
    return percent ? (int)percent : 1;
}

void ath_kube_claim_free(struct ath_kube_claim *claim)
{
    if (!claim)
        return;
    free(claim->space);
    free(claim->priority);
    json_decref(claim->labels);
    *claim = (struct ath_kube_claim){ 0 };
}

void ath_kube_pod_free(struct ath_kube_pod *pod)
{
    if (!pod)
        return;
    free(pod->name);
    free(pod->space);
    free(pod->uid);
    free(pod->node);
    free(pod->gpu_node);
    ath_kube_claim_free(&pod->claim);
    ath_kube_wish_free(&pod->wish);
    ath_texts_free(&pod->gpus);
    *pod = (struct ath_kube_pod){ 0 };
}

const char *ath_kube_text(const json_t *object, const char *member, size_t max)
{
    const json_t *value = json_object_get(object, member);
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    return text && length && length <= max && strlen(text) == length ? text : NULL;
}

bool ath_kube_is_name(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    return length && length <= ATH_KUBE_NAME_MAX && text[0] != '.' && text[0] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == length;
}

/* ---- resources ---- */

struct amounts {
    int64_t of[RESOURCES];
};

static int refuse(struct ath_err *err, const char *what, const char *why)
{
    return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, "'%s' %s", what, why);
}

static const struct resource *resource_named(const char *name)
{
    for (size_t i = 0; i < ATH_COUNT(resources); i++)
        if (!strcmp(name, resources[i].name))
            return &resources[i];
    return NULL;
}

/* Returns the first resource of a container that is known, or the first one of aitherion's names
 * that is not. */
static const char *find_resource(const json_t *container, bool is_known)
{
    static const char *const members[] = { "limits", "requests" };
    const char *name;
    json_t *value;

    for (size_t i = 0; i < ATH_COUNT(members); i++) {
        json_t *list = json_object_get(json_object_get(container, "resources"), members[i]);
        json_object_foreach(list, name, value)
        {
            bool is_ours =
                ath_starts_with(name, "aitherion.io/") || ath_starts_with(name, "ai.compute/");
            if (is_ours && (resource_named(name) != NULL) == is_known)
                return name;
        }
    }
    return NULL;
}

bool ath_kube_asks_for_gpus(const json_t *container)
{
    return find_resource(container, true) != NULL;
}

const char *ath_kube_unknown_resource(const json_t *container)
{
    return find_resource(container, false);
}

/* Adds an amount. Sums stay below 2^62, so that two of them can be added. */
static int add(int64_t *sum, int64_t amount, const char *name, struct ath_err *err)
{
    if (amount > INT64_MAX / 2 - *sum)
        return refuse(err, name, "is too large");
    *sum += amount;
    return 0;
}

static int read_amount(const json_t *value, const char *name, int64_t *out, struct ath_err *err)
{
    const char *text = json_string_value(value);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *out = json_integer_value(value);
    else if (!text || strlen(text) != json_string_length(value) ||
             ath_kube_quantity_read(text, out))
        return refuse(err, name, "is no quantity");
    return 0;
}

/* Adds what one container asks for. */
static int add_container(const json_t *container, struct amounts *out, struct ath_err *err)
{
    const json_t *wanted = json_object_get(container, "resources");
    const json_t *limits = json_object_get(wanted, "limits");
    const json_t *requests = json_object_get(wanted, "requests");
    int status = 0;

    for (size_t i = 0; !status && i < ATH_COUNT(resources); i++) {
        const char *name = resources[i].name;
        const json_t *value = json_object_get(limits, name);
        int64_t amount = 0;
        if (!value)
            value = json_object_get(requests, name);
        if (value)
            status = read_amount(value, name, &amount, err);
        if (!status)
            status = add(&out->of[resources[i].kind], amount, name, err);
    }
    return status;
}

static const json_t *list_of(const json_t *spec, const char *member, struct ath_err *err,
                             int *status)
{
    const json_t *list = json_object_get(spec, member);
    if (json_array_size(list) > ATH_KUBE_CONTAINERS_MAX)
        *status = refuse(err, member, "is too long");
    return list;
}

static bool is_sidecar(const json_t *container)
{
    const char *policy = json_string_value(json_object_get(container, "restartPolicy"));
    return policy && !strcmp(policy, "Always");
}

static void take_larger(struct amounts *most, const struct amounts *other)
{
    for (size_t i = 0; i < RESOURCES; i++)
        if (other->of[i] > most->of[i])
            most->of[i] = other->of[i];
}

/* Containers run together, and so do sidecars with all after them; other init containers run one
 * after another. */
static int add_pod(const json_t *spec, struct amounts *out, struct ath_err *err)
{
    struct amounts running = { 0 }, most = { 0 };
    int status = 0;
    const json_t *first = list_of(spec, "initContainers", err, &status);
    const json_t *others = list_of(spec, "containers", err, &status);

    for (size_t i = 0; !status && i < json_array_size(first); i++) {
        const json_t *container = json_array_get(first, i);
        struct amounts together = running;
        status = add_container(container, &together, err);
        take_larger(&most, &together);
        if (is_sidecar(container))
            running = together;
    }
    for (size_t i = 0; !status && i < json_array_size(others); i++)
        status = add_container(json_array_get(others, i), &running, err);
    take_larger(&most, &running);
    *out = most;
    return status;
}

static int64_t each(int64_t sum, int64_t count)
{
    return sum / count + (sum % count != 0);
}

static int divide(const struct amounts *sums, struct ath_kube_wish *wish, struct ath_err *err)
{
    int64_t count = sums->of[GPU];

    if (!count && (sums->of[MEMORY] || sums->of[SHARE] || sums->of[TFLOPS]))
        count = 1;
    if (!count)
        return 0;
    if (count > ATH_KUBE_GPUS_MAX)
        return refuse(err, resources[0].name, "is more than the 64 GPUs that a node may have");
    if (each(sums->of[SHARE], count) > 100)
        return refuse(err, "aitherion.io/gpu-share", "is more than 100 for each GPU");
    if (sums->of[SHARE] && sums->of[TFLOPS])
        return refuse(err, "aitherion.io/gpu-share",
                      "and aitherion.io/gpu-tflops both say which part of a GPU: give one of them");
    wish->gpu_count = (size_t)count;
    wish->memory_bytes = each(sums->of[MEMORY], count);
    wish->share_percent = (int)each(sums->of[SHARE], count);
    wish->tflops = each(sums->of[TFLOPS], count);
    wish->is_whole = !wish->memory_bytes && !wish->share_percent && !wish->tflops;
    return 0;
}

/* ---- annotations ---- */

static int read_policy(const char *text, enum ath_place_policy *out, struct ath_err *err)
{
    *out = ATH_PLACE_BEST_EFFORT;
    if (!text)
        return 0;
    for (int i = 0; i < ATH_PLACE_POLICY_COUNT; i++)
        if (!strcmp(text, ath_place_policy_word((enum ath_place_policy)i))) {
            *out = (enum ath_place_policy)i;
            return 0;
        }
    return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                       "the annotation 'aitherion.io/numa-policy' is '%.32s': give none, "
                       "single-numa, best-effort or restricted",
                       text);
}

static int read_location(const char *text, bool *out, struct ath_err *err)
{
    *out = text && !strcmp(text, "any-node");
    if (!text || *out || !strcmp(text, "same-node"))
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                       "the annotation 'aitherion.io/gpu-location' is '%.32s': give same-node or "
                       "any-node",
                       text);
}

static int read_wish(const json_t *spec, const json_t *annotations, struct ath_kube_wish *wish,
                     struct ath_err *err)
{
    struct amounts sums;
    int status = add_pod(spec, &sums, err);

    if (!status)
        status = divide(&sums, wish, err);
    if (!status && wish->gpu_count)
        status =
            read_policy(ath_kube_text(annotations, "aitherion.io/numa-policy", ATH_KUBE_NAME_MAX),
                        &wish->policy, err);
    if (!status && wish->gpu_count)
        status = read_location(
            ath_kube_text(annotations, "aitherion.io/gpu-location", ATH_KUBE_NAME_MAX),
            &wish->is_anywhere, err);
    if (status || !wish->gpu_count)
        return status;
    wish->model =
        ath_xstrdup(ath_kube_text(annotations, "aitherion.io/gpu-model", ATH_KUBE_NAME_MAX));
    wish->preferred_model =
        ath_xstrdup(ath_kube_text(annotations, "aitherion.io/preferred-model", ATH_KUBE_NAME_MAX));
    wish->model_row = wish->model ? ath_gpu_model_named(wish->model) : NULL;
    wish->preferred_row = wish->preferred_model ? ath_gpu_model_named(wish->preferred_model) : NULL;
    return 0;
}

static void read_gpus(const char *list, struct ath_texts *out)
{
    const char *part;
    size_t length;

    for (const char *rest = list;
         out->count < ATH_KUBE_GPUS_MAX && (part = ath_text_next_part(&rest, &length));) {
        ath_auto_free char *uuid = ath_xasprintf("%.*s", (int)length, part);
        if (*uuid)
            ath_texts_add(out, uuid);
    }
}

/* ---- the pod ---- */

static void read_claim(const json_t *pod, struct ath_kube_claim *out)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const json_t *labels = json_object_get(metadata, "labels");

    *out = (struct ath_kube_claim){
        .space = ath_xstrdup(ath_kube_text(metadata, "namespace", ATH_KUBE_NAME_MAX)),
        .priority = ath_xstrdup(
            ath_kube_text(json_object_get(pod, "spec"), "priorityClassName", ATH_KUBE_NAME_MAX)),
        .labels = json_is_object(labels) ? json_deep_copy(labels) : NULL,
    };
}

int ath_kube_pod_read(const json_t *json, struct ath_kube_pod *out, struct ath_err *err)
{
    const json_t *metadata = json_object_get(json, "metadata");
    const json_t *spec = json_object_get(json, "spec");
    const json_t *annotations = json_object_get(metadata, "annotations");
    const char *name = ath_kube_text(metadata, "name", ATH_KUBE_NAME_MAX);
    const char *space = ath_kube_text(metadata, "namespace", ATH_KUBE_NAME_MAX);
    const char *uid = ath_kube_text(metadata, "uid", ATH_KUBE_UID_MAX);
    const char *gpus = ath_kube_text(annotations, ATH_KUBE_GPUS_ANNOTATION, 16 << 10);
    const char *phase = ath_kube_text(json_object_get(json, "status"), "phase", 32);

    *out = (struct ath_kube_pod){ 0 };
    if (!name || !space || !uid || !json_is_object(spec))
        return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                           "a pod has no name, namespace, uid or spec");
    out->name = ath_xstrdup(name);
    out->space = ath_xstrdup(space);
    out->uid = ath_xstrdup(uid);
    out->node = ath_xstrdup(ath_kube_text(spec, "nodeName", ATH_KUBE_NAME_MAX));
    json_int_t priority = json_integer_value(json_object_get(spec, "priority"));
    out->priority = priority >= INT_MIN && priority <= INT_MAX ? (int)priority : 0;
    out->gpu_node =
        ath_xstrdup(ath_kube_text(annotations, ATH_KUBE_GPU_NODE_ANNOTATION, ATH_KUBE_NAME_MAX));
    out->is_over = phase && (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed"));
    read_claim(json, &out->claim);
    if (gpus)
        read_gpus(gpus, &out->gpus);
    return read_wish(spec, annotations, &out->wish, err);
}
