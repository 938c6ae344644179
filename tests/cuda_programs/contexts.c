/* Devices and contexts, also before cuInit, after a fork, and with two devices. */
#include "config.h"

#include "gpu.h"

#include <sys/wait.h>

enum { N = 256, BYTES = N * sizeof(float) };

static void uninitialized(void)
{
    int count;
    CUcontext current;
    CUdeviceptr p;
    gives(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    gives(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&current));
    gives(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&p, 4));
    ok(cuDriverGetVersion(&count));
    check(count >= 11080);
    gives(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    ok(cuInit(0));
    ok(cuInit(0));
    ok(cuDeviceGetCount(&count));
}

static void no_context(void)
{
    CUcontext current = (CUcontext)&current;
    CUdeviceptr p;
    CUdevice device;
    CUstream stream;
    size_t bytes;
    gives(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetDevice(&device));
    ok(cuInit(0));
    ok(cuCtxGetCurrent(&current));
    check(current == NULL);
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetLimit(&bytes, CU_LIMIT_SHMEM_SIZE));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&p, 4));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&stream, 0));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    gives(CUDA_ERROR_INVALID_CONTEXT, cuMemsetD8Async(16, 1, 4, NULL));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuMemFreeAsync(16, CU_STREAM_PER_THREAD));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyHtoD_v2(16, &p, 0));
}

static void devices(void)
{
    int count, major, minor, warp;
    char name[128], address[32];
    CUuuid uuid, none = { { 0 } };
    size_t bytes;
    CUdevice device;
    ok(cuDeviceGetCount(&count));
    for (int i = 0; i < count; i++) {
        ok(cuDeviceGet(&device, i));
        ok(cuDeviceGetName(name, sizeof name, device));
        check(name[0]);
        ok(cuDeviceGetUuid_v2(&uuid, device));
        check(memcmp(&uuid, &none, sizeof uuid) != 0);
        ok(cuDeviceGetPCIBusId(address, sizeof address, device));
        CUdevice again = -1;
        ok(cuDeviceGetByPCIBusId(&again, address));
        same(again, device);
        ok(cuDeviceTotalMem_v2(&bytes, device));
        check(bytes >= (size_t)1 << 20);
        ok(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
        ok(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
        check(major >= 5 && minor >= 0);
        ok(cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
        same(warp, 32);
    }
    gives(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, count));
    gives(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    gives(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(name, sizeof name, count));
}

/* The copy's own result is its error: the next call that waits has none. */
static void told_once(void)
{
    CUcontext popped;
    CUdeviceptr p = allocate(BYTES);
    float *pinned = allocate_pinned(BYTES);
    ok(cuCtxPopCurrent_v2(&popped));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyDtoH_v2(pinned, p, BYTES));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyHtoD_v2(p, pinned, BYTES));
    ok(cuCtxPushCurrent_v2(popped));
    ok(cuStreamSynchronize(NULL));
    ok(cuMemFreeHost(pinned));
    ok(cuMemFree_v2(p));
}

/* cuCtxDestroy() is not for primary contexts. */
static void not_destroyed(void)
{
    CUdeviceptr managed, p = allocate(BYTES);
    unsigned char *pinned = allocate_pinned(BYTES);
    ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(context));
    ok(cuMemsetD8_v2(p, 7, BYTES));
    ok(cuMemsetD8_v2(managed, 8, BYTES));
    ok(cuMemcpyDtoH_v2(pinned, p, BYTES));
    same(pinned[BYTES - 1], 7);
    ok(cuCtxSynchronize());
    same(((unsigned char *)(uintptr_t)managed)[BYTES - 1], 8);
    ok(cuMemFreeHost(pinned));
    ok(cuMemFree_v2(managed));
    ok(cuMemFree_v2(p));
}

static void stack(void)
{
    CUcontext made, current, popped;
    CUdevice device = -1;
    unsigned int version;
    ok(cuCtxCreate_v2(&made, 0, 0));
    ok(cuCtxGetCurrent(&current));
    check(current == made && made != context);
    ok(cuCtxGetDevice(&device));
    same(device, 0);
    ok(cuCtxGetApiVersion(made, &version));
    check(version >= 3010);
    ok(cuCtxPushCurrent_v2(context));
    ok(cuCtxGetCurrent(&current));
    check(current == context);
    ok(cuCtxPopCurrent_v2(&popped));
    check(popped == context);
    ok(cuCtxGetCurrent(&current));
    check(current == made);
    ok(cuCtxDestroy_v2(made));
    ok(cuCtxGetCurrent(&current));
    check(current == context);
}

