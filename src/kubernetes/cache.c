/* The maps of nodes and pods: finding, adding, counting and forgetting. The caller has the lock. */
#include "config.h"

#include "kubernetes/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/cache_state.h"

enum { BITS = 14 };

/* ---- finding ---- */

/* FNV-1a (draft-eastlake-fnv). */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

struct ath_kube_cache_node *ath_kube_cache_find_node(const struct ath_kube_cache *cache,
                                                     const char *name)
{
    uint64_t key = hash_of(name);
    for (struct ath_map_entry **at = ath_map_at(&cache->nodes, key); *at;
         at = ath_map_same(&(*at)->next, key))
        if (!strcmp(((struct ath_kube_cache_node *)*at)->name, name))
            return (struct ath_kube_cache_node *)*at;
    return NULL;
}

struct ath_kube_cache_pod *ath_kube_cache_find_pod(const struct ath_kube_cache *cache,
                                                   const char *uid)
{
    uint64_t key = hash_of(uid);
    for (struct ath_map_entry **at = ath_map_at(&cache->pods, key); *at;
         at = ath_map_same(&(*at)->next, key))
        if (!strcmp(((struct ath_kube_cache_pod *)*at)->uid, uid))
            return (struct ath_kube_cache_pod *)*at;
    return NULL;
}

static void take_out(const struct ath_map *map, struct ath_map_entry *entry)
{
    struct ath_map_entry **at = ath_map_bucket(map, entry->key);
    while (*at != entry)
        at = &(*at)->next;
    ath_map_take(at);
}

struct ath_kube_cache_node *ath_kube_cache_node(struct ath_kube_cache *cache, const char *name)
{
    struct ath_kube_cache_node *node = ath_kube_cache_find_node(cache, name);
    if (node)
        return node;
    node = ath_xalloc(sizeof *node);
    node->name = ath_xstrdup(name);
    ath_map_add(&cache->nodes, &node->link, hash_of(name));
    return node;
}

struct ath_kube_cache_pod *ath_kube_cache_pod(struct ath_kube_cache *cache, const char *uid)
{
    struct ath_kube_cache_pod *pod = ath_kube_cache_find_pod(cache, uid);
    if (pod)
        return pod;
    pod = ath_xalloc(sizeof *pod);
    pod->uid = ath_xstrdup(uid);
    ath_map_add(&cache->pods, &pod->link, hash_of(uid));
    return pod;
}

/* ---- what pods use ---- */

size_t ath_kube_cache_gpu(const struct ath_machine *machine, const char *uuid)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (!strcmp(machine->gpus[i].uuid, uuid))
            return i;
    return machine->gpu_count;
}

void ath_kube_cache_count_pod(const struct ath_kube_node *facts,
                              const struct ath_kube_cache_pod *pod,
                              struct ath_kube_use uses[ATH_KUBE_GPUS_MAX])
{
    for (size_t i = 0; i < pod->gpus.count; i++) {
        size_t gpu = ath_kube_cache_gpu(&facts->machine, pod->gpus.items[i]);
        if (gpu < facts->machine.gpu_count)
            ath_kube_use_add(&uses[gpu], &pod->wish, facts, gpu);
    }
}

void ath_kube_cache_recount(struct ath_kube_cache_node *node)
{
    memset(node->uses, 0, sizeof node->uses);
    for (size_t i = 0; i < node->pod_count; i++)
        ath_kube_cache_count_pod(&node->facts, node->pods[i], node->uses);
}

void ath_kube_cache_forget_facts(struct ath_kube_cache *cache, struct ath_kube_cache_node *node)
{
    if (node->is_known)
        ath_kube_shape_leave(&cache->shapes, node->shape);
    ath_kube_node_free(&node->facts);
    free(node->fault);
    node->fault = NULL;
    node->is_known = false;
}

void ath_kube_cache_tidy_node(struct ath_kube_cache *cache, struct ath_kube_cache_node *node)
{
    if (node->is_known || node->fault || node->pod_count)
        return;
    take_out(&cache->nodes, &node->link);
    free(node->pods);
    free(node->name);
    free(node);
}

void ath_kube_cache_set_state(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod,
                              enum ath_kube_pod_state state)
{
    cache->unsure_count +=
        (size_t)(state == ATH_KUBE_POD_UNSURE) - (size_t)(pod->state == ATH_KUBE_POD_UNSURE);
    pod->state = state;
    pod->since_ms = cache->clock();
}

