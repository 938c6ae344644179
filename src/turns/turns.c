/* The parties and groups of turns.h: who comes, changes and goes. */
#include "config.h"

#include "turns/turns.h"

#include <stdlib.h>
#include <string.h>

#include "turns/lag.h"
#include "turns/pass.h"

struct ath_turns *ath_turns_make(int64_t now_us)
{
    struct ath_turns *turns = calloc(1, sizeof *turns);
    if (turns)
        turns->now_us = now_us;
    return turns;
}

void ath_turns_free(struct ath_turns *turns)
{
    free(turns);
}

static uint32_t between(uint32_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* A claim whose numbers are in their bounds. */
static struct ath_turns_claim sound(const struct ath_turns_claim *claim)
{
    struct ath_turns_claim sound = *claim;
    sound.group = between(claim->group, 0, ATH_TURNS_PARTIES_MAX - 1);
    sound.weight = between(claim->weight, 1, ATH_TURNS_WEIGHT_MAX);
    sound.group_weight = between(claim->group_weight, 1, ATH_TURNS_WEIGHT_MAX);
    sound.most_percent = between(claim->most_percent, 1, 100);
    sound.group_most_percent = between(claim->group_most_percent, 1, 100);
    if (sound.priority < ATH_TURNS_LOW)
        sound.priority = ATH_TURNS_LOW;
    if (sound.priority > ATH_TURNS_HIGH)
        sound.priority = ATH_TURNS_HIGH;
    return sound;
}

static void take_from_list(size_t *list, size_t *count, size_t item)
{
    size_t at = 0;
    while (list[at] != item)
        at++;
    (*count)--;
    memmove(&list[at], &list[at + 1], (*count - at) * sizeof *list);
}

static void join_group(struct ath_turns *turns, uint32_t which)
{
    struct ath_turns_group *group = &turns->groups[which];
    if (!group->is_here) {
        turns->groups_here[turns->group_count++] = which;
        group->is_here = true;
    }
    group->parties++;
}

/* A group stays for a while when its last party leaves, so that a new session has no new budget and
 * no old debt is forgotten. */
static void leave_group(struct ath_turns *turns, uint32_t which)
{
    struct ath_turns_group *group = &turns->groups[which];
    group->parties--;
    group->left_us = turns->now_us;
}

static bool has_debts(const struct ath_turns_group *group)
{
    ATH_EACH_DEVICE(device, group->devices)
    if (ath_turns_is_capped(group->most_percent) &&
        group->budgets[device].left < ath_turns_new_budget().left)
        return true;
    return false;
}

static void forget_groups(struct ath_turns *turns)
{
    for (size_t i = turns->group_count; i-- > 0;) {
        const size_t which = turns->groups_here[i];
        struct ath_turns_group *group = &turns->groups[which];
        if (group->parties || turns->now_us - group->left_us <= ATH_TURNS_RECENT_US ||
            has_debts(group))
            continue;
        memset(group, 0, sizeof *group);
        take_from_list(turns->groups_here, &turns->group_count, which);
    }
}

/* Writes a party's claim into its group. */
static void claim_of_group(struct ath_turns *turns, const struct ath_turns_claim *claim)
{
    struct ath_turns_group *group = &turns->groups[claim->group];
    struct ath_turns_team *team = ath_turns_team(turns, claim);
    const bool is_changed = group->most_percent != claim->group_most_percent;
    ATH_EACH_DEVICE(device, claim->devices)
    {
        group->weight[device] = claim->group_weight;
        if (!(team->devices & ath_device_bit(device)))
            team->lags.of[device] = 0;
    }
    ATH_EACH_DEVICE(device,
                    is_changed ? group->devices | claim->devices : claim->devices & ~group->devices)
    group->budgets[device] = ath_turns_new_budget();
    group->devices |= claim->devices;
    team->devices |= claim->devices;
    group->most_percent = claim->group_most_percent;
}

/* Returns whether a party competes with other parties than before. If so, its lag against the old
 * ones means nothing. */
static bool is_newcomer(const struct ath_turns_claim *old, const struct ath_turns_claim *claim)
{
    return old->group != claim->group || old->priority != claim->priority ||
           old->is_free != claim->is_free;
}

void ath_turns_claim(struct ath_turns *turns, size_t which, const struct ath_turns_claim *claim,
                     int64_t now_us)
{
    struct ath_turns_party *party = &turns->parties[which];
    const struct ath_turns_claim old = party->claim, new = sound(claim);
    ath_turns_pass(turns, now_us);
    forget_groups(turns);
    if (!party->is_here || old.group != new.group)
        join_group(turns, new.group);
    if (!party->is_here)
        turns->here[turns->here_count++] = which;
    else if (old.group != new.group)
        leave_group(turns, old.group);
    if (!party->is_here || old.most_percent != new.most_percent)
        party->budget = ath_turns_new_budget();
    ATH_EACH_DEVICE(device, is_newcomer(&old, &new) ? new.devices : new.devices & ~old.devices)
    party->lags.of[device] = 0;
    if (new.devices & ~old.devices || (old.is_free && !new.is_free))
        party->intrudes = party->holds;
    claim_of_group(turns, &new);
    party->is_here = true;
    party->claim = new;
    ath_lag_bound(turns, party);
    turns->has_parts = false;
}

void ath_turns_leave(struct ath_turns *turns, size_t which, int64_t now_us)
{
    struct ath_turns_party *party = &turns->parties[which];
    ath_turns_pass(turns, now_us);
    if (!party->is_here)
        return;
    leave_group(turns, party->claim.group);
    take_from_list(turns->here, &turns->here_count, which);
    memset(party, 0, sizeof *party);
    turns->has_parts = false;
}

void ath_turns_want(struct ath_turns *turns, size_t which, int64_t now_us)
{
    struct ath_turns_party *party = &turns->parties[which];
    ath_turns_pass(turns, now_us);
    if (!party->is_here || ath_turns_excludes(party) || party->wants)
        return;
    party->wants = true;
    party->wanted_us = now_us;
}

void ath_turns_let_others(struct ath_turns *turns, size_t which, uint32_t number, bool wants,
                          int64_t now_us)
{
    struct ath_turns_party *party = &turns->parties[which];
    ath_turns_pass(turns, now_us);
    if (!ath_turns_excludes(party) || party->state.number != number)
        return;
    party->state.is_wanted_back = party->state.is_overdue = true;
    party->asked_us = now_us;
    party->wants = wants;
    party->wanted_us = now_us;
}

void ath_turns_give_back(struct ath_turns *turns, size_t which, uint32_t number, bool wants,
                         int64_t now_us)
{
    struct ath_turns_party *party = &turns->parties[which];
    ath_turns_pass(turns, now_us);
    if (!party->holds || party->state.number != number)
        return;
    party->holds = false;
    party->state.is_given = party->state.is_wanted_back = party->state.is_overdue = false;
    party->wants = wants;
    party->wanted_us = now_us;
}

void ath_turns_adopt(struct ath_turns *turns, size_t which, uint32_t number, int64_t now_us)
{
    struct ath_turns_party *party = &turns->parties[which];
    ath_turns_pass(turns, now_us);
    if (!party->is_here)
        return;
    party->holds = party->state.is_given = party->intrudes = true;
    party->wants = false;
    party->state.number = number;
    party->given_us = now_us;
}

void ath_turns_number(struct ath_turns *turns, size_t which, uint32_t number)
{
    struct ath_turns_party *party = &turns->parties[which];
    if (party->is_here && !party->holds)
        party->state.number = number;
}

struct ath_turns_state ath_turns_state(const struct ath_turns *turns, size_t which)
{
    return turns->parties[which].state;
}

struct ath_turns_used ath_turns_used(const struct ath_turns *turns, size_t which)
{
    return turns->parties[which].used;
}

static bool waits(const struct ath_turns_party *party)
{
    return party->wants && !ath_turns_excludes(party) && party->may_hold;
}

size_t ath_turns_waits_for(const struct ath_turns *turns, size_t which)
{
    const struct ath_turns_party *party = &turns->parties[which];
    size_t first = ATH_TURNS_PARTIES_MAX;
    for (size_t i = 0; waits(party) && i < turns->here_count; i++) {
        const struct ath_turns_party *other = &turns->parties[turns->here[i]];
        if (other == party || !ath_turns_conflict(party, other))
            continue;
        const bool is_held = ath_turns_excludes(other);
        const bool is_longer = first == ATH_TURNS_PARTIES_MAX ||
                               (is_held && (!turns->parties[first].holds ||
                                            other->given_us < turns->parties[first].given_us));
        if ((is_held || other->reserves) && is_longer)
            first = turns->here[i];
    }
    return first;
}
