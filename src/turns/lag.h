/* The order of parties: how far each is ahead of its share (struct ath_turns_lags). */
#pragma once
#include "turns/inside.h"

/* No sum of the lags of ATH_TURNS_PARTIES_MAX parties by weight overflows. */
enum { ATH_LAG_STEP_US = 60000000 };

/* Time of a GPU by weight: the unit of lags. us: at most ATH_LAG_STEP_US. */
int64_t ath_lag_of(int64_t us, uint32_t weight);

/* The time in which a party with this weight gets so far ahead. */
int64_t ath_lag_us(int64_t lag, uint32_t weight);

/* A party has held its GPUs for at most ATH_LAG_STEP_US. Settle before more time passes. overdue:
 * the GPUs on which the work of another party, which is overdue, went on: that one pays for them,
 * and the party pays an eighth, so that the parties that divide the rest take turns. */
void ath_lag_charge(struct ath_turns *turns, struct ath_turns_party *party, uint64_t overdue,
                    int64_t us);

/* Brings the lags of a party and of its team into the bounds of its weights. */
void ath_lag_bound(struct ath_turns *turns, struct ath_turns_party *party);

/* Makes the average of all lags 0, and sets lag and group_lag of each party. Parties that have or
 * wait for a GPU (holds, may_hold) count: settle what has passed before that changes. */
void ath_lag_settle(struct ath_turns *turns);

/* How far a is ahead of b; less than 0: a goes first. Both have the same priority. */
int64_t ath_lag_between(const struct ath_turns_party *a, const struct ath_turns_party *b);

/* The weight by which a party moves against the other one. */
uint32_t ath_lag_weight(const struct ath_turns_party *party, const struct ath_turns_party *other);
