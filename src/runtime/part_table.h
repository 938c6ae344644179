/*
 * The multiprocessors of each device, in groups, and the sessions that have them for themselves
 * (quota/books.h). They stand on the board, in what the listening process knows of each session, so
 * they are free with the session's entry.
 */
#pragma once
#include "runtime/session_board.h"

/* Gives the session at a slot `wanted` of the groups of a device, 64 at most, that no other session
 * has; what it had before is free. Returns a bit for each; 0: too few are free, or none is wanted,
 * or the row of its identity allows fewer, or the numbers make no sense. Only the listening process
 * calls this. */
uint64_t ath_part_table_take(struct ath_session_board *board, size_t slot, size_t device,
                             uint64_t groups, int64_t wanted);

/* Asks the listening process for it, in a session's process. Any thread. Without one (tests) there
 * are no parts. */
struct ath_server;
uint64_t ath_part_request(const struct ath_server *server, size_t device, uint32_t groups,
                          uint32_t wanted);
