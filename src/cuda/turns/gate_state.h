/* Shared by the files of this folder: the gate's state. */
#pragma once
#include <pthread.h>
#include <stdalign.h>

#include "cuda/turns/gate.h"

enum {
    ATH_GATE_BURST_FIRST = 16, /* calls */
    ATH_GATE_BURST_MAX = 1024,
    ATH_GATE_BURST_US = 10000,
    ATH_GATE_SHORT_BURST_US = 700,
    ATH_GATE_AWAITS_MS = 10, /* that work which may wait for the program or others is waited for */
    ATH_GATE_WAIT_MS = 100,  /* of one sleep of a call that waits */
    ATH_GATE_REST_MS = 5000, /* of one sleep of the gate's thread: a lost wake-up costs no more */
    ATH_GATE_SESSION_MS = 1000,    /* for the arbiter to know the session */
    ATH_GATE_BEAT_MS = 5000,       /* without a sign of life of the arbiter: there is none */
    ATH_GATE_LOOK_MS = 1000,       /* how often the arbiter is looked for then */
    ATH_GATE_IDLE_US = 100000,     /* without a call: the turn goes back */
    ATH_GATE_WAITED_IDLE_US = 500, /* the same while others wait */
    ATH_GATE_PAUSE_US = 5000       /* a pause that is short: an owed session keeps its turn in it */
};

#define ATH_GATE_NO_TURN UINT32_MAX /* no number of a turn */

struct ath_turn_gate {
    /* read by each call */
    alignas(64) _Atomic(const _Atomic uint32_t *) word; /* the grant's, or one that is constant */
    _Atomic uint32_t closed; /* the number of a turn that is being given back */
    atomic_bool awaits;

    /* changed by each call, while there are others */
    alignas(64) _Atomic int32_t budget; /* of calls */

    alignas(64) struct ath_turn_gate_setup setup;
    struct ath_cuda_driver raw; /* without the gate */
    uint64_t begun_ms;
    pthread_mutex_t begin_lock; /* finding the arbiter, once */
    pthread_mutex_t wish_lock;  /* `waiting`, `wish->wants` and giving back together; leaf */
    pthread_mutex_t drain_lock; /* a turn is given back by one thread */
    pthread_mutex_t burst_lock; /* `burst`; held by the thread that waits for the burst's end */
    uint32_t waiting;           /* calls */
    _Atomic uint64_t wanted_ns; /* when a call began to wait while no other one did */
    int32_t burst;              /* calls of one burst */
    atomic_bool has_said;       /* passes_freely() was called */
    _Atomic uint64_t reached;   /* a bit for each device (the server's number) with a context */
};

extern struct ath_turn_gate ath_turn_gate;

/* Returns whether a call may pass while the grant has this word. */
static inline bool ath_turn_gate_is_open(uint32_t word)
{
    return (word & (ATH_TURN_GIVEN | ATH_TURN_BACK)) == ATH_TURN_GIVEN &&
           ath_turn_number(word) !=
               atomic_load_explicit(&ath_turn_gate.closed, memory_order_acquire);
}

static inline uint32_t ath_turn_gate_word(void)
{
    return atomic_load_explicit(atomic_load_explicit(&ath_turn_gate.word, memory_order_acquire),
                                memory_order_acquire);
}

/* Sleeps until the word has another value, or the time is over. */
void ath_turn_gate_sleep(const _Atomic uint32_t *word, uint32_t value, int64_t timeout_us);

void ath_turn_gate_rest(int64_t us);

void ath_turn_gate_call_arbiter(void);

/* Returns whether the arbiter lives and knows the session. */
bool ath_turn_gate_has_arbiter(void);

/* Calls pass from now on, until there is an arbiter. */
void ath_turn_gate_pass_freely(void);

/* ---- turn_thread.c ---- */

/* Returns whether it runs. */
bool ath_turn_thread_start(void);

/* Gives a turn back when its work is over. No call passes meanwhile. Returns without it when the
 * arbiter has ended this turn by itself. is_asked: the arbiter wants it back, and lets others go on
 * after a while; else they go on after ATH_GATE_AWAITS_MS. Any thread that is not inside. */
void ath_turn_give_back(uint32_t number, bool is_asked);

/* Waits for the end of a burst, if it is over, and begins the next. The thread is not inside. */
void ath_turn_end_burst(void);
