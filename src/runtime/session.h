/* One client's session, in a process of its own. */
#pragma once
#include "proto/control.h"
#include "runtime/server.h"

/*
 * Serves the client at fd until either side ends the session or the client breaks a rule, which is
 * logged. entry is the session's own on the board; server is this process's own copy, which gets
 * the identity. The caller closes fd.
 */
void ath_session_serve(int fd, struct ath_server *server, struct ath_session_board_entry *entry);

/* Refuses a client that has no process, with a reason, without waiting. */
void ath_session_turn_away(int fd, enum ath_control_reason reason, const char *message);
