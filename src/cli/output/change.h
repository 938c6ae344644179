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

/*
 * What a person should know about a change beside it; whether it is only said, or is a warning
 * (then there is mostly a mend).
 */
#define ATH_NOTE_TABLE(X)                                                                          \
    X(CARD_NAMED, "card-named", false)       /* the card goes by another address than was given */ \
    X(DEVICE_NAMED, "device-named", false)   /* likewise an RDMA device */                         \
    X(NOT_THERE, "not-there", false)         /* neither here nor there is such a thing */          \
    X(NOTHING_TO_DO, "nothing-to-do", false) /* what was to go is not there */                     \
    X(DEVICE_SHARED, "device-shared", false) /* several containers get the RDMA device */          \
    X(INFINIBAND_MODE, "infiniband-mode", true) /* no RoCE, no macvlan over this port */           \
    X(DEVICE_FAR, "device-far", true)           /* others are nearer to the NUMA node */           \
    X(CARD_NOT_TAKEN, "card-not-taken", true)   /* its card is not in use for the entry */         \
    X(STILL_BOUND, "still-bound", true)         /* a container still gets a device of the card */  \
    X(NOT_SEEN, "not-seen", true)               /* network namespaces that only root may enter */  \
    X(NOT_CHECKED, "not-checked", true)         /* the machine could not be looked at */

enum ath_note_code {
#define X(name, word, is_warning) ATH_NOTE_##name,
    ATH_NOTE_TABLE(X)
#undef X
        ATH_NOTE_COUNT
};

struct ath_note {
    enum ath_note_code code;
    char *object;  /* what it is about, as a person would type it */
    char *message; /* translated */
    char *hint;    /* NULL without */
};

struct ath_change_report {
    const char *file; /* not owned */
    bool is_dry_run, is_saved;
    struct ath_applied_change *changes;
    size_t change_count;
    struct ath_note *notes;
    size_t note_count;
    struct ath_faults warnings; /* what does not fit this machine since the change */
    size_t older_warning_count; /* and what did not fit before */
};

void ath_change_report_free(struct ath_change_report *report);

/* Leaves out the changes that change nothing; not where the document differs and only by those: it
 * says now what was its default. */
void ath_change_drop_same(struct ath_change_report *report, bool is_document_changed);

/* The notes that are warnings, or those that are none, a line each. */
void ath_change_notes_to_text(const struct ath_style *style, FILE *out,
                              const struct ath_change_report *report, bool is_warning);

/* Adds a note, and returns it for its hint. */
struct ath_note *ath_change_note(struct ath_change_report *report, enum ath_note_code code,
                                 const char *object, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

extern const struct ath_view ath_change_view; /* of a struct ath_change_report */

/* A list of faults as JSON, and as lines "FILE:LINE:COLUMN: MESSAGE" behind a prefix. */
json_t *ath_faults_to_json(const struct ath_faults *faults);
void ath_faults_to_text(const struct ath_style *style, FILE *out, const char *prefix,
                        const struct ath_faults *faults);
