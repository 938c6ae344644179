/* Pools of device memory. */
#pragma once
#include "sim/sim.h"

struct sim_pool;

bool sim_pool_is_shared(const struct sim_pool *pool); /* it may be exported */
int sim_pool_descriptor(const struct sim_pool *pool); /* of an imported pool; otherwise -1 */
CUresult sim_pool_import(int fd, CUmemoryPool *out);  /* takes fd over, also on failure */
CUresult sim_pools_start(int device);
bool sim_pool_take(struct sim_pool *pool, size_t bytes);
void sim_pool_give(struct sim_pool *pool, size_t bytes);
/* Gives memory above the threshold of each pool back to the device, as synchronizing does. */
void sim_pools_trim(int device);
