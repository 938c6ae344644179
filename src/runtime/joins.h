/* Further connections of sessions (remote/session/stripes.h), in the listening process. */
#pragma once
#include "runtime/first_message.h"
#include "runtime/listener.h"

/* Passes a connection to the process of the session that it wants to join, or refuses it. Returns
 * true if the connection must wait until the session's client is proven, because its connections
 * come at the same time as its proof. After false the caller closes the descriptor. */
bool ath_joins_take(struct ath_listener *listener, struct ath_waiting *waiting,
                    const struct ath_first_message *first);

/* Ends the wait of a session's connections: passes them to the session's process if is_open, else
 * refuses and closes them. */
void ath_joins_let_in(struct ath_listener *listener, struct ath_process *process, bool is_open);
