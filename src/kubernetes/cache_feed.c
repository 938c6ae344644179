/* The cache: lists and changes that the API server sends. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/cache_state.h"

void ath_kube_cache_begin(struct ath_kube_cache *cache, enum ath_kube_kind kind)
{
    pthread_mutex_lock(&cache->lock);
    cache->generations[kind]++;
    cache->begun_ms[kind] = cache->clock();
    pthread_mutex_unlock(&cache->lock);
}

/* Drops pods that the list lacks, except those that this process has reserved, or has bound since
 * the list began. */
static void drop_old_pods(struct ath_kube_cache *cache)
{
    ATH_MAP_EACH(&cache->pods, at)
    {
        struct ath_kube_cache_pod *pod = (struct ath_kube_cache_pod *)*at;
        if (pod->generation == cache->generations[ATH_KUBE_PODS] ||
            pod->state == ATH_KUBE_POD_RESERVED ||
            (pod->state != ATH_KUBE_POD_PENDING && pod->since_ms >= cache->begun_ms[ATH_KUBE_PODS]))
            continue;
        ath_kube_cache_detach(cache, pod);
        ath_kube_cache_free_pod(ath_map_take(at));
    }
}

static void drop_old_nodes(struct ath_kube_cache *cache)
{
    ATH_MAP_EACH(&cache->nodes, at)
    {
        struct ath_kube_cache_node *node = (struct ath_kube_cache_node *)*at;
        if (node->generation == cache->generations[ATH_KUBE_NODES])
            continue;
        ath_kube_cache_forget_facts(cache, node);
        ath_kube_cache_recount(node);
        ath_kube_cache_tidy_node(cache, node);
    }
}

static void drop_quota(struct ath_kube_cache *cache, size_t index)
{
    ath_kube_quota_free(&cache->quotas[index].facts);
    cache->quotas[index] = cache->quotas[--cache->quota_count];
}

static void drop_old_quotas(struct ath_kube_cache *cache)
{
    for (size_t i = cache->quota_count; i--;)
        if (cache->quotas[i].generation != cache->generations[ATH_KUBE_QUOTAS])
            drop_quota(cache, i);
}

void ath_kube_cache_end(struct ath_kube_cache *cache, enum ath_kube_kind kind)
{
    pthread_mutex_lock(&cache->lock);
    static void (*const droppers[ATH_KUBE_KINDS])(
        struct ath_kube_cache *) = { drop_old_nodes, drop_old_pods, drop_old_quotas };
    droppers[kind](cache);
    cache->ended[kind] = cache->generations[kind];
    pthread_mutex_unlock(&cache->lock);
}

bool ath_kube_cache_is_ready(struct ath_kube_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    bool is_ready = true;
    for (int kind = 0; kind < ATH_KUBE_KINDS; kind++)
        is_ready = is_ready && cache->ended[kind];
    pthread_mutex_unlock(&cache->lock);
    return is_ready;
}

uint64_t ath_kube_cache_want_list(struct ath_kube_cache *cache, enum ath_kube_kind kind)
{
    pthread_mutex_lock(&cache->lock);
    uint64_t number = cache->wanted[kind] = cache->generations[kind] + 1;
    pthread_mutex_unlock(&cache->lock);
    return number;
}

bool ath_kube_cache_has_list(struct ath_kube_cache *cache, enum ath_kube_kind kind, uint64_t number)
{
    pthread_mutex_lock(&cache->lock);
    bool has_it = cache->ended[kind] >= number;
    pthread_mutex_unlock(&cache->lock);
    return has_it;
}

/* Returns whether the answer to a binding has been lost for so long that only a list can tell what
 * has become of the pod. */
static bool is_list_overdue(const struct ath_kube_cache *cache)
{
    uint64_t now_ms = cache->clock();

    if (!cache->unsure_count || now_ms - cache->begun_ms[ATH_KUBE_PODS] < cache->unsure_ms)
        return false;
    ATH_MAP_EACH(&cache->pods, at)
    {
        const struct ath_kube_cache_pod *pod = (const struct ath_kube_cache_pod *)*at;
        if (pod->state == ATH_KUBE_POD_UNSURE && now_ms - pod->since_ms >= cache->unsure_ms)
            return true;
    }
    return false;
}

bool ath_kube_cache_wants_list(struct ath_kube_cache *cache, enum ath_kube_kind kind)
{
    pthread_mutex_lock(&cache->lock);
    bool wants_it = cache->wanted[kind] > cache->generations[kind] ||
                    (kind == ATH_KUBE_PODS && is_list_overdue(cache));
    pthread_mutex_unlock(&cache->lock);
    return wants_it;
}

/* Returns whether the API server cannot have bound a pod any more when it made the last list. */
static bool is_sure_now(const struct ath_kube_cache *cache, const struct ath_kube_cache_pod *pod)
{
    return pod->state == ATH_KUBE_POD_UNSURE &&
           cache->begun_ms[ATH_KUBE_PODS] >= pod->since_ms + cache->unsure_ms;
}

/* A pod that is not bound yet keeps a reservation, and so does one whose binding the API server has
 * not sent yet. */
