/* The cache: nodes for a pod, and the reservation of its GPUs. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "kubernetes/cache_state.h"
#include "place/cpus.h"

/* ---- one node ---- */

bool ath_kube_cache_judge_uses(const struct ath_kube_cache_node *node,
                               const struct ath_kube_use *uses, const struct ath_kube_wish *wish,
                               struct ath_kube_verdict *verdict, struct ath_text *why)
{
    if (node && node->is_known) {
        ath_kube_judge(&node->facts, node->shape, uses, wish, verdict, why);
        return verdict->fits;
    }
    *verdict = (struct ath_kube_verdict){ .is_hopeless = true };
    if (!why)
        return false;
    if (node && node->fault)
        ath_text_add(why, "the ComputeNode has a fault: %s", node->fault);
    else
        ath_text_add(why, "there is no ComputeNode: aitherion's agent does not run on the node");
    return false;
}

/* Returns whether a binding of the pod may be on its way, or has been made. */
static bool is_placed(const struct ath_kube_cache_pod *pod)
{
    return pod && pod->state != ATH_KUBE_POD_PENDING;
}

/* Judges one node for a pod. last: the pod as it is known, or NULL. The node that a binding may be
 * on its way to takes the pod again, with the GPUs that it has; no other node does. */
static bool judge(const struct ath_kube_cache_node *node, const char *name,
                  const struct ath_kube_cache_pod *last, const struct ath_kube_wish *wish,
                  struct ath_kube_verdict *verdict, struct ath_text *why)
{
    if (!is_placed(last))
        return ath_kube_cache_judge_uses(node, node ? node->uses : NULL, wish, verdict, why);
    *verdict = (struct ath_kube_verdict){ .fits = !strcmp(last->host, name) };
    if (!verdict->fits && why)
        ath_text_add(why, "a binding of the pod to the node '%.253s' may be on its way",
                     last->host);
    return verdict->fits;
}

/* ---- GPUs of other nodes ---- */

/* The best node for GPUs that a pod uses from another one. */
struct elsewhere {
    const struct ath_kube_cache_node *node; /* NULL: none */
    struct ath_kube_verdict verdict;
};

/* Returns whether a node is better than the best one until now. The first name decides between
 * equal scores, so that a reservation takes the node that was judged. */
static bool is_better(const struct ath_kube_cache_node *node, int score,
                      const struct ath_kube_cache_node *best, int best_score)
{
    return !best || score > best_score ||
           (score == best_score && strcmp(node->name, best->name) < 0);
}

/* Finds the node with the best score among those whose runtime pods of other nodes can reach. */
static void find_elsewhere(const struct ath_kube_cache *cache, const struct ath_kube_wish *wish,
                           struct elsewhere *out)
{
    struct ath_kube_verdict verdict;
    int64_t best_ring = INT64_MIN;
    int best_score = 0;

    out->node = NULL;
    ATH_MAP_EACH(&cache->nodes, at)
    {
        const struct ath_kube_cache_node *node = (const struct ath_kube_cache_node *)*at;
        if (node->is_known && node->facts.runtime &&
            ath_kube_cache_judge_uses(node, node->uses, wish, &verdict, NULL) &&
            verdict.ring_value > best_ring)
            best_ring = verdict.ring_value;
    }
    ATH_MAP_EACH(&cache->nodes, at)
    {
        const struct ath_kube_cache_node *node = (const struct ath_kube_cache_node *)*at;
        if (!node->is_known || !node->facts.runtime ||
            !ath_kube_cache_judge_uses(node, node->uses, wish, &verdict, NULL))
            continue;
        int score = ath_kube_score(&verdict, best_ring);
        if (is_better(node, score, out->node, best_score)) {
            best_score = score;
            *out = (struct elsewhere){ node, verdict };
        }
    }
}

static bool takes_elsewhere(const struct ath_kube_wish *wish, const struct ath_kube_cache_pod *last)
{
    return wish->is_anywhere && !is_placed(last);
}

/* ---- quotas ---- */

