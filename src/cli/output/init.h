/* Showing the first document that `aitherion init` proposes. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"
#include "config/document.h"
#include "numa/machine.h"

struct ath_init_report {
    const char *file;        /* where it was written, or would be */
    const char *made_folder; /* that had to be made first, with those below it; NULL: none */
    const char *profile;     /* NULL: made from the machine */
    const char *text;
    const char *next;                    /* the command to go on with */
    const struct ath_document *document; /* text, read */
    const struct ath_machine *machine;   /* that it was made from; empty for a profile */
    bool is_dry_run;
};

extern const struct ath_view ath_init_view; /* of a struct ath_init_report */
