/* Functions: the kernels of a module in its context; and the code of a launch. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_kernel;
struct sim_module;
struct sim_program;

/* Settings of a function's code. */
struct sim_function_settings {
    int dynamic_shared_max, carveout, large_clusters;
};

struct sim_function { /* of a module, in the module's context */
    struct sim_object object;
    struct sim_module *module;
    struct sim_kernel *kernel; /* NULL: the module belongs to no library */
    const struct sim_program *program;
    char *name;
    struct sim_function_settings settings;
    struct sim_function *next;
};

/* Returns the module's function of this name, made on first use. kernel: of its library, or
 * NULL. */
CUresult sim_function_get(struct sim_module *module, const char *name, struct sim_kernel *kernel,
                          struct sim_function **out);

/* The code of a CUfunction: a function, or a kernel in the current context. */
struct sim_code {
    const struct sim_program *program;
    struct sim_function_settings *settings;
    struct sim_context *context;
    const char *name;
};

CUresult sim_code_find(CUfunction handle, struct sim_code *out);
