/* The processes of sessions: they are forked, ended and reaped. */
#pragma once
#include "runtime/listener.h"

/* Returns whether a client is trusted: a process that could end the server (same user or root), so
 * that unproven clients never keep it out (unix(7), SO_PEERCRED). */
bool ath_clients_is_trusted(int fd, size_t which);

/* Leaves a process that was just forked without the listening process's signals and sockets. It
 * ends with the listening process, whose id is parent. */
void ath_clients_leave(struct ath_listener *listener, pid_t parent);

/* Starts a process for a client, or tells the client why it gets none. The caller keeps fd. */
void ath_clients_start(struct ath_listener *listener, int fd, size_t which,
                       struct ath_source source, bool trusts);

/* Reaps the processes that have ended, and forgets their sessions. */
void ath_clients_reap(struct ath_listener *listener);

/* Returns whether there is any session. */
bool ath_clients_are_there(const struct ath_process_table *processes);

/* Ends all sessions. */
void ath_clients_end(const struct ath_process_table *processes);
