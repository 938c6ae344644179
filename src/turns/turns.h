/*
 * Turns on the GPUs of one server: who may use them now, for how long, and what each has used. A
 * state machine without clock, lock or I/O, so that every rule is tested without a GPU and without
 * real time.
 *
 * A party is a session. A party gets all GPUs that it uses at once or none, so it never waits for
 * itself. Parties that have a GPU in common exclude each other. A party is charged for all the time
 * that it holds a turn: the GPU cannot take a running kernel away, so a turn that ends late is paid
 * by its own party. A holder is asked to give its turn back only if another party may have it, or
 * if the holder has spent its cap.
 *
 * Priorities are strict: weights divide what parties with a higher priority leave. A party with a
 * lower priority may wait forever.
 *
 * Parties belong to groups (identities). The time of each GPU is divided among groups by their
 * weights, and in a group among its parties. Time that a party has not wanted is lent to the
 * others. It is owed again, up to ATH_TURNS_LENT_US, so a program that pauses between its kernels
 * gets its share.
 *
 * All times are microseconds of one clock that never falls. Threads: the caller excludes others.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ATH_TURNS_PARTIES_MAX = 512,
    ATH_TURNS_WEIGHT_MAX = 10000,
    ATH_TURNS_NUMBER_MAX = 0xffffff, /* after it comes 1: slot.h has 24 bits for the number */
    ATH_TURNS_US = 20000,            /* of a turn, while another party waits */
    ATH_TURNS_LEAST_US = 1000,       /* of a turn, if a party with the same priority that is owed a
                                      * whole turn waits */
    ATH_TURNS_LENT_US = 500000,      /* most time of the GPU that an idle party is owed */
    ATH_TURNS_DEBT_US = 10000000,    /* most time that a party owes or is owed while it waits: a
                                      * longer kernel is charged as this */
    ATH_TURNS_LATE_US = 2000000, /* a party that is asked to give back, and does not, is overdue */
    ATH_TURNS_RECENT_US = 10000000, /* a party that has used its GPUs since then counts as there */
    ATH_TURNS_SAVED_US = 100000     /* most that a party with a cap may use at once */
};

enum { ATH_TURNS_LOW = -1, ATH_TURNS_NORMAL = 0, ATH_TURNS_HIGH = 1 };

/* The rights of a party. src/turns/shares.h makes claims of what sessions ask for. */
struct ath_turns_claim {
    uint64_t devices;              /* a bit for each GPU that it uses; 0: it excludes no party */
    uint32_t group;                /* 0 to ATH_TURNS_PARTIES_MAX - 1; a number means the same
                                    * identity while parties have it, and ATH_TURNS_RECENT_US after */
    uint32_t weight, group_weight; /* 1 to ATH_TURNS_WEIGHT_MAX; the same group_weight for all
                                    * parties of a group that have a GPU in common */
    int priority;                  /* ATH_TURNS_LOW to ATH_TURNS_HIGH; a party with a higher one
                                    * goes first, whatever the weights */
    uint32_t most_percent;         /* of the GPUs' time, even if no other party wants it; 100: no
                                    * limit */
    uint32_t group_most_percent;   /* of each GPU's time, for all parties of the group */
    bool is_free;                  /* holds turns beside others that are free, too */
};

/* The arbiter tells a party this. */
struct ath_turns_state {
    bool is_given;        /* it has the turn */
    bool is_wanted_back;  /* it starts nothing more, and gives the turn back; stays until then */
    bool is_overdue;      /* it was asked for so long that others no longer wait for it */
    bool has_others;      /* another party on its GPUs has used them lately, or waits, or the party
                           * has a cap: its bursts must be short */
    bool has_higher;      /* one of those has a higher priority */
    bool is_owed;         /* it holds, and has had much less than its share: its pauses are not for
                           * others */
    bool is_waited_for;   /* another party waits for one of its GPUs, and may have it */
    uint32_t number;      /* of its last turn; 0: it had none yet */
    uint32_t share_parts; /* of the time of each of its GPUs, in parts of 10000, if all parties
                           * there want their time */
};

struct ath_turns_used {
    int64_t used_us;   /* it held turns */
    int64_t waited_us; /* it wanted a turn and had none, for its own cap too */
    int64_t lent_us;   /* of used_us: beyond its share, since others did not want their time */
    uint64_t turns;
};

/* Makes the state; NULL when memory runs out. Free it with ath_turns_free(). */
struct ath_turns *ath_turns_make(int64_t now_us);
void ath_turns_free(struct ath_turns *turns);

/* A party comes, or its claim changes. party: 0 to ATH_TURNS_PARTIES_MAX - 1. */
void ath_turns_claim(struct ath_turns *turns, size_t party, const struct ath_turns_claim *claim,
                     int64_t now_us);

/* A party is gone, whatever it was doing: its process has ended. */
void ath_turns_leave(struct ath_turns *turns, size_t party, int64_t now_us);

/* A party has work for its GPUs. */
void ath_turns_want(struct ath_turns *turns, size_t party, int64_t now_us);

/* A holder's work may wait for its own next turn or for other parties: it is overdue from now on.
 * number, wants: as below. */
void ath_turns_let_others(struct ath_turns *turns, size_t party, uint32_t number, bool wants,
                          int64_t now_us);

/* A holder's work is over. number: of the turn that it gives back; another one than that of its
 * last turn is ignored. wants: it has more work. */
void ath_turns_give_back(struct ath_turns *turns, size_t party, uint32_t number, bool wants,
                         int64_t now_us);

/* Takes over a turn that was given before: the arbiter was replaced, and the party holds it. */
void ath_turns_adopt(struct ath_turns *turns, size_t party, uint32_t number, int64_t now_us);

/* Tells the number of a party's last turn, which it has given back: the arbiter was replaced, and
 * the party's next turn needs another number. */
void ath_turns_number(struct ath_turns *turns, size_t party, uint32_t number);

/* Gives turns that can be given. Returns when to call again if nothing happens; INT64_MAX: never.
 * Other functions may be called any number of times before it. */
int64_t ath_turns_decide(struct ath_turns *turns, int64_t now_us);

/* Returns the state of a party as the last ath_turns_decide() found it. */
struct ath_turns_state ath_turns_state(const struct ath_turns *turns, size_t party);

/* Returns the figures of a party up to the last call that took now_us. */
struct ath_turns_used ath_turns_used(const struct ath_turns *turns, size_t party);

/* Returns the party that has what another one waits for: the one that has it longest, or is first
 * to get it. Returns ATH_TURNS_PARTIES_MAX if the party does not wait, or waits for its own cap. */
size_t ath_turns_waits_for(const struct ath_turns *turns, size_t party);
