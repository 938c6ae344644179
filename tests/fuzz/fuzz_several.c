/*
 * Fuzzes the switch between several servers (src/cuda/several) with their answers: an input is a
 * sequence of the program's calls, and of what two servers answer. The libraries of the servers are
 * functions of this file and of servers.py: each fails or succeeds as the input says, and returns
 * any numbers, addresses and names, with the promises that a library keeps for any server: a handle
 * has its server's number (cuda/client/instance.h), and memory of the program is written only where
 * the program gave it. The program calls as it may: with handles that it got, or without.
 *
 * With FUZZ_CALLS in the environment the calls and their results are printed.
 */
#include "config.h"

#include <pthread.h>

#include "cuda/several/several.h"
#include "proto/cuda-client.h"
#include "remote/session/device_list.h"

#include "fuzz.h"

enum { SERVERS = 2, CALLS_MAX = 64, KNOWN_MAX = 32, BYTES = 4096 };

CUresult __wrap_ath_several_load(void);
size_t __wrap_ath_several_count(void);

/* ---- the input, which threads of the switch read as well ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fuzz_input input;
static uint64_t known[KNOWN_MAX]; /* numbers that the program has got */
static size_t known_count;
static uint8_t memory[BYTES]; /* of the program */
static char name[17];

static uint64_t take(size_t bytes)
{
    pthread_mutex_lock(&lock);
    uint64_t value = fuzz_take(&input, bytes);
    pthread_mutex_unlock(&lock);
    return value;
}

/* A number as a server may choose it: small, one that the program has, near the end, or any. */
static uint64_t number(void)
{
    uint64_t kind = take(1);
    switch (kind % 8) {
    case 0:
    case 1:
        return kind / 8;
    case 2:
    case 3:
        return known_count ? known[kind / 8 % known_count] : 0;
    case 4:
        return UINT64_C(1) << kind / 8 * 2;
    case 5:
        return 0 - kind / 8;
    case 6:
        return (uintptr_t)memory + kind / 8 * 64;
    default:
        return take(8);
    }
}

/* ---- what a server's library does in any function ---- */

static CUresult answer(unsigned int index)
{
    static const CUresult some[] = { CUDA_ERROR_INVALID_VALUE,   CUDA_ERROR_OUT_OF_MEMORY,
                                     CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE,
                                     CUDA_ERROR_NOT_READY,       CUDA_ERROR_DEVICE_UNAVAILABLE,
                                     CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_NOT_SUPPORTED };
    uint64_t kind = take(1);
    insist(index < SERVERS, "the switch knows how many servers there are");
    return kind % 4 < 3 ? CUDA_SUCCESS : some[kind / 4 % (sizeof some / sizeof *some)];
}

static void put(void *to, size_t bytes)
{
    for (uint64_t value; bytes; to = (uint8_t *)to + 8, bytes -= bytes < 8 ? bytes : 8) {
        value = number();
        memcpy(to, &value, bytes < 8 ? bytes : 8);
    }
}

/* As ath_instance_to_own() does. */
static void put_handle(unsigned int index, void *to)
{
    const uint64_t bits = (uint64_t)ATH_INSTANCE_MASK << ATH_INSTANCE_SHIFT;
    uint64_t value = number() & ~bits;
    value |= value ? (uint64_t)index << ATH_INSTANCE_SHIFT : 0;
    if (to)
        memcpy(to, &value, sizeof value);
}

static void put_name(const char **to)
{
    if (to)
        *to = name;
}

static void put_memory(void **to)
{
    if (to)
        *to = memory + take(1) % BYTES;
}

/* ---- functions that do more ---- */

static CUresult server_cuLaunchHostFunc(unsigned int index, CUstream stream, CUhostFn fn,
                                        void *user_data)
{
    CUresult status = answer(index);
    (void)stream;
    if (!status)
        fn(user_data);
    return status;
}

static CUresult server_cuLibraryEnumerateKernels(unsigned int index, CUkernel *kernels,
                                                 unsigned int kernel_count, CUlibrary library)
{
    CUresult status = answer(index);
    (void)library;
    for (unsigned int i = 0; !status && i < kernel_count; i++)
        put_handle(index, &kernels[i]);
    return status;
}

