/*
 * A document's text while it is being changed: single splices that leave every other byte alone.
 *
 * After each splice the text is read again and compared, value by value, with what was meant. Where
 * more or less would have changed, the splice is refused with "document-uneditable" and the draft
 * stays as it was; so no form of YAML that was not thought of here can do harm.
 */
#pragma once
#include "base/err.h"
#include "config/yaml.h"

struct ath_draft {
    const char *file; /* for messages */
    char *text;
    size_t length;
    struct ath_yaml tree; /* of text; made anew by every splice */
};

/* Starts from a text that is known to be whole YAML. */
void ath_draft_begin(struct ath_draft *draft, const char *file, const char *text, size_t length);
void ath_draft_free(struct ath_draft *draft);

/*
 * value  what to write, in flow style: "70", "[0, 254]", "{ kind: docker }"
 * The nodes named are nodes of draft->tree and gone after success. All return 0, or -ENOTSUP with
 * err.
 */

/* Puts value in the place of a scalar, or of a list or mapping in brackets. */
int ath_draft_replace(struct ath_draft *draft, const struct ath_yaml *node, const char *value,
                      struct ath_err *err);

/* Takes the value of an optional key away with its line; "null" stands there afterwards where the
 * line has something else, a comment too, or the mapping no other key. */
int ath_draft_clear(struct ath_draft *draft, const struct ath_yaml *node, struct ath_err *err);

/* Adds "key: value" to a mapping (or to a key that is there without a value), or with key NULL an
 * entry to a list, as the last one, in the style of those that are there. Mappings in a list get
 * lines of their own, where "[]" stood at the end of a line too. */
int ath_draft_add(struct ath_draft *draft, const struct ath_yaml *holder, const char *key,
                  const char *value, struct ath_err *err);

/* Takes an entry out of a list, with the comments in its own lines. */
int ath_draft_drop(struct ath_draft *draft, const struct ath_yaml *list, size_t index,
                   struct ath_err *err);

/* True where the node is in brackets without a comment or line break between them, so that writing
 * it anew loses nothing. */
bool ath_draft_is_simple(const struct ath_draft *draft, const struct ath_yaml *node);
