/* Reads a request of the scheduler, and writes the answer of each verb. */
#include "config.h"

#include "kubernetes/extender.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "kubernetes/bind.h"

enum { OK = 200, BAD_REQUEST = 400, UNAVAILABLE = 503 };

static const char whole_nodes[] =
    "the scheduler sends whole nodes: set nodeCacheCapable: true in its configuration";

/* The scheduler's question about nodes. */
struct question {
    const json_t *pod;
    const char **names; /* belong to the request */
    size_t count;
};

static void question_free(struct question *question)
{
    free(question->names);
}

static unsigned int refuse(struct ath_kube_extender *extender, struct ath_text *out,
                           const char *why)
{
    ath_kube_figures_refuse(&extender->figures, ATH_KUBE_REFUSED_REQUEST, 1);
    ath_text_add(out, "%s\n", why);
    return BAD_REQUEST;
}

static void write_json(json_t *value, struct ath_text *out)
{
    ath_auto_free char *text = json_dumps(value, JSON_COMPACT);
    ath_text_add_bytes(out, text, strlen(text));
    json_decref(value);
}

/* Returns a text as JSON. A message may be cut inside a letter, which JSON cannot have. */
static json_t *words(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("the reason is no valid text");
}

/* Reads Pod and NodeNames. Returns NULL, or what is wrong. */
static const char *read_question(const json_t *body, struct question *out)
{
    const json_t *names = json_object_get(body, "NodeNames");
    const json_t *nodes = json_object_get(body, "Nodes");

    out->pod = json_object_get(body, "Pod");
    if (!json_is_object(out->pod))
        return "the request has no Pod";
    if (!json_is_array(names) && nodes && !json_is_null(nodes))
        return whole_nodes;
    if (json_array_size(names) > ATH_KUBE_NODES_MAX)
        return "the request has more than 65536 nodes";
    out->count = json_array_size(names);
    out->names = ath_xalloc(out->count * sizeof *out->names);
    for (size_t i = 0; i < out->count; i++) {
        const json_t *name = json_array_get(names, i);
        out->names[i] = json_string_value(name);
        if (!out->names[i] || strlen(out->names[i]) != json_string_length(name) ||
            json_string_length(name) > ATH_KUBE_NAME_MAX)
            return "NodeNames is no list of names";
    }
    return NULL;
}

/* ---- filter ---- */

struct filtered {
    json_t *names, *failed, *hopeless;
};

static unsigned int write_filtered(struct filtered *filtered, struct ath_text *out)
{
    write_json(json_pack("{s:n, s:o, s:o, s:o, s:s}", "Nodes", "NodeNames", filtered->names,
                         "FailedNodes", filtered->failed, "FailedAndUnresolvableNodes",
                         filtered->hopeless, "Error", ""),
               out);
    return OK;
}

/* Kubernetes before 1.21 knows FailedNodes only, and later ones prefer the other list. */
static void refuse_node(const char *name, const char *why, bool is_hopeless, struct filtered *out)
{
    json_t *reason = words(why);
    if (is_hopeless)
        json_object_set(out->hopeless, name, reason);
    json_object_set_new(out->failed, name, reason);
}

/* Refuses all nodes for a reason that is the pod's. */
static void fail_all(const struct question *question, const char *why, struct filtered *out)
{
    for (size_t i = 0; i < question->count; i++)
        refuse_node(question->names[i], why, true, out);
}

static void sort_nodes(struct ath_kube_extender *extender, const struct question *question,
                       const struct ath_kube_pod *pod, struct filtered *out)
{
    ath_auto_free struct ath_kube_opinion *opinions =
        ath_xalloc(question->count * sizeof *opinions);
    size_t busy = 0, hopeless = 0;

    ath_kube_cache_judge(extender->cache, pod, question->names, question->count, true, opinions);
    for (size_t i = 0; i < question->count; i++) {
        struct ath_kube_opinion *opinion = &opinions[i];
        if (opinion->fits)
            json_array_append_new(out->names, json_string(question->names[i]));
        else
            refuse_node(question->names[i], opinion->why, opinion->is_hopeless, out);
        hopeless += !opinion->fits && opinion->is_hopeless;
        busy += !opinion->fits && !opinion->is_hopeless;
        free(opinion->why);
    }
    ath_kube_figures_refuse(&extender->figures, ATH_KUBE_REFUSED_BUSY, busy);
    ath_kube_figures_refuse(&extender->figures, ATH_KUBE_REFUSED_HOPELESS, hopeless);
}

