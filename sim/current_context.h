/* Each thread's stack of contexts, and finding the context of a call. */
#pragma once
#include "sim/sim.h"

struct sim_context;

/* Finds the thread's current context for a call. Returns an error if there is none, or if it has
 * ended or has a fault. */
CUresult sim_enter(struct sim_context **out);
/* The same for a context by its handle; NULL: the current one. */
CUresult sim_enter_context(CUcontext handle, struct sim_context **out);
struct sim_context *sim_current(void); /* or NULL */
