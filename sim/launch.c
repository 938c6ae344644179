/* Attributes of functions, launches and occupancy. */
#include "config.h"

#include "sim/launch.h"

#include <stdlib.h>
#include <string.h>

#include "sim/context.h"
#include "sim/device.h"
#include "sim/facts.h"
#include "sim/function.h"
#include "sim/kernel.h"
#include "sim/programs.h"
#include "sim/stream.h"
#include "sim/work.h"

enum {
    THREADS_MAX = 1024, /* of a block */
    BLOCK_Z_MAX = 64,
    GRID_YZ_MAX = 65535,
    GRID_X_MAX = 0x7fffffff,
    SHARED_MAX = 232448,   /* of a block that opts in */
    SHARED_OF_SM = 233472, /* the other attributes are in device.c */
    SHARED_RESERVED = 1024,
    THREADS_OF_SM = 2048,
    BLOCKS_OF_SM = 32,
    SM_COUNT = 16,
    WARP = 32,
    REGISTERS = 16, /* of each thread, in every kernel */
    REGISTERS_OF_SM = 65536,
    BINARY_VERSION = 90,
};

/* ---- attributes ---- */

static CUresult get_attribute(int *value, CUfunction_attribute attribute,
                              const struct sim_function_settings *settings)
{
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = THREADS_MAX;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)sim_facts_local_bytes();
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = REGISTERS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = BINARY_VERSION;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = settings->dynamic_shared_max;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = settings->carveout;
        return CUDA_SUCCESS;
    default:
        if ((unsigned int)attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0;
        return CUDA_SUCCESS;
    }
}

static CUresult set_attribute(CUfunction_attribute attribute, int value,
                              struct sim_function_settings *settings)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > SHARED_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        settings->dynamic_shared_max = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        settings->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return CUDA_SUCCESS; /* without effect on the simulated device */
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    return status ? status : get_attribute(value, attribute, code.settings);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    return status ? status : set_attribute(attribute, value, code.settings);
}

