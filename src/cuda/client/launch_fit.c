/* Tables of launches that fitted: by their shape, and by their needs. */
#include "config.h"

#include "cuda/client/launch_fit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cuda/client/client.h"
#include "cuda/client/handles.h"
#include "cuda/client/kernel_attribute.h"
#include "cuda/common/promise.h"
#include "proto/cuda-client.h"

static uint64_t mix_shape(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* Returns whether a stream exists, and has all multiprocessors that its context has. The streams of
 * green contexts have no known context (handle_conversion.c). */
static bool is_of_its_context(CUstream stream)
{
    struct ath_cuda_handle_facts facts;
    return ath_cuda_handle_find((uintptr_t)stream, &facts) && facts.kind == ATH_CUDA_KIND_STREAM &&
           facts.context && facts.context == ath_cuda_current_context();
}

bool ath_cuda_launch_is_about_cluster(const CUlaunchConfig *config, CUlaunchConfig *out_smallest)
{
    const CUlaunchAttributeValue *size = NULL;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *at = &config->attrs[i];
        if (at->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            size = &at->value;
        else if (at->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE ||
                 at->id == CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION ||
                 at->id >= CU_LAUNCH_ATTRIBUTE_MAX)
            return false;
    }
    if (!size || !size->clusterDim.x || !size->clusterDim.y || !size->clusterDim.z ||
        config->gridDimX % size->clusterDim.x || config->gridDimY % size->clusterDim.y ||
        config->gridDimZ % size->clusterDim.z)
        return false;
    *out_smallest = *config;
    out_smallest->gridDimX = size->clusterDim.x;
    out_smallest->gridDimY = size->clusterDim.y;
    out_smallest->gridDimZ = size->clusterDim.z;
    if (is_of_its_context(config->hStream))
        out_smallest->hStream = NULL;
    return true;
}

static uint64_t shape_of(const CUlaunchConfig *config, uint64_t function)
{
    CUlaunchConfig smallest;
    if (ath_cuda_launch_is_about_cluster(config, &smallest))
        config = &smallest;
    const uint64_t parts[] = { function,          config->gridDimX,      config->gridDimY,
                               config->gridDimZ,  config->blockDimX,     config->blockDimY,
                               config->blockDimZ, config->sharedMemBytes };
    uint64_t shape = 0;
    bool may_not_fit = false;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &config->attrs[i].value;
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && value->cooperative) {
            shape = mix_shape(shape, 1);
        } else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            shape = mix_shape(mix_shape(shape, value->clusterDim.x), value->clusterDim.y);
            shape = mix_shape(shape, value->clusterDim.z);
        } else if (config->attrs[i].id >= CU_LAUNCH_ATTRIBUTE_MAX) {
            shape = mix_shape(shape, (uint64_t)config->attrs[i].id);
        } else {
            continue;
        }
        may_not_fit = true;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        shape = mix_shape(shape, parts[i]);
    return may_not_fit ? shape | 1 : 0;
}

uint64_t ath_cuda_launch_shape(const CUlaunchConfig *config, CUfunction function)
{
    return shape_of(config, (uintptr_t)function);
}

/* Shapes that fitted, without a lock: a missing shape is only asked again. A network has some
 * hundreds of shapes. With one place for each hash two shapes could replace each other at every
 * launch. */
enum { FITTED_ROWS = 512, FITTED_IN_A_ROW = 16 };
static _Atomic uint64_t fitted[FITTED_ROWS][FITTED_IN_A_ROW];

static _Atomic uint64_t *fitted_row(uint64_t shape)
{
    return fitted[(shape >> 32) % FITTED_ROWS];
}

static bool has_fitted(uint64_t shape)
{
    const _Atomic uint64_t *row = fitted_row(shape);
    for (size_t i = 0; i < FITTED_IN_A_ROW; i++)
        if (atomic_load_explicit(&row[i], memory_order_relaxed) == shape)
            return true;
    return false;
}

static void note_fitted(uint64_t shape)
{
    _Atomic uint64_t *row = fitted_row(shape);
    size_t i = 0;
    while (i < FITTED_IN_A_ROW && atomic_load_explicit(&row[i], memory_order_relaxed))
        i++;
    if (i == FITTED_IN_A_ROW) /* the row is full: replace any */
        i = (shape >> 1) % FITTED_IN_A_ROW;
    atomic_store_explicit(&row[i], shape, memory_order_relaxed);
}

/* ---- from one kernel to another ---- */

