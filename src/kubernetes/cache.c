#include "config.h"

#include "kubernetes/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/unknown.h"
#include "kubernetes/quota.h"
#include "place/cpus.h"

enum { BITS = 14 };

/* RESERVED: a binding is on its way. UNSURE: the answer to a binding was lost. */
enum state { PENDING, RESERVED, UNSURE, BOUND };

struct node;

/* A pod that asks for GPUs. */
struct pod {
    struct ath_map_entry link;
    char *uid;
    uint64_t generation; /* of the list that had it last */
    enum state state;
    uint64_t since_ms; /* in this state */
    struct ath_kube_wish wish;
    struct ath_kube_claim claim;
    int priority;
    bool was_unsure;       /* RESERVED: before */
    struct node *node;     /* that has the GPUs; except PENDING */
    char *host;            /* the node that the pod runs on; except PENDING */
    struct ath_texts gpus; /* of node */
};

/* A node that has a ComputeNode, or pods. */
struct node {
    struct ath_map_entry link;
    char *name;
    uint64_t generation;
    bool is_known; /* has a ComputeNode, and `facts` are whole */
    char *fault;   /* of its ComputeNode; NULL: none */
    struct ath_kube_node facts;
    struct ath_kube_shape *shape;
    struct ath_kube_use uses[ATH_KUBE_GPUS_MAX];
    struct pod **pods;
    size_t pod_count;
};

struct quota {
    struct ath_kube_quota facts;
    uint64_t generation;
};

struct ath_kube_cache {
    pthread_mutex_t lock; /* guards all below */
    uint64_t (*clock)(void);
    uint64_t unsure_ms;
    size_t unsure_count;
    struct ath_map nodes, pods;
    struct ath_kube_shapes shapes;
    struct quota *quotas;
    size_t quota_count;
    /* Lists are counted from 1. */
    uint64_t generations[ATH_KUBE_KINDS], ended[ATH_KUBE_KINDS], wanted[ATH_KUBE_KINDS];
    uint64_t begun_ms[ATH_KUBE_KINDS];
};

/* ---- finding ---- */

/* FNV-1a (draft-eastlake-fnv). */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static struct node *find_node(const struct ath_kube_cache *cache, const char *name)
{
    uint64_t key = hash_of(name);
    for (struct ath_map_entry **at = ath_map_at(&cache->nodes, key); *at;
         at = ath_map_same(&(*at)->next, key))
        if (!strcmp(((struct node *)*at)->name, name))
            return (struct node *)*at;
    return NULL;
}

static struct pod *find_pod(const struct ath_kube_cache *cache, const char *uid)
{
    uint64_t key = hash_of(uid);
    for (struct ath_map_entry **at = ath_map_at(&cache->pods, key); *at;
         at = ath_map_same(&(*at)->next, key))
        if (!strcmp(((struct pod *)*at)->uid, uid))
            return (struct pod *)*at;
    return NULL;
}

static void take_out(const struct ath_map *map, struct ath_map_entry *entry)
{
    struct ath_map_entry **at = ath_map_bucket(map, entry->key);
    while (*at != entry)
        at = &(*at)->next;
    ath_map_take(at);
}

static struct node *node_named(struct ath_kube_cache *cache, const char *name)
{
    struct node *node = find_node(cache, name);
    if (node)
        return node;
    node = ath_xalloc(sizeof *node);
    node->name = ath_xstrdup(name);
    ath_map_add(&cache->nodes, &node->link, hash_of(name));
    return node;
}

/* ---- what pods use ---- */

static size_t gpu_named(const struct ath_machine *machine, const char *uuid)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (!strcmp(machine->gpus[i].uuid, uuid))
            return i;
    return machine->gpu_count;
}

static void count_pod(const struct ath_machine *machine, const struct pod *pod,
                      struct ath_kube_use uses[ATH_KUBE_GPUS_MAX])
{
    for (size_t i = 0; i < pod->gpus.count; i++) {
        size_t gpu = gpu_named(machine, pod->gpus.items[i]);
        if (gpu < machine->gpu_count)
            ath_kube_use_add(&uses[gpu], &pod->wish, machine->gpus[gpu].memory_total_bytes);
    }
}

