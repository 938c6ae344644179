/* Sends a node's ComputeNode and labels to the API server, and plans the next time. */
#include "config.h"

#include "kubernetes/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define API_VERSION "aitherion.io/v1alpha1"
#define COMPUTE_NODES "/apis/" API_VERSION "/computenodes"

enum {
    ANSWER_MAX = 4 << 20,
    CALL_MS = 10 * 1000,
    AGAIN_MS = 5 * 60 * 1000,
    WAIT_MS = 1000,
    WAIT_MS_MAX = 30 * 1000,
    WAITS = 5, /* doublings up to WAIT_MS_MAX */
};

void ath_kube_agent_free(struct ath_kube_agent *agent)
{
    if (!agent)
        return;
    json_decref(agent->status);
    json_decref(agent->labels);
    *agent = (struct ath_kube_agent){ 0 };
}

json_t *ath_kube_agent_object(const char *node, const json_t *status)
{
    return json_pack("{s:s, s:s, s:{s:s}, s:O}", "apiVersion", API_VERSION, "kind", "ComputeNode",
                     "metadata", "name", node, "status", status);
}

/* ---- calls ---- */

struct request {
    const char *method, *path, *body_type;
    json_t *body; /* is freed */
};

/* Sends a request. Returns 0 if an answer came, with its status. */
static int send(struct ath_kube_agent *agent, const struct request *request,
                struct ath_kube_reply *out, struct ath_err *err)
{
    ath_auto_free char *body = json_dumps(request->body, JSON_COMPACT);
    const struct ath_kube_call call = { .method = request->method,
                                        .path = request->path,
                                        .body = body,
                                        .body_type = request->body_type,
                                        .answer_max = ANSWER_MAX,
                                        .timeout_ms = CALL_MS };

    json_decref(request->body);
    return agent->api->call(agent->api->self, &call, out, err);
}

static bool is_done(const struct ath_kube_reply *reply)
{
    return reply->status == 200 || reply->status == 201;
}

/* Sets err to what the server refuses. */
static int refuse(const struct ath_kube_reply *reply, const char *path, struct ath_err *err)
{
    ath_auto_free char *message = ath_kube_reply_message(reply);
    return ath_err_set(err, -EPROTO, ATH_E_PEER_FAILED,
                       "the API server does not take what is sent to '%s': %s", path, message);
}

/* Sends a merge patch. *out_is_missing: whether there is no such object. */
static int patch(struct ath_kube_agent *agent, const char *path, json_t *body, bool *out_is_missing,
                 unsigned int *out_wait_ms, struct ath_err *err)
{
    ATH_AUTO(ath_kube_reply) reply = { 0 };
    const struct request request = { "PATCH", path, "application/merge-patch+json", body };
    int status = send(agent, &request, &reply, err);

    *out_is_missing = !status && reply.status == 404;
    *out_wait_ms = (unsigned int)reply.retry_after_s * 1000;
    if (status || is_done(&reply))
        return status;
    return refuse(&reply, path, err);
}

/* ---- the ComputeNode ---- */

/* Another process may have made it meanwhile: 409. */
static int create(struct ath_kube_agent *agent, const json_t *status, unsigned int *out_wait_ms,
                  struct ath_err *err)
{
    ATH_AUTO(ath_kube_reply) reply = { 0 };
    const struct request request = { "POST", COMPUTE_NODES, NULL,
                                     ath_kube_agent_object(agent->node, status) };
    int result = send(agent, &request, &reply, err);

    *out_wait_ms = (unsigned int)reply.retry_after_s * 1000;
    if (result || is_done(&reply) || reply.status == 409)
        return result;
    result = refuse(&reply, COMPUTE_NODES, err);
    if (reply.status == 404)
        ath_err_hint(err, result, "kubectl apply -k packaging/kubernetes");
    return result;
}

/* The API server drops the status of a new object, so it is sent after that. */
static int send_status(struct ath_kube_agent *agent, const json_t *status,
                       unsigned int *out_wait_ms, struct ath_err *err)
{
    ath_auto_free char *path = ath_xasprintf(COMPUTE_NODES "/%s/status", agent->node);
    bool is_missing = false;

    for (int try = 0;; try++) {
        json_t *body = json_pack("{s:O}", "status", status);
        int result = patch(agent, path, body, &is_missing, out_wait_ms, err);
        if (!is_missing || try)
            return result;
        result = create(agent, status, out_wait_ms, err);
        if (result)
            return result;
    }
}

static int send_labels(struct ath_kube_agent *agent, const json_t *labels,
                       unsigned int *out_wait_ms, struct ath_err *err)
{
    ath_auto_free char *path = ath_xasprintf("/api/v1/nodes/%s", agent->node);
    bool is_missing;
    return patch(agent, path, json_pack("{s:{s:O}}", "metadata", "labels", labels), &is_missing,
                 out_wait_ms, err);
}

/* ---- steps ---- */

typedef int sender(struct ath_kube_agent *agent, const json_t *value, unsigned int *out_wait_ms,
                   struct ath_err *err);

/* Sends a value if it differs from what was sent, or that is long ago. */
static int keep(struct ath_kube_agent *agent, sender *sender_of, const json_t *value, json_t **sent,
                uint64_t *sent_ms, unsigned int *out_wait_ms, struct ath_err *err)
{
    uint64_t now_ms = agent->clock();

    if (*sent && json_equal(*sent, value) && now_ms - *sent_ms < AGAIN_MS)
        return 0;
    int status = sender_of(agent, value, out_wait_ms, err);
    if (status)
        return status;
    json_decref(*sent);
    *sent = json_deep_copy(value);
    *sent_ms = now_ms;
    return 0;
}

static unsigned int wait_after(struct ath_kube_agent *agent, unsigned int wished_ms)
{
    unsigned int wait_ms =
        agent->failures < WAITS ? (unsigned int)WAIT_MS << agent->failures : WAIT_MS_MAX;

    agent->failures++;
    if (wait_ms < wished_ms)
        wait_ms = wished_ms;
    return wait_ms < WAIT_MS_MAX ? wait_ms : WAIT_MS_MAX;
}

/* The status goes first: the scheduler must know of the capacity when the label makes it try
 * pods again. */
int ath_kube_agent_step(struct ath_kube_agent *agent, const json_t *status, const json_t *labels,
                        unsigned int *out_wait_ms, struct ath_err *err)
{
    unsigned int wished_ms = 0;
    int result =
        keep(agent, send_status, status, &agent->status, &agent->status_ms, &wished_ms, err);
    if (!result)
        result =
            keep(agent, send_labels, labels, &agent->labels, &agent->labels_ms, &wished_ms, err);
    if (!result) {
        agent->failures = 0;
        *out_wait_ms = 0;
        return 0;
    }
    *out_wait_ms = wait_after(agent, wished_ms);
    return result;
}
