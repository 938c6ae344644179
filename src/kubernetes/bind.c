/* Reserves GPUs in the cache, sends the binding, and sends it again while the API server is
 * busy. */
#include "config.h"

#include "kubernetes/bind.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum {
    ANSWER_MAX = 4 << 20,
    TRIES = 3,
    CALL_MS = 3000, /* the scheduler waits five seconds if its configuration does not say more */
    PAUSE_MS = 100,
    LEASE_MS = 4000, /* to wait for the lease */
};

/* ---- the pod ---- */

/* Asks for a pod that the cache does not have: the watch may be behind, or the process may have
 * begun after the scheduler chose the node. */
static int fetch_pod(const struct ath_kube_api *api, struct ath_kube_cache *cache,
                     const struct ath_kube_binding *binding, bool *out_has_gpus,
                     struct ath_err *err)
{
    ATH_AUTO(ath_kube_reply) reply = { 0 };
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    ath_auto_free char *path =
        ath_xasprintf("/api/v1/namespaces/%s/pods/%s", binding->space, binding->name);
    const struct ath_kube_call call = {
        .method = "GET", .path = path, .answer_max = ANSWER_MAX, .timeout_ms = CALL_MS
    };
    int status = api->call(api->self, &call, &reply, err);
    if (status)
        return status;
    if (reply.status != 200) {
        ath_auto_free char *message = ath_kube_reply_message(&reply);
        return ath_err_set(err, -ENOENT, ATH_E_PEER_FAILED,
                           "the API server does not give the pod '%s': %s", binding->name, message);
    }
    json_auto_t *json =
        json_loadb(reply.body.data ? reply.body.data : "", reply.body.length, JSON_ALLOW_NUL, NULL);
    status = ath_kube_pod_read(json, &pod, err);
    if (!status && strcmp(pod.uid, binding->uid) != 0)
        status = ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                             "the pod '%s' is another one than the scheduler's", binding->name);
    *out_has_gpus = !status && pod.wish.gpu_count;
    return *out_has_gpus ? ath_kube_cache_take(cache, ATH_KUBE_PODS, json, err) : status;
}

/* Reserves GPUs. *out_has_gpus is false for a pod that asks for none. */
static int reserve(const struct ath_kube_api *api, struct ath_kube_cache *cache,
                   const struct ath_kube_binding *binding, struct ath_kube_place *place,
                   bool *out_has_gpus, struct ath_err *err)
{
    *out_has_gpus = true;
    int status = ath_kube_cache_reserve(cache, binding->uid, binding->node, place, err);
    if (status != -ENOENT)
        return status;
    status = fetch_pod(api, cache, binding, out_has_gpus, err);
    if (status || !*out_has_gpus)
        return status;
    return ath_kube_cache_reserve(cache, binding->uid, binding->node, place, err);
}

/* ---- the binding ---- */

static json_t *annotations_of(const struct ath_kube_place *place)
{
    json_t *annotations = json_object();
    struct ath_text gpus = { 0 };

    for (size_t i = 0; i < place->gpus.count; i++)
        ath_text_add_part(&gpus, ",", "%s", place->gpus.items[i]);
    ath_auto_free char *list = ath_text_take(&gpus);
    json_object_set_new(annotations, ATH_KUBE_GPUS_ANNOTATION, json_string(list));
    if (place->gpu_node)
        json_object_set_new(annotations, ATH_KUBE_GPU_NODE_ANNOTATION,
                            json_string(place->gpu_node));
    if (place->numa_nodes)
        json_object_set_new(annotations, "aitherion.io/numa-nodes", json_string(place->numa_nodes));
    if (place->runtime)
        json_object_set_new(annotations, "aitherion.io/runtime", json_string(place->runtime));
    if (place->wish.memory_bytes) {
        ath_auto_free char *memory = ath_xasprintf("%" PRId64, place->wish.memory_bytes);
        json_object_set_new(annotations, "aitherion.io/memory-of-each-gpu", json_string(memory));
    }
    if (place->wish.share_percent) {
        ath_auto_free char *share = ath_xasprintf("%d", place->wish.share_percent);
        json_object_set_new(annotations, "aitherion.io/share-of-each-gpu", json_string(share));
    }
    return annotations;
}

/* Returns the body of the binding. The API server copies its annotations to the pod. The caller
 * frees it. */