/* The current context stays current. */
static void not_there(void)
{
    CUcontext current, popped, wrong = (CUcontext)(uintptr_t)0x1230;
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(wrong));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(wrong));
    ok(cuCtxGetCurrent(&current));
    check(current == context);
    ok(cuCtxPopCurrent_v2(&popped));
    check(popped == context);
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(&popped));
}

static void primary(void)
{
    CUcontext again;
    unsigned int flags;
    int active;
    CUdeviceptr p;
    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    same(active, 1);
    ok(cuDevicePrimaryCtxRetain(&again, 0));
    check(again == context);
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    same(active, 1);
    ok(cuMemAlloc_v2(&p, 4));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    same(active, 0);
    gives(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
    ok(cuDevicePrimaryCtxRetain(&again, 0));
    ok(cuCtxSetCurrent(again));
    ok(cuMemAlloc_v2(&p, 4));
    ok(cuMemFree_v2(p));
}

/* After a reset the context exists again when it is retained, and it is empty. */
static void reset(void)
{
    unsigned int flags;
    int active;
    CUdeviceptr p = allocate(BYTES);
    ok(launch_fill(p, 3, N, NULL));
    ok(cuDevicePrimaryCtxReset_v2(0));
    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    same(active, 0);
    gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&p, 4));
    gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    same(active, 1);
    ok(cuMemAlloc_v2(&p, 4));
    ok(cuMemsetD32_v2(p, 1, 1));
    ok(cuCtxSynchronize());
    ok(cuMemFree_v2(p));
}

/* "Resetting the primary context does not release it" (cuda.h). */
static void reset_counted(void)
{
    CUcontext again;
    unsigned int flags;
    int active;
    CUdeviceptr values;
    ok(cuDevicePrimaryCtxReset_v2(0));
    ok(cuDevicePrimaryCtxRetain(&again, 0));
    check(again == context);
    ok(cuCtxSetCurrent(again));
    ok(cuMemAllocManaged(&values, BYTES, CU_MEM_ATTACH_GLOBAL));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    same(active, 1);
    ok(cuMemsetD32_v2(values, 5, N));
    ok(cuCtxSynchronize());
    same(*(int *)(uintptr_t)values, 5);
}

/* A program that kept its handle may make it current; calls in it then fail. */
static void reset_becomes_current(void)
{
    CUcontext current;
    CUdeviceptr p;
    ok(cuDevicePrimaryCtxReset_v2(0));
    ok(cuCtxSetCurrent(NULL));
    ok(cuCtxSetCurrent(context));
    ok(cuCtxGetCurrent(&current));
    check(current == context);
    gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&p, 4));
    ok(cuCtxPushCurrent_v2(context));
    ok(cuDevicePrimaryCtxRetain(&current, 0));
    ok(cuMemAlloc_v2(&p, 4));
    ok(cuMemFree_v2(p));
}

/* Memory of a destroyed context is free again. */
static void destroyed(void)
{
    enum { LARGE = 64 << 20 };
    CUcontext made;
    size_t before, after, total;
    CUdeviceptr p;
    ok(cuMemGetInfo_v2(&before, &total));
    for (int i = 0; i < 3; i++) {
        ok(cuCtxCreate_v2(&made, 0, 0));
        ok(cuMemAlloc_v2(&p, LARGE));
        ok(cuMemsetD8_v2(p, 1, LARGE));
        ok(cuCtxDestroy_v2(made));
    }
    ok(cuMemGetInfo_v2(&after, &total));
    check(after + LARGE > before);
}

