/* Modules, libraries and their code. */
#pragma once
#include "sim/facts.h"
#include "sim/sim.h"

struct sim_program;

/* Settings of a function's code. */
struct sim_function_settings {
    int dynamic_shared_max, carveout;
};

struct sim_library;
struct sim_module;

struct sim_kernel { /* of a library, without a context */
    struct sim_object object;
    struct sim_library *library;
    const struct sim_program *program;
    char *name;
    struct sim_function_settings settings[SIM_DEVICES_MAX];
    struct sim_kernel *next;
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

/* The code of a CUfunction: a function, or a kernel in the current context. */
struct sim_code {
    const struct sim_program *program;
    struct sim_function_settings *settings;
    struct sim_context *context;
    const char *name;
};
CUresult sim_code_find(CUfunction handle, struct sim_code *out);
void sim_module_end(struct sim_module *module);
/* Returns the file with NUL bytes at its end, or NULL if it cannot be read. The caller frees it. */
char *sim_read_file(const char *path, size_t *out_size);