static char *body_of(const struct ath_kube_binding *binding, const struct ath_kube_place *place)
{
    json_t *annotations = place->gpus.count ? annotations_of(place) : json_object();
    json_auto_t *body =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:o}, s:{s:s, s:s, s:s}}", "apiVersion", "v1",
                  "kind", "Binding", "metadata", "name", binding->name, "namespace", binding->space,
                  "uid", binding->uid, "annotations", annotations, "target", "apiVersion", "v1",
                  "kind", "Node", "name", binding->node);
    return json_dumps(body, JSON_COMPACT);
}

/* Returns whether the server has not done anything, and may do so later. */
static bool is_busy(const struct ath_kube_reply *reply)
{
    return reply->status == 429 || reply->status == 503;
}

static void pause_before(int try, const struct ath_kube_reply *reply)
{
    int wait_ms = PAUSE_MS << try;
    if (reply->retry_after_s > 0)
        wait_ms = 1000;
    (void)poll(NULL, 0, wait_ms);
}

static int enter(struct ath_kube_lease *lease, int call_ms, int wait_ms, struct ath_err *err)
{
    return lease ? ath_kube_lease_enter(lease, call_ms, wait_ms, err) : 0;
}

static void leave(struct ath_kube_lease *lease)
{
    if (lease)
        ath_kube_lease_leave(lease);
}

/* Makes the call if the lease lasts longer. *out_is_sent: whether it may have reached the
 * server. */
static int call_once(const struct ath_kube_api *api, struct ath_kube_lease *lease,
                     const struct ath_kube_call *call, struct ath_kube_reply *reply,
                     bool *out_is_sent, struct ath_err *err)
{
    int status = enter(lease, CALL_MS, 0, err);
    *out_is_sent = !status;
    if (status)
        return status;
    status = api->call(api->self, call, reply, err);
    leave(lease);
    return status;
}

/* Sends the binding. *out_is_known: whether the pod is known not to be bound if this fails. */
static int send_binding(const struct ath_kube_api *api, struct ath_kube_lease *lease,
                        const struct ath_kube_binding *binding, const struct ath_kube_place *place,
                        bool *out_is_known, struct ath_err *err)
{
    ath_auto_free char *body = body_of(binding, place);
    ath_auto_free char *path =
        ath_xasprintf("/api/v1/namespaces/%s/pods/%s/binding", binding->space, binding->name);
    const struct ath_kube_call call = { .method = "POST",
                                        .path = path,
                                        .body = body,
                                        .answer_max = ANSWER_MAX,
                                        .timeout_ms = CALL_MS };

    for (int try = 1;; try++) {
        ATH_AUTO(ath_kube_reply) reply = { 0 };
        bool is_sent = true;
        int status = call_once(api, lease, &call, &reply, &is_sent, err);
        *out_is_known = !is_sent;
        if (status)
            return status;
        if (reply.status == 200 || reply.status == 201)
            return 0;
        if (is_busy(&reply) && try < TRIES) {
            pause_before(try, &reply);
            continue;
        }
        *out_is_known = is_busy(&reply) || (reply.status >= 400 && reply.status < 500);
        ath_auto_free char *message = ath_kube_reply_message(&reply);
        return ath_err_set(err, -EPROTO, ATH_E_PEER_FAILED,
                           "the API server does not bind the pod '%s' to the node '%s': %s",
                           binding->name, binding->node, message);
    }
}

static int reserve_and_bind(const struct ath_kube_api *api, struct ath_kube_cache *cache,
                            struct ath_kube_lease *lease, const struct ath_kube_binding *binding,
                            struct ath_err *err)
{
    ATH_AUTO(ath_kube_place) place = { 0 };
    bool has_gpus = false, is_known = false;

    int status = reserve(api, cache, binding, &place, &has_gpus, err);
    if (status)
        return status;
    status = send_binding(api, lease, binding, &place, &is_known, err);
    if (has_gpus && !status)
        ath_kube_cache_confirm(cache, binding->uid);
    if (has_gpus && status && is_known)
        ath_kube_cache_release(cache, binding->uid);
    if (has_gpus && status && !is_known)
        ath_kube_cache_doubt(cache, binding->uid);
    return status;
}

int ath_kube_bind(const struct ath_kube_api *api, struct ath_kube_cache *cache,
                  struct ath_kube_lease *lease, const struct ath_kube_binding *binding,
                  struct ath_err *err)
{
    int status = enter(lease, CALL_MS, LEASE_MS, err);
    if (status)
        return status;
    status = reserve_and_bind(api, cache, lease, binding, err);
    leave(lease);
    return status;
}
