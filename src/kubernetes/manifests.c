/* Fills the words between two @ into the manifest. */
#include "config.h"

#include "kubernetes/manifests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "config/yaml.h"

static const char between[] = "\n---\n";

/* ---- values ---- */

static const struct ath_kube_word *word_at(const char *text, const struct ath_kube_word *words)
{
    for (; words->word; words++)
        if (ath_starts_with(text, words->word))
            return words;
    return NULL;
}

/* Returns the text with the values of its words. A value is not searched for words. */
static json_t *text_of(const char *text, const struct ath_kube_word *words)
{
    ATH_AUTO(ath_text) out = { 0 };

    while (*text) {
        const struct ath_kube_word *found = *text == '@' ? word_at(text, words) : NULL;
        ath_text_add_bytes(&out, found ? found->value : text, found ? strlen(found->value) : 1);
        text += found ? strlen(found->word) : 1;
    }
    return json_string(out.data ? out.data : "");
}

static json_t *scalar_of(const struct ath_yaml *yaml, const struct ath_kube_word *words)
{
    switch (ath_yaml_type_of(yaml)) {
    case ATH_YAML_NULL:
        return json_null();
    case ATH_YAML_BOOLEAN:
        return json_boolean(!strcmp(yaml->text, "true"));
    case ATH_YAML_NUMBER:
        return json_integer(strtoll(yaml->text, NULL, 10));
    case ATH_YAML_TEXT:
    default:
        return text_of(yaml->text, words);
    }
}

static json_t *value_of(const struct ath_yaml *yaml, const struct ath_kube_word *words)
{
    if (yaml->kind == ATH_YAML_SCALAR)
        return scalar_of(yaml, words);
    json_t *value = yaml->kind == ATH_YAML_LIST ? json_array() : json_object();
    for (size_t i = 0; i < yaml->child_count; i++) {
        json_t *child = value_of(&yaml->children[i], words);
        if (yaml->kind == ATH_YAML_LIST)
            json_array_append_new(value, child);
        else
            json_object_set_new(value, yaml->children[i].key, child);
    }
    return value;
}

/* ---- documents ---- */

static int read_document(const char *text, size_t length, const struct ath_kube_word *words,
                         json_t *out, struct ath_err *err)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    ATH_AUTO(ath_yaml) yaml = { 0 };

    if (!ath_yaml_parse(text, length, &yaml, &faults) || faults.count ||
        yaml.kind != ATH_YAML_MAPPING)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                           "object %zu of the manifests is no YAML mapping",
                           json_array_size(out) + 1);
    json_array_append_new(out, value_of(&yaml, words));
    return 0;
}

int ath_kube_manifests_make(const char *text, const struct ath_kube_word *words, json_t **out,
                            struct ath_err *err)
{
    json_auto_t *objects = json_array();

    for (const char *next = text; next;) {
        const char *end = strstr(next, between);
        size_t length = end ? (size_t)(end - next) + 1 : strlen(next);
        int status = read_document(next, length, words, objects, err);
        if (status)
            return status;
        next = end ? end + strlen(between) : NULL;
    }
    *out = json_incref(objects);
    return 0;
}
