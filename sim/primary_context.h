/* The primary context of each device, which runtimes share. */
#pragma once
#include "sim/sim.h"

struct sim_context;

/* Returns the primary context of a device, and begins it if it has not begun. */
CUresult sim_primary_retain(int device, struct sim_context **out);
