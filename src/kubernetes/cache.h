/*
 * The extender's knowledge of the cluster: ComputeNodes, the pods that ask for GPUs, which GPUs
 * pods have, reservations for pods that are being bound, and ComputeQuotas.
 *
 * A pod has GPUs on its node from its reservation until it is over or deleted, or until the API
 * server has refused the binding. If the answer to a binding is lost, the pod keeps the GPUs until
 * the API server shows what has become of it, however long that takes. Pods that were bound before
 * the process began are known by their annotation. Any thread may call these functions; each holds
 * the cache's lock, and none waits for the network.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kubernetes/judge.h"

enum ath_kube_kind { ATH_KUBE_NODES, ATH_KUBE_PODS, ATH_KUBE_QUOTAS, ATH_KUBE_KINDS };

struct ath_kube_cache;

/* clock: milliseconds that only go forward. unsure_ms: the longest time that the API server works
 * on a binding whose caller has gone. */
struct ath_kube_cache *ath_kube_cache_make(uint64_t (*clock)(void), uint64_t unsure_ms);
void ath_kube_cache_free(struct ath_kube_cache *cache);

/* ---- from the API server ---- */

/* A whole list comes: begin, take each object, end. Objects that the list lacks are then dropped. A
 * list that breaks off has no end, and begins again. */
void ath_kube_cache_begin(struct ath_kube_cache *cache, enum ath_kube_kind kind);
void ath_kube_cache_end(struct ath_kube_cache *cache, enum ath_kube_kind kind);

/* Takes an object that is new or has changed. Returns 0, or a negative errno with err if the object
 * has a fault; a node then takes no pods, and a quota allows none. */
int ath_kube_cache_take(struct ath_kube_cache *cache, enum ath_kube_kind kind, const json_t *object,
                        struct ath_err *err);

/* Drops an object that was deleted. */
void ath_kube_cache_drop(struct ath_kube_cache *cache, enum ath_kube_kind kind,
                         const json_t *object);

/* Returns whether a whole list of each kind has come. */
bool ath_kube_cache_is_ready(struct ath_kube_cache *cache);

/* Asks for a list that begins after this call. Returns its number, and whether the list with a
 * number has ended. */
uint64_t ath_kube_cache_want_list(struct ath_kube_cache *cache, enum ath_kube_kind kind);
bool ath_kube_cache_has_list(struct ath_kube_cache *cache, enum ath_kube_kind kind,
                             uint64_t number);

/* Returns whether a list was asked for and has not begun, or only a list can tell what has become
 * of pods. */
bool ath_kube_cache_wants_list(struct ath_kube_cache *cache, enum ath_kube_kind kind);

/* ---- for the scheduler ---- */

struct ath_kube_opinion {
    bool fits, is_hopeless;
    char *why; /* if the node does not fit; the caller frees the text */
    int score; /* 0 to 10 */
};

/* Judges nodes by their names for a pod, and scores those that fit. No node fits a pod that a quota
 * does not allow. If a binding of the pod may be
 * on its way, only the node of that binding fits. out: an opinion for each node; why stays NULL
 * unless wants_reasons. */
void ath_kube_cache_judge(struct ath_kube_cache *cache, const struct ath_kube_pod *pod,
                          const char *const *names, size_t count, bool wants_reasons,
                          struct ath_kube_opinion *out);

/* The GPUs that a pod gets. Owns its texts. */
struct ath_kube_place {
    struct ath_texts gpus; /* UUIDs in the order of the best ring */
    char *numa_nodes;      /* "0,8"; NULL if not known */
    char *runtime;         /* of the node; NULL */
    char *gpu_node;        /* that has the GPUs; NULL: the pod's node */
    struct ath_kube_wish wish;
};

void ath_kube_place_free(struct ath_kube_place *place);

/*
 * Reserves GPUs for a pod on a node: the node's, or else those of another node if the pod takes
 * them. One of the three functions below must follow. Returns 0;
 * -ENOENT with err if the cache does not know the pod or it asks for no GPU; -EBUSY with err if the
 * node does not fit (any more), a quota does not allow the pod, or the pod has a reservation or
 * GPUs. If the answer to a binding to the same node was lost, the pod gets the same GPUs again.
 */
int ath_kube_cache_reserve(struct ath_kube_cache *cache, const char *uid, const char *node,
                           struct ath_kube_place *out, struct ath_err *err);

/* The pod with the reservation was bound; was refused; or its answer was lost. */
void ath_kube_cache_confirm(struct ath_kube_cache *cache, const char *uid);
void ath_kube_cache_release(struct ath_kube_cache *cache, const char *uid);
void ath_kube_cache_doubt(struct ath_kube_cache *cache, const char *uid);

/*
 * Says whether a pod fits on a node if other pods are evicted. *victims: the uids of pods that go
 * in any case. Bound pods with GPUs and a lower priority are added if needed. Returns false
 * if the pod does not fit even then; *victims is unchanged.
 */
bool ath_kube_cache_preempt(struct ath_kube_cache *cache, const struct ath_kube_pod *pod,
                            const char *name, struct ath_texts *victims);

struct ath_kube_cache_counts {
    size_t nodes, pods_pending, pods_reserved, pods_unsure, pods_bound;
    size_t gpus, gpus_used; /* of all nodes; with at least one pod */
};

void ath_kube_cache_count(struct ath_kube_cache *cache, struct ath_kube_cache_counts *out);
