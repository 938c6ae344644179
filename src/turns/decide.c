/*
 * Gives turns. The waiting parties are looked at in their order. The first gets its GPUs if they
 * are free. If holders have them whose turns may end, they are asked to give them back, and the
 * GPUs are reserved until all are there: so a party with several GPUs does not starve beside
 * parties with one. If a holder's turn may not end yet, the party's other GPUs go to those after
 * it in the order.
 */
#include "config.h"

#include "turns/turns.h"

#include <stdlib.h>

#include "turns/lag.h"
#include "turns/pass.h"

enum {
    LOOK_US = 100,              /* least time to the next look at lags */
    PAUSE_US = 100000,          /* a party that has used its GPUs since then pauses */
    MUCH_US = 5 * ATH_TURNS_US, /* is owed to a party that gets less than its share */
    /* As much that a pause in which others had their turns would forget some of it. */
    MOST_US = ATH_TURNS_LENT_US / 5 * 4,
};

/* Parties on one GPU, apart by is_free: those with is_free do not exclude each other. */
struct crowd {
    uint32_t waiting[2]; /* that may have it */
    uint32_t recent[2];
    uint32_t owed[2]; /* that pause, and are owed much */
    int highest[2];   /* priority of the recent ones */
};

struct round {
    struct ath_turns *turns;
    struct crowd crowds[ATH_TURNS_DEVICES];
    struct ath_turns_party *order[ATH_TURNS_PARTIES_MAX]; /* that wait and may hold */
    size_t order_count;
    struct ath_turns_party *holders[ATH_TURNS_PARTIES_MAX]; /* that exclude others */
    size_t holder_count;
    uint64_t reserved[2]; /* GPUs, by is_free of those that get them */
    int64_t look_us;
};

static void look_in(struct round *round, int64_t us)
{
    const int64_t at_us = round->turns->now_us + (us > 0 ? us : 1);
    if (at_us < round->look_us)
        round->look_us = at_us;
}

static bool is_waiting(const struct ath_turns_party *party)
{
    return party->wants && party->may_hold;
}

static void ask(const struct round *round, struct ath_turns_party *party)
{
    if (party->state.is_wanted_back)
        return;
    party->state.is_wanted_back = true;
    party->asked_us = round->turns->now_us;
}

/* Returns whether no cap forbids a party to hold its GPUs. Notes when that changes. */
static bool look_at_budget(struct round *round, const struct ath_turns_party *party,
                           const struct ath_turns_budget *budget, uint32_t most_percent)
{
    if (!ath_turns_is_capped(most_percent))
        return true;
    if (party->holds && !budget->is_spent)
        look_in(round, ath_turns_until_spent(budget, most_percent));
    if (party->wants && budget->is_spent)
        look_in(round, ath_turns_until_saved(budget, most_percent));
    return !budget->is_spent;
}

static bool look_at_caps(struct round *round, const struct ath_turns_party *party)
{
    const struct ath_turns_group *group = &round->turns->groups[party->claim.group];
    bool may = look_at_budget(round, party, &party->budget, party->claim.most_percent);
    ATH_EACH_DEVICE(device, party->claim.devices)
    if (!look_at_budget(round, party, &group->budgets[device], group->most_percent))
        may = false;
    return may;
}

static void look_at_parties(struct round *round)
{
    for (size_t i = 0; i < round->turns->here_count; i++) {
        struct ath_turns_party *party = &round->turns->parties[round->turns->here[i]];
        const bool has_budget = look_at_caps(round, party);
        /* Its work may wait for a call of its own. */
        const bool is_stuck =
            party->state.is_overdue && party->asked_us + ATH_TURNS_LATE_US <= round->turns->now_us;
        party->may_hold = party->wants && (has_budget || is_stuck);
        party->reserves = false;
        if (party->holds && !has_budget)
            ask(round, party);
    }
}

