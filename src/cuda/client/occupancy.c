/* Occupancy: the best block size, also with a function of the program for the shared memory. */
#include "config.h"

#include "cuda/client/client.h"
#include "proto/cuda-client.h"

static CUresult ask_block_size(int *min_grid_size, int *block_size, CUfunction function,
                               size_t dynamic_bytes, int limit, unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    CUresult status =
        ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuOccupancyMaxPotentialBlockSizeWithFlags);
    if (status)
        return status;
    struct ath_cuda_wire_occupancy_max_potential_block_size_with_flags_builder call =
        ath_cuda_wire_call_init_occupancy_max_potential_block_size_with_flags(exchange.call);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_function(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_dynamic_s_mem_size(
        call, dynamic_bytes);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_block_size_limit(call, limit);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result answer =
            ath_cuda_wire_answer_occupancy_max_potential_block_size_with_flags(exchange.answer);
        *min_grid_size =
            ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result_min_grid_size(
                answer);
        *block_size =
            ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result_block_size(answer);
    }
    return ath_cuda_end(&exchange, status);
}

/* The range of the search: whole warps, up to the limits of the device, the kernel and the caller.
 */
struct search {
    CUdevice device;
    int warp, threads_max, processors;
};

static CUresult begin_search(CUfunction function, int limit, struct search *out)
{
    int kernel_max = 0;
    CUresult status = ath_cuda_do_cuCtxGetDevice(&out->device);
    if (!status)
        status = ath_cuda_do_cuDeviceGetAttribute(&out->warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE,
                                                  out->device);
    if (!status)
        status = ath_cuda_do_cuDeviceGetAttribute(
            &out->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, out->device);
    if (!status)
        status = ath_cuda_do_cuDeviceGetAttribute(
            &out->threads_max, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, out->device);
    if (!status)
        status = ath_cuda_do_cuFuncGetAttribute(&kernel_max,
                                                CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (!status && out->threads_max > kernel_max)
        out->threads_max = kernel_max;
    if (!status && limit > 0 && out->threads_max > limit)
        out->threads_max = limit;
    return status;
}

/* Finds the largest block with the most threads on a multiprocessor. */
static CUresult search_block_size(int *min_grid_size, int *block_size, CUfunction function,
                                  CUoccupancyB2DSize dynamic_bytes_of, int limit,
                                  unsigned int flags)
{
    struct search search = { 0 };
    int best_threads = 0;
    CUresult status = begin_search(function, limit, &search);
    int size = search.warp ? (search.threads_max + search.warp - 1) / search.warp * search.warp : 0;
    for (; !status && size > 0; size -= search.warp) {
        int tried = size < search.threads_max ? size : search.threads_max, blocks = 0;
        status = ath_cuda_do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, function, tried, dynamic_bytes_of(tried), flags);
        if (!status && blocks * tried > best_threads) {
            best_threads = blocks * tried;
            *block_size = tried;
            *min_grid_size = blocks * search.processors;
        }
    }
    return status;
}

CUresult ath_cuda_by_hand_cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *min_grid_size, int *block_size, CUfunction function,
    CUoccupancyB2DSize block_size_to_dynamic_s_mem_size, size_t dynamic_s_mem_size,
    int block_size_limit, unsigned int flags)
{
    if (!min_grid_size || !block_size || block_size_limit < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!block_size_to_dynamic_s_mem_size)
        return ask_block_size(min_grid_size, block_size, function, dynamic_s_mem_size,
                              block_size_limit, flags);
    return search_block_size(min_grid_size, block_size, function, block_size_to_dynamic_s_mem_size,
                             block_size_limit, flags);
}

CUresult ath_cuda_by_hand_cuOccupancyMaxPotentialBlockSize(
    int *min_grid_size, int *block_size, CUfunction function,
    CUoccupancyB2DSize block_size_to_dynamic_s_mem_size, size_t dynamic_s_mem_size,
    int block_size_limit)
{
    return ath_cuda_by_hand_cuOccupancyMaxPotentialBlockSizeWithFlags(
        min_grid_size, block_size, function, block_size_to_dynamic_s_mem_size, dynamic_s_mem_size,
        block_size_limit, CU_OCCUPANCY_DEFAULT);
}
