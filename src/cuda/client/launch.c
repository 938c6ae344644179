/* Launches. A kernel's parameters are packed into one block as the kernel expects them. The server
 * passes the block to the driver by `extra`. */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/client/connection.h"
#include "cuda/client/kernel_parameters.h"
#include "cuda/client/launch_fit.h"
#include "cuda/client/prefetch.h"
#include "proto/cuda-client.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

/* The driver counts first how many blocks of a cooperative launch fit (580, H200, 2026-11-28). */
static CUresult too_much_shared(const CUlaunchConfig *config)
{
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
            config->attrs[i].value.cooperative)
            return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return CUDA_ERROR_INVALID_VALUE;
}

/* Checks dynamic shared memory above the amount that every kernel has by default. */
static CUresult check_shared(CUfunction function, const CUlaunchConfig *config)
{
    enum { ALWAYS_THERE = 48 * 1024 };
    int most = 0;
    if (config->sharedMemBytes <= ALWAYS_THERE)
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_launch_shared_limit(&most, function);
    return !status && config->sharedMemBytes > (unsigned int)most ? too_much_shared(config)
                                                                  : status;
}

/* ---- clusters ---- */

enum { ROW_MAX = 32 }; /* blocks; GPUs have up to 16 in a cluster, and cuBLAS asks up to here */