/* Computes the uses of a node again: a few dozen pods at most. */
static void recount(struct node *node)
{
    memset(node->uses, 0, sizeof node->uses);
    for (size_t i = 0; i < node->pod_count; i++)
        count_pod(&node->facts.machine, node->pods[i], node->uses);
}

static void forget_facts(struct ath_kube_cache *cache, struct node *node)
{
    if (node->is_known)
        ath_kube_shape_leave(&cache->shapes, node->shape);
    ath_kube_node_free(&node->facts);
    free(node->fault);
    node->fault = NULL;
    node->is_known = false;
}

/* Frees a node that has neither a ComputeNode nor pods. */
static void tidy_node(struct ath_kube_cache *cache, struct node *node)
{
    if (node->is_known || node->fault || node->pod_count)
        return;
    take_out(&cache->nodes, &node->link);
    free(node->pods);
    free(node->name);
    free(node);
}

static void set_state(struct ath_kube_cache *cache, struct pod *pod, enum state state)
{
    cache->unsure_count += (size_t)(state == UNSURE) - (size_t)(pod->state == UNSURE);
    pod->state = state;
    pod->since_ms = cache->clock();
}

/* Takes the GPUs of a pod back. */
static void detach(struct ath_kube_cache *cache, struct pod *pod)
{
    struct node *node = pod->node;

    set_state(cache, pod, PENDING);
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
    recount(node);
    tidy_node(cache, node);
}

/* Gives a pod on a host GPUs of a node; takes *gpus. */
static void attach(struct ath_kube_cache *cache, struct pod *pod, const char *host,
                   const char *name, enum state state, struct ath_texts *gpus)
{
    detach(cache, pod);
    struct node *node = node_named(cache, name);
    pod->host = ath_xstrdup(host);
    struct pod **slot = ath_push(&node->pods, &node->pod_count, sizeof *slot);
    *slot = pod;
    pod->node = node;
    set_state(cache, pod, state);
    pod->gpus = *gpus;
    *gpus = (struct ath_texts){ 0 };
    count_pod(&node->facts.machine, pod, node->uses);
}

static void free_pod(struct pod *pod)
{
    free(pod->uid);
    free(pod->host);
    ath_kube_claim_free(&pod->claim);
    ath_kube_wish_free(&pod->wish);
    ath_texts_free(&pod->gpus);
    free(pod);
}

static void forget_pod(struct ath_kube_cache *cache, struct pod *pod)
{
    if (!pod)
        return;
    detach(cache, pod);
    take_out(&cache->pods, &pod->link);
    free_pod(pod);
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
    free_pod(ath_map_take(at));
    ATH_MAP_EACH(&cache->nodes, at)
    {
        struct node *node = ath_map_take(at);
        forget_facts(cache, node);
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

/* ---- from the API server ---- */

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
        struct pod *pod = (struct pod *)*at;
        if (pod->generation == cache->generations[ATH_KUBE_PODS] || pod->state == RESERVED ||
            (pod->state != PENDING && pod->since_ms >= cache->begun_ms[ATH_KUBE_PODS]))
            continue;
        detach(cache, pod);
        free_pod(ath_map_take(at));
    }
}

