/* Occupancy: how many blocks fit on the simulated device. */
#pragma once
#include "sim/sim.h"

enum {
    SIM_THREADS_MAX = 1024, /* of a block */
    SIM_SM_COUNT = 16,      /* streaming multiprocessors */
    SIM_REGISTERS = 16,     /* of each thread, in every kernel */
};

/* Returns how many blocks of threads with shared memory fit on one multiprocessor. */
int sim_blocks_of_sm(size_t threads, size_t shared_bytes);
