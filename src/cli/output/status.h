/* Showing what runs, and what was stopped. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"
#include "cli/output/session.h"
#include "config/document.h"
#include "container/engine.h"

/* An entry, or what runs of one that the document does not have. */
struct ath_status_item {
    int id;
    bool is_recorded;                     /* the document has it */
    const struct ath_node_status *status; /* not owned; NULL: there is nothing of it */
    struct ath_texts gpus;                /* PCI addresses that the document gives it */
    char *drift;                          /* why it is not as the document has it; NULL */
    const char *other; /* the document that it was started from, another one; not owned, or NULL */
    struct ath_session_group *service; /* what it says of itself; not owned, NULL: not asked */
};

struct ath_status_report {
    const char *document; /* not owned; NULL: there is none */
    struct ath_status_item *items;
    size_t count;
    struct ath_session_group *services; /* of the running ones; not owned */
    size_t service_count;
    const struct ath_err *docker_err; /* why Docker could not be asked; NULL */
    const char *start;                /* the command that starts what is not as it should be */
    bool is_start_next;               /* nothing runs */
};
void ath_status_report_free(struct ath_status_report *report);

extern const struct ath_view ath_status_view; /* of a struct ath_status_report */

/* "3 h 12 min" since an RFC 3339 time; NULL where it cannot be told. The caller frees it. */
char *ath_status_age(const char *started_at);

/* Where it can be reached, as the system says: ports published, else what it listens on; NULL. The
 * caller frees it. */
char *ath_status_reach(const struct ath_node_status *status);

struct ath_stop_report {
    bool is_dry_run;
    const struct ath_stop_results *results;
    const int *missing; /* ids asked for that there is nothing of */
    size_t missing_count;
};

extern const struct ath_view ath_stop_view; /* of a struct ath_stop_report */

struct ath_clean_report {
    bool is_dry_run;
    bool is_of_some; /* entries that were named */
    const struct ath_clean_steps *steps;
};

extern const struct ath_view ath_clean_view; /* of a struct ath_clean_report */
