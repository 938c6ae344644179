/* Writes a new document's text from its structs. */
#pragma once
#include "config/document.h"

/*
 * Returns the document as commented YAML that reads back to the same values. The comments are the
 * help of the keys. preamble: lines of "# ..." for the top, or NULL. The caller frees it.
 */
char *ath_document_write(const struct ath_document *document, const char *preamble);
