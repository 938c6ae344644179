/*
 * Changing a document by key.
 *
 * A change is made in the file's own text: comments, order and style stay, byte for byte, and the
 * result is verified by reading it again (draft.h). On failure the document is as it was. The file
 * changes only with ath_document_save(). The menus and the flags call the same functions.
 */
#pragma once
#include "config/document.h"

struct ath_change {
    const char *key;   /* "numa.0.memory_percent" */
    const char *value; /* "70"; lists as "[0, 254]" or "0,254"; "null" removes an optional value */
};

/*
 * Makes all changes, or none. "identities.NAME.KEY" makes the row if there is none. Rules between
 * values (ports, ids) are checked after the last change only. Returns 0, or a negative errno with
 * err: "key-unknown", "value-invalid" (the message names the allowed values), "document-uneditable"
 * (the file's form does not allow a safe change).
 */
int ath_document_set_all(struct ath_document *document, const struct ath_change *changes,
                         size_t count, struct ath_err *err);

/* Returns whether setting this key makes its row if the document lacks it:
 * "identities.NAME.KEY". */
bool ath_document_makes_row(const char *key);

/* Makes one change; errors as above. */
int ath_document_set(struct ath_document *document, const char *key, const char *value,
                     struct ath_err *err);

/*
 * Adds an entry to "numa", "roce.cards" or "roce.macvlans". The keys of fields are those of the
 * entry ("pci"). Errors as above; "value-invalid" also if the entry lacks a required key or its
 * name is taken.
 */
int ath_document_append(struct ath_document *document, const char *list,
                        const struct ath_change *fields, size_t count, struct ath_err *err);

/* Removes an entry: "roce.macvlans.macvlan0". Errors as above; "value-invalid" also if another
 * entry refers to it. */
int ath_document_remove(struct ath_document *document, const char *key, struct ath_err *err);

/*
 * Writes the value of a key as ath_document_set() takes it, defaults included, to *out; NULL if it
 * has none. The caller frees *out. Returns 0, or -ENOENT "key-unknown" with err (also for a key
 * that holds keys).
 */
int ath_document_get(const struct ath_document *document, const char *key, char **out,
                     struct ath_err *err);
