/* New connections, until their first message says what they want. */
#pragma once
#include "runtime/listener.h"

/* Accepts the connections that wait at a socket, some at once. */
void ath_newcomers_accept(struct ath_listener *listener, size_t which);

/* Deals with the events of the waiting room's connections: polls has one for each of them, in its
 * order. */
void ath_newcomers_attend(struct ath_listener *listener, const struct pollfd *polls, size_t count);

/* Ends connections that have waited for too long. */
void ath_newcomers_end_silent(struct ath_listener *listener);
