/* Kernels of libraries, which belong to no context. A library owns its kernels. */
#pragma once
#include "sim/facts.h"
#include "sim/function.h"
#include "sim/sim.h"

struct sim_library;
struct sim_program;

struct sim_kernel { /* of a library, without a context */
    struct sim_object object;
    struct sim_library *library;
    const struct sim_program *program;
    char *name;
    struct sim_function_settings settings[SIM_DEVICES_MAX];
    struct sim_kernel *next;
};