static void limits(void)
{
    size_t bytes, changed;
    ok(cuCtxGetLimit(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE));
    check(bytes > 0);
    ok(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 * bytes));
    ok(cuCtxGetLimit(&changed, CU_LIMIT_PRINTF_FIFO_SIZE));
    check(changed >= 2 * bytes);
    ok(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
    check(bytes > 0);
    gives(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(&bytes, (CUlimit)77));
    gives(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
    gives(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(NULL, CU_LIMIT_SHMEM_SIZE));
    int version;
    ok(cuDriverGetVersion(&version));
    if (version >= 13000) { /* cuBLAS asks for it and does not work without an answer */
        for (int i = 0; i < 2; i++) {
            bytes = 1;
            ok(cuCtxGetLimit(&bytes, CU_LIMIT_CIG_ENABLED));
            same(bytes, 0);
        }
    }
}

/* A context that another thread destroys stays current here. Calls that need no context still work.
 */
static void *end_context(void *other)
{
    ok(cuCtxDestroy_v2(other));
    return NULL;
}

static void destroyed_elsewhere(void)
{
    pthread_t thread;
    CUcontext made, current;
    CUdeviceptr p;
    int value;
    ok(cuCtxCreate_v2(&made, 0, 0));
    check(!pthread_create(&thread, NULL, end_context, made));
    pthread_join(thread, NULL);
    ok(cuCtxGetCurrent(&current));
    check(current == made);
    ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&p, 4));
    ok(cuDevicePrimaryCtxRetain(&current, 0));
    check(current == context);
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuCtxSetCurrent(context));
    ok(cuMemAlloc_v2(&p, 4));
    ok(cuMemFree_v2(p));
}

/* Memory of one context is valid in another context of the same device. */
static void shared_memory(void)
{
    CUcontext made;
    CUdeviceptr p = allocate(BYTES);
    float value = 0;
    ok(launch_fill(p, 3, N, NULL));
    ok(cuCtxSynchronize());
    ok(cuCtxCreate_v2(&made, 0, 0));
    ok(cuMemcpyDtoH_v2(&value, p, sizeof value));
    same(value, 3);
    ok(cuMemsetD32_v2(p, 0x40800000, N)); /* 4.0 */
    ok(cuCtxSynchronize());
    ok(cuCtxDestroy_v2(made));
    same(all_of(p, N), 4);
}

/* ---- two devices ---- */

static CUcontext second;

static void need_two(void)
{
    int count;
    ok(cuDeviceGetCount(&count));
    if (count < 2)
        skip("there is only one device");
    ok(cuDevicePrimaryCtxRetain(&second, 1));
}

static CUdeviceptr allocate_in(CUcontext of)
{
    ok(cuCtxSetCurrent(of));
    return allocate(BYTES);
}

/* Data that the program writes while a failed context is current is not lost for other contexts. */
static void written_beside_a_fault(void)
{
    need_two();
    CUdeviceptr values, sum = allocate_in(second);
    float got;
    ok(cuMemAllocManaged(&values, sizeof(float), CU_MEM_ATTACH_GLOBAL));
    ok(cuMemsetD32_v2(sum, 0, 1));
    ok(cuCtxSynchronize());
    CUmodule module;
    CUfunction saxpy;
    char *text = read_kernels();
    ok(cuModuleLoadData(&module, text));
    ok(cuModuleGetFunction(&saxpy, module, "saxpy"));
    free(text);
    ok(cuCtxSetCurrent(context));
    ok(launch_fill(64, 1, N, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    *(float *)(uintptr_t)values = 7;
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    ok(cuCtxSetCurrent(second));
    int n = 1;
    float factor = 1;
    ok(launch(saxpy, 1, NULL, (void *[]){ &n, &factor, &values, &sum }));
    ok(cuMemcpyDtoH_v2(&got, sum, sizeof got));
    same(got, 7);
}

static void peer_copies(void)
{
    need_two();
    CUdeviceptr here = allocate_in(context), there = allocate_in(second);
    float value = 0;
    ok(cuCtxSetCurrent(context));
    ok(cuMemsetD32_v2(here, 0x40a00000, N)); /* 5.0 */
    ok(cuCtxSynchronize());
    ok(cuMemcpyPeer(there, second, here, context, BYTES));
    ok(cuCtxSetCurrent(second));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH_v2(&value, there + BYTES - sizeof value, sizeof value));
    same(value, 5);
    ok(cuMemcpyDtoD_v2(there, here, 4)); /* by the addresses alone */
    int device = -1;
    ok(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there));
    same(device, 1);
}

