/* Reads ComputeQuotas, and counts pods against them. */
#include "config.h"

#include "kubernetes/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/quantity.h"

enum { LIST_MAX = 64, LABEL_MAX = 317 };

static const struct {
    const char *name;
    enum ath_kube_amount amount;
} names[] = {
    { "gpu", ATH_KUBE_AMOUNT_GPUS },
    { "aitherion.io/gpu", ATH_KUBE_AMOUNT_GPUS },
    { "gpu-memory", ATH_KUBE_AMOUNT_MEMORY },
    { "aitherion.io/gpu-memory", ATH_KUBE_AMOUNT_MEMORY },
    { "vram", ATH_KUBE_AMOUNT_MEMORY },
    { "ai.compute/vram", ATH_KUBE_AMOUNT_MEMORY },
    { "gpu-share", ATH_KUBE_AMOUNT_SHARE },
    { "aitherion.io/gpu-share", ATH_KUBE_AMOUNT_SHARE },
    { "gpu-tflops", ATH_KUBE_AMOUNT_TFLOPS },
    { "aitherion.io/gpu-tflops", ATH_KUBE_AMOUNT_TFLOPS },
    { "tflops-fp16", ATH_KUBE_AMOUNT_TFLOPS },
    { "ai.compute/tflops-fp16", ATH_KUBE_AMOUNT_TFLOPS },
};

static const char *const words[ATH_KUBE_AMOUNTS] = { "aitherion.io/gpu", "aitherion.io/gpu-memory",
                                                     "aitherion.io/gpu-share",
                                                     "aitherion.io/gpu-tflops" };

void ath_kube_quota_free(struct ath_kube_quota *quota)
{
    if (!quota)
        return;
    free(quota->space);
    free(quota->name);
    free(quota->fault);
    ath_texts_free(&quota->priorities);
    json_decref(quota->labels);
    *quota = (struct ath_kube_quota){ 0 };
}

/* ---- reading ---- */

/* Sets the fault, which has its place in the quota. Returns false. */
static bool fail(struct ath_kube_quota *quota, const char *what, const char *why)
{
    quota->fault = ath_xasprintf("'%.*s' %s", ATH_KUBE_NAME_MAX, what, why);
    return false;
}

static bool read_amount(struct ath_kube_quota *quota, const char *name, const json_t *value)
{
    const char *text = json_string_value(value);
    int64_t amount = json_integer_value(value);

    if (text ? ath_kube_quantity_read(text, &amount) != 0 : !json_is_integer(value) || amount < 0)
        return fail(quota, name, "is no quantity");
    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        if (strcmp(name, names[i].name) != 0)
            continue;
        int64_t *hard = &quota->hard[names[i].amount];
        if (*hard >= 0)
            return fail(quota, name, "is limited twice");
        *hard = amount;
        return true;
    }
    return fail(quota, name, "cannot be limited: give gpu, gpu-memory, gpu-share or gpu-tflops");
}

static bool read_hard(struct ath_kube_quota *quota, json_t *hard)
{
    const char *name;
    json_t *value;

    if (!json_is_object(hard) || !json_object_size(hard))
        return fail(quota, "spec.hard", "limits nothing");
    json_object_foreach(hard, name, value)
    {
        if (!read_amount(quota, name, value))
            return false;
    }
    return true;
}

static bool read_scopes(struct ath_kube_quota *quota, const json_t *scopes)
{
    if (scopes && (!json_is_array(scopes) || json_array_size(scopes) > LIST_MAX))
        return fail(quota, "spec.scopes", "is no list of at most 64 scopes");
    for (size_t i = 0; i < json_array_size(scopes); i++) {
        const json_t *scope = json_array_get(scopes, i);
        const char *priority = ath_kube_text(scope, "priority", ATH_KUBE_NAME_MAX);
        if (!priority || json_object_size(scope) != 1)
            return fail(quota, "spec.scopes", "has an entry that is no priority");
        ath_texts_add(&quota->priorities, priority);
    }
    return true;
}

static bool read_selector(struct ath_kube_quota *quota, const json_t *selector)
{
    json_t *labels = json_object_get(selector, "matchLabels");
    const char *name;
    json_t *value;

    if (!selector)
        return true;
    if (!json_is_object(labels) || json_object_size(selector) != 1 ||
        json_object_size(labels) > LIST_MAX)
        return fail(quota, "spec.selector", "has other members than matchLabels");
    json_object_foreach(labels, name, value)
    {
        if (!json_is_string(value) || strlen(name) > LABEL_MAX)
            return fail(quota, "spec.selector", "has a label that is no text");
    }
    quota->labels = json_deep_copy(labels);
    return true;
}