static void put_pod(struct ath_kube_cache *cache, struct ath_kube_pod *read)
{
    bool has_gpus = read->node && read->gpus.count;

    if (read->is_over || !read->wish.gpu_count || (read->node && !has_gpus)) {
        ath_kube_cache_forget_pod(cache, ath_kube_cache_find_pod(cache, read->uid));
        return;
    }
    struct ath_kube_cache_pod *pod = ath_kube_cache_pod(cache, read->uid);
    pod->generation = cache->generations[ATH_KUBE_PODS];
    ath_kube_claim_free(&pod->claim);
    pod->claim = read->claim;
    read->claim = (struct ath_kube_claim){ 0 };
    if (!has_gpus && pod->state != ATH_KUBE_POD_PENDING && !is_sure_now(cache, pod))
        return;
    ath_kube_cache_detach(cache, pod); /* with the wish that was counted */
    pod->priority = read->priority;
    ath_kube_wish_free(&pod->wish);
    pod->wish = read->wish;
    read->wish = (struct ath_kube_wish){ 0 };
    if (has_gpus)
        ath_kube_cache_attach(cache, pod, read->node, read->gpu_node ? read->gpu_node : read->node,
                              ATH_KUBE_POD_BOUND, &read->gpus);
}

static int take_pod(struct ath_kube_cache *cache, const json_t *object, struct ath_err *err)
{
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    int status = ath_kube_pod_read(object, &pod, err);

    if (status == -EBADMSG)
        return status;
    pthread_mutex_lock(&cache->lock);
    put_pod(cache, &pod);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

static int take_node(struct ath_kube_cache *cache, const json_t *object, struct ath_err *err)
{
    struct ath_kube_node facts;
    struct ath_err fault = { 0 };
    int status = ath_kube_node_read(object, &facts, &fault);
    const char *name =
        status ? ath_kube_text(json_object_get(object, "metadata"), "name", ATH_KUBE_NAME_MAX)
               : facts.name;
    if (status)
        ath_err_copy(err, &fault);
    if (!name)
        return status;
    pthread_mutex_lock(&cache->lock);
    struct ath_kube_cache_node *node = ath_kube_cache_node(cache, name);
    ath_kube_cache_forget_facts(cache, node);
    node->generation = cache->generations[ATH_KUBE_NODES];
    if (status) {
        node->fault = ath_xstrdup(fault.message);
    } else {
        node->facts = facts;
        node->shape = ath_kube_shape_join(&cache->shapes, &node->facts);
        node->is_known = true;
    }
    ath_kube_cache_recount(node);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

/* Returns the index of a quota, or the count of all. */
static size_t quota_named(const struct ath_kube_cache *cache, const char *space, const char *name)
{
    size_t i = 0;
    while (i < cache->quota_count && (strcmp(cache->quotas[i].facts.space, space) != 0 ||
                                      strcmp(cache->quotas[i].facts.name, name) != 0))
        i++;
    return i;
}

static int take_quota(struct ath_kube_cache *cache, const json_t *object, struct ath_err *err)
{
    struct ath_kube_quota facts;
    int status = ath_kube_quota_read(object, &facts, err);

    if (status)
        return status;
    if (facts.fault)
        status = ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, "the ComputeQuota '%s': %s",
                             facts.name, facts.fault);
    pthread_mutex_lock(&cache->lock);
    size_t index = quota_named(cache, facts.space, facts.name);
    struct ath_kube_cache_quota *quota =
        index < cache->quota_count ? &cache->quotas[index]
                                   : ath_push(&cache->quotas, &cache->quota_count, sizeof *quota);
    ath_kube_quota_free(&quota->facts);
    *quota = (struct ath_kube_cache_quota){ facts, cache->generations[ATH_KUBE_QUOTAS] };
    pthread_mutex_unlock(&cache->lock);
    return status;
}

int ath_kube_cache_take(struct ath_kube_cache *cache, enum ath_kube_kind kind, const json_t *object,
                        struct ath_err *err)
{
    static int (*const takers[ATH_KUBE_KINDS])(struct ath_kube_cache *, const json_t *,
                                               struct ath_err *) = { take_node, take_pod,
                                                                     take_quota };
    return takers[kind](cache, object, err);
}

/* Drops a node that was deleted, except what pods have of it. */
static void forget_node(struct ath_kube_cache *cache, const char *name)
{
    struct ath_kube_cache_node *node = ath_kube_cache_find_node(cache, name);
    if (!node)
        return;
    ath_kube_cache_forget_facts(cache, node);
    ath_kube_cache_recount(node);
    ath_kube_cache_tidy_node(cache, node);
}

static void forget_quota(struct ath_kube_cache *cache, const char *space, const char *name)
{
    size_t index = quota_named(cache, space, name);
    if (index < cache->quota_count)
        drop_quota(cache, index);
}

void ath_kube_cache_drop(struct ath_kube_cache *cache, enum ath_kube_kind kind,
                         const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const char *name = ath_kube_text(metadata, "name", ATH_KUBE_NAME_MAX);
    const char *space = ath_kube_text(metadata, "namespace", ATH_KUBE_NAME_MAX);
    const char *uid = ath_kube_text(metadata, "uid", ATH_KUBE_UID_MAX);

    pthread_mutex_lock(&cache->lock);
    if (kind == ATH_KUBE_PODS && uid)
        ath_kube_cache_forget_pod(cache, ath_kube_cache_find_pod(cache, uid));
    if (kind == ATH_KUBE_NODES && name)
        forget_node(cache, name);
    if (kind == ATH_KUBE_QUOTAS && name && space)
        forget_quota(cache, space, name);
    pthread_mutex_unlock(&cache->lock);
}
