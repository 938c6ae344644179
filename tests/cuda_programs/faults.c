/* Faults: a kernel that leaves its memory, and the effect on all calls after it. */
#include "config.h"

#include "gpu.h"

enum { N = 64, BYTES = N * sizeof(float) };

static CUdeviceptr a;

static void setup(void)
{
    a = allocate(BYTES);
}

/* No allocation has the first page. */
static CUresult launch_fault(CUstream stream)
{
    return launch_fill(64, 1, N, stream);
}

static void break_context(CUstream stream)
{
    ok(launch_fault(stream));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}

static void is_reported(void)
{
    break_context(NULL);
}

static void is_sticky(void)
{
    CUdeviceptr p;
    CUstream stream;
    CUevent event;
    float value;
    ok(cuEventCreate(&event, 0));
    break_context(NULL);
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&p, 4));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoH_v2(&value, a, sizeof value));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamCreate(&stream, 0));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuEventRecord(event, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void all_streams_know(void)
{
    CUstream stream, other;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    break_context(stream);
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(other));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamQuery(other));
}

/* The fault comes before what is wrong with a call's arguments, and host memory has it too. */
static void comes_first(void)
{
    void *memory;
    unsigned int flags;
    void *pinned = allocate_pinned(BYTES);
    CUfunction fill = kernel("fill");
    break_context(NULL);
    gives(CUDA_ERROR_ILLEGAL_ADDRESS,
          cuLaunchKernel(fill, 1, 1 << 16, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuLaunchKernel(fill, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemHostAlloc(&memory, BYTES, 0));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemHostRegister_v2(&memory, sizeof memory, 0));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemHostGetFlags(&flags, pinned));
}

/* Calls that still work, because they need no GPU. */
static void some_still_answer(void)
{
    int count;
    unsigned int version;
    CUcontext current;
    break_context(NULL);
    ok(cuDeviceGetCount(&count));
    ok(cuCtxGetCurrent(&current));
    check(current == context);
    ok(cuCtxSetCurrent(context));
    ok(cuCtxGetApiVersion(context, &version)); /* a runtime asks it before it resets a device */
}

/* "To continue using CUDA, the process must be terminated and relaunched." */
static void other_context(void)
{
    CUcontext second;
    break_context(NULL);
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxCreate_v2(&second, 0, 0));
}

/* It ends the context, and the program cannot get another. */
static void reset(void)
{
    unsigned int version;
    CUdeviceptr p;
    CUcontext another, current;
    break_context(NULL);
    ok(cuDevicePrimaryCtxReset_v2(0));
    gives(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion(context, &version));
    ok(cuCtxGetCurrent(&current));
    check(current == context);
    gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&p, 4));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuDevicePrimaryCtxRetain(&another, 0));
    gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&p, 4));
    ok(cuDevicePrimaryCtxReset_v2(0));
}

/* A runtime asks for the primary context in its own way and gets the old one. */
static void reset_of_a_runtime(void)
{
    static const CUuuid interface = { { 0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4,
                                        (char)0xe7, 0x4a, (char)0x89, (char)0x87, (char)0xd9, 0x39,
                                        0x12, (char)0xfd, (char)0x9d, (char)0xf9 } };
    CUresult (*const *table)(CUcontext *, CUdevice);
    CUcontext again = NULL;
    CUdeviceptr p;
    if (cuGetExportTable((const void **)&table, &interface))
        skip("built without the tables of the CUDA runtime");
    ok(table[2](&again, 0));
    check(again == context);
    break_context(NULL);
    ok(cuDevicePrimaryCtxReset_v2(0));
    again = NULL;
    ok(table[2](&again, 0));
    check(again == context);
    ok(cuCtxSetCurrent(again));
    gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&p, 4));
}

/* Work on one of its streams gets the fault's error, whichever context is current. */
static void known_elsewhere(void)
{
    CUcontext second;
    CUstream stream;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuCtxCreate_v2(&second, 0, 0));
    ok(cuCtxSetCurrent(context));
    ok(launch_fault(stream));
    ok(cuCtxSetCurrent(second));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemsetD8Async(a, 1, 4, stream));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}

