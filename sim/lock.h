/*
 * The lock that guards all state of the simulated driver.
 *
 * A thread that holds it only updates records; copies, kernels and host functions run without it,
 * in the worker thread of their stream. All waiting threads wait for the same condition variable.
 */
#pragma once

int sim_lock(void); /* returns 0, for SIM_LOCKED */
void sim_unlock(void);
void sim_lock_anew(void); /* makes a new lock in the child of a fork */
void sim_wait(void);      /* waits for a change, and releases the lock meanwhile */
void sim_changed(void);   /* wakes all waiting threads */

static inline void sim_unlock_p(const int *unused)
{
    (void)unused;
    sim_unlock();
}

/* SIM_LOCKED is a declaration: it holds the lock to the end of the block. */
#define SIM_LOCKED __attribute__((cleanup(sim_unlock_p), unused)) const int sim_locked_ = sim_lock()
