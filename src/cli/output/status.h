/* Shows running runtimes, and the results of `stop` and `clean`. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"
#include "cli/output/session.h"
#include "config/document.h"
#include "container/engine/engine.h"

/* An entry of the document, or a runtime whose entry the document does not have. */
struct ath_status_item {
    int id;
    bool is_recorded;                     /* the document has the entry */
    const struct ath_node_status *status; /* not owned; NULL: no process, no container */
    struct ath_texts gpus;                /* PCI addresses of the entry in the document */
    char *drift;        /* how the runtime differs from the document; NULL if it does not */
    bool needs_restart; /* only a restart removes the drift */
    const char *other;  /* the other document that started the runtime; not owned, NULL for none */
    int metrics_port;   /* of the entry in the document; ATH_UNKNOWN: none */
    int data_port;      /* the same for large copies on its data interfaces */
    struct ath_session_group *service; /* the runtime's answer; not owned, NULL if not asked */
};

struct ath_status_report {
    const char *document; /* its path, not owned; NULL if there is none */
    struct ath_status_item *items;
    size_t count;
    struct ath_session_group *services; /* of the running runtimes; not owned */
    size_t service_count;
    const struct ath_err *docker_err; /* why Docker could not be asked; NULL if it was */
    const char *start;                /* the command that starts stopped or differing entries */
    bool is_start_next;               /* no runtime runs: print `start` as the next step */
    bool shows_more;                  /* say where the logs are, and who waits for whom */
};
void ath_status_report_free(struct ath_status_report *report);

extern const struct ath_view ath_status_view; /* of a struct ath_status_report */

/* The time since an RFC 3339 time: "3 h 12 min". NULL if it cannot be computed. The caller frees
 * it. */
char *ath_status_age(const char *started_at);

/*
 * The addresses of a runtime as the system reports them: published ports, else listening sockets,
 * and macvlans. The addresses with metrics_port and data_port are marked; ATH_UNKNOWN: none. NULL
 * if there are none. The caller frees it.
 */
char *ath_status_reach(const struct ath_node_status *status, int metrics_port, int data_port);

/* Owns nothing. */
struct ath_stop_report {
    bool is_dry_run;
    const struct ath_stop_results *results;
    const struct ath_session_report *ends; /* the programs that end (output/ending.h) */
    const int *missing;                    /* given ids that have neither process nor container */
    size_t missing_count;
};

extern const struct ath_view ath_stop_view; /* of a struct ath_stop_report */

/* Owns nothing. */
struct ath_clean_report {
    bool is_dry_run;
    bool is_of_some;                       /* the user named entries, so only those are cleaned */
    const struct ath_session_report *ends; /* the programs that end (output/ending.h) */
    const struct ath_clean_steps *steps;
};

extern const struct ath_view ath_clean_view; /* of a struct ath_clean_report */
