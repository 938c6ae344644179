/* Takes from a session's process what the session does not need, once the client is proven. */
#pragma once
#include "runtime/server.h"

/* Asks the listening process for the user of this session. Returns 0 or a negative errno. */
int ath_lock_in_find_user(const struct ath_server *server);

/*
 * Leaves the process with the client's connection at fd, its sockets to the listening process, and
 * a library of the driver to load later; locks it in (sandbox/sandbox.h). The user has been found
 * before. library may be NULL. Does nothing in tests, without a sandbox. Returns 0, or a negative
 * errno with err; the process must end then.
 */
int ath_lock_in(const struct ath_server *server, const struct ath_session_board_entry *entry,
                int fd, const char *library, struct ath_err *err);