/* Adds what the pods have that a quota counts, except one pod. */
static void count_used(const struct ath_kube_cache *cache, const struct ath_kube_quota *quota,
                       const char *except, int64_t used[ATH_KUBE_AMOUNTS])
{
    ATH_MAP_EACH(&cache->pods, at)
    {
        const struct ath_kube_cache_pod *pod = (const struct ath_kube_cache_pod *)*at;
        if (is_placed(pod) && strcmp(pod->uid, except) != 0 &&
            ath_kube_quota_concerns(quota, &pod->claim))
            ath_kube_amounts_add(&pod->wish, used);
    }
}

/* Returns why a quota does not allow a pod, or NULL. The caller frees the text. */
static char *over_quota(const struct ath_kube_cache *cache, const char *uid,
                        const struct ath_kube_claim *claim, const struct ath_kube_wish *wish)
{
    char *why = NULL;

    for (size_t i = 0; !why && i < cache->quota_count; i++) {
        const struct ath_kube_quota *quota = &cache->quotas[i].facts;
        int64_t used[ATH_KUBE_AMOUNTS] = { 0 };
        if (!ath_kube_quota_concerns(quota, claim))
            continue;
        count_used(cache, quota, uid, used);
        why = ath_kube_quota_refusal(quota, wish, used);
    }
    return why;
}

/* ---- requests ---- */

/* Sets the opinion about all nodes. */
static void refuse_all(const char *why, size_t count, bool wants_reasons,
                       struct ath_kube_opinion *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (struct ath_kube_opinion){ .is_hopeless = true,
                                            .why = wants_reasons ? ath_xstrdup(why) : NULL };
}

void ath_kube_cache_judge(struct ath_kube_cache *cache, const struct ath_kube_pod *pod,
                          const char *const *names, size_t count, bool wants_reasons,
                          struct ath_kube_opinion *out)
{
    ath_auto_free struct ath_kube_verdict *verdicts = ath_xalloc(count * sizeof *verdicts);
    ath_auto_free bool *are_elsewhere = ath_xalloc((count + 1) * sizeof *are_elsewhere);
    struct elsewhere elsewhere = { 0 };
    int64_t best_ring = INT64_MIN;

    pthread_mutex_lock(&cache->lock);
    const struct ath_kube_cache_pod *last = ath_kube_cache_find_pod(cache, pod->uid);
    ath_auto_free char *over =
        is_placed(last) ? NULL : over_quota(cache, pod->uid, &pod->claim, &pod->wish);
    if (over) {
        pthread_mutex_unlock(&cache->lock);
        refuse_all(over, count, wants_reasons, out);
        return;
    }
    if (takes_elsewhere(&pod->wish, last))
        find_elsewhere(cache, &pod->wish, &elsewhere);
    for (size_t i = 0; i < count; i++) {
        const struct ath_kube_cache_node *node = ath_kube_cache_find_node(cache, names[i]);
        struct ath_text why = { 0 };
        bool fits =
            judge(node, names[i], last, &pod->wish, &verdicts[i], wants_reasons ? &why : NULL);
        if (!fits && elsewhere.node) {
            verdicts[i] = elsewhere.verdict;
            are_elsewhere[i] = fits = true;
            ath_text_free(&why);
        }
        out[i] = (struct ath_kube_opinion){ .fits = fits, .is_hopeless = verdicts[i].is_hopeless };
        if (!fits && wants_reasons)
            out[i].why = ath_text_take(&why);
        if (fits && verdicts[i].ring_value > best_ring)
            best_ring = verdicts[i].ring_value;
    }
    pthread_mutex_unlock(&cache->lock);
    for (size_t i = 0; i < count; i++)
        if (out[i].fits)
            out[i].score = ath_kube_score(&verdicts[i], best_ring) / (are_elsewhere[i] ? 2 : 1);
}

void ath_kube_place_free(struct ath_kube_place *place)
{
    if (!place)
        return;
    ath_texts_free(&place->gpus);
    free(place->numa_nodes);
    free(place->runtime);
    free(place->gpu_node);
    ath_kube_wish_free(&place->wish);
    *place = (struct ath_kube_place){ 0 };
}

