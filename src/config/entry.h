/* NUMA entries of a document by the names that people use for them: 0, NUMA0, aitherion-numa0. */
#pragma once
#include "config/document.h"

/* The id that a word means, whether there is such an entry or not; ATH_UNSET where it is none. */
int ath_entry_id(const char *name);

/* The entry that a word names: its id, NUMA and its id, or what its container is called. NULL with
 * err, which says which there are: "key-unknown". */
const struct ath_document_numa *ath_entry_find(const struct ath_document *document,
                                               const char *name, struct ath_err *err);

/*
 * The ids of several: "0,1", "[0, 1]", "0-1", "NUMA0 NUMA1"; none for "" and "[]". Returns 0 with
 * *out (overwritten, the caller frees it), or a negative errno with err: "key-unknown".
 */
int ath_entries_parse(const struct ath_document *document, const char *text, struct ath_idset *out,
                      struct ath_err *err);

/* "NUMA0, NUMA1", "" for none. The caller frees it. */
char *ath_entries_text(const struct ath_idset *ids);
