/* The data of each thread of the program. */
#pragma once
#include "sim/sim.h"

/* Made on first use, freed with the thread. */
struct sim_thread {
    uint64_t id;
    struct sim_context *stack[64];
    int depth;
    CUstreamCaptureMode capture_mode;
    bool is_in_callback;
};

/* Returns the calling thread's. Takes no lock. */
struct sim_thread *sim_thread(void);