/* A party's part of the time of each of its GPUs, if all that are there want it. */
static void set_part(struct ath_turns *turns, struct ath_turns_party *party,
                     const uint64_t *group_weights)
{
    const struct ath_turns_group *group = &turns->groups[party->claim.group];
    party->part = INT64_C(1) << ATH_TURNS_PART_SHIFT;
    ATH_EACH_DEVICE(device, party->claim.devices)
    {
        uint64_t weights = 0;
        for (size_t i = 0; i < turns->here_count; i++) {
            const struct ath_turns_claim *other = &turns->parties[turns->here[i]].claim;
            if (other->group == party->claim.group && other->devices & ath_device_bit(device))
                weights += other->weight;
        }
        const int64_t part = (int64_t)(((uint64_t)group->weight[device] << ATH_TURNS_PART_SHIFT) *
                                       party->claim.weight / (group_weights[device] * weights));
        if (part < party->part)
            party->part = part;
    }
    party->state.share_parts =
        (uint32_t)((party->part * 10000 + (1 << (ATH_TURNS_PART_SHIFT - 1))) >>
                   ATH_TURNS_PART_SHIFT);
}

static void set_parts(struct ath_turns *turns)
{
    uint64_t used[ATH_TURNS_PARTIES_MAX] = { 0 }, group_weights[ATH_TURNS_DEVICES] = { 0 };
    if (turns->has_parts)
        return;
    for (size_t i = 0; i < turns->here_count; i++) {
        const struct ath_turns_claim *claim = &turns->parties[turns->here[i]].claim;
        used[claim->group] |= claim->devices;
    }
    for (size_t i = 0; i < turns->group_count; i++)
        ATH_EACH_DEVICE(device, used[turns->groups_here[i]])
    group_weights[device] += turns->groups[turns->groups_here[i]].weight[device];
    for (size_t i = 0; i < turns->here_count; i++)
        set_part(turns, &turns->parties[turns->here[i]], group_weights);
    turns->has_parts = true;
}

/* Returns whether a party used its GPUs lately, or will. Notes when that changes. */
static bool is_recent(struct round *round, const struct ath_turns_party *party)
{
    const int64_t us = party->used_at_us + ATH_TURNS_RECENT_US - round->turns->now_us;
    if (party->holds || party->wants)
        return true;
    if (!party->has_used || us < 0)
        return false;
    look_in(round, us + 1);
    return true;
}

/* Returns whether a party with pauses between its kernels gets less than its share, because others
 * begin bursts in its pauses. Notes when that changes. */
static bool is_owed(struct round *round, const struct ath_turns_party *party)
{
    const struct ath_turns_claim *claim = &party->claim;
    const int64_t us = party->used_at_us + PAUSE_US - round->turns->now_us;
    if (party->holds || party->wants || !party->has_used || us < 0)
        return false;
    if (party->lag > -ath_lag_of(MUCH_US, claim->weight) &&
        party->group_lag > -ath_lag_of(MUCH_US, claim->group_weight))
        return false;
    look_in(round, us + 1);
    return true;
}

/* Returns whether all that wait for a holder's GPUs have had so much more than it that its pauses
 * are no longer for them. Notes when that changes. */
static bool holds_owed(struct round *round, const struct ath_turns_party *holder)
{
    const struct ath_turns_party *first = NULL;
    for (size_t i = 0; holder->holds && !first && i < round->order_count; i++)
        if (round->order[i]->wants && ath_turns_conflict(holder, round->order[i]))
            first = round->order[i];
    if (!first || first->claim.priority != holder->claim.priority)
        return false;
    const uint32_t weight = ath_lag_weight(holder, first);
    const int64_t beyond = ath_lag_between(first, holder) - ath_lag_of(MOST_US, weight);
    const int64_t us = ath_lag_us(beyond, weight) + 1;
    if (beyond >= 0)
        look_in(round, us > LOOK_US ? us : LOOK_US);
    return beyond >= 0;
}