enum { NEEDS_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_cuda_launch_need needs[NEEDS_MAX];
static size_t need_count; /* of all times: the oldest is replaced */

static bool ask(CUkernel kernel, CUdevice device, CUfunction_attribute attribute, int *out)
{
    return !ath_cuda_by_hand_cuKernelGetAttribute(out, attribute, kernel, device) && *out >= 0;
}

/* Returns whether the kernel leaves its cluster's size to the launch. */
static bool has_any_cluster(CUkernel kernel, CUdevice device)
{
    int width, height, depth;
    return ask(kernel, device, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &width) &&
           ask(kernel, device, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &height) &&
           ask(kernel, device, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &depth) && !width &&
           !height && !depth;
}

CUresult ath_cuda_launch_shared_limit(int *out, CUfunction function)
{
    const CUfunction_attribute attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    bool is_slow = ath_cuda_is_line_slow();
    CUdevice device;
    CUresult status = ath_cuda_do_cuCtxGetDevice(&device);
    if (status)
        return status;
    if (ath_cuda_is_kernel(function))
        return (is_slow ? ath_cuda_by_hand_cuKernelGetAttribute : ath_cuda_do_cuKernelGetAttribute)(
            out, attribute, (CUkernel)(void *)function, device);
    return (is_slow ? ath_cuda_by_hand_cuFuncGetAttribute
                    : ath_cuda_do_cuFuncGetAttribute)(out, attribute, function);
}

/* Returns whether the launch has no more dynamic shared memory than its kernel may have. */
static bool is_within_limit(const CUlaunchConfig *config, CUfunction function)
{
    int most;
    return !ath_cuda_launch_shared_limit(&most, function) && most >= 0 &&
           config->sharedMemBytes <= (unsigned int)most;
}

/* Returns whether it is known what a launch needs. On a slow line only, where the facts of a kernel
 * came with it. More than 8 blocks are no portable size of a cluster: a kernel must allow them. */
static bool find_need(const CUlaunchConfig *config, CUfunction function,
                      struct ath_cuda_launch_need *out)
{
    enum { PORTABLE = 8 };
    CUlaunchConfig smallest;
    CUdevice device;
    int registers, shared;
    if (!ath_cuda_is_line_slow() || !ath_cuda_launch_is_about_cluster(config, &smallest) ||
        smallest.hStream > CU_STREAM_PER_THREAD ||
        (uint64_t)smallest.gridDimX * smallest.gridDimY * smallest.gridDimZ > PORTABLE)
        return false;
    CUkernel kernel =
        ath_cuda_is_kernel(function)
            ? (CUkernel)(void *)function
            : (CUkernel)(uintptr_t)ath_cuda_attributes_kernel_here((uintptr_t)function);
    if (!kernel || ath_cuda_by_hand_cuCtxGetDevice(&device) || !has_any_cluster(kernel, device) ||
        !ask(kernel, device, CU_FUNC_ATTRIBUTE_NUM_REGS, &registers) ||
        !ask(kernel, device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared) ||
        !is_within_limit(config, function))
        return false;
    *out = (struct ath_cuda_launch_need){
        .context = ath_cuda_current_context(),
        .cluster = { smallest.gridDimX, smallest.gridDimY, smallest.gridDimZ },
        .threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ,
        .registers = (uint64_t)registers,
        .shared_bytes = (uint64_t)shared + config->sharedMemBytes,
    };
    return true;
}

static bool is_no_more(const struct ath_cuda_launch_need *need,
                       const struct ath_cuda_launch_need *than)
{
    return need->context == than->context && need->cluster[0] == than->cluster[0] &&
           need->cluster[1] == than->cluster[1] && need->cluster[2] == than->cluster[2] &&
           need->threads <= than->threads && need->registers <= than->registers &&
           need->shared_bytes <= than->shared_bytes;
}

static bool has_fitted_before(const struct ath_cuda_launch_need *need)
{
    bool has = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !has && i < need_count && i < NEEDS_MAX; i++)
        has = is_no_more(need, &needs[i]);
    pthread_mutex_unlock(&lock);
    return has;
}

static void note_need(const struct ath_cuda_launch_need *need)
{
    pthread_mutex_lock(&lock);
    needs[need_count++ % NEEDS_MAX] = *need;
    pthread_mutex_unlock(&lock);
}

/* ---- for other files ---- */

struct ath_cuda_launch_fit ath_cuda_launch_fit_of(const CUlaunchConfig *config, CUfunction function)
{
    struct ath_cuda_launch_fit fit = { .shape = ath_cuda_launch_shape(config, function) };
    if (!fit.shape || has_fitted(fit.shape))
        return (struct ath_cuda_launch_fit){ 0 };
    uint64_t handle = (uintptr_t)function;
    fit.lasting = ath_cuda_is_promise(handle) ? shape_of(config, ath_cuda_promise_copy(handle, 0))
                                              : fit.shape;
    fit.has_need = find_need(config, function, &fit.need);
    fit.is_sure = fit.has_need && has_fitted_before(&fit.need);
    return fit;
}

void ath_cuda_launch_fit_note(const struct ath_cuda_launch_fit *fit)
{
    if (fit->shape)
        note_fitted(fit->shape);
    if (fit->has_need && !fit->is_sure)
        note_need(&fit->need);
}

void ath_cuda_launch_fit_forget(void)
{
    pthread_mutex_lock(&lock);
    need_count = 0;
    pthread_mutex_unlock(&lock);
    for (size_t row = 0; row < FITTED_ROWS; row++)
        for (size_t i = 0; i < FITTED_IN_A_ROW; i++)
            atomic_store_explicit(&fitted[row][i], 0, memory_order_relaxed);
}
