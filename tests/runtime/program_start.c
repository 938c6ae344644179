/*
 * What PyTorch's start does, in CUDA's driver API: libraries with kernels by name, their attributes
 * and functions, settings, occupancy, clusters, allocations of a few sizes, launches with
 * attributes, a module. It prints "right" if the kernels' results are right.
 *
 *     program_start LIBRARIES [SALT]
 *
 * SALT changes the code of the libraries. With `unload` as the third word the libraries are
 * unloaded in the middle, and loaded again. With `rows` it asks for rows of clusters. With
 * `variants` it takes some kernels of a library with many, with `contexts` modules of several
 * contexts and of none. With `fatbin` the libraries are fat binaries with machine code for the GPU,
 * with `older` for another one, and PTX for all.
 */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/api/cuda_api.h"

enum {
    LIBRARIES_MAX = 256,
    MODULES = 3,
    N = 256,
    ALLOCATIONS = 24,
    SMALL = 1 << 16,
    SHARED = 64 * 1024,
    ROWS = 20
};

static const char *const kernels[] = { "fill", "saxpy", "vector_add" };
enum { KERNELS = sizeof kernels / sizeof *kernels };

static CUlibrary libraries[LIBRARIES_MAX];
static CUdeviceptr taken[ALLOCATIONS], cells;
static int failures;

static void must(CUresult status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "%s: error %d\n", what, (int)status);
    failures++;
}
#define MUST(call) must((call), #call)

static void write_code(char *to, size_t size, int number, const char *salt)
{
    snprintf(to, size,
             ".version 7.0\n.target sm_52\n.address_size 64\n// library %d %s\n"
             ".visible .entry fill(.param .u64 p, .param .f32 v, .param .u32 n) { ret; }\n"
             ".visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) { "
             "ret; }\n"
             ".visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 "
             "n) { ret; }\n",
             number, salt);
}

/* A fat binary's head, and its entry's (src/cuda/common/bytes.c). */
struct fatbin {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes;
    struct {
        uint16_t kind, version;
        uint32_t head_bytes;
        uint64_t bytes;
        uint32_t unknown[3], capability;
        uint64_t unknown_too, flags, more[2];
    } entry;
    char content[4096];
};
enum { KIND_PTX = 1, KIND_ELF = 2, COMPRESSED = 0x2000 };

/* The simulated driver does not look into compressed code: such code has all of its kernels. */
static void wrap(struct fatbin *fatbin, uint16_t kind, uint32_t capability, uint64_t flags)
{
    fatbin->magic = 0xba55ed50;
    fatbin->version = 1;
    fatbin->head_bytes = offsetof(struct fatbin, entry);
    fatbin->bytes = sizeof *fatbin - fatbin->head_bytes;
    fatbin->entry.kind = kind;
    fatbin->entry.version = 1;
    fatbin->entry.head_bytes = sizeof fatbin->entry;
    fatbin->entry.bytes = sizeof fatbin->content;
    fatbin->entry.capability = capability;
    fatbin->entry.flags = flags;
}

