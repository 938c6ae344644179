/*
 * Attempts of each source that may still fail. A process is forked for a client before the client
 * has proven anything, so each source has a bucket of attempts, which fills with time. An attempt
 * is taken before the fork and given back when the client has proven itself. So clients with the
 * key never run out, and a source that fails all the time gets as many processes as its bucket
 * gains.
 *
 * The table has a fixed size. A new source replaces the source that has most attempts left among
 * the few that share its row, and rows are chosen by a hash that no client can know. A source
 * that is forgotten starts with a full bucket.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "remote/wire/source.h"

enum {
    ATH_ATTEMPTS_MOST = 100,       /* of a full bucket */
    ATH_ATTEMPTS_EACH_SECOND = 50, /* that a bucket gains */
    ATH_ATTEMPTS_ROWS = 256,
    ATH_ATTEMPTS_WAYS = 4,
};

struct ath_attempts_of_source {
    struct ath_source source;
    uint64_t at_ms;       /* when `thousandths` was right */
    uint32_t thousandths; /* of attempts that are left */
    bool is_used;
};

/* A table that is {} with a seed is empty. Moments are of ath_now_ms(). */
struct ath_attempts {
    uint64_t seed; /* random */
    struct ath_attempts_of_source rows[ATH_ATTEMPTS_ROWS][ATH_ATTEMPTS_WAYS];
};

/* Takes an attempt of a source. Returns false if the source has none left. */
bool ath_attempts_take(struct ath_attempts *attempts, struct ath_source source, uint64_t now_ms);

/* Gives an attempt back, because the client has proven itself. */
void ath_attempts_give(struct ath_attempts *attempts, struct ath_source source, uint64_t now_ms);
