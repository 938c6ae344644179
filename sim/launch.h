/* Launches of kernels. */
#pragma once
#include "sim/programs.h"
#include "sim/sim.h"

struct sim_work;

struct sim_launch {
    CUfunction function; /* the caller's handle: a function or a kernel */
    const struct sim_program *program;
    unsigned int grid[3], block[3], shared_bytes;
    uint64_t processors; /* on which it runs: those of its stream, or of a node's context */
    unsigned char params[SIM_PARAM_BYTES_MAX];
    void *pointers[SIM_PARAMS_MAX]; /* into params */
    void *extra[5];                 /* NULL first: the launch had pointers, not a buffer */
    size_t extra_bytes;
};

/* Checks a launch and makes its work, for the multiprocessors of the node's context or of the
 * current one. */
CUresult sim_launch_work(const CUDA_KERNEL_NODE_PARAMS *asked, struct sim_work **out);
