/* Occupancy: how many blocks and clusters fit on the simulated device. */
#include "config.h"

#include "sim/occupancy.h"

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/function.h"
#include "sim/launch_attribute.h"

enum {
    SHARED_OF_SM = 233472, /* the other attributes are in device.c */
    SHARED_RESERVED = 1024,
    THREADS_OF_SM = 2048,
    BLOCKS_OF_SM = 32,
    WARP = 32,
    REGISTERS_OF_SM = 65536,
};

int sim_blocks_of_sm(size_t threads, size_t shared_bytes)
{
    size_t rounded = (threads + WARP - 1) / WARP * WARP;
    size_t least = BLOCKS_OF_SM;
    const size_t limits[] = {
        THREADS_OF_SM / rounded,
        REGISTERS_OF_SM / (rounded * SIM_REGISTERS),
        SHARED_OF_SM / (shared_bytes + SHARED_RESERVED),
    };
    for (size_t i = 0; i < SIM_COUNT(limits); i++)
        if (limits[i] < least)
            least = limits[i];
    return (int)least;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, CUfunction handle,
                                                              int threads, size_t shared_bytes,
                                                              unsigned int flags)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!out || threads < 1 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    *out = threads > SIM_THREADS_MAX || shared_bytes > (size_t)code.settings->dynamic_shared_max
               ? 0
               : sim_blocks_of_sm((size_t)threads, shared_bytes);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction handle, int threads,
                                                     size_t shared_bytes)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, handle, threads, shared_bytes,
                                                                0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, CUfunction handle, int blocks,
                                                 int threads)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!out || blocks < 1 || threads < 1 || threads > SIM_THREADS_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    size_t share = (size_t)SHARED_OF_SM / (size_t)blocks;
    size_t most = (size_t)code.settings->dynamic_shared_max;
    share = share > SHARED_RESERVED ? share - SHARED_RESERVED : 0;
    *out = share < most ? share : most;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of_block,
                                                   size_t shared_bytes, int limit,
                                                   unsigned int flags)
{
    int blocks, threads = limit > 0 && limit < SIM_THREADS_MAX ? limit : SIM_THREADS_MAX;
    if (!grid || !block || limit < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (shared_of_block)
        shared_bytes = shared_of_block(threads);
    CUresult status = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, handle, threads,
                                                                           shared_bytes, flags);
    if (status)
        return status;
    sim_lock();
    *grid = blocks * __builtin_popcountll(sim_processors(sim_current()));
    sim_unlock();
    *block = threads;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle,
                                          CUoccupancyB2DSize shared_of_block, size_t shared_bytes,
                                          int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, shared_of_block,
                                                     shared_bytes, limit, 0);
}

CUresult cuOccupancyMaxActiveClusters(int *out, CUfunction handle, const CUlaunchConfig *config)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!out || !config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned int size = sim_cluster_size(config);
    size_t threads = (size_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    if (!size || !threads || threads > SIM_THREADS_MAX)
        return size ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *out = __builtin_popcountll(sim_processors(sim_current())) *
           sim_blocks_of_sm(threads, config->sharedMemBytes) / (int)size;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int *out, CUfunction handle,
                                            const CUlaunchConfig *config)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!out || !config)
        return CUDA_ERROR_INVALID_VALUE;
    *out = 8;
    return CUDA_SUCCESS;
}