static void count_crowds(struct round *round)
{
    for (size_t i = 0; i < round->turns->here_count; i++)
        ATH_EACH_DEVICE(device, round->turns->parties[round->turns->here[i]].claim.devices)
    round->crowds[device] = (struct crowd){ .highest = { ATH_TURNS_LOW, ATH_TURNS_LOW } };
    for (size_t i = 0; i < round->turns->here_count; i++) {
        const struct ath_turns_party *party = &round->turns->parties[round->turns->here[i]];
        const bool is_free = party->claim.is_free, recent = is_recent(round, party);
        const bool owed = is_owed(round, party);
        ATH_EACH_DEVICE(device, party->claim.devices)
        {
            struct crowd *crowd = &round->crowds[device];
            crowd->waiting[is_free] += is_waiting(party);
            crowd->recent[is_free] += recent;
            crowd->owed[is_free] += owed;
            if (recent && party->claim.priority > crowd->highest[is_free])
                crowd->highest[is_free] = party->claim.priority;
        }
    }
}

/* The number of a party's competitors. of: by is_free; is_one: the party is among them. */
static uint32_t others(const struct ath_turns_party *party, const uint32_t *of, bool is_one)
{
    return party->claim.is_free ? of[false] : of[false] + of[true] - is_one;
}

static void set_state(struct round *round, struct ath_turns_party *party)
{
    struct ath_turns_state *state = &party->state;
    const bool recent = is_recent(round, party), owed = is_owed(round, party);
    state->is_given = party->holds;
    state->is_owed = holds_owed(round, party);
    state->is_waited_for = state->has_higher = false;
    state->has_others = ath_turns_is_capped(party->claim.most_percent) ||
                        ath_turns_is_capped(party->claim.group_most_percent);
    ATH_EACH_DEVICE(device, party->claim.devices)
    {
        const struct crowd *crowd = &round->crowds[device];
        if (others(party, crowd->waiting, is_waiting(party)))
            state->is_waited_for = true;
        if (others(party, crowd->recent, recent))
            state->has_others = true;
        if (others(party, crowd->owed, owed) || crowd->highest[false] > party->claim.priority ||
            (!party->claim.is_free && crowd->highest[true] > party->claim.priority))
            state->has_higher = true;
    }
}

static void set_states(struct round *round)
{
    count_crowds(round);
    for (size_t i = 0; i < round->turns->here_count; i++)
        set_state(round, &round->turns->parties[round->turns->here[i]]);
}

/* A party that others asked for too long no longer excludes them. */
static void find_overdue(struct round *round)
{
    for (size_t i = 0; i < round->turns->here_count; i++) {
        struct ath_turns_party *party = &round->turns->parties[round->turns->here[i]];
        if (!party->holds || !party->state.is_wanted_back)
            continue;
        const int64_t us = party->asked_us + ATH_TURNS_LATE_US - round->turns->now_us;
        if (us <= 0)
            party->state.is_overdue = true;
        else
            look_in(round, us);
    }
}

/* Asks a holder that came to a GPU without a turn there: it was free until now, or the party uses
 * another GPU than before. The one that had its turn there goes on. */
static void ask_intruders(struct round *round)
{
    for (size_t i = 0; i < round->holder_count; i++)
        for (size_t k = 0; round->holders[i]->intrudes && k < round->holder_count; k++)
            if (k != i && ath_turns_conflict(round->holders[i], round->holders[k]))
                ask(round, round->holders[i]);
}

static int compare(const void *a_p, const void *b_p)
{
    const struct ath_turns_party *a = *(const struct ath_turns_party *const *)a_p;
    const struct ath_turns_party *b = *(const struct ath_turns_party *const *)b_p;
    if (a->claim.priority != b->claim.priority)
        return a->claim.priority > b->claim.priority ? -1 : 1;
    if (a->group_lag != b->group_lag)
        return a->group_lag < b->group_lag ? -1 : 1;
    if (a->claim.group != b->claim.group)
        return a->claim.group < b->claim.group ? -1 : 1;
    if (a->lag != b->lag)
        return a->lag < b->lag ? -1 : 1;
    if (a->wanted_us != b->wanted_us)
        return a->wanted_us < b->wanted_us ? -1 : 1;
    return a < b ? -1 : 1;
}

static void sort_parties(struct round *round)
{
    for (size_t i = 0; i < round->turns->here_count; i++) {
        struct ath_turns_party *party = &round->turns->parties[round->turns->here[i]];
        if (ath_turns_excludes(party))
            round->holders[round->holder_count++] = party;
        else if (is_waiting(party))
            round->order[round->order_count++] = party;
    }
    qsort(round->order, round->order_count, sizeof *round->order, compare);
}

