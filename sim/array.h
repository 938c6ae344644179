/* CUDA arrays: memory that only copies reach. */
#pragma once
#include "sim/sim.h"

struct sim_context;

struct sim_array {
    struct sim_object object;
    unsigned int refs;
    CUDA_ARRAY3D_DESCRIPTOR asked;
    size_t row_bytes, height, depth, bytes;
    unsigned char *cells;
    int device;
    bool is_level; /* of a mipmapped array, which frees it */
};

/* Makes an array in a context, with one reference. */
CUresult sim_array_make(struct sim_context *context, const CUDA_ARRAY3D_DESCRIPTOR *asked,
                        struct sim_array **out);
void sim_array_drop(struct sim_array *array);