static void drop_old_nodes(struct ath_kube_cache *cache)
{
    ATH_MAP_EACH(&cache->nodes, at)
    {
        struct node *node = (struct node *)*at;
        if (node->generation == cache->generations[ATH_KUBE_NODES])
            continue;
        forget_facts(cache, node);
        recount(node);
        tidy_node(cache, node);
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

/* Whether the answer to a binding has been lost for so long that only a list can tell what has
 * become of the pod. */
static bool is_list_overdue(const struct ath_kube_cache *cache)
{
    uint64_t now_ms = cache->clock();

    if (!cache->unsure_count || now_ms - cache->begun_ms[ATH_KUBE_PODS] < cache->unsure_ms)
        return false;
    ATH_MAP_EACH(&cache->pods, at)
    {
        const struct pod *pod = (const struct pod *)*at;
        if (pod->state == UNSURE && now_ms - pod->since_ms >= cache->unsure_ms)
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

static struct pod *pod_of(struct ath_kube_cache *cache, const char *uid)
{
    struct pod *pod = find_pod(cache, uid);
    if (pod)
        return pod;
    pod = ath_xalloc(sizeof *pod);
    pod->uid = ath_xstrdup(uid);
    ath_map_add(&cache->pods, &pod->link, hash_of(uid));
    return pod;
}

/* Whether the API server cannot have bound a pod any more when it made the last list. */
static bool is_sure_now(const struct ath_kube_cache *cache, const struct pod *pod)
{
    return pod->state == UNSURE &&
           cache->begun_ms[ATH_KUBE_PODS] >= pod->since_ms + cache->unsure_ms;
}

/* A pod that is not bound yet keeps a reservation, and so does one whose binding the API server has
 * not sent yet. */
static void put_pod(struct ath_kube_cache *cache, struct ath_kube_pod *read)
{
    bool has_gpus = read->node && read->gpus.count;

    if (read->is_over || !read->wish.gpu_count || (read->node && !has_gpus)) {
        forget_pod(cache, find_pod(cache, read->uid));
        return;
    }
    struct pod *pod = pod_of(cache, read->uid);
    pod->generation = cache->generations[ATH_KUBE_PODS];
    ath_kube_claim_free(&pod->claim);
    pod->claim = read->claim;
    read->claim = (struct ath_kube_claim){ 0 };
    if (!has_gpus && pod->state != PENDING && !is_sure_now(cache, pod))
        return;
    detach(cache, pod); /* with the wish that was counted */
    pod->priority = read->priority;
    ath_kube_wish_free(&pod->wish);
    pod->wish = read->wish;
    read->wish = (struct ath_kube_wish){ 0 };
    if (has_gpus)
        attach(cache, pod, read->node, read->gpu_node ? read->gpu_node : read->node, BOUND,
               &read->gpus);
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
    struct node *node = node_named(cache, name);
    forget_facts(cache, node);
    node->generation = cache->generations[ATH_KUBE_NODES];
    if (status) {
        node->fault = ath_xstrdup(fault.message);
    } else {
        node->facts = facts;
        node->shape = ath_kube_shape_join(&cache->shapes, &node->facts);
        node->is_known = true;
    }
    recount(node);
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
    struct quota *quota = index < cache->quota_count
                              ? &cache->quotas[index]
                              : ath_push(&cache->quotas, &cache->quota_count, sizeof *quota);
    ath_kube_quota_free(&quota->facts);
    *quota = (struct quota){ facts, cache->generations[ATH_KUBE_QUOTAS] };
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
    struct node *node = find_node(cache, name);
    if (!node)
        return;
    forget_facts(cache, node);
    recount(node);
    tidy_node(cache, node);
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
        forget_pod(cache, find_pod(cache, uid));
    if (kind == ATH_KUBE_NODES && name)
        forget_node(cache, name);
    if (kind == ATH_KUBE_QUOTAS && name && space)
        forget_quota(cache, space, name);
    pthread_mutex_unlock(&cache->lock);
}

/* ---- for the scheduler ---- */

/* Judges one node that has these uses. Returns whether it fits. */
static bool judge_uses(const struct node *node, const struct ath_kube_use *uses,
                       const struct ath_kube_wish *wish, struct ath_kube_verdict *verdict,
                       struct ath_text *why)
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

/* Whether a binding of the pod may be on its way, or has been made. */
static bool is_placed(const struct pod *pod)
{
    return pod && pod->state != PENDING;
}

/* Judges one node for a pod. last: the pod as it is known, or NULL. The node that a binding may be
 * on its way to takes the pod again, with the GPUs that it has; no other node does. */
static bool judge(const struct node *node, const char *name, const struct pod *last,
                  const struct ath_kube_wish *wish, struct ath_kube_verdict *verdict,
                  struct ath_text *why)
{
    if (!is_placed(last))
        return judge_uses(node, node ? node->uses : NULL, wish, verdict, why);
    *verdict = (struct ath_kube_verdict){ .fits = !strcmp(last->host, name) };
    if (!verdict->fits && why)
        ath_text_add(why, "a binding of the pod to the node '%.253s' may be on its way",
                     last->host);
    return verdict->fits;
}

/* ---- GPUs of other nodes ---- */

/* The best node for GPUs that a pod uses from another one. */
struct elsewhere {
    const struct node *node; /* NULL: none */
    struct ath_kube_verdict verdict;
};

/* Returns whether a node is better than the best one until now. The first name decides between
 * equal scores, so that a reservation takes the node that was judged. */
static bool is_better(const struct node *node, int score, const struct node *best, int best_score)
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
        const struct node *node = (const struct node *)*at;
        if (node->is_known && node->facts.runtime &&
            judge_uses(node, node->uses, wish, &verdict, NULL) && verdict.ring_value > best_ring)
            best_ring = verdict.ring_value;
    }
    ATH_MAP_EACH(&cache->nodes, at)
    {
        const struct node *node = (const struct node *)*at;
        if (!node->is_known || !node->facts.runtime ||
            !judge_uses(node, node->uses, wish, &verdict, NULL))
            continue;
        int score = ath_kube_score(&verdict, best_ring);
        if (is_better(node, score, out->node, best_score)) {
            best_score = score;
            *out = (struct elsewhere){ node, verdict };
        }
    }
}

static bool takes_elsewhere(const struct ath_kube_wish *wish, const struct pod *last)
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
        const struct pod *pod = (const struct pod *)*at;
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
    const struct pod *last = find_pod(cache, pod->uid);
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
        const struct node *node = find_node(cache, names[i]);
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

/* host: the node that the pod runs on. */
static void fill_place(const struct node *node, const char *host, const struct ath_kube_wish *wish,
                       const struct ath_kube_verdict *verdict, struct ath_kube_place *out)
{
    const struct ath_machine *machine = &node->facts.machine;

    *out = (struct ath_kube_place){
        .runtime = ath_xstrdup(node->facts.runtime),
        .numa_nodes = numa_nodes_of(machine, verdict),
        .gpu_node = strcmp(node->name, host) != 0 ? ath_xstrdup(node->name) : NULL,
    };
    ath_kube_wish_copy(wish, &out->wish);
    for (size_t i = 0; i < verdict->gpu_count; i++)
        ath_texts_add(&out->gpus, machine->gpus[verdict->ring[i]].uuid);
}

/* Fills in the GPUs that the pod has. */
static void fill_place_again(const struct pod *pod, struct ath_kube_place *out)
{
    const struct ath_machine *machine = &pod->node->facts.machine;
    struct ath_kube_verdict verdict = { .gpu_count = pod->gpus.count };
    bool has_all = true;

    for (size_t i = 0; i < pod->gpus.count; i++) {
        size_t gpu = gpu_named(machine, pod->gpus.items[i]);
        has_all = has_all && gpu < machine->gpu_count;
        verdict.ring[i] = (uint8_t)gpu;
    }
    *out = (struct ath_kube_place){
        .runtime = ath_xstrdup(pod->node->facts.runtime),
        .numa_nodes = has_all ? numa_nodes_of(machine, &verdict) : NULL,
        .gpu_node = strcmp(pod->node->name, pod->host) != 0 ? ath_xstrdup(pod->node->name) : NULL,
    };
    ath_kube_wish_copy(&pod->wish, &out->wish);
    for (size_t i = 0; i < pod->gpus.count; i++)
        ath_texts_add(&out->gpus, pod->gpus.items[i]);
}

static int reserve(struct ath_kube_cache *cache, const char *uid, const char *name,
                   struct ath_kube_place *out, struct ath_err *err)
{
    ATH_AUTO(ath_text) why = { 0 };
    struct elsewhere chosen = { .node = find_node(cache, name) };
    struct ath_texts gpus = { 0 };
    struct pod *pod = find_pod(cache, uid);

    if (!pod)
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                           "the pod with the uid '%.128s' is not known, or wants no GPU", uid);
    if (pod->state == BOUND || pod->state == RESERVED)
        return ath_err_set(err, -EBUSY, ATH_E_BUSY, "the pod %s to the node '%.253s' already",
                           pod->state == BOUND ? "is bound" : "is being bound", pod->host);
    if (pod->state == UNSURE && !strcmp(pod->host, name)) {
        fill_place_again(pod, out);
        pod->was_unsure = true;
        set_state(cache, pod, RESERVED);
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
    attach(cache, pod, name, chosen.node->name, RESERVED, &gpus);
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
static void settle(struct ath_kube_cache *cache, const char *uid, enum state state)
{
    pthread_mutex_lock(&cache->lock);
    struct pod *pod = find_pod(cache, uid);
    if (pod && pod->state == RESERVED) {
        if (state == PENDING && pod->was_unsure)
            state = UNSURE; /* the binding before may have been made */
        if (state == PENDING)
            detach(cache, pod);
        else
            set_state(cache, pod, state);
    }
    pthread_mutex_unlock(&cache->lock);
}

void ath_kube_cache_confirm(struct ath_kube_cache *cache, const char *uid)
{
    settle(cache, uid, BOUND);
}

void ath_kube_cache_release(struct ath_kube_cache *cache, const char *uid)
{
    settle(cache, uid, PENDING);
}

void ath_kube_cache_doubt(struct ath_kube_cache *cache, const char *uid)
{
    settle(cache, uid, UNSURE);
}

/* ---- preemption ---- */

static bool has_text(const struct ath_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (!strcmp(texts->items[i], text))
            return true;
    return false;
}

/* A pod of a node, while victims are chosen. */
struct guest {
    const struct pod *pod;
    bool is_gone;
};

static bool fits_without(const struct node *node, const struct guest *guests,
                         const struct ath_kube_wish *wish)
{
    struct ath_kube_use uses[ATH_KUBE_GPUS_MAX] = { 0 };
    struct ath_kube_verdict verdict;

    for (size_t i = 0; i < node->pod_count; i++)
        if (!guests[i].is_gone)
            count_pod(&node->facts.machine, guests[i].pod, uses);
    return judge_uses(node, uses, wish, &verdict, NULL);
}

/* Pods of low priority go first, and of equal ones those that were bound last. */
static int compare_guests(const void *one, const void *other)
{
    const struct pod *a = ((const struct guest *)one)->pod, *b = ((const struct guest *)other)->pod;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->since_ms != b->since_ms)
        return a->since_ms > b->since_ms ? -1 : 1;
    return strcmp(a->uid, b->uid);
}

/* Adds victims until the pod fits, then spares those that need not go: the one of the highest
 * priority first. Returns whether the pod fits. */
static bool choose_victims(const struct node *node, const struct ath_kube_pod *pod,
                           struct ath_texts *victims)
{
    ath_auto_free struct guest *guests = ath_xalloc((node->pod_count + 1) * sizeof *guests);
    size_t count = 0;

    for (size_t i = 0; i < node->pod_count; i++)
        guests[i] = (struct guest){ .pod = node->pods[i],
                                    .is_gone = has_text(victims, node->pods[i]->uid) };
    qsort(guests, node->pod_count, sizeof *guests, compare_guests);
    bool fits = fits_without(node, guests, &pod->wish);
    for (; !fits && count < node->pod_count && guests[count].pod->priority < pod->priority; count++)
        if (guests[count].pod->state == BOUND && !guests[count].is_gone &&
            !strcmp(guests[count].pod->host, node->name)) {
            guests[count].is_gone = true;
            fits = fits_without(node, guests, &pod->wish);
        }
    while (fits && count--) {
        if (!guests[count].is_gone || has_text(victims, guests[count].pod->uid))
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
    const struct pod *last = find_pod(cache, pod->uid);
    const struct node *node = find_node(cache, name);
    bool fits = node && node->is_known && (!last || last->state == PENDING) &&
                choose_victims(node, pod, victims);
    pthread_mutex_unlock(&cache->lock);
    return fits;
}

/* ---- counts ---- */

static void count_node(const struct node *node, struct ath_kube_cache_counts *out)
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
    count_node((const struct node *)*at, out);
    ATH_MAP_EACH(&cache->pods, at)
    {
        const struct pod *pod = (const struct pod *)*at;
        out->pods_pending += pod->state == PENDING;
        out->pods_reserved += pod->state == RESERVED;
        out->pods_unsure += pod->state == UNSURE;
        out->pods_bound += pod->state == BOUND;
    }
    pthread_mutex_unlock(&cache->lock);
}