/* Returns whether a waiting party has its turn in place of a holder. Notes when that changes. A
 * turn is as long as the holder's weight is large: a party that is owed a whole turn by its own
 * weight waits no longer. */
static bool is_due(struct round *round, const struct ath_turns_party *party,
                   const struct ath_turns_party *holder)
{
    const int64_t held_us = round->turns->now_us - holder->given_us;
    if (party->claim.priority != holder->claim.priority)
        return party->claim.priority > holder->claim.priority;
    if (party->claim.is_free != holder->claim.is_free) {
        look_in(round, ATH_TURNS_US - held_us); /* free parties have no order */
        return held_us >= ATH_TURNS_US;
    }
    const int64_t owed = ath_lag_between(holder, party);
    const int64_t whole = ath_lag_of(ATH_TURNS_US, ath_lag_weight(party, holder));
    const uint32_t weight = ath_lag_weight(holder, party);
    if (owed <= 0) {
        const int64_t us = ath_lag_us(-owed, weight) + 1;
        look_in(round, us > LOOK_US ? us : LOOK_US);
        return false;
    }
    if (held_us >= ATH_TURNS_US || (owed > whole && held_us >= ATH_TURNS_LEAST_US))
        return true;
    look_in(round, ATH_TURNS_US - held_us);
    if (held_us < ATH_TURNS_LEAST_US)
        look_in(round, ATH_TURNS_LEAST_US - held_us);
    if (owed <= whole) {
        const int64_t us = ath_lag_us(whole - owed, weight) + 1;
        look_in(round, us > LOOK_US ? us : LOOK_US);
    }
    return false;
}

static void give(struct round *round, struct ath_turns_party *party)
{
    party->holds = true;
    party->wants = party->intrudes = false;
    party->state.is_wanted_back = party->state.is_overdue = false; /* the turn before is over */
    party->given_us = round->turns->now_us;
    party->state.number = party->state.number % ATH_TURNS_NUMBER_MAX + 1;
    party->used.turns++;
    round->holders[round->holder_count++] = party;
    look_at_caps(round, party);
}

/* Asks all holders of a party's GPUs, if all their turns may end. */
static void reserve(struct round *round, struct ath_turns_party *party)
{
    for (int is_asking = 0; is_asking < 2; is_asking++)
        for (size_t i = 0; i < round->holder_count; i++) {
            struct ath_turns_party *holder = round->holders[i];
            if (!ath_turns_conflict(party, holder))
                continue;
            if (is_asking)
                ask(round, holder);
            else if (!holder->state.is_wanted_back && !is_due(round, party, holder))
                return;
        }
    party->reserves = true;
    round->reserved[party->claim.is_free] |= party->claim.devices;
}

static bool is_held(const struct round *round, const struct ath_turns_party *party)
{
    for (size_t i = 0; i < round->holder_count; i++)
        if (ath_turns_conflict(party, round->holders[i]))
            return true;
    return false;
}

static void give_turns(struct round *round)
{
    for (size_t i = 0; i < round->order_count; i++) {
        struct ath_turns_party *party = round->order[i];
        const uint64_t reserved =
            round->reserved[false] | (party->claim.is_free ? 0 : round->reserved[true]);
        if (party->claim.devices & reserved)
            continue;
        if (is_held(round, party))
            reserve(round, party);
        else
            give(round, party);
    }
}

int64_t ath_turns_decide(struct ath_turns *turns, int64_t now_us)
{
    struct round round;
    round.turns = turns;
    round.look_us = INT64_MAX;
    round.order_count = round.holder_count = 0;
    round.reserved[false] = round.reserved[true] = 0;
    ath_turns_pass(turns, now_us);
    set_parts(turns);
    look_at_parties(&round);
    ath_lag_settle(turns);
    set_states(&round);
    find_overdue(&round);
    sort_parties(&round);
    ask_intruders(&round);
    give_turns(&round);
    set_states(&round);
    find_overdue(&round);
    return round.look_us;
}