static void pass_all(const struct question *question, struct filtered *out)
{
    for (size_t i = 0; i < question->count; i++)
        json_array_append_new(out->names, json_string(question->names[i]));
}

static unsigned int filter(struct ath_kube_extender *extender, const json_t *body,
                           struct ath_text *out)
{
    ATH_AUTO(question) question = { 0 };
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    struct ath_err err = { 0 };
    const char *fault = read_question(body, &question);

    if (fault)
        return refuse(extender, out, fault);
    int status = ath_kube_pod_read(question.pod, &pod, &err);
    if (status == -EBADMSG)
        return refuse(extender, out, err.message);
    struct filtered filtered = { json_array(), json_object(), json_object() };
    if (status) {
        ath_kube_figures_refuse(&extender->figures, ATH_KUBE_REFUSED_POD, 1);
        fail_all(&question, err.message, &filtered);
    } else if (!pod.wish.gpu_count) {
        pass_all(&question, &filtered);
    } else {
        sort_nodes(extender, &question, &pod, &filtered);
    }
    return write_filtered(&filtered, out);
}

/* ---- prioritize ---- */

/* Returns whether a text needs no escapes in JSON. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            return false;
    return true;
}

static void write_text(struct ath_text *out, const char *text)
{
    ath_text_add_bytes(out, text, strlen(text));
}

/* Writes an entry as text: a thousand objects of jansson take ten times as long. */
static void write_score(const char *name, int score, bool is_first, struct ath_text *out)
{
    const char digits[] = { (char)('0' + score % 10), '\0' };
    json_auto_t *value = is_plain(name) ? NULL : json_string(name);
    ath_auto_free char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

    write_text(out, is_first ? "{\"Host\":" : ",{\"Host\":");
    write_text(out, quoted ? quoted : "\"");
    write_text(out, quoted ? "" : name);
    write_text(out, quoted ? ",\"Score\":" : "\",\"Score\":");
    write_text(out, score >= 10 ? "1" : "");
    write_text(out, digits);
    write_text(out, "}");
}

static unsigned int prioritize(struct ath_kube_extender *extender, const json_t *body,
                               struct ath_text *out)
{
    ATH_AUTO(question) question = { 0 };
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    struct ath_err err = { 0 };
    const char *fault = read_question(body, &question);

    if (fault)
        return refuse(extender, out, fault);
    if (ath_kube_pod_read(question.pod, &pod, &err))
        return refuse(extender, out, err.message);
    ath_auto_free struct ath_kube_opinion *opinions = ath_xalloc(question.count * sizeof *opinions);
    if (pod.wish.gpu_count)
        ath_kube_cache_judge(extender->cache, &pod, question.names, question.count, false,
                             opinions);
    ath_text_add_bytes(out, "[", 1);
    for (size_t i = 0; i < question.count; i++)
        write_score(question.names[i], opinions[i].score, i == 0, out);
    ath_text_add_bytes(out, "]", 1);
    return OK;
}

/* ---- preempt ---- */

/* Reads the pods that the scheduler would evict on a node. Returns false if they are no such
 * list. */
static bool read_victims(const json_t *node, struct ath_texts *out)
{
    const json_t *pods = json_object_get(node, "Pods");
    size_t count = json_array_size(pods);

    if (!json_is_object(node) || (pods && !json_is_array(pods) && !json_is_null(pods)) ||
        count > ATH_KUBE_VICTIMS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *uid = ath_kube_text(json_array_get(pods, i), "UID", ATH_KUBE_UID_MAX);
        if (!uid)
            return false;
        ath_texts_add(out, uid);
    }
    return true;
}

/* Returns a node with its victims. Added victims may violate budgets (PodDisruptionBudget) that the
 * scheduler has not counted. */
static json_t *victims_json(const json_t *node, const struct ath_texts *victims)
{
    json_t *pods = json_array();
    for (size_t i = 0; i < victims->count; i++)
        json_array_append_new(pods, json_pack("{s:s}", "UID", victims->items[i]));
    return json_pack("{s:o, s:I}", "Pods", pods, "NumPDBViolations",
                     json_integer_value(json_object_get(node, "NumPDBViolations")));
}

