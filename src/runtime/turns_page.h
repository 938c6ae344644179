/*
 * Turns on the GPUs (turns/turns.h) in memory of the board. The arbiter (arbiter.h) writes it, and
 * all other processes of the server read it. Each number is whole; numbers that were written at the
 * same time may be of two moments.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#include "remote/session/figures.h"
#include "runtime/samples.h"
#include "turns/slot.h"

enum {
    ATH_TURNS_STALE_MS = 5000
}; /* without a sign of life, sessions do as if there were no turns */

/* The state of a session that people see, beside its grant. */
struct ath_turn_shown {
    _Atomic uint64_t session;     /* 0: none */
    _Atomic uint64_t waits_for;   /* the session that holds what it waits for; 0: none */
    _Atomic uint64_t since_ms;    /* ath_now_ms() when its state began */
    _Atomic uint32_t state;       /* enum ath_gpu_turn_state */
    _Atomic uint32_t share_parts; /* of its GPUs' time, in parts of 10000 */
};

struct ath_turns_page {
    /* ath_now_ms() when the arbiter was last seen alive, at least once a second while a program has
     * a session. */
    _Atomic uint64_t beat_ms;
    struct ath_turn_grant grants[ATH_SAMPLED_SESSIONS]; /* by slot of the board; so is the next */
    struct ath_turn_shown shown[ATH_SAMPLED_SESSIONS];
};

/* The state of a session, with a share in percent (ATH_UNKNOWN: none now). */
struct ath_turn_view {
    enum ath_gpu_turn_state state;
    uint64_t waits_for;
    int64_t state_ms; /* for how long it has been in its state; ATH_UNKNOWN */
    double share_percent;
};

/* Reads the state of a session at a slot; unknown if the arbiter gives no sign of life. */
void ath_turns_page_view(const struct ath_turns_page *page, size_t slot, uint64_t session,
                         uint64_t now_ms, struct ath_turn_view *out);

/* Fills in the figures of the session with the id that it has. They are counts, which stay when
 * there is no arbiter. */
void ath_turns_page_figures(const struct ath_turns_page *page, size_t slot,
                            struct ath_session_figures *session);
