/* Shows the sessions of runtimes, and the result of ending or limiting a session. */
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
    bool is_explained; /* the text says who waits for whom */
};
void ath_session_report_free(struct ath_session_report *report);

extern const struct ath_view ath_session_list_view; /* of a struct ath_session_report */

/* For other views: the members of a group and of a session, and the sessions of groups as a table.
 */
extern const struct ath_field ath_session_group_fields[]; /* of a struct ath_session_group */
extern const struct ath_field ath_session_fields[];       /* of a struct ath_runtime_session */
extern const char *const ath_session_clocks[];            /* members that grow with time alone */
void ath_sessions_table(const struct ath_session_group *groups, size_t count,
                        struct ath_table *out);
/* Returns a session's claim and what it does now: "25 % at most (asked for), waits for session 7";
 * NULL if there is nothing to say. The caller frees it. */
char *ath_session_turn_words(const struct ath_runtime_turn *turn);
/* Returns why a session waits, as a sentence; NULL if it does not wait. The caller frees it. */
char *ath_session_wait_words(const struct ath_runtime_sessions *sessions,
                             const struct ath_runtime_session *session);
/* Returns how much of its time a session has held its GPUs, as a sentence; NULL if the group has no
 * figures of it, or if no turns are taken there. The caller frees it. */
char *ath_session_held_words(const struct ath_session_group *group,
                             const struct ath_runtime_session *session);
/* Returns a peer "unix:PID:UID" in words, another address as it is. The caller frees it. */
char *ath_session_peer_words(const struct ath_session_group *group, const char *peer);
void ath_sessions_print(const struct ath_style *style, FILE *out,
                        const struct ath_session_group *groups, size_t count);

/* Prints who waits for whom, for how long and why, or that no program waits; and how much each
 * session has held its GPUs, if the groups have figures. */
void ath_sessions_explain(const struct ath_style *style, FILE *out,
                          const struct ath_session_group *groups, size_t group_count);

enum ath_session_action { ATH_SESSION_END, ATH_SESSION_LIMIT };

struct ath_session_change {
    enum ath_session_action action;
    bool is_dry_run;
    const char *server;  /* not owned */
    const uint64_t *ids; /* the sessions that were changed; not owned */
    size_t id_count;
    int device;          /* index in the runtime's list; ATH_UNKNOWN if no memory was limited */
    int64_t limit_bytes; /* ATH_UNKNOWN for no limit, and without a device */
    int64_t used_bytes;  /* of the session on the device; ATH_UNKNOWN without a device */
    struct ath_claim_change claim; /* for ATH_SESSION_LIMIT */
    int key_percent; /* that all sessions of its key have together; 0: no such share */
    bool keeps_cap;  /* the session loses its share, and not its cap */
    enum ath_time_priority got_priority; /* that the session has now; unset if not known */
};

extern const struct ath_view ath_session_change_view; /* of a struct ath_session_change */