/* Returns the NUMA nodes of GPUs as "0,8", or NULL if one is not known. */
static char *numa_nodes_of(const struct ath_machine *machine,
                           const struct ath_kube_verdict *verdict)
{
    ATH_AUTO(ath_idset) nodes = { 0 };
    struct ath_text text = { 0 };

    for (size_t i = 0; i < verdict->gpu_count; i++) {
        int node = ath_place_node_of(machine, &machine->gpus[verdict->ring[i]]);
        if (node == ATH_UNKNOWN)
            return NULL;
        ath_idset_add(&nodes, node, node);
    }
    for (int node = -1; (node = ath_idset_next(&nodes, node)) >= 0;)
        ath_text_add_part(&text, ",", "%d", node);
    return ath_text_take(&text);
}

/* Sets the share of each GPU: the greatest one, if models differ. */
static void set_share(const struct ath_kube_node *facts, const struct ath_kube_verdict *verdict,
                      struct ath_kube_wish *wish)
{
    int most = 0;

    for (size_t i = 0; i < verdict->gpu_count; i++) {
        int share = ath_kube_wish_share(wish, facts->models[verdict->ring[i]]);
        most = share > most ? share : most;
    }
    wish->share_percent = most;
}

/* host: the node that the pod runs on. */
static void fill_place(const struct ath_kube_cache_node *node, const char *host,
                       const struct ath_kube_wish *wish, const struct ath_kube_verdict *verdict,
                       struct ath_kube_place *out)
{
    const struct ath_machine *machine = &node->facts.machine;

    *out = (struct ath_kube_place){
        .runtime = ath_xstrdup(node->facts.runtime),
        .numa_nodes = numa_nodes_of(machine, verdict),
        .gpu_node = strcmp(node->name, host) != 0 ? ath_xstrdup(node->name) : NULL,
    };
    ath_kube_wish_copy(wish, &out->wish);
    set_share(&node->facts, verdict, &out->wish);
    for (size_t i = 0; i < verdict->gpu_count; i++)
        ath_texts_add(&out->gpus, machine->gpus[verdict->ring[i]].uuid);
}

/* Returns whether the share of each GPU that the pod has follows from its ComputeNode. It may have
 * changed since the reservation. */
static bool knows_share(const struct ath_kube_cache_pod *pod)
{
    const struct ath_kube_node *facts = &pod->node->facts;

    for (size_t i = 0; pod->wish.tflops && i < pod->gpus.count; i++) {
        size_t gpu = ath_kube_cache_gpu(&facts->machine, pod->gpus.items[i]);
        if (gpu == facts->machine.gpu_count ||
            ath_kube_wish_share(&pod->wish, facts->models[gpu]) > 100)
            return false;
    }
    return true;
}

/* Fills in the GPUs that the pod has. */
static void fill_place_again(const struct ath_kube_cache_pod *pod, struct ath_kube_place *out)
{
    const struct ath_machine *machine = &pod->node->facts.machine;
    struct ath_kube_verdict verdict = { .gpu_count = pod->gpus.count };
    bool has_all = true;

    for (size_t i = 0; i < pod->gpus.count; i++) {
        size_t gpu = ath_kube_cache_gpu(machine, pod->gpus.items[i]);
        has_all = has_all && gpu < machine->gpu_count;
        verdict.ring[i] = (uint8_t)gpu;
    }
    *out = (struct ath_kube_place){
        .runtime = ath_xstrdup(pod->node->facts.runtime),
        .numa_nodes = has_all ? numa_nodes_of(machine, &verdict) : NULL,
        .gpu_node = strcmp(pod->node->name, pod->host) != 0 ? ath_xstrdup(pod->node->name) : NULL,
    };
    ath_kube_wish_copy(&pod->wish, &out->wish);
    if (has_all)
        set_share(&pod->node->facts, &verdict, &out->wish);
    for (size_t i = 0; i < pod->gpus.count; i++)
        ath_texts_add(&out->gpus, pod->gpus.items[i]);
}

