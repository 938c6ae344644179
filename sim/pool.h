/*
 * Pools of device memory. A pool is two counts: the memory that it has taken from the device, and
 * the part in use. Sizes are bytes.
 */
#pragma once
#include "sim/sim.h"

struct sim_pool {
    struct sim_object object;
    struct sim_pool *next; /* of all pools */
    int device;
    bool is_default, is_destroyed;
    CUmemPoolProps props;
    int fd;       /* of an imported pool: the arena of its memory; -1 */
    int reuse[3]; /* CU_MEMPOOL_ATTR_REUSE_*: stored, without effect */
    uint64_t threshold, reserved, reserved_high, used, used_high;
};

bool sim_pool_is_shared(const struct sim_pool *pool); /* it may be exported */
int sim_pool_descriptor(const struct sim_pool *pool); /* of an imported pool; otherwise -1 */
CUresult sim_pool_import(int fd, CUmemoryPool *out);  /* takes fd over, also on failure */
CUresult sim_pools_start(int device);
/* Takes memory of a pool. Returns false if the pool or the device has too little. */
bool sim_pool_take(struct sim_pool *pool, size_t bytes);
void sim_pool_give(struct sim_pool *pool, size_t bytes);
/* Gives memory above the threshold of each pool back to the device, as synchronizing does. */
void sim_pools_trim(int device);
