/* Showing a topology document, with the defaults of what it leaves out. */
#pragma once
#include "cli/output/output.h"
#include "config/document.h"

/* Owns nothing. */
struct ath_document_report {
    const struct ath_document *document;
    const struct ath_faults *warnings; /* what does not fit this machine */
};

extern const struct ath_view ath_document_view; /* of a struct ath_document_report */
