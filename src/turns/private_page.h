/*
 * The words about turns of a program with the GPUs in its own process. It shares this memory with
 * its session's process at the server, which brings the program's wish to the board, and the
 * board's grant to the program (runtime/local_turns.h). So the program sees no other session's
 * words.
 */
#pragma once
#include "turns/slot.h"

struct ath_turn_private_page {
    struct ath_turn_grant grant;
    _Atomic uint64_t beat_ms;
    _Alignas(128) struct ath_turn_wish wish;
};
