/* Shows a topology document, with the defaults of the keys that it does not set. */
#pragma once
#include "cli/output/output.h"
#include "config/document.h"

/* Owns nothing. */
struct ath_document_report {
    const struct ath_document *document;
    const struct ath_faults *warnings; /* faults on this machine */
};

extern const struct ath_view ath_document_view; /* of a struct ath_document_report */
