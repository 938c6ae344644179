/* Occupancy: the best block size, also with a function of the program for the shared memory. */
#include "config.h"

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "cuda/client/prefetch.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

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

enum { CANDIDATES_MAX = 64 }; /* of 32 threads or more: a block has at most 1024 */

/* The range of the search: whole warps, up to the limits of the device, the kernel and the
 * caller. */
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

/* A block's size, with the shared memory that the program says it needs. */
struct candidate {
    int size;
    size_t dynamic_bytes;
};

/* Lists the sizes from the largest on. Returns how many there are. */
static size_t list_candidates(const struct search *search, CUoccupancyB2DSize dynamic_bytes_of,
                              struct candidate out[CANDIDATES_MAX])
{
    size_t count = 0;
    int size =
        search->warp ? (search->threads_max + search->warp - 1) / search->warp * search->warp : 0;
    for (; size > 0 && count < CANDIDATES_MAX; size -= search->warp, count++) {
        out[count].size = size < search->threads_max ? size : search->threads_max;
        out[count].dynamic_bytes = dynamic_bytes_of(out[count].size);
    }
    return count;
}

/* Asks about all sizes in one round trip. */
static void ask_ahead(CUfunction function, const struct candidate *candidates, size_t count,
                      unsigned int flags)
{
    ATH_AUTO(ath_cuda_prefetch) ahead = { 0 };
    struct ath_cuda_exchange exchange;
    for (size_t i = 0;
         i < count &&
         !ath_cuda_begin(&exchange,
                         ATH_CUDA_METHOD_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
         i++) {
        struct ath_cuda_wire_occupancy_max_active_blocks_per_multiprocessor_with_flags_builder
            call =
                ath_cuda_wire_call_init_occupancy_max_active_blocks_per_multiprocessor_with_flags(
                    exchange.call);
        exchange.kernel = (uintptr_t)function;
        ath_cuda_wire_occupancy_max_active_blocks_per_multiprocessor_with_flags_set_function(
            call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
        ath_cuda_wire_occupancy_max_active_blocks_per_multiprocessor_with_flags_set_block_size(
            call, candidates[i].size);
        ath_cuda_wire_occupancy_max_active_blocks_per_multiprocessor_with_flags_set_dynamic_s_mem_size(
            call, candidates[i].dynamic_bytes);
        ath_cuda_wire_occupancy_max_active_blocks_per_multiprocessor_with_flags_set_flags(call,
                                                                                          flags);
        ath_cuda_prefetch_ask(&ahead, &exchange);
    }
    ath_cuda_prefetch_wait(&ahead);
}

/* Finds the largest block with the most threads on a multiprocessor. */
static CUresult search_block_size(int *min_grid_size, int *block_size, CUfunction function,
                                  CUoccupancyB2DSize dynamic_bytes_of, int limit,
                                  unsigned int flags)
{
    struct search search = { 0 };
    struct candidate candidates[CANDIDATES_MAX];
    int best_threads = 0;
    CUresult status = begin_search(function, limit, &search);
    size_t count = status ? 0 : list_candidates(&search, dynamic_bytes_of, candidates);
    if (count && !ath_is_off(ATH_SWITCH_CACHES))
        ask_ahead(function, candidates, count, flags);
    for (size_t i = 0; !status && i < count; i++) {
        int blocks = 0, size = candidates[i].size;
        status = ath_cuda_do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, function, size, candidates[i].dynamic_bytes, flags);
        if (!status && blocks * size > best_threads) {
            best_threads = blocks * size;
            *block_size = size;
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
