/* Reads an AdmissionReview, and writes its answer. */
#include "config.h"

#include "kubernetes/review.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/pod.h"

#define REVIEW_VERSION "admission.k8s.io/v1"

enum { FORBIDDEN = 403, USER_MAX = 1024, WORD_MAX = 63 };

static int refuse(struct ath_err *err, const char *why)
{
    return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL, "%s", why);
}

static const json_t *object_of(const json_t *request, const char *member)
{
    const json_t *object = json_object_get(request, member);
    return json_is_object(object) ? object : NULL;
}

static const char *text_or_empty(const json_t *object, const char *member, size_t max)
{
    const char *text = ath_kube_text(object, member, max);
    return text ? text : "";
}

int ath_kube_review_read(const json_t *body, struct ath_kube_review *out, struct ath_err *err)
{
    const char *version = ath_kube_text(body, "apiVersion", ATH_KUBE_NAME_MAX);
    const json_t *request = json_object_get(body, "request");
    const json_t *resource = json_object_get(request, "resource");
    const json_t *user = json_object_get(request, "userInfo");

    if (!version || strcmp(version, REVIEW_VERSION) != 0)
        return refuse(err, "the body is no AdmissionReview of " REVIEW_VERSION);
    *out = (struct ath_kube_review){
        .uid = ath_kube_text(request, "uid", ATH_KUBE_UID_MAX),
        .operation = ath_kube_text(request, "operation", WORD_MAX),
        .resource = ath_kube_text(resource, "resource", WORD_MAX),
        .subresource = text_or_empty(request, "subResource", WORD_MAX),
        .space = ath_kube_text(request, "namespace", ATH_KUBE_NAME_MAX),
        .name = ath_kube_text(request, "name", ATH_KUBE_NAME_MAX),
        .user = text_or_empty(user, "username", USER_MAX),
        .extra = object_of(user, "extra"),
        .object = object_of(request, "object"),
        .old_object = object_of(request, "oldObject"),
        .is_dry_run = json_is_true(json_object_get(request, "dryRun")),
    };
    if (!out->uid || !out->operation || !out->resource)
        return refuse(err, "the request has no uid, operation or resource");
    return 0;
}

/* Returns the JSON of a value in base64. The caller frees it. */
static char *encoded(const json_t *value)
{
    ath_auto_free char *text = json_dumps(value, JSON_COMPACT);
    size_t length = strlen(text);
    char *out = ath_xalloc(BASE64_ENCODE_RAW_LENGTH(length) + 1);
    base64_encode_raw(out, length, (const uint8_t *)text);
    return out;
}

/* Returns a text as JSON. A message may be cut inside a letter, which JSON cannot have. */
static json_t *words(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("the reason is no valid text");
}

void ath_kube_review_answer(const struct ath_kube_review *review, const char *why,
                            const json_t *patch, struct ath_text *out)
{
    json_t *response = json_pack("{s:s, s:b}", "uid", review->uid, "allowed", why == NULL);

    if (why)
        json_object_set_new(response, "status",
                            json_pack("{s:i, s:s, s:o}", "code", FORBIDDEN, "reason", "Forbidden",
                                      "message", words(why)));
    if (!why && json_array_size(patch)) {
        ath_auto_free char *text = encoded(patch);
        json_object_set_new(response, "patchType", json_string("JSONPatch"));
        json_object_set_new(response, "patch", json_string(text));
    }
    json_auto_t *body = json_pack("{s:s, s:s, s:o}", "apiVersion", REVIEW_VERSION, "kind",
                                  "AdmissionReview", "response", response);
    ath_auto_free char *text = json_dumps(body, JSON_COMPACT);
    ath_text_add_bytes(out, text, strlen(text));
}
