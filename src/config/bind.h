/* From a file's tree to the document's structs, and what is wrong on the way. */
#pragma once
#include "config/document.h"

/* Fills the zeroed fields of document from its tree, defaults included; adds what is wrong. */
void ath_bind(struct ath_document *document, struct ath_faults *faults);
