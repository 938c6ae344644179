/* Showing what a command changed in the document, or would change. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/output/fields.h"
#include "cli/output/output.h"
#include "config/faults.h"

/* One changed key. Owns its texts. */
struct ath_applied_change {
    char *key, *value;    /* as the user gave them */
    char *before, *after; /* the value in the document; NULL if the document does not set the key */
};

/*
 * Notes for the user beside the changes: name, code word, and whether the note is a warning.
 * Warnings usually have a hint.
 */
#define ATH_NOTE_TABLE(X)                                                                          \
    X(CARD_NAMED, "card-named", false)       /* the card has another address than the given one */ \
    X(DEVICE_NAMED, "device-named", false)   /* the same for an RDMA device */                     \
    X(NOT_THERE, "not-there", false)         /* the object is in neither document nor machine */   \
    X(NOTHING_TO_DO, "nothing-to-do", false) /* the object to remove does not exist */             \
    X(DEVICE_SHARED, "device-shared", false) /* several containers get the RDMA device */          \
    X(INFINIBAND_MODE, "infiniband-mode", true) /* no RoCE, no macvlan over this port */           \
    X(DEVICE_FAR, "device-far", true)           /* other devices are nearer to the NUMA node */    \
    X(CARD_NOT_TAKEN, "card-not-taken", true)   /* the device's card is not used by the entry */   \
    X(STILL_BOUND, "still-bound", true)         /* a container still gets a device of the card */  \
    X(NOT_SEEN, "not-seen", true)               /* some network namespaces need root to enter */   \
    X(NOT_CHECKED, "not-checked", true)         /* the machine could not be read */

enum ath_note_code {
#define X(name, word, is_warning) ATH_NOTE_##name,
    ATH_NOTE_TABLE(X)
#undef X
        ATH_NOTE_COUNT
};

struct ath_note {
    enum ath_note_code code;
    char *object;  /* the object, as a user would type it */
    char *message; /* translated */
    char *hint;    /* NULL for none */
};

struct ath_change_report {
    const char *file; /* not owned */
    bool is_dry_run, is_saved;
    struct ath_applied_change *changes;
    size_t change_count;
    struct ath_note *notes;
    size_t note_count;
    struct ath_faults warnings; /* faults on this machine that the change caused */
    size_t older_warning_count; /* faults that were there before */
};

void ath_change_report_free(struct ath_change_report *report);

/*
 * Drops changes whose value stays the same. If the document changed and no value did, all of them
 * are kept: the document now spells out its defaults.
 */
void ath_change_drop_same(struct ath_change_report *report, bool is_document_changed);

/* Prints the notes that are warnings, or the other notes, one line each. */
void ath_change_notes_to_text(const struct ath_style *style, FILE *out,
                              const struct ath_change_report *report, bool is_warning);

/* Adds a note. Returns it, so that the caller can set its hint; the report owns it. */
struct ath_note *ath_change_note(struct ath_change_report *report, enum ath_note_code code,
                                 const char *object, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

extern const struct ath_view ath_change_view; /* of a struct ath_change_report */

extern const struct ath_field ath_change_fields[]; /* of the same, for views with more members */
extern const struct ath_field ath_fault_fields[];  /* of a struct ath_fault */

/* Prints faults as lines "PREFIXFILE:LINE:COLUMN: MESSAGE". */
void ath_faults_to_text(const struct ath_style *style, FILE *out, const char *prefix,
                        const struct ath_faults *faults);
