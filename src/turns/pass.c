/* Lets time pass in small steps: charges holders, saves budgets of all, and settles the lags. */
#include "config.h"

#include "turns/pass.h"

#include "turns/lag.h"

enum {
    BUDGET_US = 100,           /* units of a budget in a microsecond */
    RESUME = 5000 * BUDGET_US, /* is saved under a cap before the next turn */
    FULL = ATH_TURNS_SAVED_US * BUDGET_US,
    DEBT = ATH_TURNS_DEBT_US * BUDGET_US
};

struct ath_turns_budget ath_turns_new_budget(void)
{
    return (struct ath_turns_budget){ .left = RESUME };
}

int64_t ath_turns_until_spent(const struct ath_turns_budget *budget, uint32_t most_percent)
{
    return budget->left / (BUDGET_US - (int64_t)most_percent) + 1;
}

int64_t ath_turns_until_saved(const struct ath_turns_budget *budget, uint32_t most_percent)
{
    return (RESUME - budget->left) / most_percent + 1;
}

/* Adds what the cap allows to a budget. */
static void save(struct ath_turns_budget *budget, uint32_t most_percent, int64_t us)
{
    budget->left += us * most_percent;
    if (budget->left < -DEBT)
        budget->left = -DEBT;
    if (budget->left > FULL)
        budget->left = FULL;
    if (budget->left <= 0)
        budget->is_spent = true;
    else if (budget->left >= RESUME)
        budget->is_spent = false;
}

/* Time beyond a party's share is lent if no other party waits for it. */
static void balance(struct ath_turns_party *party, int64_t us)
{
    const int64_t least = -((int64_t)ATH_TURNS_DEBT_US << ATH_TURNS_PART_SHIFT);
    const int64_t most = (int64_t)ATH_TURNS_LENT_US << ATH_TURNS_PART_SHIFT;
    if (party->claim.is_free)
        return;
    party->balance += us * party->part;
    if (party->holds)
        party->balance -= us << ATH_TURNS_PART_SHIFT;
    if (party->holds && !party->state.is_waited_for && party->balance < 0) {
        const int64_t lent_us = -party->balance >> ATH_TURNS_PART_SHIFT;
        party->used.lent_us += lent_us;
        party->balance += lent_us << ATH_TURNS_PART_SHIFT;
    }
    if (party->balance < least)
        party->balance = least;
    if (party->balance > most)
        party->balance = most;
}

/* The GPUs on which overdue work goes on. */
static uint64_t overdue_devices(const struct ath_turns *turns)
{
    uint64_t devices = 0;
    for (size_t i = 0; i < turns->here_count; i++) {
        const struct ath_turns_party *party = &turns->parties[turns->here[i]];
        if (party->holds && party->state.is_overdue)
            devices |= party->claim.devices;
    }
    return devices;
}

static void pay(struct ath_turns *turns, struct ath_turns_party *party, uint64_t overdue,
                int64_t us)
{
    struct ath_turns_group *group = &turns->groups[party->claim.group];
    party->used.used_us += us;
    party->used_at_us = turns->now_us + us;
    party->has_used = true;
    party->budget.left -= us * BUDGET_US;
    ATH_EACH_DEVICE(device, party->claim.devices)
    group->budgets[device].left -= us * BUDGET_US;
    if (!party->claim.is_free)
        ath_lag_charge(turns, party, party->state.is_overdue ? 0 : overdue, us);
}

static void pass_some(struct ath_turns *turns, int64_t us)
{
    const uint64_t overdue = overdue_devices(turns);
    for (size_t i = 0; i < turns->here_count; i++) {
        struct ath_turns_party *party = &turns->parties[turns->here[i]];
        if (party->holds)
            pay(turns, party, overdue, us);
        else if (party->wants)
            party->used.waited_us += us;
        save(&party->budget, party->claim.most_percent, us);
        balance(party, us);
    }
    for (size_t i = 0; i < turns->group_count; i++) {
        struct ath_turns_group *group = &turns->groups[turns->groups_here[i]];
        ATH_EACH_DEVICE(device, group->devices)
        save(&group->budgets[device], group->most_percent, us);
    }
}

void ath_turns_pass(struct ath_turns *turns, int64_t now_us)
{
    while (turns->now_us < now_us) {
        const int64_t left_us = now_us - turns->now_us;
        const int64_t us = left_us < ATH_LAG_STEP_US ? left_us : ATH_LAG_STEP_US;
        pass_some(turns, us);
        ath_lag_settle(turns);
        turns->now_us += us;
    }
}