static int reserve(struct ath_kube_cache *cache, const char *uid, const char *name,
                   struct ath_kube_place *out, struct ath_err *err)
{
    ATH_AUTO(ath_text) why = { 0 };
    struct elsewhere chosen = { .node = ath_kube_cache_find_node(cache, name) };
    struct ath_texts gpus = { 0 };
    struct ath_kube_cache_pod *pod = ath_kube_cache_find_pod(cache, uid);

    if (!pod)
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                           "the pod with the uid '%.128s' is not known, or wants no GPU", uid);
    if (pod->state == ATH_KUBE_POD_BOUND || pod->state == ATH_KUBE_POD_RESERVED)
        return ath_err_set(err, -EBUSY, ATH_E_BUSY, "the pod %s to the node '%.253s' already",
                           pod->state == ATH_KUBE_POD_BOUND ? "is bound" : "is being bound",
                           pod->host);
    if (pod->state == ATH_KUBE_POD_UNSURE && !strcmp(pod->host, name)) {
        if (!knows_share(pod))
            return ath_err_set(err, -EBUSY, ATH_E_BUSY,
                               "the throughput of the pod's GPUs is not known any more");
        fill_place_again(pod, out);
        pod->was_unsure = true;
        ath_kube_cache_set_state(cache, pod, ATH_KUBE_POD_RESERVED);
        return 0;
    }
    ath_auto_free char *over =
        is_placed(pod) ? NULL : over_quota(cache, uid, &pod->claim, &pod->wish);
    if (over)
        return ath_err_set(err, -EBUSY, ATH_E_BUSY, "%s", over);
    bool fits = judge(chosen.node, name, pod, &pod->wish, &chosen.verdict, &why);
    if (!fits && takes_elsewhere(&pod->wish, pod)) {
        find_elsewhere(cache, &pod->wish, &chosen);
        fits = chosen.node != NULL;
    }
    if (!fits)
        return ath_err_set(err, -EBUSY, ATH_E_BUSY, "the node '%.253s' does not fit any more: %s",
                           name, why.data);
    fill_place(chosen.node, name, &pod->wish, &chosen.verdict, out);
    for (size_t i = 0; i < out->gpus.count; i++)
        ath_texts_add(&gpus, out->gpus.items[i]);
    ath_kube_cache_attach(cache, pod, name, chosen.node->name, ATH_KUBE_POD_RESERVED, &gpus);
    return 0;
}

int ath_kube_cache_reserve(struct ath_kube_cache *cache, const char *uid, const char *node,
                           struct ath_kube_place *out, struct ath_err *err)
{
    pthread_mutex_lock(&cache->lock);
    int status = reserve(cache, uid, node, out, err);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

/* Moves a pod on from its reservation, if it still has it. */
static void settle(struct ath_kube_cache *cache, const char *uid, enum ath_kube_pod_state state)
{
    pthread_mutex_lock(&cache->lock);
    struct ath_kube_cache_pod *pod = ath_kube_cache_find_pod(cache, uid);
    if (pod && pod->state == ATH_KUBE_POD_RESERVED) {
        if (state == ATH_KUBE_POD_PENDING && pod->was_unsure)
            state = ATH_KUBE_POD_UNSURE; /* the binding before may have been made */
        if (state == ATH_KUBE_POD_PENDING)
            ath_kube_cache_detach(cache, pod);
        else
            ath_kube_cache_set_state(cache, pod, state);
    }
    pthread_mutex_unlock(&cache->lock);
}

void ath_kube_cache_confirm(struct ath_kube_cache *cache, const char *uid)
{
    settle(cache, uid, ATH_KUBE_POD_BOUND);
}

void ath_kube_cache_release(struct ath_kube_cache *cache, const char *uid)
{
    settle(cache, uid, ATH_KUBE_POD_PENDING);
}

void ath_kube_cache_doubt(struct ath_kube_cache *cache, const char *uid)
{
    settle(cache, uid, ATH_KUBE_POD_UNSURE);
}