void ath_kube_cache_detach(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod)
{
    struct ath_kube_cache_node *node = pod->node;

    ath_kube_cache_set_state(cache, pod, ATH_KUBE_POD_PENDING);
    pod->was_unsure = false;
    ath_texts_free(&pod->gpus);
    pod->gpus = (struct ath_texts){ 0 };
    free(pod->host);
    pod->host = NULL;
    if (!node)
        return;
    for (size_t i = 0; i < node->pod_count; i++)
        if (node->pods[i] == pod) {
            node->pods[i] = node->pods[--node->pod_count];
            break;
        }
    pod->node = NULL;
    ath_kube_cache_recount(node);
    ath_kube_cache_tidy_node(cache, node);
}

void ath_kube_cache_attach(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod,
                           const char *host, const char *name, enum ath_kube_pod_state state,
                           struct ath_texts *gpus)
{
    ath_kube_cache_detach(cache, pod);
    struct ath_kube_cache_node *node = ath_kube_cache_node(cache, name);
    pod->host = ath_xstrdup(host);
    struct ath_kube_cache_pod **slot = ath_push(&node->pods, &node->pod_count, sizeof *slot);
    *slot = pod;
    pod->node = node;
    ath_kube_cache_set_state(cache, pod, state);
    pod->gpus = *gpus;
    *gpus = (struct ath_texts){ 0 };
    ath_kube_cache_count_pod(&node->facts, pod, node->uses);
}

void ath_kube_cache_free_pod(struct ath_kube_cache_pod *pod)
{
    free(pod->uid);
    free(pod->host);
    ath_kube_claim_free(&pod->claim);
    ath_kube_wish_free(&pod->wish);
    ath_texts_free(&pod->gpus);
    free(pod);
}

void ath_kube_cache_forget_pod(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod)
{
    if (!pod)
        return;
    ath_kube_cache_detach(cache, pod);
    take_out(&cache->pods, &pod->link);
    ath_kube_cache_free_pod(pod);
}

/* ---- life ---- */

struct ath_kube_cache *ath_kube_cache_make(uint64_t (*clock)(void), uint64_t unsure_ms)
{
    struct ath_kube_cache *cache = ath_xalloc(sizeof *cache);

    pthread_mutex_init(&cache->lock, NULL);
    cache->clock = clock;
    cache->unsure_ms = unsure_ms;
    cache->nodes.bits = cache->pods.bits = BITS;
    cache->nodes.buckets = ath_xalloc(sizeof *cache->nodes.buckets << BITS);
    cache->pods.buckets = ath_xalloc(sizeof *cache->pods.buckets << BITS);
    return cache;
}

void ath_kube_cache_free(struct ath_kube_cache *cache)
{
    if (!cache)
        return;
    ATH_MAP_EACH(&cache->pods, at)
    ath_kube_cache_free_pod(ath_map_take(at));
    ATH_MAP_EACH(&cache->nodes, at)
    {
        struct ath_kube_cache_node *node = ath_map_take(at);
        ath_kube_cache_forget_facts(cache, node);
        free(node->pods);
        free(node->name);
        free(node);
    }
    ath_kube_shapes_free(&cache->shapes);
    for (size_t i = 0; i < cache->quota_count; i++)
        ath_kube_quota_free(&cache->quotas[i].facts);
    free(cache->quotas);
    free(cache->nodes.buckets);
    free(cache->pods.buckets);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* ---- counts ---- */

static void count_node(const struct ath_kube_cache_node *node, struct ath_kube_cache_counts *out)
{
    out->nodes += node->is_known;
    for (size_t i = 0; i < node->facts.machine.gpu_count; i++) {
        out->gpus++;
        out->gpus_used += node->uses[i].pod_count > 0;
    }
}

void ath_kube_cache_count(struct ath_kube_cache *cache, struct ath_kube_cache_counts *out)
{
    *out = (struct ath_kube_cache_counts){ 0 };
    pthread_mutex_lock(&cache->lock);
    ATH_MAP_EACH(&cache->nodes, at)
    count_node((const struct ath_kube_cache_node *)*at, out);
    ATH_MAP_EACH(&cache->pods, at)
    {
        const struct ath_kube_cache_pod *pod = (const struct ath_kube_cache_pod *)*at;
        out->pods_pending += pod->state == ATH_KUBE_POD_PENDING;
        out->pods_reserved += pod->state == ATH_KUBE_POD_RESERVED;
        out->pods_unsure += pod->state == ATH_KUBE_POD_UNSURE;
        out->pods_bound += pod->state == ATH_KUBE_POD_BOUND;
    }
    pthread_mutex_unlock(&cache->lock);
}
