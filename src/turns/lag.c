/*
 * Weighted fair queueing by the time that was used. Lags are integers, and each decision subtracts
 * the same number from all that compete, so nothing drifts.
 */
#include "config.h"

#include "turns/lag.h"

#include <string.h>

enum {
    UNIT = ATH_TURNS_WEIGHT_MAX * 4096, /* of a microsecond with the weight 1: the largest weight
                                         * still gets 4096, so rounding is 1/4096 us */
    GANG_OWED_US = 2000000 /* most that a waiting party with several GPUs is owed: it may have
                            * waited for the other GPU all the time */
};

int64_t ath_lag_of(int64_t us, uint32_t weight)
{
    return us * UNIT / weight;
}

int64_t ath_lag_us(int64_t lag, uint32_t weight)
{
    return lag / UNIT * weight + lag % UNIT * weight / UNIT;
}

static int64_t bounded(int64_t lag, uint32_t weight, int64_t owed_us)
{
    const int64_t least = -ath_lag_of(owed_us, weight);
    const int64_t most = ath_lag_of(ATH_TURNS_DEBT_US, weight);
    return lag < least ? least : lag > most ? most : lag;
}

void ath_lag_charge(struct ath_turns *turns, struct ath_turns_party *party, uint64_t overdue,
                    int64_t us)
{
    enum { EIGHTH_SHIFT = 3 };
    const struct ath_turns_claim *claim = &party->claim;
    struct ath_turns_team *team = ath_turns_team(turns, claim);
    const uint32_t *weights = turns->groups[claim->group].weight;
    ATH_EACH_DEVICE(device, claim->devices)
    {
        const int shift = overdue & ath_device_bit(device) ? EIGHTH_SHIFT : 0;
        party->lags.of[device] += ath_lag_of(us, claim->weight) >> shift;
        team->lags.of[device] += ath_lag_of(us, weights[device]) >> shift;
    }
}

void ath_lag_bound(struct ath_turns *turns, struct ath_turns_party *party)
{
    const struct ath_turns_claim *claim = &party->claim;
    struct ath_turns_team *team = ath_turns_team(turns, claim);
    const uint32_t *weights = turns->groups[claim->group].weight;
    ATH_EACH_DEVICE(device, claim->devices)
    {
        party->lags.of[device] = bounded(party->lags.of[device], claim->weight, ATH_TURNS_DEBT_US);
        team->lags.of[device] = bounded(team->lags.of[device], weights[device], ATH_TURNS_DEBT_US);
    }
}

static void add(struct ath_turns_average *average, uint64_t device, int64_t lag, uint32_t weight)
{
    average->sum[device] += lag * weight;
    average->weights[device] += weight;
}

static void add_teams(struct ath_turns *turns)
{
    for (size_t i = 0; i < turns->group_count; i++) {
        const struct ath_turns_group *group = &turns->groups[turns->groups_here[i]];
        for (size_t class = 0; class < ATH_TURNS_CLASSES; class ++) {
            const struct ath_turns_team *team = &group->teams[class];
            ATH_EACH_DEVICE(device, team->active_devices)
            add(&turns->averages[class], device, team->lags.of[device], group->weight[device]);
        }
    }
}

static bool has_several(const struct ath_turns_party *party)
{
    return party->claim.devices & (party->claim.devices - 1);
}

static void add_parties(struct ath_turns *turns)
{
    for (size_t i = 0; i < turns->here_count; i++) {
        const struct ath_turns_party *party = &turns->parties[turns->here[i]];
        if (party->claim.is_free || !(party->holds || party->may_hold))
            continue;
        struct ath_turns_team *team = ath_turns_team(turns, &party->claim);
        team->active_devices |= party->claim.devices;
        if (!has_several(party))
            team->single_devices |= party->claim.devices;
        ATH_EACH_DEVICE(device, party->claim.devices)
        add(&team->average, device, party->lags.of[device], party->claim.weight);
    }
}

static void forget_averages(struct ath_turns *turns)
{
    memset(turns->averages, 0, sizeof turns->averages);
    for (size_t i = 0; i < turns->group_count; i++)
        for (size_t class = 0; class < ATH_TURNS_CLASSES; class ++) {
            struct ath_turns_team *team = &turns->groups[turns->groups_here[i]].teams[class];
            if (team->active_devices)
                memset(&team->average, 0, sizeof team->average);
            team->active_devices = team->single_devices = 0;
        }
}

