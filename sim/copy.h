/* Copies and fills, now and in a stream. */
#pragma once
#include "sim/sim.h"

struct sim_array;
struct sim_work;

/* One end of a copy. */
struct sim_place {
    CUmemorytype type; /* host, device or array */
    unsigned char *host;
    uint64_t device;
    struct sim_array *array; /* held by the copy */
    size_t x_bytes, y, z;    /* the beginning */
    size_t pitch_bytes, height;
};

struct sim_copy {
    struct sim_place from, to;
    size_t width_bytes, height, depth;
    unsigned char *staged; /* owned: the source's bytes, if read at the call */
    CUDA_MEMCPY3D asked;   /* for cuGraphMemcpyNodeGetParams */
};

struct sim_fill {
    uint64_t to;
    size_t pitch_bytes, width, height; /* width in elements */
    unsigned int value, element_bytes;
};

/* SIM_NOW: the call returns when the copy is done. */
enum sim_when { SIM_NOW, SIM_LATER };

/* These four are calls of a program: they take the lock themselves. */
CUresult sim_copy(const CUDA_MEMCPY3D *asked, CUstream stream, enum sim_when when);
CUresult sim_copy_2d(const CUDA_MEMCPY2D *asked, CUstream stream, enum sim_when when);
CUresult sim_copy_peer(const CUDA_MEMCPY3D_PEER *asked, CUstream stream, enum sim_when when);
CUresult sim_fill(struct sim_fill fill, CUstream stream);

/* For graph nodes. */
CUresult sim_copy_work(const CUDA_MEMCPY3D *asked, struct sim_work **out);
CUresult sim_fill_work(const struct sim_fill *fill, struct sim_work **out);
