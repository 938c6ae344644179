/* Physical memory for cuMemMap(). */
#pragma once
#include "sim/sim.h"

struct sim_allocation;

void sim_allocation_drop(struct sim_allocation *allocation);