static uint32_t capability_of_gpu(void)
{
    int major = 0, minor = 0;
    MUST(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    MUST(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    return (uint32_t)(10 * major + minor);
}

static void load_all(int count, const char *salt, const char *form)
{
    static struct fatbin code;
    bool is_elf = !strcmp(form, "fatbin"), is_wrapped = is_elf || !strcmp(form, "older");
    if (is_wrapped)
        wrap(&code, is_elf ? KIND_ELF : KIND_PTX, is_elf ? capability_of_gpu() : 50,
             is_elf ? COMPRESSED : 0);
    for (int i = 0; i < count; i++) {
        write_code(code.content, sizeof code.content, i, salt);
        MUST(cuLibraryLoadData(&libraries[i], is_wrapped ? (const void *)&code : code.content, NULL,
                               NULL, 0, NULL, NULL, 0));
    }
}

/* Adds value to the cells. */
static void launch(CUfunction function, const char *name, float value, unsigned int clusters)
{
    int n = N;
    CUdeviceptr ones = taken[0];
    void *fill[] = { &ones, &value, &n };
    void *saxpy[] = { &n, &value, &ones, &cells };
    void *add[] = { &cells, &ones, &cells, &n };
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    cluster.value.clusterDim.x = clusters;
    cluster.value.clusterDim.y = 1;
    cluster.value.clusterDim.z = 1;
    const CUlaunchConfig config = { .gridDimX = 2,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = N / 2,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .attrs = &cluster,
                                    .numAttrs = 1 };
    void **params = !strcmp(name, "fill") ? fill : !strcmp(name, "saxpy") ? saxpy : add;
    int fit = 0;
    MUST(cuOccupancyMaxActiveClusters(&fit, function, &config));
    if (fit <= 0)
        failures++;
    MUST(cuLaunchKernelEx(&config, function, params, NULL));
}

/* Asks what a runtime and cuBLAS ask about a kernel before they launch it. */
static CUfunction look_at(CUkernel kernel)
{
    CUfunction function = NULL;
    int value, limit = 0, blocks = 0;
    for (int i = 0; i < 10; i++)
        MUST(cuKernelGetAttribute(&value, (CUfunction_attribute)i, kernel, 0));
    MUST(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED, kernel, 0));
    MUST(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50, kernel, 0));
    for (int i = 0; i < 10; i++)
        MUST(cuKernelGetAttribute(i == 8 ? &limit : &value, (CUfunction_attribute)i, kernel, 0));
    if (limit != SHARED)
        failures++;
    MUST(cuKernelGetFunction(&function, kernel));
    MUST(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    MUST(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, N, 0, 0));
    if (blocks <= 0)
        failures++;
    return function;
}

static void use_library(CUlibrary library, float *sum)
{
    for (int k = 0; k < KERNELS; k++) {
        CUkernel kernel = NULL;
        MUST(cuLibraryGetKernel(&kernel, library, kernels[k]));
        if (!kernel)
            return;
        CUfunction function = look_at(kernel);
        launch(k % 2 ? (CUfunction)(void *)kernel : function, kernels[k], 1.0f,
               1u + (unsigned)k % 2);
    }
    *sum += 2.0f; /* saxpy and vector_add each add 1, fill sets the ones */
}

/* Clusters that are larger than any GPU has are refused in each run. */
static void ask_for_too_much(CUfunction function)
{
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                  .value.clusterDim = { 64, 1, 1 } };
    CUlaunchConfig config = { 64, 1, 1, 32, 1, 1, 0, NULL, &cluster, 1 };
    int fit;
    if (cuOccupancyMaxActiveClusters(&fit, function, &config) != CUDA_ERROR_INVALID_CLUSTER_SIZE)
        must(CUDA_ERROR_UNKNOWN, "clusters that are too large");
}

static int clusters_that_fit(CUfunction function, unsigned int x, unsigned int y)
{
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                  .value.clusterDim = { x, y, 1 } };
    CUlaunchConfig config = { x, y, 1, N / 4, 1, 1, SHARED, NULL, &cluster, 1 };
    int fit = -1;
    CUresult status = cuOccupancyMaxActiveClusters(&fit, function, &config);
    return status ? -(int)status : fit;
}

/* cuBLAS asks how many clusters fit that are rows of one block, of two and so on, and cuDNN sets
 * the limits of a kernel before it launches it. As many rows in y fit as in x. */
static void use_rows(CUlibrary library)
{
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    int value = -1, n = N;
    float number = 0;
    CUdeviceptr ones = taken[0];
    void *params[] = { &ones, &number, &n };
    MUST(cuLibraryGetKernel(&kernel, library, "fill"));
    MUST(cuKernelGetFunction(&function, kernel));
    MUST(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel, 0));
    MUST(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, kernel, 0));
    failures += value != 0;
    for (unsigned int length = 1; length <= ROWS; length++) {
        int fit = clusters_that_fit(function, length, 1);
        int same = clusters_that_fit(function, 1, length);
        if (fit != same) {
            fprintf(stderr, "%d rows of %u blocks fit, not %d\n", fit, length, same);
            failures++;
        }
    }
    MUST(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, N, 1, 1, SHARED, NULL, params, NULL));
}

