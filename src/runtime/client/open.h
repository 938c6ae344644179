/*
 * Where the client library's server is, and how a session with it is opened: as the environment
 * says.
 *
 *     AITHERION_SERVER           HOST:PORT, unix:PATH or a path; several with commas between
 *     AITHERION_KEY_FILE         the shared key; empty: none. Without it the user's own, else the
 *                                machine's
 *     AITHERION_TRANSPORT        auto, shm or tcp
 *     AITHERION_CONNECT_TIMEOUT  seconds in which it must be there (10)
 *     AITHERION_LOG              info: say on standard error which server and transport it is
 *     AITHERION_DISABLE          1: there is no GPU; or what is switched off (runtime/switches.h)
 *     AITHERION_RECORD           runtime/transport/recording.h
 *
 * For strangers' processes: what goes wrong is said once, in one line on standard error.
 */
#pragma once
#include "runtime/client/servers.h"
#include "runtime/client/session.h"

/* The servers that AITHERION_SERVER names. Returns 0, or a negative errno with err: -ENODEV where
 * it is not set or AITHERION_DISABLE is, or as ath_servers_read(). */
int ath_client_servers(struct ath_servers *out, struct ath_err *err);

/*
 * Opens a session with a server (in the form of struct ath_servers; NULL: the one that
 * AITHERION_SERVER names; first: see ath_session_open()), trying again while nobody answers there.
 * Returns 0 or a negative errno with err: as ath_client_servers() or ath_session_open().
 */
int ath_client_open(const char *server, const struct ath_session_first *first,
                    struct ath_session *out, struct ath_err *err);

/* Says what went wrong on standard error. */
void ath_client_complain(const struct ath_err *err);

/* A variable's value; NULL where it is not set or empty. */
const char *ath_client_variable(const char *name);

/* Whether AITHERION_DISABLE says that there is no GPU. */
bool ath_client_is_disabled(void);