static bool begin_clusters(struct ath_cuda_exchange *begun, CUfunction function,
                           const CUlaunchConfig *config)
{
    if (ath_cuda_begin(begun, ATH_CUDA_METHOD_cuOccupancyMaxActiveClusters))
        return false;
    begun->kernel = (uintptr_t)function;
    ath_cuda_check_launch_config(begun, config);
    struct ath_cuda_wire_occupancy_max_active_clusters_builder call =
        ath_cuda_wire_call_init_occupancy_max_active_clusters(begun->call);
    ath_cuda_wire_occupancy_max_active_clusters_set_function(
        call, ath_cuda_to_wire(&begun->side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    ath_cuda_put_launch_config(
        &begun->side, ath_cuda_wire_occupancy_max_active_clusters_init_config(call), config);
    return true;
}

/* Asks the program's question about clusters that are rows of blocks. If the question before was
 * about other rows of the same blocks, those of all other lengths are asked behind it: cuBLAS asks
 * about 10 to 32 lengths, one after another (H200, 2026-11-28). */
static CUresult ask_rows(struct ath_cuda_exchange *exchange, const struct ath_frame *message)
{
    static _Atomic uint64_t last;
    ATH_AUTO(ath_cuda_prefetch) ahead = { 0 };
    CUlaunchConfig config = *(const CUlaunchConfig *)exchange->thread->more;
    CUlaunchAttribute size = config.attrs[0];
    CUfunction function = (CUfunction)(uintptr_t)exchange->kernel;
    struct ath_cuda_exchange another;
    unsigned int own = config.gridDimX;
    (void)message;
    exchange->thread->ask_more = NULL; /* the questions from here on are not the program's */
    config.attrs = &size;
    config.gridDimX = size.value.clusterDim.x = 1;
    uint64_t blocks = ath_cuda_launch_shape(&config, function);
    bool is_next = atomic_exchange(&last, blocks) == blocks;
    CUresult status = ath_cuda_ask_begin(exchange);
    if (status)
        return status;
    for (unsigned int length = 1; is_next && length <= ROW_MAX; length++) {
        config.gridDimX = size.value.clusterDim.x = length;
        if (length != own && begin_clusters(&another, function, &config))
            ath_cuda_prefetch_ask(&ahead, &another);
    }
    /* first, because the thread keeps only the answer of its last wait */
    ath_cuda_prefetch_wait(&ahead);
    return ath_cuda_ask_end(exchange);
}

/* Asks how many clusters fit, whose grid is one cluster. */
static CUresult ask_clusters(int *cluster_count, CUfunction function, const CUlaunchConfig *config)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    bool is_row = config->numAttrs == 1 && config->gridDimY == 1 && config->gridDimZ == 1;
    if (thread && is_row && ath_cuda_is_line_slow()) {
        thread->ask_more = ask_rows;
        thread->more = config;
    }
    CUresult status = ath_cuda_do_cuOccupancyMaxActiveClusters(cluster_count, function, config);
    if (thread)
        thread->ask_more = NULL;
    return status;
}

/* cuBLAS asks how many clusters fit before it launches with such clusters, for each problem's grid.
 * If some fit, the launch does as well and need not wait for its answer. */
CUresult ath_cuda_by_hand_cuOccupancyMaxActiveClusters(int *cluster_count, CUfunction function,
                                                       const CUlaunchConfig *config)
{
    CUlaunchConfig smallest;
    bool is_cached = config && (!config->numAttrs || config->attrs) &&
                     !ath_is_off(ATH_SWITCH_CACHES) &&
                     ath_cuda_launch_is_about_cluster(config, &smallest);
    if (!is_cached)
        return ath_cuda_do_cuOccupancyMaxActiveClusters(cluster_count, function, config);
    CUresult status = ask_clusters(cluster_count, function, &smallest);
    if (!status && *cluster_count >= 1) {
        struct ath_cuda_launch_fit fit = ath_cuda_launch_fit_of(&smallest, function);
        ath_cuda_launch_fit_note(&fit);
    }
    return status;
}

/* fit: the launch's. */
static CUresult post_or_ask(struct ath_cuda_exchange *exchange,
                            const struct ath_cuda_launch_fit *fit, CUfunction function)
{
    if (!fit->shape)
        return ath_cuda_post(exchange);
    const struct ath_cuda_code_fact fact = { ATH_CUDA_CODE_LAUNCH,
                                             (uintptr_t)function,
                                             { fit->lasting } };
    bool is_fact = ath_cuda_code_facts_has(&fact);
    CUresult status = is_fact || fit->is_sure ? ath_cuda_post(exchange) : ath_cuda_ask(exchange);
    if (!status)
        ath_cuda_launch_fit_note(fit);
    if (!status && !is_fact && !fit->is_sure) /* else no answer has shown it */
        ath_cuda_code_facts_note(&fact);
    return status;
}

/* A launch that is ready to be sent. */
struct ready {
    struct ath_cuda_packed packed;
    bool is_told_on; /* it has a fault, which the driver is to say */
};

static void ready_free(struct ready *ready)
{
    ath_cuda_packed_free(&ready->packed);
}

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction function,
                          const struct ready *ready)
{
    struct ath_cuda_exchange exchange;
    const struct ath_cuda_launch_fit fit = ath_cuda_launch_fit_of(config, function);
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLaunchKernelEx);
    if (status)
        return status;
    struct ath_cuda_wire_launch_kernel_ex_builder call =
        ath_cuda_wire_call_init_launch_kernel_ex(exchange.call);
    ath_cuda_check_launch_config(&exchange, config);
    ath_cuda_put_launch_config(&exchange.side, ath_cuda_wire_launch_kernel_ex_init_config(call),
                               config);
    ath_cuda_wire_launch_kernel_ex_set_function(
        call, ath_cuda_function_to_wire(&exchange.side, function));
    ath_cuda_wire_launch_kernel_ex_set_parameters(call, ath_cuda_packed_bytes(&ready->packed));
    exchange.is_told_on |= ready->is_told_on;
    return ath_cuda_end(&exchange, post_or_ask(&exchange, &fit, function));
}

/* The limits of every GPU since compute capability 3.0 (CUDA C++ Programming Guide, technical
 * specifications). CUDA reports them at once; the server's answer is not waited for. */