static const char *const families[] = { "gemm_nn_tile", "gemm_nt_tile", "gemm_tn_tile" };
enum { FAMILIES = sizeof families / sizeof *families, VARIANTS = 50 /* of each */ };

static CUlibrary load_variants(const char *salt)
{
    static char code[1 << 16];
    CUlibrary library = NULL;
    int length = snprintf(code, sizeof code,
                          ".version 7.0\n.target sm_90\n.address_size 64\n// variants %s\n", salt);
    for (int i = 0; i < FAMILIES * VARIANTS; i++)
        length +=
            snprintf(code + length, sizeof code - (size_t)length,
                     ".visible .entry %s%d() { ret; }\n", families[i % FAMILIES], i / FAMILIES);
    MUST(cuLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static void set_and_read(CUkernel kernel, CUfunction_attribute attribute, int value)
{
    int found = -2;
    MUST(cuKernelSetAttribute(attribute, value, kernel, 0));
    MUST(cuKernelGetAttribute(&found, attribute, kernel, 0));
    if (found != value) {
        fprintf(stderr, "attribute %d is %d, not %d\n", (int)attribute, found, value);
        failures++;
    }
}

/* The code of these kernels does nothing, so that a simulated GPU may ignore it. */
static CUresult launch_variant(CUkernel kernel, unsigned int threads, unsigned int shared)
{
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                  .value.clusterDim = { 2, 1, 1 } };
    const CUlaunchConfig config = { 4, 1, 1, threads, 1, 1, shared, NULL, &cluster, 1 };
    return cuLaunchKernelEx(&config, (CUfunction)(void *)kernel, NULL, NULL);
}

/* A launch that needs less than others must not have more than its kernel may. */
static void launch_beyond_the_limit(CUkernel kernel)
{
    enum { LIMIT = 1024 };
    MUST(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, LIMIT, kernel, 0));
    if (launch_variant(kernel, N / 2, 2 * LIMIT) != CUDA_ERROR_INVALID_VALUE)
        must(CUDA_ERROR_UNKNOWN, "a launch beyond its kernel's limit");
}

/* Takes some variants of two families, as cuBLAS and cuDNN do for the layers of a network, each
 * with settings, and launches them with clusters. The first launch needs most. */
static void use_variants(const char *salt)
{
    enum { TAKEN = 12, FIRST = 3 };
    CUlibrary library = load_variants(salt);
    for (int i = 0; i < 2 * TAKEN; i++) {
        char name[32];
        CUkernel kernel = NULL;
        CUfunction function = NULL;
        int limit = 0, of_function = 1;
        snprintf(name, sizeof name, "%s%d", families[i / TAKEN], FIRST * (i % TAKEN));
        MUST(cuLibraryGetKernel(&kernel, library, name));
        if (!kernel)
            return;
        MUST(cuKernelGetFunction(&function, kernel));
        MUST(cuKernelGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel,
                                  0));
        MUST(cuFuncGetAttribute(&of_function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                function));
        failures += limit != of_function;
        set_and_read(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        set_and_read(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED);
        set_and_read(kernel, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100);
        MUST(launch_variant(kernel, i ? N / 2 : N, SHARED / 2));
        if (i == 2 * TAKEN - 1) { /* two that need more */
            MUST(launch_variant(kernel, 2 * N, SHARED / 2));
            MUST(launch_variant(kernel, N / 2, SHARED));
            launch_beyond_the_limit(kernel);
        }
    }
}

