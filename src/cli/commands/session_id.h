/* The number of a session on the command line. */
#pragma once
#include <stdint.h>

#include "runtime/client/sessions.h"

/* Returns 0, or -EINVAL with err "usage". */
int ath_session_id_parse(const char *text, uint64_t *out, struct ath_err *err);

/* Whether there is such a session; else -ENOENT with err. */
int ath_session_id_check(const struct ath_runtime_sessions *sessions, uint64_t id,
                         struct ath_err *err);
