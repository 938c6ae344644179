/* The inside of the cache, for its own files. Except where a comment says otherwise, the caller
 * holds the lock. */
#pragma once
#include <pthread.h>

#include "base/map.h"
#include "base/text.h"
#include "kubernetes/cache.h"
#include "kubernetes/quota.h"

enum ath_kube_pod_state {
    ATH_KUBE_POD_PENDING,
    ATH_KUBE_POD_RESERVED, /* a binding is on its way */
    ATH_KUBE_POD_UNSURE,   /* the answer to a binding was lost */
    ATH_KUBE_POD_BOUND
};

struct ath_kube_cache_node;

/* A pod that asks for GPUs. */
struct ath_kube_cache_pod {
    struct ath_map_entry link;
    char *uid;
    uint64_t generation; /* of the list that had it last */
    enum ath_kube_pod_state state;
    uint64_t since_ms; /* in this state */
    struct ath_kube_wish wish;
    struct ath_kube_claim claim;
    int priority;
    bool was_unsure;                  /* before it was reserved */
    struct ath_kube_cache_node *node; /* that has the GPUs; NULL while pending */
    char *host;                       /* the node that the pod runs on; NULL while pending */
    struct ath_texts gpus;            /* of node */
};

/* A node that has a ComputeNode, or pods. */
struct ath_kube_cache_node {
    struct ath_map_entry link;
    char *name;
    uint64_t generation;
    bool is_known; /* has a ComputeNode, and `facts` are whole */
    char *fault;   /* of its ComputeNode; NULL: none */
    struct ath_kube_node facts;
    struct ath_kube_shape *shape;
    struct ath_kube_use uses[ATH_KUBE_GPUS_MAX];
    struct ath_kube_cache_pod **pods;
    size_t pod_count;
};

struct ath_kube_cache_quota {
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
    struct ath_kube_cache_quota *quotas;
    size_t quota_count;
    /* Lists are counted from 1. */
    uint64_t generations[ATH_KUBE_KINDS], ended[ATH_KUBE_KINDS], wanted[ATH_KUBE_KINDS];
    uint64_t begun_ms[ATH_KUBE_KINDS];
};

/* Return the node or pod with a name or uid, or NULL. */
struct ath_kube_cache_node *ath_kube_cache_find_node(const struct ath_kube_cache *cache,
                                                     const char *name);
struct ath_kube_cache_pod *ath_kube_cache_find_pod(const struct ath_kube_cache *cache,
                                                   const char *uid);

/* Return the node or pod with a name or uid, which is added if the cache lacks it. */
struct ath_kube_cache_node *ath_kube_cache_node(struct ath_kube_cache *cache, const char *name);
struct ath_kube_cache_pod *ath_kube_cache_pod(struct ath_kube_cache *cache, const char *uid);

/* Returns the number of the GPU with a UUID, or gpu_count. */
size_t ath_kube_cache_gpu(const struct ath_machine *machine, const char *uuid);

/* Adds what a pod uses of a node's GPUs. */
void ath_kube_cache_count_pod(const struct ath_kube_node *facts,
                              const struct ath_kube_cache_pod *pod,
                              struct ath_kube_use uses[ATH_KUBE_GPUS_MAX]);

/* Computes the uses of a node again: a few dozen pods at most. */
void ath_kube_cache_recount(struct ath_kube_cache_node *node);

/* Drops the ComputeNode of a node. */
void ath_kube_cache_forget_facts(struct ath_kube_cache *cache, struct ath_kube_cache_node *node);

/* Frees a node that has neither a ComputeNode nor pods. */
void ath_kube_cache_tidy_node(struct ath_kube_cache *cache, struct ath_kube_cache_node *node);

void ath_kube_cache_set_state(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod,
                              enum ath_kube_pod_state state);

/* Gives a pod on a host GPUs of the node with a name. Takes *gpus. */
void ath_kube_cache_attach(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod,
                           const char *host, const char *name, enum ath_kube_pod_state state,
                           struct ath_texts *gpus);

/* Takes the GPUs of a pod back, which is then pending. Frees its node if nothing else is known of
 * it. */
void ath_kube_cache_detach(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod);

/* Takes the GPUs of a pod back and frees it. NULL is allowed. */
void ath_kube_cache_forget_pod(struct ath_kube_cache *cache, struct ath_kube_cache_pod *pod);

/* Frees a pod that neither the map nor a node has any more. */
void ath_kube_cache_free_pod(struct ath_kube_cache_pod *pod);

/* Judges one node that has these uses, NULL: an unknown one. Returns whether it fits. why: NULL, or
 * gets the reason if it does not. */
bool ath_kube_cache_judge_uses(const struct ath_kube_cache_node *node,
                               const struct ath_kube_use *uses, const struct ath_kube_wish *wish,
                               struct ath_kube_verdict *verdict, struct ath_text *why);
