/* The rows of identities that runtimes read (runtime/identities.h), made from the document. */
#pragma once
#include "cli/nodes.h"

/* Returns the rows; "" for none. The caller frees the text. */
char *ath_identities_rows(const struct ath_document *document);

/* Returns whether the rows in a node's folder, which its runtime applies, differ from the document;
 * false if they cannot be read. */
bool ath_identities_differ(const struct ath_document *document, const char *folder);

/*
 * Writes the rows into a node's folder, where its runtime sees them at once. folder need not exist
 * yet; then nothing is written. Returns 0, or a negative errno with err. *out_has_changed: whether
 * the folder had, or in a dry run has, other rows.
 */
int ath_identities_write(const struct ath_document *document, const char *folder, bool is_dry_run,
                         bool *out_has_changed, struct ath_err *err);