static CUresult check_config(const CUlaunchConfig *config)
{
    bool is_empty = !config->gridDimX || !config->gridDimY || !config->gridDimZ ||
                    !config->blockDimX || !config->blockDimY || !config->blockDimZ;
    bool is_large = config->gridDimX > INT32_MAX || config->gridDimY > UINT16_MAX ||
                    config->gridDimZ > UINT16_MAX || config->blockDimX > 1024 ||
                    config->blockDimY > 1024 || config->blockDimZ > 64;
    if (!is_empty && !is_large && (!config->numAttrs || config->attrs))
        return CUDA_SUCCESS;
    CUresult fault = ath_cuda_known_fault(ath_cuda_own_context()); /* the driver says it first */
    return fault ? fault : CUDA_ERROR_INVALID_VALUE;
}

/* Checks a launch, and packs its parameters. A driver looks at the stream's capture ahead of the
 * launch's faults, and such a fault breaks the capture (580, H200, 2026-11-28). So while a stream
 * captures, the launch is sent all the same. */
static CUresult prepare(const CUlaunchConfig *config, CUfunction function, void **kernel_params,
                        void **extra, struct ready *out)
{
    CUresult status = check_config(config);
    if (!status)
        status = ath_cuda_pack(
            function,
            ath_cuda_block_threads(config->blockDimX, config->blockDimY, config->blockDimZ),
            kernel_params, extra, &out->packed);
    if (!status)
        status = check_shared(function, config);
    if (!status || !ath_cuda_is_any_capturing() || (config->numAttrs && !config->attrs))
        return status;
    ready_free(out);
    *out = (struct ready){ .is_told_on = true };
    return ath_cuda_pack(function, 0, kernel_params, extra, &out->packed);
}

CUresult ath_cuda_by_hand_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                           void **kernel_params, void **extra)
{
    ATH_AUTO(ready) ready = { 0 };
    CUresult status =
        config ? prepare(config, function, kernel_params, extra, &ready) : CUDA_ERROR_INVALID_VALUE;
    return status ? status : launch_ex(config, function, &ready);
}

CUresult ath_cuda_by_hand_cuLaunchKernel(CUfunction function, unsigned int grid_dim_x,
                                         unsigned int grid_dim_y, unsigned int grid_dim_z,
                                         unsigned int block_dim_x, unsigned int block_dim_y,
                                         unsigned int block_dim_z, unsigned int shared_mem_bytes,
                                         CUstream stream, void **kernel_params, void **extra)
{
    ATH_AUTO(ready) ready = { 0 };
    const CUlaunchConfig config = {
        grid_dim_x,  grid_dim_y,       grid_dim_z, block_dim_x, block_dim_y,
        block_dim_z, shared_mem_bytes, stream,     NULL,        0
    };
    struct ath_cuda_exchange exchange;
    CUresult status = prepare(&config, function, kernel_params, extra, &ready);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLaunchKernel);
    if (status)
        return status;
    struct ath_cuda_wire_launch_kernel_builder call =
        ath_cuda_wire_call_init_launch_kernel(exchange.call);
    ath_cuda_wire_launch_kernel_set_function(call,
                                             ath_cuda_function_to_wire(&exchange.side, function));
    ath_cuda_wire_launch_kernel_set_grid_dim_x(call, grid_dim_x);
    ath_cuda_wire_launch_kernel_set_grid_dim_y(call, grid_dim_y);
    ath_cuda_wire_launch_kernel_set_grid_dim_z(call, grid_dim_z);
    ath_cuda_wire_launch_kernel_set_block_dim_x(call, block_dim_x);
    ath_cuda_wire_launch_kernel_set_block_dim_y(call, block_dim_y);
    ath_cuda_wire_launch_kernel_set_block_dim_z(call, block_dim_z);
    ath_cuda_wire_launch_kernel_set_shared_mem_bytes(call, shared_mem_bytes);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_launch_kernel_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    ath_cuda_wire_launch_kernel_set_parameters(call, ath_cuda_packed_bytes(&ready.packed));
    exchange.is_told_on |= ready.is_told_on;
    return ath_cuda_end(&exchange, ath_cuda_post(&exchange));
}

/* A cooperative launch is cuLaunchKernelEx() with an attribute. A driver that has one call has the
 * other. */