static CUresult server_cuMemRangeGetAttribute(unsigned int index, void *data, size_t data_size,
                                              CUmem_range_attribute attribute, CUdeviceptr address,
                                              size_t count)
{
    CUresult status = answer(index);
    (void)attribute;
    (void)address;
    (void)count;
    if (!status)
        put(data, data_size);
    return status;
}

static CUresult server_cuMemRangeGetAttributes(unsigned int index, void **data, size_t *data_sizes,
                                               CUmem_range_attribute *attributes,
                                               size_t attribute_count, CUdeviceptr address,
                                               size_t count)
{
    CUresult status = answer(index);
    (void)attributes;
    (void)address;
    (void)count;
    for (size_t i = 0; !status && i < attribute_count; i++)
        put(data[i], data_sizes[i]);
    return status;
}

static CUresult server_cuLibraryLoadData(unsigned int index, CUlibrary *library, const void *code,
                                         CUjit_option *jit_options, void **jit_option_values,
                                         unsigned int jit_option_count,
                                         CUlibraryOption *library_options,
                                         void **library_option_values,
                                         unsigned int library_option_count)
{
    CUresult status = answer(index);
    (void)jit_options;
    (void)jit_option_values;
    (void)jit_option_count;
    (void)library_options;
    (void)library_option_values;
    (void)library_option_count;
    insist(code && strlen(code) < 100, "a server gets whole code");
    if (!status)
        put_handle(index, library);
    return status;
}

/* A library that knows no such call does not return success with NULL. */
static CUresult server_cuMemGetInfo_v2(unsigned int index, size_t *free_bytes, size_t *total_bytes)
{
    CUresult status = answer(index);
    if (!status && (!free_bytes || !total_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!status)
        *free_bytes = *total_bytes = number();
    return status;
}

#include "tests/fuzz/servers.h"

CUresult __wrap_ath_several_load(void)
{
    ath_several_all[0].calls = calls_of_0;
    ath_several_all[1].calls = calls_of_1;
    for (unsigned int i = 0; i < SERVERS; i++)
        ath_several_all[i].self = (struct ath_instance){ .server = "fuzz", .index = i };
    return CUDA_SUCCESS;
}

size_t __wrap_ath_several_count(void)
{
    return SERVERS;
}

/* ---- the program ---- */

static uint64_t got(void)
{
    uint64_t which = take(1);
    return known_count && which % 8 ? known[which / 8 % known_count] : 0;
}

static void know(CUresult status, uint64_t value)
{
    if (!status && known_count < KNOWN_MAX)
        known[known_count++] = value;
}

#define HANDLE(type) ((type)(uintptr_t)got())
#define DEVICE ((int)take(1) % 4 - 1)
#define SIZE ((size_t)take(1) * 16)
#define KNOW(type, call)                                                                           \
    do {                                                                                           \
        type it = (type)0;                                                                         \
        CUresult status_ = (call);                                                                 \
        know(status_, (uint64_t)(uintptr_t)it);                                                    \
        return status_;                                                                            \
    } while (0)

static CUresult devices(void)
{
    int count = 0, device = 0, value = 0;
    CUresult status = cuDeviceGetCount(&count);
    if (status)
        return status;
    insist(count > 0 && count <= ATH_DEVICES_MAX, "there are as many devices as the list has");
    switch (take(1) % 5) {
    case 0:
        return cuDeviceGet(&device, DEVICE);
    case 1:
        return cuDeviceGetByPCIBusId(&device, "0000:01:00.0");
    case 2:
        return cuDeviceCanAccessPeer(&value, DEVICE, DEVICE);
    case 3:
        return cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, DEVICE);
    default:
        device = ath_several_device_to_own(take(1) % SERVERS, (int)number());
        insist(device < count, "a device of a server is one of the list, or none");
        return cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, DEVICE,
                                       DEVICE);
    }
}