/* A context that existed before the fault still works. */
static void spared(void)
{
    CUcontext second;
    CUdeviceptr p;
    ok(cuCtxCreate_v2(&second, 0, 0));
    ok(cuMemAlloc_v2(&p, 4));
    ok(cuCtxSetCurrent(context));
    break_context(NULL);
    ok(cuCtxSetCurrent(second));
    ok(cuMemsetD32Async(p, 1, 1, NULL));
    ok(cuCtxSynchronize());
}

static int told = -1;

static void call_back(CUstream stream, CUresult status, void *unused)
{
    (void)stream;
    (void)unused;
    __atomic_store_n(&told, (int)status, __ATOMIC_RELEASE);
}

static void never(void *memory)
{
    *(bool *)memory = true;
}

static void callbacks(void)
{
    struct gate gate = GATE;
    bool is_called = false;
    CUstream stream;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    close_gate(&gate, stream);
    ok(launch_fault(stream));
    ok(cuLaunchHostFunc(stream, never, &is_called));
    ok(cuStreamAddCallback(stream, call_back, NULL, 0));
    open_gate(&gate);
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    check(becomes(&told, CUDA_ERROR_ILLEGAL_ADDRESS));
    check(!is_called);
}

/* The call refuses a range that is known to be wrong, without a fault. */
static void wrong_copies(void)
{
    float values[2 * N] = { 0 };
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(a, values, sizeof values));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(values, a + 4, BYTES));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(a, 0, sizeof values));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(a + 2, 0, 1));
    ok(cuMemcpyHtoD_v2(a, values, BYTES));
    ok(cuCtxSynchronize());
}

static void wrong_launches(void)
{
    CUfunction fill = kernel("fill");
    float v = 1;
    int n = N;
    void *params[] = { &a, &v, &n };
    gives(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fill, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(fill, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(fill, 1, 70000, 1, 1, 1, 1, 0, NULL, params, NULL));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, params, NULL));
    ok(launch_fill(a, 2, N, NULL)); /* none of the errors sticks */
    same(all_of(a, N), 2);
}

/* Leaves the memory by one element. */
static void one_beyond(void)
{
    ok(launch_fill(a, 1, N + 1, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void freed_memory(void)
{
    CUdeviceptr freed = allocate(4096);
    ok(cuMemFree_v2(freed));
    ok(launch_fill(freed, 1, N, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void pageable_memory(void)
{
    static float on_host[N];
    ok(launch_fill((CUdeviceptr)(uintptr_t)on_host, 1, N, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void host_access(void)
{
    same(*(volatile float *)(uintptr_t)a, 0); /* crashes */
}

/* With CUDA_LAUNCH_BLOCKING the launch itself returns its kernel's fault. */
static void blocking(void)
{
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    CUdeviceptr p = allocate(400);
    ok(launch_fill(p, 1, 100, NULL));
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, launch_fill(16, 1, 100, NULL));
}

static const struct test tests[] = {
    { "a kernel out of bounds is reported by the next synchronize", is_reported, 0 },
    { "the fault is sticky", is_sticky, 0 },
    { "a fault comes before wrong arguments", comes_first, 0 },
    { "other streams find out", all_streams_know, 0 },
    { "calls that need no GPU still work", some_still_answer, 0 },
    { "no other context is made after it", other_context, 0 },
    { "its streams fail whatever context is current", known_elsewhere, 0 },
    { "another context is spared", spared, ONLY_SIMULATED },
    { "a reset does not repair it", reset, 0 },
    { "a reset that a runtime makes does not repair it", reset_of_a_runtime, 0 },
    { "callbacks get the error, and host functions are skipped", callbacks, 0 },
    { "copies out of bounds are refused", wrong_copies, 0 },
    { "launches out of bounds are refused", wrong_launches, 0 },
    { "one element beyond is a fault", one_beyond, ONLY_SIMULATED },
    { "freed memory is a fault", freed_memory, ONLY_SIMULATED },
    { "pageable memory is a fault", pageable_memory, ONLY_SIMULATED },
    { "memory of the device is not the host's", host_access, CRASHES },
    { "a blocking launch reports its kernel's fault", blocking, NO_SETUP },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