static void peer_access(void)
{
    int can;
    need_two();
    ok(cuDeviceCanAccessPeer(&can, 0, 1));
    if (!can)
        skip("the devices can't reach each other");
    CUdeviceptr there = allocate_in(second);
    ok(cuCtxSetCurrent(context));
    ok(cuCtxEnablePeerAccess(second, 0));
    gives(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(second, 0));
    ok(launch_fill(there, 6, N, NULL));
    ok(cuCtxSynchronize());
    ok(cuCtxDisablePeerAccess(second));
    gives(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(second));
    ok(cuCtxSetCurrent(second));
    same(all_of(there, N), 6);
}

static CUfunction fill_in_current(void)
{
    CUmodule module;
    CUfunction function;
    char *text = read_kernels();
    ok(cuModuleLoadData(&module, text));
    free(text);
    ok(cuModuleGetFunction(&function, module, "fill"));
    return function;
}

/* One kernel on each device, all at the same time. */
static void cooperative(void)
{
    enum { DEVICES = 2 };
    CUdeviceptr memory[DEVICES];
    CUstream streams[DEVICES];
    float value = 6;
    int n = N, can = 0;
    need_two();
    CUcontext contexts[DEVICES] = { context, second };
    ok(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 0));
    if (!can)
        skip("the devices do not launch together");
    CUDA_LAUNCH_PARAMS launches[DEVICES];
    void *parameters[DEVICES][3];
    for (int i = 0; i < DEVICES; i++) {
        memory[i] = allocate_in(contexts[i]);
        ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        parameters[i][0] = &memory[i];
        parameters[i][1] = &value;
        parameters[i][2] = &n;
        launches[i] = (CUDA_LAUNCH_PARAMS){ fill_in_current(), 1, 1, 1, N, 1, 1, 0, streams[i],
                                            parameters[i] };
    }
    CUresult launched = cuLaunchCooperativeKernelMultiDevice(launches, DEVICES, 0);
    if (launched == CUDA_ERROR_NOT_SUPPORTED)
        skip("the devices are at two servers");
    ok(launched);
    for (int i = 0; i < DEVICES; i++) {
        ok(cuStreamSynchronize(streams[i]));
        ok(cuCtxSetCurrent(contexts[i]));
        same(all_of(memory[i], N), 6);
    }
    gives(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(launches, 0, 0));
    gives(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(launches, DEVICES, 4));
    launches[1].hStream = streams[0];
    check(cuLaunchCooperativeKernelMultiDevice(launches, DEVICES, 0)); /* one device twice */
    launches[0].hStream = NULL;
    check(cuLaunchCooperativeKernelMultiDevice(launches, 1, 0));
}

static void streams_of_two(void)
{
    CUstream here, there;
    CUevent event;
    need_two();
    CUdeviceptr a = allocate_in(context), b = allocate_in(second);
    ok(cuCtxSetCurrent(context));
    ok(cuStreamCreate(&here, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuCtxSetCurrent(second));
    ok(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
    ok(cuMemsetD32Async(a, 0x40e00000, N, here)); /* 7.0 */
    ok(cuEventRecord(event, here));
    ok(cuStreamWaitEvent(there, event, 0));
    ok(cuMemcpyPeerAsync(b, second, a, context, BYTES, there));
    ok(cuStreamSynchronize(there));
    same(all_of(b, N), 7);
}

/* ---- forks ---- */

static int status_of(pid_t child)
{
    int status;
    check(child > 0);
    check(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

struct seen {
    int count;
    char last[32]; /* address */
};

/* The devices that a process sees with this choice; NULL: without a choice. */
static struct seen look(const char *chosen)
{
    struct seen seen = { 0 };
    int ends[2];
    check(!pipe(ends));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        if (chosen)
            setenv("CUDA_VISIBLE_DEVICES", chosen, 1);
        if (!cuInit(0)) {
            ok(cuDeviceGetCount(&seen.count));
            ok(cuDeviceGetPCIBusId(seen.last, sizeof seen.last, seen.count - 1));
        }
        check(write(ends[1], &seen, sizeof seen) == sizeof seen);
        exit(0);
    }
    same(status_of(child), 0);
    check(read(ends[0], &seen, sizeof seen) == sizeof seen);
    close(ends[0]);
    close(ends[1]);
    return seen;
}

static void chosen_devices(void)
{
    char number[16];
    struct seen all = look(NULL), none = look(""), last, wrong = look("nonsense");
    check(all.count >= 1);
    same(none.count, 0);
    same(wrong.count, 0);
    snprintf(number, sizeof number, "%d", all.count - 1);
    last = look(number);
    same(last.count, 1);
    check(!strcmp(last.last, all.last));
}

/* The library is loaded, but no function of it was called. */
static void forked_before(void)
{
    int version;
    ok(cuDriverGetVersion(&version));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        ok(cuInit(0));
        ok(cuDevicePrimaryCtxRetain(&context, 0));
        ok(cuCtxSetCurrent(context));
        CUdeviceptr p = allocate(4);
        ok(cuMemFree_v2(p));
        exit(0);
    }
    same(status_of(child), 0);
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    CUdeviceptr p = allocate(4);
    ok(cuMemFree_v2(p));
}

/* The child of a process that uses a GPU cannot use it; the parent goes on. */
static void forked_after(void)
{
    CUdeviceptr p = allocate(BYTES);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        int count;
        _exit(cuDeviceGetCount(&count) || cuCtxSynchronize() ? 0 : 1);
    }
    same(status_of(child), 0);
    ok(launch_fill(p, 8, N, NULL));
    same(all_of(p, N), 8);
}

static bool is_over;

static void *work(void *unused)
{
    (void)unused;
    CUdeviceptr values;
    ok(cuCtxSetCurrent(context));
    ok(cuMemAllocManaged(&values, BYTES, CU_MEM_ATTACH_GLOBAL));
    for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); i++) {
        *(float *)(uintptr_t)values = (float)i;
        ok(launch_saxpy(N, 1, values, values, CU_STREAM_PER_THREAD));
        ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    }
    return NULL;
}

