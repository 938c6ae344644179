/*
 * Passes accepted connections to the processes of sessions. Further connections of a session are
 * accepted after the session's process was forked, by another process. Each session has a pair of
 * sockets for them: the listening process holds the outer end, so every process forked later has it
 * too, and the session's process holds the inner end.
 *
 * Messages come from processes of this server, but a client wrote their content.
 */
#pragma once
#include <stdint.h>

#include "remote/wire/secret.h"
#include "runtime/session_board.h"

struct ath_fd_passing {
    int outer[ATH_SESSION_BOARD_MAX]; /* by slot of the board; -1: none */
    int inner;                        /* of this process; -1: none */
};

/* The content of a client's request to join a session with a connection. */
struct ath_joining {
    uint32_t number;
    uint32_t is_data; /* not 0: it came by a data address */
    uint8_t proof[ATH_PROOF_BYTES];
};

/* Starts without any socket. */
void ath_fd_passing_init(struct ath_fd_passing *passing);

/* Makes the sockets of a slot, before its process is forked. Without free descriptors the slot
 * gets none. */
void ath_fd_passing_add(struct ath_fd_passing *passing, size_t slot);

/* Closes the other end after the fork: the listener keeps the outer end, the session the inner
 * end. */
void ath_fd_passing_keep_outer(struct ath_fd_passing *passing);
void ath_fd_passing_keep_inner(struct ath_fd_passing *passing);

/* Closes the inner end: this process takes no more connections. */
void ath_fd_passing_close(struct ath_fd_passing *passing);

/* Closes the outer end of a slot that is free again. */
void ath_fd_passing_remove(struct ath_fd_passing *passing, size_t slot);

/* Passes a connection to a session's process. fd stays the caller's. Returns 0 or a negative
 * errno. */
int ath_fd_passing_pass(const struct ath_fd_passing *passing, size_t slot,
                        const struct ath_joining *joining, int fd);

/* Takes a connection that was passed to this process, until deadline_ms (of ath_now_ms()).
 * Returns 0, -ETIMEDOUT, or another negative errno. */
int ath_fd_passing_take(const struct ath_fd_passing *passing, uint64_t deadline_ms,
                        struct ath_joining *out, int *out_fd);
