/* An AdmissionReview (admission.k8s.io/v1): the API server's question whether an object may be
 * written, and the answer. Pure computation. */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "base/text.h"

/* The texts and objects belong to the body. */
struct ath_kube_review {
    const char *uid, *operation;        /* "CREATE", "UPDATE", "DELETE", "CONNECT" */
    const char *resource, *subresource; /* "pods"; "" if there is none */
    const char *space, *name;           /* NULL: none (yet) */
    const char *user;                   /* "" if it is not told */
    const json_t *extra;                /* lists of texts about the user; or NULL */
    const json_t *object, *old_object;  /* NULL: none */
    bool is_dry_run;                    /* nothing will be written */
};

/* Reads the body of a request. Returns 0, or -EBADMSG with err. */
int ath_kube_review_read(const json_t *body, struct ath_kube_review *out, struct ath_err *err);

/* Writes the answer. why: the reason of a refusal, NULL to allow. patch: operations of a JSON
 * patch; NULL or an empty list changes nothing. */
void ath_kube_review_answer(const struct ath_kube_review *review, const char *why,
                            const json_t *patch, struct ath_text *out);