CUresult ath_cuda_by_hand_cuLaunchCooperativeKernel(
    CUfunction function, unsigned int grid_dim_x, unsigned int grid_dim_y, unsigned int grid_dim_z,
    unsigned int block_dim_x, unsigned int block_dim_y, unsigned int block_dim_z,
    unsigned int shared_mem_bytes, CUstream stream, void **kernel_params)
{
    CUlaunchAttribute cooperative = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                      .value.cooperative = 1 };
    const CUlaunchConfig config = {
        grid_dim_x,  grid_dim_y,       grid_dim_z, block_dim_x,  block_dim_y,
        block_dim_z, shared_mem_bytes, stream,     &cooperative, 1
    };
    return ath_cuda_by_hand_cuLaunchKernelEx(&config, function, kernel_params, NULL);
}

/* ---- a launch on several devices ---- */

struct parts {
    size_t count;
    struct ath_cuda_packed *each;
};

static void parts_free(struct parts *parts)
{
    for (size_t i = 0; parts->each && i < parts->count; i++)
        ath_cuda_packed_free(&parts->each[i]);
    free(parts->each);
}

static void put_part(struct ath_cuda_side *side, struct ath_cuda_wire_device_launch_builder to,
                     const CUDA_LAUNCH_PARAMS *from, const struct ath_cuda_packed *packed)
{
    ath_cuda_wire_device_launch_set_function(to, ath_cuda_function_to_wire(side, from->function));
    ath_cuda_wire_device_launch_set_grid_dim_x(to, from->gridDimX);
    ath_cuda_wire_device_launch_set_grid_dim_y(to, from->gridDimY);
    ath_cuda_wire_device_launch_set_grid_dim_z(to, from->gridDimZ);
    ath_cuda_wire_device_launch_set_block_dim_x(to, from->blockDimX);
    ath_cuda_wire_device_launch_set_block_dim_y(to, from->blockDimY);
    ath_cuda_wire_device_launch_set_block_dim_z(to, from->blockDimZ);
    ath_cuda_wire_device_launch_set_shared_mem_bytes(to, from->sharedMemBytes);
    ath_cuda_wire_device_launch_set_stream(
        to, ath_cuda_to_wire(side, ATH_CUDA_KIND_STREAM, (uintptr_t)from->hStream));
    ath_cuda_wire_device_launch_set_parameters(to, ath_cuda_packed_bytes(packed));
}

CUresult ath_cuda_by_hand_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launches,
                                                               unsigned int device_count,
                                                               unsigned int flags)
{
    enum { DEVICES_MAX = 256 };
    ATH_AUTO(parts) parts = { .count = device_count };
    struct ath_cuda_exchange exchange;
    CUresult status = CUDA_SUCCESS;
    if (!launches || !device_count || device_count > DEVICES_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    parts.each = ath_cuda_allocate(device_count * sizeof *parts.each);
    if (!parts.each)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned int i = 0; i < device_count && !status; i++)
        status = ath_cuda_pack(launches[i].function,
                               ath_cuda_block_threads(launches[i].blockDimX, launches[i].blockDimY,
                                                      launches[i].blockDimZ),
                               launches[i].kernelParams, NULL, &parts.each[i]);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLaunchCooperativeKernelMultiDevice);
    if (status)
        return status;
    struct ath_cuda_wire_launch_cooperative_kernel_multi_device_builder call =
        ath_cuda_wire_call_init_launch_cooperative_kernel_multi_device(exchange.call);
    struct ath_wire_array list =
        ath_cuda_wire_launch_cooperative_kernel_multi_device_init_launches(call, device_count);
    for (uint32_t i = 0; i < list.count; i++) {
        ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)launches[i].hStream);
        put_part(&exchange.side,
                 (struct ath_cuda_wire_device_launch_builder){ ath_wire_array_struct(list, i) },
                 &launches[i], &parts.each[i]);
    }
    ath_cuda_wire_launch_cooperative_kernel_multi_device_set_flags(call, flags);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}
