/* Fills the structs of a document from the tree of its file, and reports values that do not fit. */
#pragma once
#include "config/document.h"

/* Fills the zeroed fields of document from its tree, defaults included. Adds a fault for each wrong
 * value. */
void ath_bind(struct ath_document *document, struct ath_faults *faults);
