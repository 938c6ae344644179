/* How a turn goes back: the thread that waits for the arbiter's word, and the ends of bursts. */
#include "config.h"

#include <sched.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cuda/turns/callers.h"
#include "cuda/turns/gate_state.h"
#include "cuda/turns/used_streams.h"

#define gate ath_turn_gate
enum {
    NS_PER_US = 1000,
    NS_PER_MS = 1000000,
    NEVER = 0,
    LATE_MS = 2000 /* as the arbiter waits */
};

/* ---- waiting for the GPU ---- */

/* A wait that looks all the time at first: while it rests the GPU may have nothing to do. */
struct wait {
    uint64_t begun_ns, until_ns; /* until_ns: NEVER for no end */
};

/* Work that may wait for the program, or for a session that waits for this turn, would never end
 * while no other session goes on. Other work is waited for as long as it takes. */
static struct wait wait_begin(uint64_t longest_ms)
{
    uint64_t now = ath_now_ns();
    return (struct wait){
        .begun_ns = now,
        .until_ns = longest_ms == NEVER ? NEVER : now + longest_ms * NS_PER_MS,
    };
}

/* Waits a moment. Returns whether there is time left. */
static bool wait_on(const struct wait *wait)
{
    enum { LOOK_US = 1000, SHORT_US = 50, LONG_US = 1000, LONG_AFTER_US = 100000 };
    uint64_t now = ath_now_ns(), waited_us = (now - wait->begun_ns) / NS_PER_US;
    if (waited_us < LOOK_US)
        sched_yield();
    else
        ath_turn_gate_rest(waited_us > LONG_AFTER_US ? LONG_US : SHORT_US);
    return wait->until_ns == NEVER || now < wait->until_ns;
}

/* Returns whether the arbiter still counts on the end of this turn. */
static bool is_same_turn(uint32_t number)
{
    uint32_t word = ath_turn_gate_word();
    return word & ATH_TURN_GIVEN && ath_turn_number(word) == number;
}

/* ---- bursts ---- */

/* Begins a burst, as long as the GPU's work may take. is_full: the last one had all its calls. */
static void begin_burst(uint64_t waited_ns, bool is_over, bool is_full)
{
    bool is_short = ath_turn_gate_word() & ATH_TURN_SHORT;
    uint64_t target_ns =
        (uint64_t)(is_short ? ATH_GATE_SHORT_BURST_US : ATH_GATE_BURST_US) * NS_PER_US;
    int64_t burst = gate.burst;
    if (!is_over)
        burst = burst / 2 < ATH_GATE_BURST_FIRST ? ATH_GATE_BURST_FIRST : burst / 2;
    else if (waited_ns > target_ns)
        burst = (int64_t)((uint64_t)burst * target_ns / waited_ns);
    else if (is_full && waited_ns < target_ns / 2)
        burst = 2 * burst;
    gate.burst = (int32_t)(burst < 1 ? 1 : burst > ATH_GATE_BURST_MAX ? ATH_GATE_BURST_MAX : burst);
    atomic_store(&gate.budget, gate.burst);
}

/* The GPU's rest of work when the calls are made is the time that a turn's end would have to wait,
 * so it is the length of a burst, however long the program took to make the calls. */
void ath_turn_end_burst(void)
{
    pthread_mutex_lock(&gate.burst_lock);
    if (atomic_load(&gate.budget) <= 0) {
        struct wait wait = wait_begin(atomic_load(&gate.awaits) ? ATH_GATE_AWAITS_MS : LATE_MS);
        uint32_t word;
        bool is_over, is_open;
        do {
            is_over = ath_used_streams_are_empty();
            word = ath_turn_gate_word();
            is_open = ath_turn_gate_is_open(word);
        } while (!is_over && is_open && word & ATH_TURN_OTHERS && wait_on(&wait));
        if (is_open)
            begin_burst(ath_now_ns() - wait.begun_ns, is_over, true);
        else /* the turn's end waits for the rest */
            atomic_store(&gate.budget, gate.burst);
    }
    pthread_mutex_unlock(&gate.burst_lock);
}

/* ---- giving back ---- */

/* at: the session's `returned` or `left`. */
static void tell(_Atomic uint32_t *at, uint32_t number)
{
    pthread_mutex_lock(&gate.wish_lock);
    atomic_store(&gate.setup.wish->wants, gate.waiting > 0);
    atomic_store(at, number);
    pthread_mutex_unlock(&gate.wish_lock);
    ath_turn_gate_call_arbiter();
}

