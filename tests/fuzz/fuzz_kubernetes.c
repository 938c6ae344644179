/*
 * Fuzzes the readers of JSON of the parts that run in Kubernetes: the first byte of an input
 * chooses the sender, the rest is what it sends. A scheduler's request and an admission review are
 * whole bodies; of the API server come lists, the lines of a watch, a pod, a Lease and a binding's
 * answer.
 *
 * The extender knows two nodes and three pods before. Answers with the status 200 must be JSON, and
 * no GPU may have more than its pods asked for.
 */
#include "config.h"

#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/bind.h"
#include "kubernetes/extender.h"
#include "kubernetes/quantity.h"
#include "kubernetes/watch.h"
#include "kubernetes/webhook.h"

#include "fuzz.h"

enum sender {
    FILTER,
    PRIORITIZE,
    PREEMPT,
    BIND,
    LIST_OF_NODES,
    LIST_OF_PODS,
    WATCH_OF_NODES,
    WATCH_OF_PODS,
    POD,
    BINDING,
    LEASE,
    MUTATE,
    VALIDATE,
    QUANTITY,
    SENDERS
};

/* The answer of the API server to each call. */
static struct {
    const char *bytes;
    size_t length;
    long status;
} sent;

static uint64_t clock_ms;

static uint64_t now(void)
{
    return clock_ms += 1000;
}

static int give_lines(const struct ath_kube_call *call)
{
    const char *at = sent.bytes, *end = sent.bytes + sent.length;

    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line_end ? line_end : end) - at);
        if (call->on_line(call->context, at, length))
            return 0;
        at += length + (line_end != NULL);
    }
    return 0;
}

static int answer(void *self, const struct ath_kube_call *call, struct ath_kube_reply *out,
                  struct ath_err *err)
{
    (void)self;
    if (!sent.status)
        return ath_err_set(err, -EIO, ATH_E_PEER_UNREACHABLE, "no connection");
    out->status = sent.status;
    if (call->on_line && sent.status == 200)
        return give_lines(call);
    ath_text_add_bytes(&out->body, sent.bytes, sent.length);
    return 0;
}

static const struct ath_kube_api api = { .call = answer };

/* ---- what the extender knows before ---- */

static void take(struct ath_kube_cache *cache, enum ath_kube_kind kind, const char *text)
{
    json_auto_t *object = json_loads(text, 0, NULL);
    insist(object && !ath_kube_cache_take(cache, kind, object, NULL),
           "the first objects are right");
}

static struct ath_kube_cache *make_cache(void)
{
    struct ath_kube_cache *cache = ath_kube_cache_make(now, 75000);

    for (int kind = 0; kind < ATH_KUBE_KINDS; kind++) {
        ath_kube_cache_begin(cache, (enum ath_kube_kind)kind);
        ath_kube_cache_end(cache, (enum ath_kube_kind)kind);
    }
    take(cache, ATH_KUBE_NODES,
         "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"phase\":\"Ready\",\"numaNodes\":[0,8],"
         "\"devices\":[{\"uuid\":\"a\",\"numaNode\":0,\"memory\":\"80Gi\"},{\"uuid\":\"b\","
         "\"numaNode\":8,\"healthScore\":40}],\"links\":[{\"devices\":[0,1],"
         "\"bytesPerSecond\":9}]}}");
    take(cache, ATH_KUBE_NODES,
         "{\"metadata\":{\"name\":\"n2\"},\"status\":{\"phase\":\"Ready\",\"devices\":[{\"uuid\":"
         "\"c\",\"memory\":\"16Gi\"}]}}");
    take(
        cache, ATH_KUBE_PODS,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"1\"},\"spec\":{\"containers\":"
        "[{\"resources\":{\"limits\":{\"aitherion.io/gpu\":\"1\"}}}]}}");
    take(cache, ATH_KUBE_PODS,
         "{\"metadata\":{\"name\":\"q\",\"namespace\":\"d\",\"uid\":\"2\",\"annotations\":{"
         "\"aitherion.io/gpus\":\"c\"}},\"spec\":{\"nodeName\":\"n2\",\"priority\":-3,"
         "\"containers\":[{\"resources\":{\"limits\":{\"aitherion.io/gpu-share\":\"30\"}}}]}}");
    return cache;
}

/* ---- senders ---- */

static void check_json(unsigned int status, const struct ath_text *text)
{
    json_auto_t *json = NULL;

    insist(status == 200 || status == 400 || status == 503, "the status is one of ours");
    if (status == 200)
        json = json_loadb(text->data, text->length, 0, NULL);
    insist(status != 200 || json, "an answer is JSON");
}

static void ask(struct ath_kube_cache *cache, enum ath_kube_verb verb, const char *body,
                size_t length)
{
    struct ath_kube_extender extender = { .cache = cache, .api = &api };

    for (int i = 0; i < 2; i++) {
        ATH_AUTO(ath_text) text = { 0 };
        sent.status = i ? 201 : 0;
        check_json(ath_kube_extender_answer(&extender, verb, body, length, &text), &text);
    }
}

