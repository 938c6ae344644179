/* Answers the two hooks, counts the answers, and writes the page of metrics. */
#include "config.h"

#include "kubernetes/webhook.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "kubernetes/review_json.h"

enum { OK = 200, BAD_REQUEST = 400, UNAVAILABLE = 503 };

static const char *const words[ATH_KUBE_HOOKS] = { "mutate", "validate" };

/* ---- figures ---- */

/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes it */
static void count(uint64_t *number)
{
    __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static uint64_t value_of(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static void add_time(struct ath_kube_webhook *webhook, enum ath_kube_hook hook, uint64_t ns)
{
    uint64_t *longest = &webhook->figures[hook].longest_ns, before = value_of(longest);

    count(&webhook->figures[hook].requests);
    __atomic_fetch_add(&webhook->figures[hook].sum_ns, ns, __ATOMIC_RELAXED);
    while (ns > before && !__atomic_compare_exchange_n(longest, &before, ns, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}

static void write_head(struct ath_text *out, const char *name, const char *type, const char *help)
{
    ath_text_add(out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

static void write_seconds(struct ath_text *out, const char *name, const char *hook, uint64_t ns)
{
    ath_text_add(out, "%s{page=\"%s\"} %" PRIu64 ".%09" PRIu64 "\n", name, hook, ns / 1000000000,
                 ns % 1000000000);
}

static void write_figures(const struct ath_kube_webhook *webhook, struct ath_text *out)
{
    static const char seconds[] = "aitherion_webhook_request_seconds";
    static const char longest[] = "aitherion_webhook_request_seconds_max";
    static const char refused[] = "aitherion_webhook_refused_total";
    static const char bad[] = "aitherion_webhook_bad_requests_total";

    write_head(out, seconds, "summary", "Time of a request of the API server");
    for (size_t i = 0; i < ATH_KUBE_HOOKS; i++) {
        write_seconds(out, "aitherion_webhook_request_seconds_sum", words[i],
                      value_of(&webhook->figures[i].sum_ns));
        ath_text_add(out, "%s_count{page=\"%s\"} %" PRIu64 "\n", seconds, words[i],
                     value_of(&webhook->figures[i].requests));
    }
    write_head(out, longest, "gauge", "Longest time of a request since the start");
    for (size_t i = 0; i < ATH_KUBE_HOOKS; i++)
        write_seconds(out, longest, words[i], value_of(&webhook->figures[i].longest_ns));
    write_head(out, refused, "counter", "Objects that were refused");
    ath_text_add(out, "%s %" PRIu64 "\n", refused,
                 value_of(&webhook->figures[ATH_KUBE_VALIDATE].refused));
    write_head(out, bad, "counter", "Bodies that no API server sends");
    ath_text_add(out, "%s %" PRIu64 "\n", bad, value_of(&webhook->bad_requests));
}

/* ---- requests ---- */

static void mutate(const struct ath_kube_webhook *webhook, const struct ath_kube_review *review,
                   struct ath_text *out)
{
    json_auto_t *patch = ath_kube_inject(review->object, &webhook->injection);
    ath_kube_review_answer(review, NULL, patch, out);
}

static void validate(struct ath_kube_webhook *webhook, const struct ath_kube_review *review,
                     struct ath_text *out)
{
    ath_auto_free char *why = ath_kube_guard_check(&webhook->guard, review);
    if (why)
        count(&webhook->figures[ATH_KUBE_VALIDATE].refused);
    ath_kube_review_answer(review, why, NULL, out);
}

static unsigned int answer(struct ath_kube_webhook *webhook, enum ath_kube_hook hook,
                           const char *body, size_t length, struct ath_text *out)
{
    uint64_t begin_ns = ath_now_ns();
    ATH_AUTO(ath_kube_json) json = { 0 };
    struct ath_kube_review review;
    struct ath_err err = { 0 };

    if (ath_kube_json_read(body, length, &json) == -EAGAIN) {
        ath_text_add(out, "other reviews fill the memory: ask again\n");
        return UNAVAILABLE;
    }
    if (ath_kube_review_read(json.value, &review, &err)) {
        count(&webhook->bad_requests);
        ath_text_add(out, "%s\n", err.message);
        return BAD_REQUEST;
    }
    if (hook == ATH_KUBE_MUTATE)
        mutate(webhook, &review, out);
    else
        validate(webhook, &review, out);
    add_time(webhook, hook, ath_now_ns() - begin_ns);
    return OK;
}

/* ---- pages ---- */

static unsigned int answer_mutate(void *self, const char *body, size_t length, struct ath_text *out)
{
    return answer(self, ATH_KUBE_MUTATE, body, length, out);
}

static unsigned int answer_validate(void *self, const char *body, size_t length,
                                    struct ath_text *out)
{
    return answer(self, ATH_KUBE_VALIDATE, body, length, out);
}

static unsigned int show_metrics(void *self, const char *body, size_t length, struct ath_text *out)
{
    (void)body;
    (void)length;
    write_figures(self, out);
    return OK;
}

static const char type_of_text[] = "text/plain; charset=utf-8";

const struct ath_kube_page ath_kube_webhook_pages[] = {
    { "POST", "/mutate", "application/json", false, answer_mutate },
    { "POST", "/validate", "application/json", false, answer_validate },
    { "GET", "/metrics", "text/plain; version=0.0.4", false, show_metrics },
    { "GET", "/healthz", type_of_text, true, ath_kube_http_show_health },
    { "GET", "/readyz", type_of_text, true, ath_kube_http_show_health },
    { .path = NULL },
};
