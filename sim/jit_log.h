/* The texts of the compiler and the linker: where a program wants them (CUjit_option). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cuda/api/cuda_api.h"

struct sim_jit_log {
    char *text; /* NULL: not wanted */
    size_t room, length;
    void **filled; /* gets the length; NULL: not wanted */
};

struct sim_jit_logs {
    struct sim_jit_log info, error;
    bool is_verbose;
    void **wall_time; /* gets a float, milliseconds; NULL: not wanted */
};

/* Returns what the options want. The values must stay valid as long as the result is used. */
struct sim_jit_logs sim_jit_logs_of(const CUjit_option *options, void **values, unsigned int count);

/* Appends a line, cut at the end of the room. */
__attribute__((format(printf, 2, 3))) void sim_jit_say(struct sim_jit_log *log, const char *format,
                                                       ...);

/* Tells how long the work took. */
void sim_jit_took(const struct sim_jit_logs *logs, float ms);

/* Says how the load of an image ended. */
void sim_jit_loaded(struct sim_jit_logs *logs, CUresult status);
