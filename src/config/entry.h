/* NUMA entries of a document by their names on the command line: 0, NUMA0, aitherion-numa0. */
#pragma once
#include "config/document.h"

/* Returns the id in a name, even if no entry has it; ATH_UNSET if name is not such a name. */
int ath_entry_id(const char *name);

/* Returns the entry of a name: its id, NUMA and its id, or the name of its container. Returns NULL
 * with err "key-unknown", which lists the entries, if there is none. */
const struct ath_document_numa *ath_entry_find(const struct ath_document *document,
                                               const char *name, struct ath_err *err);

/*
 * Reads ids of several entries: "0,1", "[0, 1]", "0-1", "NUMA0 NUMA1"; "" and "[]" for none.
 * Returns 0 with *out (overwritten, the caller frees it), or a negative errno with err:
 * "key-unknown".
 */
int ath_entries_parse(const struct ath_document *document, const char *text, struct ath_idset *out,
                      struct ath_err *err);

/* Returns "NUMA0, NUMA1", or "" for no ids. The caller frees it. */
char *ath_entries_text(const struct ath_idset *ids);
