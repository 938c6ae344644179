/* The kernels that the simulated device knows. */
#pragma once
#include "sim/sim.h"

enum {
    SIM_PARAMS_MAX = 8,        /* of a kernel */
    SIM_PARAM_BYTES_MAX = 128, /* of all parameters */
};

struct sim_geometry {
    unsigned int grid[3], block[3];
    int device;
    uint64_t processors; /* multiprocessors, a bit for each */
};

/* A kernel that the simulated device knows. */
struct sim_program {
    const char *name, *mangled; /* mangled as the Itanium C++ ABI does */
    size_t param_count;
    struct sim_param {
        size_t offset, bytes;
    } params[SIM_PARAMS_MAX];
    /* Returns 0 or CUDA_ERROR_ILLEGAL_ADDRESS. */
    CUresult (*run)(const struct sim_geometry *geometry, const unsigned char *params);
};

/* Finds a program by its plain or mangled name, or returns NULL. */
const struct sim_program *sim_program_find(const char *name);
const struct sim_program *sim_program_number(size_t number); /* NULL past the last */
size_t sim_program_param_bytes(const struct sim_program *program);
