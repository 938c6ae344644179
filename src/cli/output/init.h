/* Shows the first document that `aitherion init` proposes. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"
#include "config/document.h"
#include "numa/machine.h"

/* Owns nothing. */
struct ath_init_report {
    const char *file;                    /* the path of the document */
    const char *made_folder;             /* the topmost folder that had to be made; NULL for none */
    const char *profile;                 /* NULL if the document was made from the machine */
    const char *text;                    /* the document */
    const char *next;                    /* the command to run next */
    const struct ath_document *document; /* the same document, parsed */
    const struct ath_machine *machine;   /* the machine of the document; empty for a profile */
    size_t fault_count;                  /* values of a profile that do not fit this machine */
    bool is_dry_run;
};

extern const struct ath_view ath_init_view; /* of a struct ath_init_report */