/* Adds a node to the answer if the pod fits there without the victims. Returns false if the node's
 * victims are none. */
static bool preempt_node(struct ath_kube_extender *extender, const struct ath_kube_pod *pod,
                         const char *name, const json_t *node, json_t *out)
{
    ATH_AUTO(ath_texts) victims = { 0 };

    if (strlen(name) > ATH_KUBE_NAME_MAX || !read_victims(node, &victims))
        return false;
    if (!pod->wish.gpu_count || ath_kube_cache_preempt(extender->cache, pod, name, &victims))
        json_object_set_new(out, name, victims_json(node, &victims));
    return true;
}

/* The scheduler asks which of the nodes remain for a pod that evicts others. */
static unsigned int preempt(struct ath_kube_extender *extender, const json_t *body,
                            struct ath_text *out)
{
    json_t *nodes = json_object_get(body, "NodeNameToMetaVictims");
    const json_t *whole = json_object_get(body, "NodeNameToVictims");
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    struct ath_err err = { 0 };
    const char *name;
    json_t *node;

    if (!json_is_object(nodes) && json_object_size(whole))
        return refuse(extender, out, whole_nodes);
    if (!json_is_object(nodes) || json_object_size(nodes) > ATH_KUBE_NODES_MAX)
        return refuse(extender, out, "the request has no NodeNameToMetaVictims");
    if (ath_kube_pod_read(json_object_get(body, "Pod"), &pod, &err))
        return refuse(extender, out, err.message);
    json_auto_t *kept = json_object();
    json_object_foreach(nodes, name, node)
    {
        if (!preempt_node(extender, &pod, name, node, kept))
            return refuse(extender, out, "NodeNameToMetaVictims is no list of pods for each node");
    }
    write_json(json_pack("{s:O}", "NodeNameToMetaVictims", kept), out);
    return OK;
}

/* ---- bind ---- */

static unsigned int bind_pod(struct ath_kube_extender *extender, const json_t *body,
                             struct ath_text *out)
{
    const struct ath_kube_binding binding = {
        .name = ath_kube_text(body, "PodName", ATH_KUBE_NAME_MAX),
        .space = ath_kube_text(body, "PodNamespace", ATH_KUBE_NAME_MAX),
        .uid = ath_kube_text(body, "PodUID", ATH_KUBE_UID_MAX),
        .node = ath_kube_text(body, "Node", ATH_KUBE_NAME_MAX),
    };
    struct ath_err err = { 0 };

    if (!ath_kube_is_name(binding.name) || !ath_kube_is_name(binding.space) || !binding.uid ||
        !ath_kube_is_name(binding.node))
        return refuse(extender, out, "the request names no pod, namespace, uid or node");
    int status = ath_kube_bind(extender->api, extender->cache, extender->lease, &binding, &err);
    if (status)
        ath_kube_figures_refuse(&extender->figures, ATH_KUBE_REFUSED_BINDING, 1);
    write_json(json_pack("{s:o}", "Error", words(status ? err.message : "")), out);
    return OK;
}

/* ---- requests ---- */

typedef unsigned int answer(struct ath_kube_extender *extender, const json_t *body,
                            struct ath_text *out);

unsigned int ath_kube_extender_answer(struct ath_kube_extender *extender, enum ath_kube_verb verb,
                                      const char *body, size_t length, struct ath_text *out)
{
    static answer *const answers[ATH_KUBE_VERBS] = { filter, prioritize, preempt, bind_pod };
    uint64_t begin_ns = ath_now_ns();
    json_auto_t *json = NULL;

    if (!ath_kube_cache_is_ready(extender->cache)) {
        ath_text_add(out, "the nodes and pods of the cluster are not known yet\n");
        return UNAVAILABLE;
    }
    json = length <= ATH_KUBE_BODY_MAX ? json_loadb(body, length, JSON_ALLOW_NUL, NULL) : NULL;
    if (!json_is_object(json))
        return refuse(extender, out, "the body is no JSON object, or larger than 8 MiB");
    if (extender->lease && verb != ATH_KUBE_PRIORITIZE)
        ath_kube_lease_want(extender->lease);
    unsigned int status = answers[verb](extender, json, out);
    ath_kube_figures_time(&extender->figures, verb, ath_now_ns() - begin_ns);
    return status;
}