static CUresult contexts(void)
{
    CUcontext context;
    switch (take(1) % 12) {
    case 0:
        KNOW(CUcontext, cuCtxCreate_v2(&it, 0, DEVICE));
    case 1:
        KNOW(CUcontext, cuCtxCreate_v4(&it, NULL, 0, DEVICE));
    case 2:
        return cuCtxDestroy_v2(HANDLE(CUcontext));
    case 3:
        return cuCtxSetCurrent(HANDLE(CUcontext));
    case 4:
        return cuCtxPushCurrent_v2(HANDLE(CUcontext));
    case 5:
        return cuCtxPopCurrent_v2(&context);
    case 6:
        KNOW(CUcontext, cuDevicePrimaryCtxRetain(&it, DEVICE));
    case 7:
        return cuDevicePrimaryCtxRelease_v2(DEVICE);
    case 8:
        return cuDevicePrimaryCtxReset_v2(DEVICE);
    case 9:
        return cuCtxEnablePeerAccess(HANDLE(CUcontext), 0);
    case 10:
        return cuCtxDisablePeerAccess(HANDLE(CUcontext));
    default:
        return cuCtxSynchronize();
    }
}

static CUresult memories(void)
{
    CUdeviceptr base;
    size_t bytes;
    int devices_there[4];
    void *data[] = { devices_there };
    size_t sizes[] = { sizeof devices_there };
    CUmem_range_attribute wanted[] = { CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY };
    switch (take(1) % 10) {
    case 0:
    case 1:
        KNOW(CUdeviceptr, cuMemAlloc_v2(&it, 1 + SIZE));
    case 2:
        KNOW(CUdeviceptr, cuMemAllocManaged(&it, 1 + SIZE, CU_MEM_ATTACH_GLOBAL));
    case 3:
        KNOW(CUdeviceptr, cuMemAllocAsync(&it, 1 + SIZE, HANDLE(CUstream)));
    case 4:
        return cuMemFree_v2(got());
    case 5:
        return cuMemFreeAsync(got(), HANDLE(CUstream));
    case 6:
        return cuMemGetAddressRange_v2(&base, &bytes, got());
    case 7:
        return cuMemRangeGetAttribute(devices_there, sizeof devices_there, wanted[0], got(), SIZE);
    case 8:
        return cuMemRangeGetAttributes(data, sizes, wanted, 1, got(), SIZE);
    default:
        KNOW(void *, cuMemHostAlloc(&it, 1 + SIZE, 0));
    }
}

static CUresult copies(void)
{
    CUDA_MEMCPY3D_PEER box = { .srcMemoryType = (CUmemorytype)(1 + take(1) % 4),
                               .dstMemoryType = (CUmemorytype)(1 + take(1) % 4) };
    switch (take(1) % 9) {
    case 0:
        return cuMemcpy(got(), got(), SIZE);
    case 1:
        return cuMemcpyAsync(got(), got(), SIZE, HANDLE(CUstream));
    case 2:
        return cuMemcpyDtoDAsync_v2(got(), got(), SIZE, HANDLE(CUstream));
    case 3:
        return cuMemcpyHtoD_v2(got(), memory, SIZE);
    case 4:
        return cuMemcpyDtoHAsync_v2(memory, got(), SIZE, HANDLE(CUstream));
    case 5:
        return cuMemcpyPeer(got(), HANDLE(CUcontext), got(), HANDLE(CUcontext), SIZE);
    case 6:
        return cuMemcpyPeerAsync(got(), HANDLE(CUcontext), got(), HANDLE(CUcontext), SIZE,
                                 HANDLE(CUstream));
    default:
        box.srcDevice = got();
        box.dstDevice = got();
        box.srcHost = box.dstHost = memory;
        box.srcArray = HANDLE(CUarray);
        box.dstArray = HANDLE(CUarray);
        box.srcContext = HANDLE(CUcontext);
        box.dstContext = HANDLE(CUcontext);
        box.WidthInBytes = SIZE;
        box.Height = take(1) % 4;
        box.Depth = take(1) % 4;
        return take(1) % 2 ? cuMemcpy3DPeer(&box) : cuMemcpy3DPeerAsync(&box, HANDLE(CUstream));
    }
}

static CUresult streams(void)
{
    switch (take(1) % 8) {
    case 0:
    case 1:
        KNOW(CUstream, cuStreamCreate(&it, 0));
    case 2:
        return cuStreamDestroy_v2(HANDLE(CUstream));
    case 3:
        KNOW(CUevent, cuEventCreate(&it, 0));
    case 4:
        return cuEventRecord(HANDLE(CUevent), HANDLE(CUstream));
    case 5:
        return cuStreamSynchronize(HANDLE(CUstream));
    default:
        return cuStreamWaitEvent(HANDLE(CUstream), HANDLE(CUevent), 0);
    }
}

