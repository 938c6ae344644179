/* Who uses a server, as plain data; ending a session, and limiting its memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/unknown.h"
#include "runtime/client/session.h"

struct ath_runtime_use {
    uint32_t device;            /* place in the server's list of devices */
    int64_t memory_used_bytes;  /* ATH_UNKNOWN */
    int64_t memory_limit_bytes; /* of this session alone; ATH_UNKNOWN: none */
};

struct ath_runtime_session {
    uint64_t id;   /* of this server, never used twice */
    char *program; /* as it calls itself; NULL */
    char *peer;    /* "10.0.0.7:41234", "unix:1234" with the process id */
    uint64_t age_ms;
    struct ath_runtime_use *uses;
    size_t use_count;
};

struct ath_runtime_sessions {
    struct ath_runtime_session *items; /* by id; of programs, without those that only ask */
    size_t count;
};

/* Returns 0 or a negative errno with err; *out is released with ath_runtime_sessions_free(). */
int ath_session_list(struct ath_session *session, struct ath_runtime_sessions *out,
                     struct ath_err *err);
void ath_runtime_sessions_free(struct ath_runtime_sessions *sessions);

/* Ends a session: its program's calls fail from then on, and what it held is free. Returns 0 or a
 * negative errno with err, -ENOENT ("not-found") where there is no such session. */
int ath_session_end(struct ath_session *session, uint64_t id, struct ath_err *err);

/* Lets a program's session take no more than limit_bytes of a device (ATH_UNKNOWN: as much as there
 * is for all); what it has stays. Errors as above. */
int ath_session_limit(struct ath_session *session, uint64_t id, uint32_t device,
                      int64_t limit_bytes, struct ath_err *err);
