/* Launches of kernels. */
#include "config.h"

#include "sim/launch.h"

#include <stdlib.h>
#include <string.h>

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/function.h"
#include "sim/launch_attribute.h"
#include "sim/occupancy.h"
#include "sim/programs.h"
#include "sim/stream.h"
#include "sim/work.h"

enum {
    BLOCK_Z_MAX = 64,
    GRID_YZ_MAX = 65535,
    GRID_X_MAX = 0x7fffffff,
};

/* ---- the work of a launch ---- */

static CUresult run_launch(struct sim_work *work, struct sim_context *context)
{
    const struct sim_launch *launch = &work->launch;
    struct sim_geometry geometry;
    geometry.device = context->device;
    geometry.processors = launch->processors;
    memcpy(geometry.grid, launch->grid, sizeof geometry.grid);
    memcpy(geometry.block, launch->block, sizeof geometry.block);
    return launch->program->run(&geometry, launch->params);
}

static bool is_geometry(const CUDA_KERNEL_NODE_PARAMS *asked)
{
    uint64_t threads = (uint64_t)asked->blockDimX * asked->blockDimY * asked->blockDimZ;
    return asked->gridDimX && asked->gridDimY && asked->gridDimZ && threads &&
           asked->gridDimX <= GRID_X_MAX && asked->gridDimY <= GRID_YZ_MAX &&
           asked->gridDimZ <= GRID_YZ_MAX && asked->blockDimX <= SIM_THREADS_MAX &&
           asked->blockDimY <= SIM_THREADS_MAX && asked->blockDimZ <= BLOCK_Z_MAX &&
           threads <= SIM_THREADS_MAX;
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
    const struct sim_context *named = sim_object_find(SIM_CONTEXT, asked->ctx);
    launch->processors = sim_processors(named ? named : sim_current());
    for (size_t i = 0; i < code.program->param_count; i++)
        launch->pointers[i] = launch->params + code.program->params[i].offset;
    status = take_params(asked, launch);
    if (status)
        sim_work_drop(work);
    else
        *out = work;
    return status;
}

/* ---- launches ---- */

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
    if (!status && sim_family(code.context) != sim_family(stream->object.context))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (!status && stream->capture && !stream->capture->is_valid)
        status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!status) {
        status = sim_launch_work(asked, &work);
        if (status && stream->capture)
            sim_capture_break(stream, status);
    }
    if (!status) {
        work->launch.processors = sim_processors(stream->object.context);
        status = sim_submit(stream, work, NULL);
    }
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

/* ---- cooperative launches ---- */

static int count_processors(CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    bool is_there = !sim_stream_find(handle, &stream);
    return __builtin_popcountll(sim_processors(is_there ? stream->object.context : NULL));
}

/* Returns whether a block has no more dynamic shared memory than its kernel may have, or the kernel
 * does not exist. */
static bool is_within_limit(const CUDA_KERNEL_NODE_PARAMS *asked)
{
    SIM_LOCKED;
    struct sim_code code;
    return sim_code_find(asked->func, &code) ||
           asked->sharedMemBytes <= (unsigned int)code.settings->dynamic_shared_max;
}

static bool is_in_broken_capture(CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    return !sim_stream_find(handle, &stream) && stream->capture && !stream->capture->is_valid;
}

/* All blocks of a cooperative launch must fit on its multiprocessors at once. */
static CUresult check_cooperative(const CUDA_KERNEL_NODE_PARAMS *asked, CUstream stream)
{
    if (is_in_broken_capture(stream))
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    uint64_t blocks = (uint64_t)asked->gridDimX * asked->gridDimY * asked->gridDimZ;
    if (!is_geometry(asked))
        return CUDA_ERROR_INVALID_VALUE;
    int most = count_processors(stream) *
               sim_blocks_of_sm((size_t)asked->blockDimX * asked->blockDimY * asked->blockDimZ,
                                asked->sharedMemBytes);
    return !is_within_limit(asked) || blocks > (uint64_t)most
               ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
               : CUDA_SUCCESS;
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
    CUresult status = check_cooperative(&asked, stream);
    return status ? status : launch(&asked, stream);
}

/* Returns the device of one part of a launch on several devices; its stream must be a created
 * one. */
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
    return status ? status : check_cooperative(&asked, launch->hStream);
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

/* ---- launches with attributes ---- */

/* Records the event of the launch when the kernel is done, the earliest allowed moment. */
static CUresult record_events(const CUlaunchConfig *config, CUstream stream)
{
    const CUlaunchAttributeValue *programmatic =
        sim_launch_attribute(config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
    const CUlaunchAttributeValue *completion =
        sim_launch_attribute(config, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
    CUresult status = CUDA_SUCCESS;
    if (programmatic)
        status = cuEventRecord(programmatic->programmaticEvent.event, stream);
    if (completion && !status)
        status = cuEventRecord(completion->launchCompletionEvent.event, stream);
    return status;
}

static CUresult launch_config(const CUlaunchConfig *config, CUstream stream, CUfunction function,
                              void **params, void **extra)
{
    if (!config || (config->numAttrs && !config->attrs) || sim_has_unknown_attribute(config))
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
        sim_launch_attribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    CUresult status = is_in_broken_capture(stream) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : sim_is_of_clusters(config) ? CUDA_SUCCESS
                                                   : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!status && cooperative && cooperative->cooperative)
        status = check_cooperative(&asked, stream);
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
