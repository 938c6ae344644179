/* The parameters that new and changed nodes have. They are shown in the line. */
#pragma once
#include "driver.h"

/* fill(p, value, n) of kernels.ptx */
struct fill {
    CUdeviceptr p;
    float value;
    int n;
    void *list[3];
};

CUDA_MEMSET_NODE_PARAMS some_set(struct object **out_memory); /* NULL: there is none */
/* One row between two memories, none of them pageable. Returns false if there are no two. */
bool some_copy(CUDA_MEMCPY3D *copy, struct object *memory[2]);
/* The parameters point into *fill. */
bool some_fill(struct fill *fill, CUDA_KERNEL_NODE_PARAMS *params, struct object **out_memory);
void count_up(void *memory); /* the host function of nodes */
