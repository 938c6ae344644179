/*
 * The threads that call through the gate. Each has a place of its own, so that a call costs no
 * atomic addition: who wants to know whether a thread is inside has the kernel put a barrier into
 * all threads first (membarrier(2)). Without that system call each call has a barrier of its own.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/turns/contexts.h"

/* A stream that the thread has noted, to note it once. */
struct ath_turn_noted {
    CUstream stream;
    CUcontext context; /* that was current */
    uint64_t epoch;
};
enum { ATH_TURN_NOTED = 8 };

/* Changed by its thread alone. A place stays when its thread ends, and another one gets it. */
struct ath_turn_caller {
    _Atomic uint64_t calls;              /* begun and ended ones: odd inside */
    const struct ath_turn_noted *inside; /* the call's stream; NULL: that is marked behind it */
    struct ath_turn_noted noted[ATH_TURN_NOTED];
    struct {
        CUstream stream;
        struct ath_turn_place place;
        const void *owner;
    } marked;
    uint64_t thread; /* a number that no other thread has */
    atomic_bool is_taken;
    struct ath_turn_caller *next; /* constant once it is in the list */
};

/* Asks the kernel for barriers. Call it before the first call. */
void ath_turn_callers_begin(void);

extern atomic_bool ath_turn_callers_need_barrier; /* each call */
extern _Thread_local struct ath_turn_caller *ath_turn_own_caller;

/* Takes a place for this thread. */
struct ath_turn_caller *ath_turn_caller_take(void);

static inline struct ath_turn_caller *ath_turn_caller(void)
{
    struct ath_turn_caller *own = ath_turn_own_caller;
    return __builtin_expect(own != NULL, 1) ? own : ath_turn_caller_take();
}

/* Loads of this thread behind it find what was true then or later: see
 * ath_turn_callers_are_inside(). */
static inline void ath_turn_caller_enter(struct ath_turn_caller *own)
{
    uint64_t calls = atomic_load_explicit(&own->calls, memory_order_relaxed);
    atomic_store_explicit(&own->calls, calls + 1, memory_order_relaxed);
    if (__builtin_expect(atomic_load_explicit(&ath_turn_callers_need_barrier, memory_order_relaxed),
                         0))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

static inline void ath_turn_caller_leave(struct ath_turn_caller *own)
{
    uint64_t calls = atomic_load_explicit(&own->calls, memory_order_relaxed);
    atomic_store_explicit(&own->calls, calls + 1, memory_order_release);
}

/* After a store, or after a load of a word that another process has changed: a thread that goes
 * inside from now on sees that. Threads that are inside already are seen by what follows. */
void ath_turn_callers_barrier(void);

bool ath_turn_callers_are_inside(void);

/* Changes with each call. */
uint64_t ath_turn_callers_calls(void);
