/* Green contexts: a thread that makes one current holds it. */
#pragma once
#include "sim/sim.h"

struct sim_context;

/* Call when the current context of a thread changes; both may be NULL. */
void sim_green_moves(struct sim_context *before, struct sim_context *now, uint64_t thread);
void sim_green_ends(uint64_t thread); /* a thread has ended */