int ath_kube_quota_read(const json_t *json, struct ath_kube_quota *out, struct ath_err *err)
{
    const json_t *metadata = json_object_get(json, "metadata");
    const json_t *spec = json_object_get(json, "spec");
    const char *space = ath_kube_text(metadata, "namespace", ATH_KUBE_NAME_MAX);
    const char *name = ath_kube_text(metadata, "name", ATH_KUBE_NAME_MAX);

    *out = (struct ath_kube_quota){ .hard = { -1, -1, -1, -1 } };
    if (!space || !name)
        return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                           "a ComputeQuota has no name or namespace");
    out->space = ath_xstrdup(space);
    out->name = ath_xstrdup(name);
    (void)(read_hard(out, json_object_get(spec, "hard")) &&
           read_scopes(out, json_object_get(spec, "scopes")) &&
           read_selector(out, json_object_get(spec, "selector")));
    return 0;
}

/* ---- counting ---- */

static bool has_priority(const struct ath_kube_quota *quota, const char *priority)
{
    return ath_texts_has(&quota->priorities, priority) || !quota->priorities.count;
}

bool ath_kube_quota_concerns(const struct ath_kube_quota *quota, const struct ath_kube_claim *claim)
{
    const char *name;
    json_t *value;

    if (!claim->space || strcmp(claim->space, quota->space) != 0)
        return false;
    if (quota->fault)
        return true;
    json_object_foreach(quota->labels, name, value)
    {
        const json_t *has = json_object_get(claim->labels, name);
        if (!has || !json_equal(has, value))
            return false;
    }
    return has_priority(quota, claim->priority);
}

/* Returns the percent of the time of one GPU that a pod has of all its GPUs; -1: it does not state
 * it, or the GPUs cannot give it. */
static int64_t time_of(const struct ath_kube_wish *wish)
{
    int share = wish->is_whole ? 100 : ath_kube_wish_share(wish, wish->model_row);
    return share && share <= 100 ? share * (int64_t)wish->gpu_count : -1;
}

/* Returns the throughput that a pod has, rounded up; -1: it does not state it. */
static int64_t tflops_of(const struct ath_kube_wish *wish)
{
    int64_t gflops = wish->model_row ? wish->model_row->figures[ATH_GPU_FP16] : -1;
    int64_t percent = time_of(wish), count = (int64_t)wish->gpu_count;

    if (wish->tflops)
        return wish->tflops < INT64_MAX / 2 / count ? wish->tflops * count : INT64_MAX / 2;
    return gflops < 0 || percent < 0 ? -1 : (gflops * percent + 99999) / 100000;
}

/* Returns what a pod has of an amount, at most INT64_MAX / 2; -1: it does not state it. */
static int64_t amount_of(const struct ath_kube_wish *wish, enum ath_kube_amount amount)
{
    int64_t count = (int64_t)wish->gpu_count;

    switch (amount) {
    case ATH_KUBE_AMOUNT_GPUS:
        return count;
    case ATH_KUBE_AMOUNT_MEMORY:
        if (!wish->memory_bytes)
            return -1;
        return wish->memory_bytes < INT64_MAX / 2 / count ? wish->memory_bytes * count
                                                          : INT64_MAX / 2;
    case ATH_KUBE_AMOUNT_SHARE:
        return time_of(wish);
    case ATH_KUBE_AMOUNT_TFLOPS:
        return tflops_of(wish);
    case ATH_KUBE_AMOUNTS:
        break;
    }
    return -1;
}

void ath_kube_amounts_add(const struct ath_kube_wish *wish, int64_t sums[ATH_KUBE_AMOUNTS])
{
    for (int i = 0; i < ATH_KUBE_AMOUNTS; i++) {
        int64_t amount = amount_of(wish, (enum ath_kube_amount)i);
        if (amount > 0)
            sums[i] = amount < INT64_MAX - sums[i] ? sums[i] + amount : INT64_MAX;
    }
}

char *ath_kube_quota_refusal(const struct ath_kube_quota *quota, const struct ath_kube_wish *wish,
                             const int64_t used[ATH_KUBE_AMOUNTS])
{
    if (quota->fault)
        return ath_xasprintf("the ComputeQuota '%s' has a fault: %s", quota->name, quota->fault);
    for (int i = 0; i < ATH_KUBE_AMOUNTS; i++) {
        int64_t amount = amount_of(wish, (enum ath_kube_amount)i), hard = quota->hard[i];
        if (hard < 0)
            continue;
        if (amount < 0)
            return ath_xasprintf("the ComputeQuota '%s' limits %s, and the pod does not state it",
                                 quota->name, words[i]);
        if (amount > hard || used[i] > hard - amount)
            return ath_xasprintf("the ComputeQuota '%s' allows %" PRId64
                                 " of %s: pods have %" PRId64 ", and this one wants %" PRId64,
                                 quota->name, hard, words[i], used[i], amount);
    }
    return NULL;
}
