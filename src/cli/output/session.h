/* Showing who uses runtimes, and what was done to a session. */
#pragma once
#include "cli/output/output.h"
#include "runtime/client/health.h"
#include "runtime/client/sessions.h"

/* Of one runtime. */
struct ath_session_group {
    int id;             /* of its entry; ATH_UNSET: not known */
    const char *server; /* not owned; NULL: it cannot be reached */
    int status;         /* 0, or it was not told: */
    struct ath_err err;
    struct ath_runtime_health health; /* its devices */
    struct ath_runtime_sessions sessions;
};

void ath_session_group_free(struct ath_session_group *group);

struct ath_session_report {
    struct ath_session_group *items;
    size_t count;
};
void ath_session_report_free(struct ath_session_report *report);

extern const struct ath_view ath_session_list_view; /* of a struct ath_session_report */

/* A group as data, and its sessions as a table, for other views. */
json_t *ath_session_group_to_json(const struct ath_session_group *group);
void ath_sessions_print(const struct ath_style *style, FILE *out,
                        const struct ath_session_group *groups, size_t count);

enum ath_session_action { ATH_SESSION_END, ATH_SESSION_LIMIT };

struct ath_session_change {
    enum ath_session_action action;
    bool is_dry_run;
    const char *server;  /* not owned, as ids */
    const uint64_t *ids; /* of those that it was done to */
    size_t id_count;
    uint32_t device;     /* for a limit, as below */
    int64_t limit_bytes; /* ATH_UNKNOWN: none */
};

extern const struct ath_view ath_session_change_view; /* of a struct ath_session_change */
