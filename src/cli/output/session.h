/* Shows the sessions of runtimes. */
#pragma once
#include "cli/output/fields.h"
#include "cli/output/output.h"
#include "cli/output/table.h"
#include "remote/session/figures.h"
#include "remote/session/health.h"
#include "remote/session/sessions.h"

/* The sessions of one runtime. */
struct ath_session_group {
    int id;             /* id of the runtime's entry; ATH_UNSET if not known */
    const char *server; /* the runtime's address, not owned; NULL if there is none to ask */
    int status;         /* 0, or the negative errno of asking the runtime */
    struct ath_err err; /* set if status is not 0 */
    struct ath_runtime_health health; /* the runtime's devices */
    struct ath_runtime_sessions sessions;
    struct ath_figures figures; /* empty without a question, or if the runtime is too old to say */
};

void ath_session_group_free(struct ath_session_group *group);

struct ath_session_report {
    struct ath_session_group *items;
    size_t count;
    bool is_explained;   /* the text says who waits for whom */
    bool shows_channels; /* and by which connections large copies go */
};
void ath_session_report_free(struct ath_session_report *report);

extern const struct ath_view ath_session_list_view; /* of a struct ath_session_report */

/* For other views: the members of a group and of a session, and the sessions of groups as a
 * table. */
extern const struct ath_field ath_session_group_fields[]; /* of a struct ath_session_group */
extern const struct ath_field ath_session_fields[];       /* of a struct ath_runtime_session */
extern const char *const ath_session_clocks[];            /* members that grow with time alone */
void ath_sessions_table(const struct ath_session_group *groups, size_t count,
                        struct ath_table *out);
void ath_sessions_print(const struct ath_style *style, FILE *out,
                        const struct ath_session_group *groups, size_t count);

/* Prints who waits for whom, for how long and why, or that no program waits; and how much each
 * session has held its GPUs, if the groups have figures. */
void ath_sessions_explain(const struct ath_style *style, FILE *out,
                          const struct ath_session_group *groups, size_t group_count);
