/*
 * Ways into the processes of sessions, for connections that belong to a session and are accepted
 * after its process was forked. The listening process holds the outer end of each, so that every
 * process forked later has it as well; the session's process has the inner one.
 *
 * What comes through a door comes from the server's own processes, but what it says is a client's.
 */
#pragma once
#include <stdint.h>

#include "runtime/server/board.h"
#include "runtime/wire/secret.h"

struct ath_doors {
    int outer[ATH_BOARD_MAX]; /* by the place on the board; -1: none */
    int inner;                /* this process's; -1 */
};

/* A connection that wants to join a session, and what it says. */
struct ath_joining {
    uint32_t number, proof_length;
    uint8_t proof[ATH_PROOF_BYTES];
};

/* None yet. */
void ath_doors_init(struct ath_doors *doors);

/* Before the process of a place is forked. Without descriptors there is none. */
void ath_doors_add(struct ath_doors *doors, size_t place);

/* After the fork: the listening process has the outer end, the session's the inner one alone. */
void ath_doors_are_outside(struct ath_doors *doors);
void ath_doors_are_inside(struct ath_doors *doors);

/* Nothing more is taken by this process. */
void ath_doors_close(struct ath_doors *doors);

/* A place is free again. */
void ath_doors_remove(struct ath_doors *doors, size_t place);

/* Passes a connection to a session's process. Returns 0 or a negative errno; fd stays the caller's.
 */
int ath_doors_pass(const struct ath_doors *doors, size_t place, const struct ath_joining *joining,
                   int fd);

/* Takes what was passed to this process, until deadline_ms (of ath_now_ms()). Returns 0,
 * -ETIMEDOUT, or another negative errno. */
int ath_doors_take(const struct ath_doors *doors, uint64_t deadline_ms, struct ath_joining *out,
                   int *out_fd);
