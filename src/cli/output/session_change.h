/* Shows the result of ending or limiting a session. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cli/output/output.h"
#include "remote/session/sessions.h"

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