/* cuBLAS loads the same module for each of its handles. */
static void use_module(const char *salt, float *sum)
{
    static char code[4096];
    CUmodule module;
    CUfunction function = NULL;
    int value;
    write_code(code, sizeof code, LIBRARIES_MAX, salt);
    MUST(cuModuleLoadData(&module, code));
    MUST(cuModuleGetFunction(&function, module, "saxpy"));
    if (!function)
        return;
    MUST(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    MUST(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    ask_for_too_much(function);
    launch(function, "saxpy", 3.0f, 1);
    *sum += 3.0f;
}

/* A module that one context has loaded must be loaded for another one, and not without any. */
static void use_contexts(const char *salt, CUcontext context)
{
    static char code[4096];
    CUmodule module;
    CUfunction function = NULL;
    CUcontext other;
    int value;
    write_code(code, sizeof code, LIBRARIES_MAX, salt);
    MUST(cuCtxSetCurrent(NULL));
    if (cuModuleLoadData(&module, code) != CUDA_ERROR_INVALID_CONTEXT)
        must(CUDA_ERROR_UNKNOWN, "a module without a context");
    MUST(cuDevicePrimaryCtxRetain(&other, 1));
    MUST(cuCtxSetCurrent(other));
    MUST(cuModuleLoadData(&module, code));
    MUST(cuModuleGetFunction(&function, module, "saxpy"));
    MUST(cuCtxSetCurrent(context));
    MUST(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
}

/* A module that is compiled with options gives the answers of the run before. */
static void use_options(const char *salt)
{
    static char code[4096], info[256], error[256];
    CUmodule module;
    CUfunction function = NULL;
    float took;
    CUjit_option options[] = { CU_JIT_WALL_TIME,
                               CU_JIT_INFO_LOG_BUFFER,
                               CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_ERROR_LOG_BUFFER,
                               CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_LOG_VERBOSE };
    void *values[] = { options, /* anything */
                       info,    (void *)sizeof info, error, (void *)sizeof error, (void *)1 };
    write_code(code, sizeof code, LIBRARIES_MAX + 1, salt);
    MUST(cuModuleLoadDataEx(&module, code, sizeof options / sizeof *options, options, values));
    MUST(cuModuleGetFunction(&function, module, "fill"));
    memcpy(&took, &values[0], sizeof took);
    if (took != 0.25f || strncmp(info, "info    : ", 10) != 0 ||
        (size_t)values[2] != strlen(info) || *error) {
        fprintf(stderr, "options: %g ms, '%s' of %zu bytes, '%s'\n", (double)took, info,
                (size_t)values[2], error);
        failures++;
    }
}

/* A library without such a kernel says so in each run. */
static void ask_for_none(CUlibrary library)
{
    CUkernel kernel;
    if (cuLibraryGetKernel(&kernel, library, "no_such_kernel") != CUDA_ERROR_NOT_FOUND)
        failures++;
}

static void allocate(void)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        MUST(cuMemAlloc_v2(&taken[i], i % 4 ? SMALL : 4 * SMALL));
        for (int j = 0; j < i; j++)
            if (taken[j] == taken[i])
                failures++;
    }
    MUST(cuMemAlloc_v2(&cells, N * sizeof(float)));
    MUST(cuMemsetD32_v2(cells, 0, N));
}

static void check(float sum)
{
    float found[N];
    MUST(cuMemcpyDtoH_v2(found, cells, sizeof found));
    for (int i = 0; i < N; i++)
        if (found[i] < sum || found[i] > sum) {
            fprintf(stderr, "%g, not %g\n", (double)found[i], (double)sum);
            failures++;
            return;
        }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    const char *salt = argc > 2 ? argv[2] : "", *form = argc > 3 ? argv[3] : "";
    CUcontext context = NULL;
    float sum = 0;
    if (count < 1 || count > LIBRARIES_MAX)
        return 2;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    allocate();
    load_all(count, salt, form);
    for (int i = 0; i < count; i++)
        use_library(libraries[i], &sum);
    ask_for_none(libraries[0]);
    for (int i = 0; i < MODULES; i++)
        use_module(salt, &sum);
    use_options(salt);
    if (!strcmp(form, "rows"))
        use_rows(libraries[0]);
    if (!strcmp(form, "variants"))
        use_variants(salt);
    if (!strcmp(form, "contexts"))
        use_contexts(salt, context);
    if (!strcmp(form, "unload")) {
        CUdeviceptr managed; /* that both sides have memory does not make an unloading wait */
        MUST(cuMemAllocManaged(&managed, SMALL, CU_MEM_ATTACH_GLOBAL));
        for (int i = 0; i < count; i++)
            MUST(cuLibraryUnload(libraries[i]));
        load_all(count, salt, form);
        for (int i = 0; i < count; i++)
            use_library(libraries[i], &sum);
    }
    check(sum);
    MUST(cuCtxSynchronize());
    puts(failures ? "wrong" : "right");
    return failures != 0;
}
