/*
 * Libraries: code without a context.
 *
 * A library owns its kernels, its modules and its managed variables.
 */
#pragma once
#include "sim/image.h"
#include "sim/sim.h"

struct sim_kernel;
struct sim_module;
struct sim_variable;

struct sim_library {
    struct sim_object object;
    struct sim_image image;
    struct sim_kernel *kernels;
    struct sim_module *modules;
    struct sim_variable *managed;
};

CUresult sim_library_find(CUlibrary handle, struct sim_library **out);
/* Returns the library's module in the current context, which it makes on first use. */
CUresult sim_library_module(struct sim_library *library, struct sim_module **out);
