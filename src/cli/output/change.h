/* Showing what a command changed in the document, or would change. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/output/output.h"
#include "config/faults.h"

/* Owns its texts. */
struct ath_applied_change {
    char *key, *value;    /* as asked for */
    char *before, *after; /* as the document says it; NULL where it does not */
};

struct ath_change_report {
    const char *file; /* not owned */
    bool is_dry_run, is_saved;
    struct ath_applied_change *changes;
    size_t change_count;
    struct ath_faults warnings; /* what does not fit this machine since the change */
    size_t older_warning_count; /* and what did not fit before */
};

void ath_change_report_free(struct ath_change_report *report);

extern const struct ath_view ath_change_view; /* of a struct ath_change_report */

/* A list of faults as JSON, and as lines "FILE:LINE:COLUMN: MESSAGE" behind a prefix. */
json_t *ath_faults_to_json(const struct ath_faults *faults);
void ath_faults_to_text(const struct ath_style *style, FILE *out, const char *prefix,
                        const struct ath_faults *faults);
