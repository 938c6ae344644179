/*
 * Turns of the sessions on a board: reads wishes and claims there, lets turns/turns.h decide, and
 * writes the page of turns (turns_page.h). The arbiter's process (arbiter.h) has the only one.
 *
 * A session's process may write anything into its entry. Devices that its identity may not use are
 * ignored, and so is a number of a turn that it does not have; anything else costs only its own
 * time.
 */
#pragma once
#include "proto/gpu-control.h"
#include "runtime/session_board.h"

struct ath_session_turns;

/* Begins with the turns that the page has: the one before may have been killed. Returns NULL when
 * memory runs out. The board outlives it. */
struct ath_session_turns *ath_session_turns_make(struct ath_session_board *board,
                                                 size_t device_count, enum ath_gpu_sharing sharing,
                                                 int64_t now_us);
void ath_session_turns_free(struct ath_session_turns *turns);

/* Looks at the board once and gives turns. now_us: CLOCK_MONOTONIC. Returns when to look again if
 * nothing happens; INT64_MAX: no program has a session, so a change of the board comes first. */
int64_t ath_session_turns_look(struct ath_session_turns *turns, int64_t now_us);
