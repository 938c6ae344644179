/* The number of a session and its limit, as a user types them. */
#pragma once
#include <stdint.h>

#include "cli/reach.h"
#include "remote/session/sessions.h"

/* Parses a session's number. Returns 0, or -EINVAL with err (code word "usage"). */
int ath_session_id_parse(const char *text, uint64_t *out, struct ath_err *err);

/* Parses a size like "4G", or "none" (ATH_UNKNOWN). Returns 0, or -EINVAL with err (code word
 * "usage"). */
int ath_session_limit_parse(const char *text, int64_t *out_bytes, struct ath_err *err);

/* Returns 0 if the runtime has a session with this number, else -ENOENT with err. */
int ath_session_id_check(const struct ath_runtime_sessions *sessions, uint64_t id,
                         const struct ath_reach_options *options, struct ath_err *err);
