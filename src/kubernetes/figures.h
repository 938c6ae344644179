/* Counts and times of the extender, and its page for Prometheus. Any thread. */
#pragma once
#include <stdint.h>

#include "base/text.h"
#include "kubernetes/cache.h"

enum ath_kube_verb {
    ATH_KUBE_FILTER,
    ATH_KUBE_PRIORITIZE,
    ATH_KUBE_PREEMPT,
    ATH_KUBE_BIND,
    ATH_KUBE_VERBS
};

/* Why a request or a node was refused. */
enum ath_kube_refusal {
    ATH_KUBE_REFUSED_REQUEST,  /* the body is not what a scheduler sends */
    ATH_KUBE_REFUSED_POD,      /* the pod's request has a fault */
    ATH_KUBE_REFUSED_BUSY,     /* a node has no room now */
    ATH_KUBE_REFUSED_HOPELESS, /* a node will not do, or has no ComputeNode */
    ATH_KUBE_REFUSED_BINDING,  /* at binding: no room any more, or the API server refused */
    ATH_KUBE_REFUSALS
};

enum { ATH_KUBE_BUCKETS = 12 };

/* A zeroed struct is empty; its members are changed by atomic operations. */
struct ath_kube_figures {
    struct {
        uint64_t buckets[ATH_KUBE_BUCKETS + 1]; /* requests up to each limit, and longer ones */
        uint64_t sum_ns;
    } verbs[ATH_KUBE_VERBS];
    uint64_t refusals[ATH_KUBE_REFUSALS];
};

/* Returns "filter", "prioritize", "preempt", "bind". */
const char *ath_kube_verb_word(enum ath_kube_verb verb);

void ath_kube_figures_time(struct ath_kube_figures *figures, enum ath_kube_verb verb, uint64_t ns);
void ath_kube_figures_refuse(struct ath_kube_figures *figures, enum ath_kube_refusal refusal,
                             size_t count);

/* Writes the page in Prometheus' text format 0.0.4. is_holder: whether this process may bind
 * pods. */
void ath_kube_figures_write(const struct ath_kube_figures *figures,
                            const struct ath_kube_cache_counts *counts, bool is_holder,
                            struct ath_text *out);