static CUresult kernel_settings(CUkernel handle, CUdevice number,
                                struct sim_function_settings **out)
{
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    struct sim_kernel *kernel = sim_object_find(SIM_KERNEL, handle);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = &kernel->settings[number];
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle,
                              CUdevice device)
{
    SIM_LOCKED;
    struct sim_function_settings *settings;
    CUresult status = kernel_settings(handle, device, &settings);
    return status ? status : get_attribute(value, attribute, settings);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                              CUdevice device)
{
    SIM_LOCKED;
    struct sim_function_settings *settings;
    CUresult status = kernel_settings(handle, device, &settings);
    return status ? status : set_attribute(attribute, value, settings);
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (!status && (unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device)
{
    SIM_LOCKED;
    struct sim_function_settings *settings;
    CUresult status = kernel_settings(handle, device, &settings);
    if (!status && (unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

CUresult cuFuncGetName(const char **name, CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = code.name;
    return CUDA_SUCCESS;
}

static CUresult param_info(CUfunction handle, size_t index, size_t *offset, size_t *bytes)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!offset || index >= code.program->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = code.program->params[index].offset;
    if (bytes)
        *bytes = code.program->params[index].bytes;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *bytes)
{
    return param_info(handle, index, offset, bytes);
}

/* The layout of a kernel is available without a context. */
CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *bytes)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_kernel *kernel = sim_object_find(SIM_KERNEL, handle);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!offset || index >= kernel->program->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel->program->params[index].offset;
    if (bytes)
        *bytes = kernel->program->params[index].bytes;
    return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    return sim_code_find(handle, &code);
}

/* ---- occupancy ---- */

static int blocks_of_sm(size_t threads, size_t shared_bytes)
{
    size_t rounded = (threads + WARP - 1) / WARP * WARP;
    size_t least = BLOCKS_OF_SM;
    const size_t limits[] = {
        THREADS_OF_SM / rounded,
        REGISTERS_OF_SM / (rounded * REGISTERS),
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
    *out = threads > THREADS_MAX || shared_bytes > (size_t)code.settings->dynamic_shared_max
               ? 0
               : blocks_of_sm((size_t)threads, shared_bytes);
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
    if (!out || blocks < 1 || threads < 1 || threads > THREADS_MAX)
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
    int blocks, threads = limit > 0 && limit < THREADS_MAX ? limit : THREADS_MAX;
    if (!grid || !block || limit < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (shared_of_block)
        shared_bytes = shared_of_block(threads);
    CUresult status = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, handle, threads,
                                                                           shared_bytes, flags);
    if (status)
        return status;
    *grid = blocks * SM_COUNT;
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

/* Returns the value of a launch attribute, or NULL. */
static const CUlaunchAttributeValue *find_attribute(const CUlaunchConfig *config,
                                                    CUlaunchAttributeID id)
{
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == id)
            return &config->attrs[i].value;
    return NULL;
}

/* Returns the blocks of a cluster; 0: the grid has no such cluster. */
static unsigned int cluster_size(const CUlaunchConfig *config)
{
    const CUlaunchAttributeValue *asked =
        find_attribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    if (!asked)
        return 1;
    unsigned int x = asked->clusterDim.x, y = asked->clusterDim.y, z = asked->clusterDim.z;
    if (!x || !y || !z || x > 16 || y > 16 || z > 16 || x * y * z > 16)
        return 0;
    return x * y * z;
}

static bool is_of_clusters(const CUlaunchConfig *config)
{
    const CUlaunchAttributeValue *asked =
        find_attribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    return !asked ||
           (cluster_size(config) && !(config->gridDimX % asked->clusterDim.x) &&
            !(config->gridDimY % asked->clusterDim.y) && !(config->gridDimZ % asked->clusterDim.z));
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
    unsigned int size = cluster_size(config);
    size_t threads = (size_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    if (!size || !threads || threads > THREADS_MAX)
        return size ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *out = SM_COUNT * blocks_of_sm(threads, config->sharedMemBytes) / (int)size;
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

/* ---- launches ---- */

static CUresult run_launch(struct sim_work *work, struct sim_context *context)
{
    const struct sim_launch *launch = &work->launch;
    struct sim_geometry geometry;
    (void)context;
    memcpy(geometry.grid, launch->grid, sizeof geometry.grid);
    memcpy(geometry.block, launch->block, sizeof geometry.block);
    return launch->program->run(&geometry, launch->params);
}

static bool is_geometry(const CUDA_KERNEL_NODE_PARAMS *asked)
{
    uint64_t threads = (uint64_t)asked->blockDimX * asked->blockDimY * asked->blockDimZ;
    return asked->gridDimX && asked->gridDimY && asked->gridDimZ && threads &&
           asked->gridDimX <= GRID_X_MAX && asked->gridDimY <= GRID_YZ_MAX &&
           asked->gridDimZ <= GRID_YZ_MAX && asked->blockDimX <= THREADS_MAX &&
           asked->blockDimY <= THREADS_MAX && asked->blockDimZ <= BLOCK_Z_MAX &&
           threads <= THREADS_MAX;
}

/* Reads parameters from one buffer: pairs of a word and a value, ended by CU_LAUNCH_PARAM_END. */
static CUresult take_buffer(void **extra, struct sim_launch *launch)
{
    const void *buffer = NULL;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            bytes = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    size_t needed = sim_program_param_bytes(launch->program);
    if (bytes < needed || (needed && !buffer))
        return CUDA_ERROR_INVALID_VALUE;
    if (needed)
        memcpy(launch->params, buffer, needed);
    launch->extra[0] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    launch->extra[1] = &launch->extra_bytes;
    launch->extra[2] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    launch->extra[3] = launch->params;
    launch->extra[4] = CU_LAUNCH_PARAM_END;
    launch->extra_bytes = needed;
    return CUDA_SUCCESS;
}

static CUresult take_params(const CUDA_KERNEL_NODE_PARAMS *asked, struct sim_launch *launch)
{
    const struct sim_program *program = launch->program;
    if (asked->kernelParams && asked->extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (asked->extra)
        return take_buffer(asked->extra, launch);
    if (!asked->kernelParams)
        return program->param_count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (size_t i = 0; i < program->param_count; i++) {
        if (!asked->kernelParams[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(launch->params + program->params[i].offset, asked->kernelParams[i],
               program->params[i].bytes);
    }
    return CUDA_SUCCESS;
}

CUresult sim_launch_work(const CUDA_KERNEL_NODE_PARAMS *asked, struct sim_work **out)
{
    struct sim_code code;
    CUfunction handle = asked->func ? asked->func : (CUfunction)asked->kern;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!is_geometry(asked) ||
        asked->sharedMemBytes > (unsigned int)code.settings->dynamic_shared_max)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_KERNEL, run_launch, NULL);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_launch *launch = &work->launch;
    launch->function = handle;
    launch->program = code.program;
    memcpy(launch->grid, &asked->gridDimX, sizeof launch->grid);
    memcpy(launch->block, &asked->blockDimX, sizeof launch->block);
    launch->shared_bytes = asked->sharedMemBytes;
    for (size_t i = 0; i < code.program->param_count; i++)
        launch->pointers[i] = launch->params + code.program->params[i].offset;
    status = take_params(asked, launch);
    if (status)
        sim_work_drop(work);
    else
        *out = work;
    return status;
}

/* Returns true if the environment variable of the program asks for blocking launches. */
static bool launches_block(void)
{
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    return value && *value && strcmp(value, "0") != 0;
}

static CUresult launch(const CUDA_KERNEL_NODE_PARAMS *asked, CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    struct sim_code code;
    struct sim_work *work;
    CUresult status = sim_enter_stream(handle, &stream);
    if (!status)
        status = sim_code_find(asked->func, &code);
    if (!status && code.context != stream->object.context)
        status = CUDA_ERROR_INVALID_HANDLE;
    if (!status)
        status = sim_launch_work(asked, &work);
    if (!status)
        status = sim_submit(stream, work, NULL);
    return status || stream->capture || !launches_block() ? status : sim_stream_drain(stream);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void **params, void **extra)
{
    const CUDA_KERNEL_NODE_PARAMS asked = { .func = function,
                                            .gridDimX = grid_x,
                                            .gridDimY = grid_y,
                                            .gridDimZ = grid_z,
                                            .blockDimX = block_x,
                                            .blockDimY = block_y,
                                            .blockDimZ = block_z,
                                            .sharedMemBytes = shared_bytes,
                                            .kernelParams = params,
                                            .extra = extra };
    return launch(&asked, stream);
}

/* All blocks of a cooperative launch must fit on the device at once. */
static CUresult check_cooperative(const CUDA_KERNEL_NODE_PARAMS *asked)
{
    uint64_t blocks = (uint64_t)asked->gridDimX * asked->gridDimY * asked->gridDimZ;
    if (!is_geometry(asked))
        return CUDA_ERROR_INVALID_VALUE;
    int most =
        SM_COUNT * blocks_of_sm((size_t)asked->blockDimX * asked->blockDimY * asked->blockDimZ,
                                asked->sharedMemBytes);
    return blocks > (uint64_t)most ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                   void **params)
{
    const CUDA_KERNEL_NODE_PARAMS asked = { .func = function,
                                            .gridDimX = grid_x,
                                            .gridDimY = grid_y,
                                            .gridDimZ = grid_z,
                                            .blockDimX = block_x,
                                            .blockDimY = block_y,
                                            .blockDimZ = block_z,
                                            .sharedMemBytes = shared_bytes,
                                            .kernelParams = params };
    CUresult status = check_cooperative(&asked);
    return status ? status : launch(&asked, stream);
}

/* Returns the device of one part of a launch on several devices; its stream must be a created one.
 */
static CUresult device_of(const CUDA_LAUNCH_PARAMS *launch, int *out_device)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = (uintptr_t)launch->hStream <= (uintptr_t)CU_STREAM_PER_THREAD
                          ? CUDA_ERROR_INVALID_HANDLE
                          : sim_enter_stream(launch->hStream, &stream);
    if (!status)
        *out_device = stream->object.context->device;
    return status;
}

static CUresult check_part(const CUDA_LAUNCH_PARAMS *first, const CUDA_LAUNCH_PARAMS *launch)
{
    const CUDA_KERNEL_NODE_PARAMS asked = { .gridDimX = launch->gridDimX,
                                            .gridDimY = launch->gridDimY,
                                            .gridDimZ = launch->gridDimZ,
                                            .blockDimX = launch->blockDimX,
                                            .blockDimY = launch->blockDimY,
                                            .blockDimZ = launch->blockDimZ,
                                            .sharedMemBytes = launch->sharedMemBytes };
    int device, other;
    CUresult status = device_of(launch, &device);
    for (const CUDA_LAUNCH_PARAMS *before = first; before < launch && !status; before++)
        if (!device_of(before, &other) && device == other)
            status = CUDA_ERROR_INVALID_DEVICE;
    bool is_alike = launch->gridDimX == first->gridDimX && launch->gridDimY == first->gridDimY &&
                    launch->gridDimZ == first->gridDimZ && launch->blockDimX == first->blockDimX &&
                    launch->blockDimY == first->blockDimY &&
                    launch->blockDimZ == first->blockDimZ &&
                    launch->sharedMemBytes == first->sharedMemBytes;
    if (!status && !is_alike)
        status = CUDA_ERROR_INVALID_VALUE;
    return status ? status : check_cooperative(&asked);
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launches,
                                              unsigned int device_count, unsigned int flags)
{
    const unsigned int known = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                               CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC;
    CUresult status =
        !launches || !device_count || flags & ~known ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (unsigned int i = 0; i < device_count && !status; i++)
        status = check_part(launches, &launches[i]);
    for (unsigned int i = 0; i < device_count && !status; i++) {
        const CUDA_LAUNCH_PARAMS *each = &launches[i];
        status = cuLaunchKernel(each->function, each->gridDimX, each->gridDimY, each->gridDimZ,
                                each->blockDimX, each->blockDimY, each->blockDimZ,
                                each->sharedMemBytes, each->hStream, each->kernelParams, NULL);
    }
    return status;
}

/* Records the event of the launch when the kernel is done, the earliest allowed moment. */
static CUresult record_events(const CUlaunchConfig *config, CUstream stream)
{
    const CUlaunchAttributeValue *programmatic =
        find_attribute(config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
    const CUlaunchAttributeValue *completion =
        find_attribute(config, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
    CUresult status = CUDA_SUCCESS;
    if (programmatic)
        status = cuEventRecord(programmatic->programmaticEvent.event, stream);
    if (completion && !status)
        status = cuEventRecord(completion->launchCompletionEvent.event, stream);
    return status;
}

static bool has_unknown_attribute(const CUlaunchConfig *config)
{
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id >= CU_LAUNCH_ATTRIBUTE_MAX)
            return true;
    return false;
}

static CUresult launch_config(const CUlaunchConfig *config, CUstream stream, CUfunction function,
                              void **params, void **extra)
{
    if (!config || (config->numAttrs && !config->attrs) || has_unknown_attribute(config))
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_KERNEL_NODE_PARAMS asked = { .func = function,
                                            .gridDimX = config->gridDimX,
                                            .gridDimY = config->gridDimY,
                                            .gridDimZ = config->gridDimZ,
                                            .blockDimX = config->blockDimX,
                                            .blockDimY = config->blockDimY,
                                            .blockDimZ = config->blockDimZ,
                                            .sharedMemBytes = config->sharedMemBytes,
                                            .kernelParams = params,
                                            .extra = extra };
    const CUlaunchAttributeValue *cooperative =
        find_attribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    CUresult status = is_of_clusters(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!status && cooperative && cooperative->cooperative)
        status = check_cooperative(&asked);
    if (!status)
        status = launch(&asked, stream);
    return status ? status : record_events(config, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra)
{
    return launch_config(config, config ? config->hStream : NULL, function, params, extra);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **params,
                               void **extra)
{
    return launch_config(config, sim_own(config ? config->hStream : NULL), function, params, extra);
}
