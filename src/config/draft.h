/*
 * A document's text while it is being changed: single splices that leave every other byte as it is.
 *
 * After each splice the text is read again and compared, value by value, with the expected tree. If
 * they differ, the splice is refused with "document-uneditable" and the draft stays as it was. A
 * form of YAML that we did not think of can therefore do no harm. A draft belongs to one thread.
 */
#pragma once
#include "base/err.h"
#include "config/yaml.h"

struct ath_draft {
    const char *file; /* for messages */
    char *text;
    size_t length;
    struct ath_yaml tree; /* of text; read again after every splice */
};

/* Starts from a text that is known to be valid YAML. */
void ath_draft_begin(struct ath_draft *draft, const char *file, const char *text, size_t length);
void ath_draft_free(struct ath_draft *draft);

/*
 * value  the new value in flow style: "70", "[0, 254]", "{ kind: docker }"
 * Nodes given must be nodes of draft->tree; after success they are freed. All functions return 0,
 * or -ENOTSUP with err.
 */

/* Replaces a scalar, or a list or mapping in brackets, by value. */
int ath_draft_replace(struct ath_draft *draft, const struct ath_yaml *node, const char *value,
                      struct ath_err *err);

/* Removes an optional key with its line. If the line holds anything else (a comment too), or the
 * mapping has no other key, the value becomes "null" instead. */
int ath_draft_clear(struct ath_draft *draft, const struct ath_yaml *node, struct ath_err *err);

/* Adds "key: value" to a mapping (or to a key without a value). With key NULL it appends an entry
 * to a list, in the style of the entries there. Mappings in a list get lines of their own, also if
 * the list was "[]" at the end of a line. */
int ath_draft_add(struct ath_draft *draft, const struct ath_yaml *holder, const char *key,
                  const char *value, struct ath_err *err);

/* Removes an entry of a list, with the comments in the entry's lines. */
int ath_draft_drop(struct ath_draft *draft, const struct ath_yaml *list, size_t index,
                   struct ath_err *err);

/* True if the node is in brackets without a comment or line break between them, so that writing it
 * again loses nothing. */
bool ath_draft_is_simple(const struct ath_draft *draft, const struct ath_yaml *node);