/* Libraries destroy their objects in the child, too. These calls fail, and do not wait for the
 * parent's threads, which the child does not have. */
static void forked_from_threads(void)
{
    pthread_t threads[2];
    for (size_t i = 0; i < COUNT(threads); i++)
        check(!pthread_create(&threads[i], NULL, work, NULL));
    fflush(stdout);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(30);
            check(cuCtxDestroy_v2(context));
            check(cuDevicePrimaryCtxReset_v2(0));
            check(cuDevicePrimaryCtxRelease_v2(0));
            _exit(0);
        }
        same(status_of(child), 0);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

/* Calls of one thread that a server may serve at the same time: parts of a large copy, and
 * questions while a host function of the program is due. */
static void ask_ahead_in_green(CUstream stream)
{
    const size_t large = (size_t)32 << 20;
    struct gate gate = GATE;
    CUdeviceptr memory = allocate(large);
    CUstream more;
    unsigned char *bytes = malloc(large);
    check(bytes != NULL);
    ok(cuMemsetD8Async(memory, 7, large, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH_v2(bytes, memory, large));
    same(bytes[large - 1], 7);
    close_gate(&gate, stream);
    ok(cuStreamCreate(&more, CU_STREAM_NON_BLOCKING));
    open_gate(&gate);
    ok(cuStreamSynchronize(stream));
    ok(cuStreamDestroy_v2(more));
    ok(cuMemFree_v2(memory));
    free(bytes);
}

/* Calls that wait and calls that do not, in turn: a server may serve them in several threads. */
static void work_in_green(CUcontext green_one, CUstream stream, CUdeviceptr memory)
{
    enum { TURNS = 50, WORDS = 1024 };
    CUstream more;
    CUdevice device;
    int got;
    ok(cuCtxSetCurrent(green_one));
    for (unsigned int i = 0; i < TURNS; i++) {
        ok(cuMemsetD32Async(memory, i, WORDS, stream));
        ok(i % 2 ? cuStreamSynchronize(stream) : cuCtxGetDevice(&device));
    }
    ok(cuStreamCreate(&more, CU_STREAM_NON_BLOCKING));
    ok(cuStreamDestroy_v2(more));
    ok(cuMemcpyDtoHAsync_v2(&got, memory, sizeof got, stream));
    ok(cuStreamSynchronize(stream));
    same(got, TURNS - 1);
    ask_ahead_in_green(stream);
    ok(cuCtxSetCurrent(NULL));
}

static struct {
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory;
} part;

static void *work_elsewhere(void *unused)
{
    work_in_green(part.context, part.stream, part.memory);
    return unused;
}

/* A part of the GPU's processors, used by one thread after another. */
static void green(void)
{
    CUdevResource whole, some, rest;
    CUdevResourceDesc described;
    CUgreenCtx green, of_stream;
    CUcontext before, of_green;
    pthread_t thread;
    unsigned int groups = 1;
    CUresult status = cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM);
    if (status == CUDA_ERROR_NOT_SUPPORTED || status == CUDA_ERROR_INVALID_RESOURCE_TYPE)
        skip("this GPU has no parts");
    ok(status);
    ok(cuCtxGetCurrent(&before));
    ok(cuDevSmResourceSplitByCount(&some, &groups, &whole, &rest, 0, 8));
    check(groups == 1 && some.sm.smCount >= 8);
    same(some.sm.smCount + rest.sm.smCount, whole.sm.smCount);
    ok(cuDevResourceGenerateDesc(&described, &some, 1));
    ok(cuGreenCtxCreate(&green, described, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    ok(cuGreenCtxStreamCreate(&part.stream, green, CU_STREAM_NON_BLOCKING, 0));
    ok(cuStreamGetCtx(part.stream, &part.context)); /* "is equivalent" to (cuda.h): */
    ok(cuCtxFromGreenCtx(&of_green, green));
    check(of_green == part.context);
    ok(cuStreamGetGreenCtx(part.stream, &of_stream));
    check(of_stream == green);
    part.memory = allocate(4096);
    work_in_green(part.context, part.stream, part.memory);
    check(!pthread_create(&thread, NULL, work_elsewhere, NULL));
    check(!pthread_join(thread, NULL));
    work_in_green(part.context, part.stream, part.memory);
    ok(cuCtxSetCurrent(before));
    ok(cuStreamDestroy_v2(part.stream));
    ok(cuGreenCtxDestroy(green));
    ok(cuMemFree_v2(part.memory));
}

/* Function and stream belong to one context while another one is current (driver 580 takes it). */
static void launch_in_another_context(void)
{
    CUstream stream;
    CUcontext other;
    CUdeviceptr p = allocate(N * sizeof(float));
    CUfunction fill = kernel("fill");
    float v = 7;
    int n = N;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuCtxCreate_v2(&other, 0, 0));
    ok(launch(fill, N, stream, (void *[]){ &p, &v, &n }));
    ok(cuCtxPopCurrent_v2(NULL));
    ok(cuStreamSynchronize(stream));
    same(all_of(p, N), 7);
    ok(cuCtxDestroy_v2(other));
    ok(cuStreamDestroy_v2(stream));
    ok(cuMemFree_v2(p));
}

static const struct test tests[] = {
    { "every call needs cuInit", uninitialized, NO_SETUP },
    { "every call needs a context", no_context, NO_SETUP },
    { "devices report what they are", devices, 0 },
    { "contexts are a stack", stack, 0 },
    { "a primary context that was to be destroyed keeps its memory", not_destroyed,
      ONLY_SIMULATED },
    { "an error of a call without a context is returned once", told_once, 0 },
    { "a context that does not exist does not become current", not_there, ONLY_SIMULATED },
    { "the primary context is counted", primary, 0 },
    { "the primary context is reset", reset, 0 },
    { "a reset takes no use of the primary context back", reset_counted, 0 },
    { "a primary context that was reset becomes current", reset_becomes_current, 0 },
    { "a destroyed context frees its memory", destroyed, 0 },
    { "a context that another thread destroys does not block others", destroyed_elsewhere, 0 },
    { "a context has limits", limits, 0 },
    { "contexts of a device share its memory", shared_memory, 0 },
    { "a part of a GPU is used by one thread after another", green, 0 },
    { "a kernel is launched while another context is current", launch_in_another_context, 0 },
    { "memory goes from device to device", peer_copies, 0 },
    { "a device reaches another's memory", peer_access, 0 },
    { "events order streams of two devices", streams_of_two, 0 },
    { "a kernel is launched on several devices at once", cooperative, 0 },
    { "CUDA_VISIBLE_DEVICES chooses devices", chosen_devices, NO_SETUP },
    { "a program may fork before cuInit", forked_before, NO_SETUP | FORKS },
    { "a child of one that uses a GPU gets an error", forked_after, 0 },
    { "a child of working threads ends what it cannot use", forked_from_threads, 0 },
    { "memory written beside a fault is not lost", written_beside_a_fault, ONLY_SIMULATED },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, NULL, tests, COUNT(tests));
}
