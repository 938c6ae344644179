/* The cache: pods that make room for another one. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/cache_state.h"

/* A pod of a node, while victims are chosen. */
struct guest {
    const struct ath_kube_cache_pod *pod;
    bool is_gone;
};

static bool fits_without(const struct ath_kube_cache_node *node, const struct guest *guests,
                         const struct ath_kube_wish *wish)
{
    struct ath_kube_use uses[ATH_KUBE_GPUS_MAX] = { 0 };
    struct ath_kube_verdict verdict;

    for (size_t i = 0; i < node->pod_count; i++)
        if (!guests[i].is_gone)
            ath_kube_cache_count_pod(&node->facts, guests[i].pod, uses);
    return ath_kube_cache_judge_uses(node, uses, wish, &verdict, NULL);
}

/* Pods of low priority go first, and of equal ones those that were bound last. */
static int compare_guests(const void *one, const void *other)
{
    const struct ath_kube_cache_pod *a = ((const struct guest *)one)->pod,
                                    *b = ((const struct guest *)other)->pod;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->since_ms != b->since_ms)
        return a->since_ms > b->since_ms ? -1 : 1;
    return strcmp(a->uid, b->uid);
}

/* Adds victims until the pod fits, then spares those that need not go: the one of the highest
 * priority first. Returns whether the pod fits. */
static bool choose_victims(const struct ath_kube_cache_node *node, const struct ath_kube_pod *pod,
                           struct ath_texts *victims)
{
    ath_auto_free struct guest *guests = ath_xalloc((node->pod_count + 1) * sizeof *guests);
    size_t count = 0;

    for (size_t i = 0; i < node->pod_count; i++)
        guests[i] = (struct guest){ .pod = node->pods[i],
                                    .is_gone = ath_texts_has(victims, node->pods[i]->uid) };
    qsort(guests, node->pod_count, sizeof *guests, compare_guests);
    bool fits = fits_without(node, guests, &pod->wish);
    for (; !fits && count < node->pod_count && guests[count].pod->priority < pod->priority; count++)
        if (guests[count].pod->state == ATH_KUBE_POD_BOUND && !guests[count].is_gone &&
            !strcmp(guests[count].pod->host, node->name)) {
            guests[count].is_gone = true;
            fits = fits_without(node, guests, &pod->wish);
        }
    while (fits && count--) {
        if (!guests[count].is_gone || ath_texts_has(victims, guests[count].pod->uid))
            continue;
        guests[count].is_gone = false;
        guests[count].is_gone = !fits_without(node, guests, &pod->wish);
        if (guests[count].is_gone)
            ath_texts_add(victims, guests[count].pod->uid);
    }
    return fits;
}

bool ath_kube_cache_preempt(struct ath_kube_cache *cache, const struct ath_kube_pod *pod,
                            const char *name, struct ath_texts *victims)
{
    pthread_mutex_lock(&cache->lock);
    const struct ath_kube_cache_pod *last = ath_kube_cache_find_pod(cache, pod->uid);
    const struct ath_kube_cache_node *node = ath_kube_cache_find_node(cache, name);
    bool fits = node && node->is_known && (!last || last->state == ATH_KUBE_POD_PENDING) &&
                choose_victims(node, pod, victims);
    pthread_mutex_unlock(&cache->lock);
    return fits;
}
