/* The state of turns.h, for its own files: pass.c lets time pass, lag.c keeps the order,
 * decide.c gives turns. */
#pragma once
#include "turns/bits.h"
#include "turns/turns.h"

enum { ATH_TURNS_CLASSES = ATH_TURNS_HIGH - ATH_TURNS_LOW + 1 };

/*
 * Lags on each GPU: the time that a party or group has used, by its weight, less the average of
 * those that compete with it. Only competitors with the same priority, and only time in which one
 * of them wanted the GPU counts. The least lag goes first.
 *
 * Each decision subtracts the average, so lags stay small for years and a newcomer's is 0.
 */
struct ath_turns_lags {
    int64_t of[ATH_TURNS_DEVICES];
};

/* The average of lags by weight. */
struct ath_turns_average {
    int64_t sum[ATH_TURNS_DEVICES], weights[ATH_TURNS_DEVICES];
};

/* Time that may be used under a cap, in hundredths of a microsecond: each microsecond that passes
 * adds the cap's percentage, each that is used takes 100. */
struct ath_turns_budget {
    int64_t left;
    bool is_spent; /* until enough is saved for a turn that is worth its switch */
};

/* The parties of a group that have one priority. */
struct ath_turns_team {
    uint64_t devices;        /* that its parties use or used lately */
    uint64_t active_devices; /* that one of them has or waits for */
    uint64_t single_devices; /* of these: that one has or waits for which uses no other one */
    struct ath_turns_lags lags;
    struct ath_turns_average average; /* of its parties' lags */
};

struct ath_turns_group {
    bool is_here; /* it has parties, or had some lately */
    size_t parties;
    int64_t left_us; /* when its last party left */
    uint64_t devices;
    uint32_t weight[ATH_TURNS_DEVICES];
    uint32_t most_percent;
    struct ath_turns_budget budgets[ATH_TURNS_DEVICES];
    struct ath_turns_team teams[ATH_TURNS_CLASSES];
};

struct ath_turns_party {
    struct ath_turns_claim claim;
    struct ath_turns_state state;
    struct ath_turns_used used;
    bool is_here;
    bool wants; /* and does not hold */
    bool holds;
    bool intrudes; /* its turn was not given for all GPUs that it uses now, or before a claim there
                    */
    bool has_used;
    bool may_hold; /* it wants to, and no cap forbids it */
    bool reserves; /* it is first in order, and gets its GPUs as soon as they are given back */
    int64_t wanted_us, given_us, asked_us, used_at_us; /* moments */
    struct ath_turns_lags lags;
    int64_t lag, group_lag; /* the largest on any of its GPUs */
    struct ath_turns_budget budget;
    /* Its share less its used time while it was active, in microseconds << ATH_TURNS_PART_SHIFT. */
    int64_t balance;
    int64_t part; /* its share of its GPUs, 1 << ATH_TURNS_PART_SHIFT for all */
};

enum { ATH_TURNS_PART_SHIFT = 20 };

struct ath_turns {
    int64_t now_us;                                         /* of the last call */
    bool has_parts;                                         /* ath_turns_party's parts are true */
    size_t here[ATH_TURNS_PARTIES_MAX], here_count;         /* parties */
    size_t groups_here[ATH_TURNS_PARTIES_MAX], group_count; /* with parties, now or lately */
    struct ath_turns_party parties[ATH_TURNS_PARTIES_MAX];
    struct ath_turns_group groups[ATH_TURNS_PARTIES_MAX];
    struct ath_turns_average averages[ATH_TURNS_CLASSES]; /* of teams' lags */
};

static inline struct ath_turns_team *ath_turns_team(struct ath_turns *turns,
                                                    const struct ath_turns_claim *claim)
{
    return &turns->groups[claim->group].teams[claim->priority - ATH_TURNS_LOW];
}

/* Returns whether two parties exclude each other. */
static inline bool ath_turns_conflict(const struct ath_turns_party *a,
                                      const struct ath_turns_party *b)
{
    return a->claim.devices & b->claim.devices && !(a->claim.is_free && b->claim.is_free);
}

/* Returns whether a holder excludes others. */
static inline bool ath_turns_excludes(const struct ath_turns_party *party)
{
    return party->holds && !party->state.is_overdue;
}