static void follow(struct ath_kube_cache *cache, enum ath_kube_kind kind, bool is_listed)
{
    struct ath_kube_watch watch = { .api = &api, .path = "/x", .cache = cache, .kind = kind };
    struct ath_err err;

    watch.version = is_listed ? ath_xstrdup("1") : NULL;
    sent.status = 200;
    for (int i = 0; i < 3; i++)
        ath_kube_watch_step(&watch, &err);
    ath_kube_watch_free(&watch);
}

static void bind_pod(struct ath_kube_cache *cache, const char *uid, long status)
{
    const struct ath_kube_binding binding = { .name = "p", .space = "d", .uid = uid, .node = "n1" };
    struct ath_err err;

    sent.status = status;
    (void)ath_kube_bind(&api, cache, NULL, &binding, &err);
}

static void take_lease(struct ath_kube_cache *cache)
{
    struct ath_kube_lease lease = {
        .api = &api, .cache = cache, .space = "s", .name = "l", .identity = "me", .clock = now
    };
    struct ath_err err;

    ath_kube_lease_begin(&lease);
    sent.status = 200;
    for (int i = 0; i < 20; i++) {
        ath_kube_lease_want(&lease);
        ath_kube_lease_step(&lease, &err);
    }
    ath_kube_lease_free(&lease);
}

static void review(size_t page, const char *body, size_t length)
{
    struct ath_kube_webhook webhook = {
        .injection = { .image = "image", .scheduler = "scheduler", .secret = "secret" },
        .guard = { .binder = "binder", .agent = "agent" },
    };
    ATH_AUTO(ath_text) text = { 0 };

    insist(!strcmp(ath_kube_webhook_pages[page].method, "POST"), "the first pages take reviews");
    check_json(ath_kube_webhook_pages[page].answer(&webhook, body, length, &text), &text);
}

static void read_quantity(const char *bytes, size_t length)
{
    ath_auto_free char *text = ath_xasprintf("%.*s", (int)length, bytes);
    int64_t value = 0;
    insist(ath_kube_quantity_read(text, &value) || value >= 0, "a quantity is not negative");
}

/* The cache must still be countable, and its GPUs can be asked for. */
static void look_at(struct ath_kube_cache *cache)
{
    struct ath_kube_cache_counts counts;
    static const char question[] =
        "{\"Pod\":{\"metadata\":{\"name\":\"x\",\"namespace\":\"d\",\"uid\":\"x\"},\"spec\":{"
        "\"containers\":[{\"resources\":{\"limits\":{\"aitherion.io/gpu\":\"2\","
        "\"aitherion.io/gpu-memory\":\"1Gi\"}}}]}},\"NodeNames\":[\"n1\",\"n2\"]}";

    ath_kube_cache_count(cache, &counts);
    insist(counts.gpus_used <= counts.gpus, "no more GPUs are used than there are");
    insist(counts.pods_reserved == 0, "no reservation outlasts its call");
    ask(cache, ATH_KUBE_FILTER, question, sizeof question - 1);
    ask(cache, ATH_KUBE_PRIORITIZE, question, sizeof question - 1);
}

static void send_it(struct ath_kube_cache *cache, enum sender sender, const char *bytes,
                    size_t length)
{
    switch (sender) {
    case FILTER:
    case PRIORITIZE:
    case PREEMPT:
    case BIND:
        ask(cache, (enum ath_kube_verb)(sender - FILTER), bytes, length);
        break;
    case LIST_OF_NODES:
    case WATCH_OF_NODES:
        follow(cache, ATH_KUBE_NODES, sender == WATCH_OF_NODES);
        break;
    case LIST_OF_PODS:
    case WATCH_OF_PODS:
        follow(cache, ATH_KUBE_PODS, sender == WATCH_OF_PODS);
        break;
    case POD:
        bind_pod(cache, "unknown", 200);
        break;
    case BINDING:
        bind_pod(cache, "1", 409);
        bind_pod(cache, "1", 500);
        break;
    case LEASE:
        take_lease(cache);
        break;
    case MUTATE:
    case VALIDATE:
        review(sender == VALIDATE, bytes, length);
        break;
    case QUANTITY:
    case SENDERS:
        read_quantity(bytes, length);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    /* A copy of its exact size, so that reading past its end is noticed. */
    ath_auto_free char *bytes = ath_xalloc(size);
    memcpy(bytes, data + 1, size - 1);
    sent.bytes = bytes;
    sent.length = size - 1;
    struct ath_kube_cache *cache = make_cache();
    send_it(cache, (enum sender)(data[0] % SENDERS), bytes, size - 1);
    look_at(cache);
    ath_kube_cache_free(cache);
    return 0;
}
