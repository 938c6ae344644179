/* Connections that join a session that its client has already (remote/session/stripes.h). */
#pragma once
#include "runtime/first_message.h"
#include "runtime/listener.h"

/* Decides about a connection that wants to join a session. Returns whether it must wait until the
 * session's client is proven, because its connections come at the same time as its proof.
 * Otherwise its descriptor is not needed any more. */
bool ath_joins_take(struct ath_listener *listener, struct ath_waiting *waiting,
                    const struct ath_first_message *first);

/* Lets out the connections that wait for a session: into it, or away. */
void ath_joins_let_in(struct ath_listener *listener, struct ath_process *process, bool is_open);
