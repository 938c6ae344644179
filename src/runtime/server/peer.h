/* One client's session, in a process of its own. */
#pragma once
#include "runtime/server/server.h"

/*
 * Speaks with the client at fd until either side ends it, or it breaks a rule, which is logged.
 * entry is the session's own on the board. The caller closes fd.
 */
void ath_peer_serve(int fd, const struct ath_server *server, struct ath_board_entry *entry);

/* Tells a client that there is no room for it, without waiting. */
void ath_peer_turn_away(int fd);
