/*
 * Changing a document by key.
 *
 * A change is made in the file's own text: comments, order and style stay, byte for byte, and the
 * result is read again before it counts (draft.h). On failure the document is as it was. Nothing is
 * written until ath_document_save(). The menus and the flags call the same functions.
 */
#pragma once
#include "config/document.h"

struct ath_change {
    const char *key; /* "numa.0.memory_percent" */
    const char
        *value; /* "70"; lists as "[0, 254]" or "0,254"; "null" takes an optional value away */
};

/*
 * Makes all changes, or none; what must hold between values (ports, ids) must hold after the last
 * one only. Returns 0, or a negative errno with err: "key-unknown", "value-invalid" (names what is
 * allowed), "document-uneditable" (the file's form keeps it from being changed safely).
 */
int ath_document_set_all(struct ath_document *document, const struct ath_change *changes,
                         size_t count, struct ath_err *err);

/* One change. */
int ath_document_set(struct ath_document *document, const char *key, const char *value,
                     struct ath_err *err);

/*
 * Adds an entry to "numa", "roce.cards" or "roce.macvlans"; the keys of fields are those of the
 * entry ("pci"). Errors as above; an entry that lacks a required key or has a name that is taken is
 * "value-invalid".
 */
int ath_document_append(struct ath_document *document, const char *list,
                        const struct ath_change *fields, size_t count, struct ath_err *err);

/* Takes an entry out: "roce.macvlans.macvlan0". One that others name is "value-invalid". */
int ath_document_remove(struct ath_document *document, const char *key, struct ath_err *err);

/*
 * The value of a key as ath_document_set() takes it, defaults included; NULL where there is none.
 * Returns 0, or -ENOENT "key-unknown" with err (also for keys that hold keys). The caller frees it.
 */
int ath_document_get(const struct ath_document *document, const char *key, char **out,
                     struct ath_err *err);
