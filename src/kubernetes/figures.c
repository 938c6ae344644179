/* Counts the extender's answers, and writes its page of metrics. */
#include "config.h"

#include "kubernetes/figures.h"

#include <inttypes.h>

#include "base/alloc.h"

static const char *const verbs[ATH_KUBE_VERBS] = { "filter", "prioritize", "preempt", "bind" };
static const char *const refusals[ATH_KUBE_REFUSALS] = { "request", "pod", "busy", "hopeless",
                                                         "binding" };

/* In microseconds. */
static const uint64_t limits[ATH_KUBE_BUCKETS] = { 250,   500,   1000,   2000,   5000,   10000,
                                                   20000, 50000, 100000, 250000, 500000, 1000000 };

const char *ath_kube_verb_word(enum ath_kube_verb verb)
{
    return verbs[verb];
}

void ath_kube_figures_time(struct ath_kube_figures *figures, enum ath_kube_verb verb, uint64_t ns)
{
    size_t bucket = 0;
    while (bucket < ATH_KUBE_BUCKETS && ns > limits[bucket] * 1000)
        bucket++;
    __atomic_fetch_add(&figures->verbs[verb].buckets[bucket], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&figures->verbs[verb].sum_ns, ns, __ATOMIC_RELAXED);
}

void ath_kube_figures_refuse(struct ath_kube_figures *figures, enum ath_kube_refusal refusal,
                             size_t count)
{
    __atomic_fetch_add(&figures->refusals[refusal], count, __ATOMIC_RELAXED);
}

static void write_verb(const struct ath_kube_figures *figures, enum ath_kube_verb verb,
                       struct ath_text *out)
{
    static const char name[] = "aitherion_scheduler_request_seconds";
    uint64_t count = 0;

    for (size_t i = 0; i <= ATH_KUBE_BUCKETS; i++) {
        count += __atomic_load_n(&figures->verbs[verb].buckets[i], __ATOMIC_RELAXED);
        if (i < ATH_KUBE_BUCKETS)
            ath_text_add(out,
                         "%s_bucket{verb=\"%s\",le=\"%" PRIu64 ".%06" PRIu64 "\"} %" PRIu64 "\n",
                         name, verbs[verb], limits[i] / 1000000, limits[i] % 1000000, count);
    }
    uint64_t sum_ns = __atomic_load_n(&figures->verbs[verb].sum_ns, __ATOMIC_RELAXED);
    ath_text_add(out, "%s_bucket{verb=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, verbs[verb], count);
    ath_text_add(out, "%s_sum{verb=\"%s\"} %" PRIu64 ".%09" PRIu64 "\n", name, verbs[verb],
                 sum_ns / 1000000000, sum_ns % 1000000000);
    ath_text_add(out, "%s_count{verb=\"%s\"} %" PRIu64 "\n", name, verbs[verb], count);
}

static void write_gauge(struct ath_text *out, const char *name, const char *help, size_t value)
{
    ath_text_add(out, "# HELP %s %s.\n# TYPE %s gauge\n%s %zu\n", name, help, name, name, value);
}

void ath_kube_figures_write(const struct ath_kube_figures *figures,
                            const struct ath_kube_cache_counts *counts, bool is_holder,
                            struct ath_text *out)
{
    ath_text_add(out, "# HELP aitherion_scheduler_request_seconds Time of a request of the "
                      "scheduler.\n# TYPE aitherion_scheduler_request_seconds histogram\n");
    for (int i = 0; i < ATH_KUBE_VERBS; i++)
        write_verb(figures, (enum ath_kube_verb)i, out);
    ath_text_add(out, "# HELP aitherion_scheduler_refusals_total Refused requests, pods, nodes and "
                      "bindings.\n# TYPE aitherion_scheduler_refusals_total counter\n");
    for (size_t i = 0; i < ATH_KUBE_REFUSALS; i++)
        ath_text_add(out, "aitherion_scheduler_refusals_total{reason=\"%s\"} %" PRIu64 "\n",
                     refusals[i], __atomic_load_n(&figures->refusals[i], __ATOMIC_RELAXED));
    write_gauge(out, "aitherion_scheduler_holds_lease", "Whether this extender may bind pods",
                is_holder);
    write_gauge(out, "aitherion_scheduler_nodes", "Nodes with a ComputeNode", counts->nodes);
    write_gauge(out, "aitherion_scheduler_gpus", "GPUs of these nodes", counts->gpus);
    write_gauge(out, "aitherion_scheduler_gpus_used", "GPUs that at least one pod has",
                counts->gpus_used);
    write_gauge(out, "aitherion_scheduler_pods_pending", "Pods that want GPUs and have none",
                counts->pods_pending);
    write_gauge(out, "aitherion_scheduler_pods_reserved", "Pods that are being bound",
                counts->pods_reserved);
    write_gauge(out, "aitherion_scheduler_pods_bound", "Pods that have GPUs", counts->pods_bound);
    write_gauge(out, "aitherion_scheduler_pods_unsure", "Pods whose binding got no answer",
                counts->pods_unsure);
}
