/*
 * Words of a session and of the arbiter about turns on the GPUs, in shared memory. Each
 * side writes a struct of its own and reads the other's.
 *
 * The session says which GPUs it uses, whether calls wait, and which turn it has given back. The
 * arbiter gives turns and asks for them. Neither needs a lock. The arbiter believes of a session
 * only what harms no other: a session that lies waits longer, or holds its turn until it is
 * overdue (turns.h).
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

/* The lower bits of a grant's word. A call that occupies the GPU passes if GIVEN is set and BACK is
 * not. */
enum {
    ATH_TURN_GIVEN = 1,
    ATH_TURN_BACK = 2,    /* the session starts nothing more, and gives the turn back when its work
                           * is over */
    ATH_TURN_OTHERS = 4,  /* others used the GPUs lately: the session's bursts must be short */
    ATH_TURN_SHORT = 8,   /* very short: one of them has a higher priority */
    ATH_TURN_WAITED = 16, /* another one waits: an idle session gives the turn back at once */
    ATH_TURN_OWED = 32, /* the session gets less than its share: a short pause is not for others */
    ATH_TURN_NUMBER_SHIFT = 8 /* the upper bits: the number of the turn, which grows with each */
};

static inline uint32_t ath_turn_number(uint32_t word)
{
    return word >> ATH_TURN_NUMBER_SHIFT;
}

/* Written by the session's process. */
struct ath_turn_wish {
    _Atomic uint64_t devices;  /* a bit for each GPU, by the server's number, that it has used */
    _Atomic uint32_t wants;    /* 1: calls wait for a turn, or will when it is given back */
    _Atomic uint32_t returned; /* the number of the turn that it gave back last */
    _Atomic uint32_t left;     /* the number of the last turn whose work may wait for others: they
                                * go on, and the turn is charged until it is returned */
};

/* Written by the arbiter. Each has cache lines of its own, so that turns of others do not slow the
 * look at the word. */
struct ath_turn_grant {
    _Alignas(128) _Atomic uint32_t word; /* a futex, shared */
    _Atomic uint64_t session;            /* whose word this is; 0: no session's */
    _Atomic int64_t used_us;             /* that it held turns */
    _Atomic int64_t waited_us;
    _Atomic int64_t lent_us; /* that it used beyond its share, because others did not want it */
    _Atomic uint64_t turns;
};