/* The most that a party or team is owed on a GPU. */
static int64_t owed_us(bool is_active, bool has_singles)
{
    if (!is_active)
        return ATH_TURNS_LENT_US;
    return has_singles ? ATH_TURNS_DEBT_US : GANG_OWED_US;
}

/* A lag less the average. */
static int64_t settled(int64_t lag, const struct ath_turns_average *average, uint64_t device,
                       uint32_t weight, int64_t owed_us)
{
    if (average->weights[device] > 0)
        lag -= average->sum[device] / average->weights[device];
    return bounded(lag, weight, owed_us);
}

static void settle_teams(struct ath_turns *turns, struct ath_turns_group *group)
{
    for (size_t class = 0; class < ATH_TURNS_CLASSES; class ++) {
        struct ath_turns_team *team = &group->teams[class];
        ATH_EACH_DEVICE(device, team->devices)
        {
            const bool is_active = team->active_devices & ath_device_bit(device);
            const bool has_singles = team->single_devices & ath_device_bit(device);
            team->lags.of[device] = settled(team->lags.of[device], &turns->averages[class], device,
                                            group->weight[device], owed_us(is_active, has_singles));
        }
    }
}

/* Returns whether others than the party or team itself compete for a GPU. */
static bool is_contested(const struct ath_turns_average *average, uint64_t device, uint32_t weight,
                         bool is_active)
{
    return average->weights[device] > (is_active ? weight : 0);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Sets a party's lags to the largest on a GPU with competitors; 0 if there is none. */
static void set_largest(struct ath_turns *turns, struct ath_turns_party *party, bool is_active)
{
    const struct ath_turns_claim *claim = &party->claim;
    const struct ath_turns_team *team = ath_turns_team(turns, claim);
    const struct ath_turns_average *average = &turns->averages[claim->priority - ATH_TURNS_LOW];
    int64_t lag = INT64_MIN, group_lag = INT64_MIN;
    ATH_EACH_DEVICE(device, claim->devices)
    {
        const uint32_t group_weight = turns->groups[claim->group].weight[device];
        const bool is_team_active = team->active_devices & ath_device_bit(device);
        if (is_contested(&team->average, device, claim->weight, is_active))
            lag = larger(lag, party->lags.of[device]);
        if (is_contested(average, device, group_weight, is_team_active))
            group_lag = larger(group_lag, team->lags.of[device]);
    }
    party->lag = lag == INT64_MIN ? 0 : lag;
    party->group_lag = group_lag == INT64_MIN ? 0 : group_lag;
}

static void settle_party(struct ath_turns *turns, struct ath_turns_party *party)
{
    const struct ath_turns_team *team = ath_turns_team(turns, &party->claim);
    const bool is_active = party->holds || party->may_hold;
    ATH_EACH_DEVICE(device, party->claim.devices)
    party->lags.of[device] = settled(party->lags.of[device], &team->average, device,
                                     party->claim.weight, owed_us(is_active, !has_several(party)));
    set_largest(turns, party, is_active);
}

void ath_lag_settle(struct ath_turns *turns)
{
    forget_averages(turns);
    add_parties(turns);
    add_teams(turns);
    for (size_t i = 0; i < turns->group_count; i++)
        settle_teams(turns, &turns->groups[turns->groups_here[i]]);
    for (size_t i = 0; i < turns->here_count; i++)
        settle_party(turns, &turns->parties[turns->here[i]]);
}

/* Returns whether two parties compete in their group, not by their groups. */
static bool is_in_group(const struct ath_turns_party *a, const struct ath_turns_party *b)
{
    return a->claim.group == b->claim.group && a->group_lag == b->group_lag;
}

int64_t ath_lag_between(const struct ath_turns_party *a, const struct ath_turns_party *b)
{
    return is_in_group(a, b) ? a->lag - b->lag : a->group_lag - b->group_lag;
}

uint32_t ath_lag_weight(const struct ath_turns_party *party, const struct ath_turns_party *other)
{
    return is_in_group(party, other) ? party->claim.weight : party->claim.group_weight;
}
