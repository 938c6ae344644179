/*
 * The objects of Kubernetes that aitherion is set up with: packaging/kubernetes/aitherion.yaml, in
 * which texts contain words like @NAMESPACE@. Pure computation.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"

/* Values for words, ended by a NULL word. */
struct ath_kube_word {
    const char *word; /* "@NAMESPACE@" */
    const char *value;
};

/* Reads YAML documents, and puts values in place of words, also inside longer texts. Returns 0 with
 * a list of objects, which the caller frees; or -EINVAL with err if the text is no YAML. */
int ath_kube_manifests_make(const char *text, const struct ath_kube_word *words, json_t **out,
                            struct ath_err *err);