/* Code that stays with the program, and code that it frees. */
static CUresult load(CUlibrary *out)
{
    static const char lasting[] = ".version 8.0 // lasting";
    char passing[] = ".version 8.0 // passing";
    CUjit_option options[] = { CU_JIT_MAX_REGISTERS, CU_JIT_WALL_TIME };
    void *values[] = { (void *)32, NULL };
    bool is_lasting = take(1) % 2;
    char *code = is_lasting ? NULL : malloc(sizeof passing);
    if (code)
        memcpy(code, passing, sizeof passing);
    CUresult status = cuLibraryLoadData(out, is_lasting ? (const void *)lasting : code, options,
                                        values, take(1) % 3, NULL, NULL, 0);
    free(code);
    return status;
}

static CUresult libraries(void)
{
    static const char *const names[] = { "fill", "", "other" };
    CUkernel kernels[3] = { NULL };
    CUlibrary library;
    CUfunction function;
    CUdeviceptr address;
    size_t bytes;
    switch (take(1) % 9) {
    case 0:
    case 1:
        KNOW(CUlibrary, load(&it));
    case 2:
    case 3:
        KNOW(CUkernel, cuLibraryGetKernel(&it, HANDLE(CUlibrary), names[take(1) % 3]));
    case 4: {
        CUresult status = cuLibraryEnumerateKernels(kernels, take(1) % 4, HANDLE(CUlibrary));
        know(status, (uintptr_t)kernels[0]);
        return status;
    }
    case 5:
        return cuKernelGetLibrary(&library, HANDLE(CUkernel));
    case 6:
        return cuKernelGetFunction(&function, HANDLE(CUkernel));
    case 7:
        return cuLibraryGetGlobal(&address, &bytes, HANDLE(CUlibrary), names[take(1) % 3]);
    default:
        return cuLibraryUnload(HANDLE(CUlibrary));
    }
}

static CUresult launches(void)
{
    CUDA_LAUNCH_PARAMS both[2] = { { .function = HANDLE(CUfunction), .hStream = HANDLE(CUstream) },
                                   { .function = HANDLE(CUfunction),
                                     .hStream = HANDLE(CUstream) } };
    if (take(1) % 4)
        return cuLaunchKernel(HANDLE(CUfunction), 1, 1, 1, 1, 1, 1, 0, HANDLE(CUstream), NULL,
                              NULL);
    return cuLaunchCooperativeKernelMultiDevice(both, take(1) % 3, 0);
}

static CUresult others(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    int version;
    switch (take(1) % 4) {
    case 0:
        return cuInit(0);
    case 1:
        return cuDriverGetVersion(&version);
    case 2:
        return cuThreadExchangeStreamCaptureMode(&mode);
    default:
        return cuProfilerStart();
    }
}

static CUresult (*const calls[])(void) = { devices, contexts,  memories, copies,
                                           streams, libraries, launches, others };

/* Ends all objects, so that inputs do not depend on earlier ones. */
static void end_all(void)
{
    CUcontext context;
    input = (struct fuzz_input){ memory, memory }; /* each server says yes, and 0 */
    for (size_t i = 0; i < known_count; i++) {
        cuLibraryUnload((CUlibrary)(uintptr_t)known[i]);
        if (known[i])
            ath_several_context_ended((CUcontext)(uintptr_t)known[i]);
    }
    while (!cuCtxPopCurrent_v2(&context))
        ath_several_context_ended(context);
    known_count = 0;
}

/* The list of devices is made once: of two at each server. */
static bool make_list(void)
{
    static const uint8_t twos[] = { [0 ... 255] = 2 * 8 };
    input = (struct fuzz_input){ twos, twos + sizeof twos };
    return !cuInit(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool has_list;
    const size_t count = sizeof calls / sizeof *calls;
    if (!has_list)
        insist(has_list = make_list(), "servers that say yes have devices");
    if (!size)
        return 0;
    input = (struct fuzz_input){ data, data + size };
    fuzz_fill(&input, name, sizeof name - 1);
    for (size_t i = 0; i < CALLS_MAX && fuzz_left(&input); i++) {
        size_t which = take(1) % count;
        CUresult status = calls[which]();
        if (getenv("FUZZ_CALLS"))
            printf("%zu: %d\n", which, (int)status);
    }
    end_all();
    return 0;
}
