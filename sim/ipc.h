/* Memory and events that processes share. */
#pragma once
#include "sim/sim.h"

struct sim_range;
struct sim_work;

void sim_foreign_end(struct sim_range *range); /* removes it from the address space */

/* The signal of an event that several processes share. */
struct sim_signal;
struct sim_signal *sim_signal_new(void);         /* NULL: out of memory */
void sim_signal_drop(struct sim_signal *signal); /* takes NULL */
bool sim_signal_is_done(const struct sim_signal *signal);
void sim_signal_wait(struct sim_signal *signal);              /* releases the lock meanwhile */
struct sim_work *sim_signal_tell(struct sim_signal *signal);  /* a new recording */
struct sim_work *sim_signal_await(struct sim_signal *signal); /* of the last recording */
