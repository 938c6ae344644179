/* The time that passes: holders pay for it, others wait and save. */
#pragma once
#include "turns/inside.h"

/* The budget of a party or group that comes: enough for a turn, but nothing saved. */
struct ath_turns_budget ath_turns_new_budget(void);

/* Lets time pass until now. */
void ath_turns_pass(struct ath_turns *turns, int64_t now_us);

/* Returns how long a holder may go on under this cap, and how long a party without budget waits. */
int64_t ath_turns_until_spent(const struct ath_turns_budget *budget, uint32_t most_percent);
int64_t ath_turns_until_saved(const struct ath_turns_budget *budget, uint32_t most_percent);

/* Returns whether a party with this cap has a limit. */
static inline bool ath_turns_is_capped(uint32_t most_percent)
{
    return most_percent < 100;
}
