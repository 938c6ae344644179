/*
 * The arbiter: a process of the server that gives turns on the GPUs (turns/turns.h,
 * session_turns.h). Sessions and the listening process wake it by a byte in a pipe, and each look
 * takes all that has changed since the one before. So bytes mean nothing, a full pipe loses
 * nothing, and a flood of bytes costs at most a quarter of one processor.
 *
 * A killed arbiter is replaced at once, and its successor goes on with the turns on the board.
 */
#pragma once
#include "runtime/helper.h"

/* In the listening process; {} has no pipe. */
struct ath_arbiter {
    struct ath_helper helper;
    int pipe_fd; /* the reading end; -1: the GPUs are free, and there are no turns */
    uid_t user;  /* of the process; (uid_t)-1: none is left */
};

extern const struct ath_helper_kind ath_arbiter_kind;

/* Makes the pipe: its writing end becomes turns_fd of the server. Finds a user for the process.
 * Returns 0, or a negative errno with err. */
int ath_arbiter_prepare(struct ath_listener *listener, struct ath_err *err);

/* Gives the calling process, which was forked, an open file of its own for the pipe: one whose
 * process was taken over could make writes wait that share a file with it. Returns 0 or a negative
 * errno. */
int ath_arbiter_open_pipe(struct ath_server *server);

/* Notes that sessions, or what they may have, have changed, and wakes the arbiter. Only the
 * listening process calls this. */
void ath_arbiter_wake(const struct ath_server *server);
