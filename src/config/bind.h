/* Fills the structs of a document from the tree of its file, and reports values that do not fit. */
#pragma once
#include "config/document.h"

/* Fills the zeroed fields of document from its tree, defaults included. Adds a fault for each wrong
 * value. */
void ath_bind(struct ath_document *document, struct ath_faults *faults);

/* The same for the tree of another kind of document: fills base, a zeroed struct, by the keys of
 * root. name: the document in messages, "the document". */
void ath_bind_tree(const struct ath_schema *root, const struct ath_yaml *tree, const char *name,
                   void *base, struct ath_faults *faults);