void ath_turn_give_back(uint32_t number, bool is_asked)
{
    struct ath_turn_wish *wish = gate.setup.wish;
    pthread_mutex_lock(&gate.drain_lock);
    if (is_same_turn(number) && atomic_load(&wish->returned) != number) {
        atomic_store(&gate.closed, number);
        ath_turn_callers_barrier();
        bool is_bounded = (atomic_load(&gate.awaits) || !is_asked) && wish->left != number;
        struct wait wait = wait_begin(is_bounded ? ATH_GATE_AWAITS_MS : NEVER);
        bool is_over, is_same;
        do {
            is_over = !ath_turn_callers_are_inside() && ath_used_streams_are_empty();
            is_same = is_same_turn(number);
        } while (!is_over && is_same && wait_on(&wait));
        if (is_same) {
            pthread_mutex_lock(&gate.burst_lock);
            begin_burst(ath_now_ns() - wait.begun_ns, is_over, false);
            pthread_mutex_unlock(&gate.burst_lock);
            tell(is_over ? &wish->returned : &wish->left, number);
        }
    }
    pthread_mutex_unlock(&gate.drain_lock);
}

/* Gives a turn back if there was no call since `calls` were counted, and the GPU is at rest. */
static void give_back_if_idle(uint32_t word, uint64_t calls)
{
    uint32_t number = ath_turn_number(word);
    pthread_mutex_lock(&gate.drain_lock);
    if (atomic_load(&gate.closed) != number) { /* else another thread gives it back */
        atomic_store(&gate.closed, number);
        ath_turn_callers_barrier();
        bool is_idle = ath_turn_callers_calls() == calls && !ath_turn_callers_are_inside() &&
                       ath_turn_gate_word() == word && ath_used_streams_are_empty();
        if (is_idle)
            tell(&gate.setup.wish->returned, number);
        else
            atomic_store(&gate.closed, ATH_GATE_NO_TURN);
    }
    pthread_mutex_unlock(&gate.drain_lock);
}

/* ---- the thread ---- */

/* While there is no arbiter, or none for this session. */
static void look_for_arbiter(void)
{
    ath_turn_gate_rest((int64_t)ATH_GATE_LOOK_MS * 1000);
    if (ath_turn_gate_has_arbiter())
        atomic_store(&gate.word, &gate.setup.grant->word);
}

/*
 * The program's pauses, as between the steps of a training. Others begin their work in a pause, and
 * the program waits for its end. So a session that has had less than its share keeps its turn in a
 * pause, and pays for it, if its last pause was a short one. Only the gate's thread uses this.
 */
static struct {
    uint64_t begun_ns; /* 0: the program does not pause */
    uint64_t calls;    /* before the pause */
    bool was_long;     /* the last one */
} pauses;

static void end_pause(uint64_t calls, uint64_t now_ns)
{
    uint64_t wanted_ns = atomic_load(&gate.wanted_ns);
    if (!pauses.begun_ns || calls == pauses.calls)
        return;
    uint64_t end_ns = wanted_ns > pauses.begun_ns ? wanted_ns : now_ns;
    pauses.was_long = end_ns - pauses.begun_ns > (uint64_t)ATH_GATE_PAUSE_US * NS_PER_US;
    pauses.begun_ns = 0;
}

static void begin_pause(uint64_t calls, uint64_t now_ns)
{
    if (!pauses.begun_ns)
        pauses.begun_ns = now_ns;
    pauses.calls = calls;
}

/* Returns whether the pause may go on with the turn. */
static bool may_pause(uint32_t word, uint64_t now_ns)
{
    return word & ATH_TURN_OWED && !pauses.was_long &&
           now_ns - pauses.begun_ns < (uint64_t)ATH_GATE_PAUSE_US * NS_PER_US;
}

/* The session has the turn. */
static void hold_turn(uint32_t word)
{
    const _Atomic uint32_t *at = &gate.setup.grant->word;
    uint64_t calls = ath_turn_callers_calls(), begun_ns = ath_now_ns(), now_ns;
    uint64_t idle_us = word & ATH_TURN_WAITED ? ATH_GATE_WAITED_IDLE_US : ATH_GATE_IDLE_US;
    end_pause(calls, begun_ns);
    ath_turn_gate_sleep(at, word, (int64_t)idle_us);
    now_ns = ath_now_ns();
    if (now_ns - begun_ns < NS_PER_US * idle_us || atomic_load(at) != word ||
        ath_turn_callers_calls() != calls || ath_turn_callers_are_inside() ||
        !ath_used_streams_are_empty())
        return;
    begin_pause(calls, now_ns);
    if (!may_pause(word, now_ns))
        give_back_if_idle(word, calls);
}

__attribute__((noreturn)) static void *run(void *nothing)
{
    const _Atomic uint32_t *at = &gate.setup.grant->word;
    (void)nothing;
    for (;;) {
        uint32_t word = atomic_load(at);
        if (atomic_load(&gate.word) != at)
            look_for_arbiter();
        else if (!(word & ATH_TURN_GIVEN) ||
                 atomic_load(&gate.setup.wish->returned) == ath_turn_number(word))
            ath_turn_gate_sleep(at, word, (int64_t)ATH_GATE_REST_MS * 1000);
        else if (word & ATH_TURN_BACK)
            ath_turn_give_back(ath_turn_number(word), true);
        else
            hold_turn(word);
    }
}

bool ath_turn_thread_start(void)
{
    return !ath_thread_start(NULL, run, NULL);
}
