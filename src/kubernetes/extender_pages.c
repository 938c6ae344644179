/* The table of the extender's pages. */
#include "config.h"

#include "kubernetes/extender_pages.h"

#include "kubernetes/extender.h"

enum { OK = 200, UNAVAILABLE = 503 };

static unsigned int answer_filter(void *self, const char *body, size_t length, struct ath_text *out)
{
    return ath_kube_extender_answer(self, ATH_KUBE_FILTER, body, length, out);
}

static unsigned int answer_prioritize(void *self, const char *body, size_t length,
                                      struct ath_text *out)
{
    return ath_kube_extender_answer(self, ATH_KUBE_PRIORITIZE, body, length, out);
}

static unsigned int answer_preempt(void *self, const char *body, size_t length,
                                   struct ath_text *out)
{
    return ath_kube_extender_answer(self, ATH_KUBE_PREEMPT, body, length, out);
}

static unsigned int answer_bind(void *self, const char *body, size_t length, struct ath_text *out)
{
    return ath_kube_extender_answer(self, ATH_KUBE_BIND, body, length, out);
}

static unsigned int show_metrics(void *self, const char *body, size_t length, struct ath_text *out)
{
    struct ath_kube_extender *extender = self;
    struct ath_kube_cache_counts counts;
    (void)body;
    (void)length;

    ath_kube_cache_count(extender->cache, &counts);
    bool is_holder = !extender->lease || ath_kube_lease_is_held(extender->lease);
    ath_kube_figures_write(&extender->figures, &counts, is_holder, out);
    return OK;
}

static unsigned int show_readiness(void *self, const char *body, size_t length,
                                   struct ath_text *out)
{
    struct ath_kube_extender *extender = self;
    (void)body;
    (void)length;

    if (ath_kube_cache_is_ready(extender->cache)) {
        ath_text_add(out, "ok\n");
        return OK;
    }
    ath_text_add(out, "the nodes and pods of the cluster are not known yet\n");
    return UNAVAILABLE;
}

static const char type_of_json[] = "application/json", type_of_text[] = "text/plain; charset=utf-8";

const struct ath_kube_page ath_kube_extender_pages[] = {
    { "POST", "/filter", type_of_json, false, answer_filter },
    { "POST", "/prioritize", type_of_json, false, answer_prioritize },
    { "POST", "/preempt", type_of_json, false, answer_preempt },
    { "POST", "/bind", type_of_json, false, answer_bind },
    { "GET", "/metrics", "text/plain; version=0.0.4", false, show_metrics },
    { "GET", "/healthz", type_of_text, true, ath_kube_http_show_health },
    { "GET", "/readyz", type_of_text, true, show_readiness },
    { .path = NULL },
};
