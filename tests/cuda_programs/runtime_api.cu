/*
 * The work of a plain program of the CUDA runtime, built by nvcc with the runtime linked in (or
 * not: tests/sim/test_nvcc.py builds it in several ways). Its kernels are of those that the
 * simulated driver knows. Each test is a process of its own; the last line counts them.
 */
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}

__global__ void fill(float *p, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = v;
}

__global__ void await_value(volatile int *flag, int value, volatile int *answer)
{
    while (*flag != value)
        ;
    *answer = value;
}

__global__ void unknown(float *p)
{
    *p = 1;
}

__device__ float table[16];
__managed__ float shared_table[100];
__managed__ float large_table[3000]; /* begins and ends in the middle of pages */

enum { SKIPPED = 77, N = 10000 };
static const size_t BYTES = N * sizeof(float);

#define gives(wanted, call)                                                                        \
    do {                                                                                           \
        cudaError_t got_ = (call);                                                                 \
        if (got_ != (wanted)) {                                                                    \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(got_));          \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define ok(call) gives(cudaSuccess, call)
#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    fflush(stdout);
    _exit(SKIPPED);
}

static bool is_simulated()
{
    cudaDeviceProp prop;
    ok(cudaGetDeviceProperties(&prop, 0));
    return strstr(prop.name, "simulated") != NULL;
}

static unsigned int blocks(int n)
{
    return (unsigned int)(n + 255) / 256;
}

static float *allocate(float value, cudaStream_t stream = 0)
{
    float *p;
    ok(cudaMalloc(&p, BYTES));
    fill<<<blocks(N), 256, 0, stream>>>(p, value, N);
    ok(cudaGetLastError());
    return p;
}

static bool is_all(const float *p, float value)
{
    for (int i = 0; i < N; i++)
        if (p[i] != value)
            return false;
    return true;
}

static bool is_all_on_device(const float *p, float value)
{
    std::vector<float> values(N);
    ok(cudaMemcpy(values.data(), p, BYTES, cudaMemcpyDeviceToHost));
    return is_all(values.data(), value);
}

static void launches()
{
    std::vector<float> a(N), b(N), c(N);
    float *da, *db, *dc;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(2 * i);
    }
    ok(cudaMalloc(&da, BYTES));
    ok(cudaMalloc(&db, BYTES));
    ok(cudaMalloc(&dc, BYTES));
    ok(cudaMemcpy(da, a.data(), BYTES, cudaMemcpyHostToDevice));
    ok(cudaMemcpy(db, b.data(), BYTES, cudaMemcpyHostToDevice));
    vector_add<<<blocks(N), 256>>>(da, db, dc, N);
    ok(cudaGetLastError());
    ok(cudaMemcpy(c.data(), dc, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        check(c[i] == 3.0f * (float)i);
    ok(cudaFree(da));
    ok(cudaFree(db));
    ok(cudaFree(dc));
}

static void facts()
{
    int count, version, runtime, device;
    cudaDeviceProp prop;
    size_t free_bytes, total;
    ok(cudaGetDeviceCount(&count));
    check(count >= 1);
    ok(cudaGetDevice(&device));
    check(device == 0);
    ok(cudaGetDeviceProperties(&prop, 0));
    check(prop.name[0] && prop.warpSize == 32 && prop.multiProcessorCount > 0);
    ok(cudaDriverGetVersion(&version));
    ok(cudaRuntimeGetVersion(&runtime));
    check(version >= 11000 && runtime >= 11000);
    ok(cudaMemGetInfo(&free_bytes, &total));
    check(free_bytes <= total && total <= prop.totalGlobalMem);
    gives(cudaErrorInvalidDevice, cudaSetDevice(count));
    ok(cudaSetDevice(count - 1));
    ok(cudaDeviceSynchronize());
}

static void streams()
{
    cudaStream_t first, second;
    cudaEvent_t event;
    ok(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, -1));
    ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    float *a = allocate(1, first), *b = allocate(1, first);
    for (int i = 0; i < 10; i++) {
        saxpy<<<blocks(N), 256, 0, first>>>(N, 1, a, b); /* b += a */
        ok(cudaEventRecord(event, first));
        ok(cudaStreamWaitEvent(second, event, 0));
        saxpy<<<blocks(N), 256, 0, second>>>(N, 1, b, a); /* a += b */
        ok(cudaEventRecord(event, second));
        ok(cudaStreamWaitEvent(first, event, 0));
    }
    ok(cudaStreamSynchronize(first));
    float x = 1, y = 1;
    for (int i = 0; i < 10; i++) {
        y += x;
        x += y;
    }
    check(is_all_on_device(a, x));
    check(is_all_on_device(b, y));
    ok(cudaStreamDestroy(first));
    ok(cudaStreamDestroy(second));
    ok(cudaEventDestroy(event));
}

static std::atomic<bool> may_nap(true);

static void nap(void *unused)
{
    (void)unused;
    while (!may_nap)
        usleep(1000);
    usleep(20000);
}

static void events()
{
    cudaStream_t stream;
    cudaEvent_t from, to;
    float ms = 0;
    auto begin = std::chrono::steady_clock::now();
    may_nap = false;
    ok(cudaStreamCreate(&stream));
    ok(cudaEventCreate(&from));
    ok(cudaEventCreate(&to));
    ok(cudaEventRecord(from, stream));
    ok(cudaLaunchHostFunc(stream, nap, NULL));
    ok(cudaEventRecord(to, stream));
    gives(cudaErrorNotReady, cudaEventQuery(to));
    may_nap = true;
    ok(cudaEventSynchronize(to));
    ok(cudaEventElapsedTime(&ms, from, to));
    std::chrono::duration<float, std::milli> whole = std::chrono::steady_clock::now() - begin;
    check(ms >= 19 && ms < whole.count() + 1);
}

static void managed()
{
    float *p, *device = allocate(1);
    ok(cudaMallocManaged(&p, BYTES));
    for (int i = 0; i < N; i++)
        p[i] = 2;
    saxpy<<<blocks(N), 256>>>(N, 3, p, device); /* 1 + 3 * 2 */
    saxpy<<<blocks(N), 256>>>(N, 1, device, p); /* 2 + 7 */
    ok(cudaDeviceSynchronize());
    check(is_all(p, 9));
    p[0] = 5;
    ok(cudaMemcpy(device, p, BYTES, cudaMemcpyDefault));
    float value;
    ok(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    check(value == 5);
    ok(cudaFree(p));
}

static void pinned()
{
    cudaStream_t stream;
    float *p, *mapped, *device = allocate(0);
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaDeviceSynchronize());
    ok(cudaMallocHost(&p, BYTES));
    for (int i = 0; i < N; i++)
        p[i] = 4;
    ok(cudaMemcpyAsync(device, p, BYTES, cudaMemcpyHostToDevice, stream));
    saxpy<<<blocks(N), 256, 0, stream>>>(N, 1, device, device); /* 8 */
    ok(cudaMemcpyAsync(p, device, BYTES, cudaMemcpyDeviceToHost, stream));
    ok(cudaStreamSynchronize(stream));
    check(is_all(p, 8));
    ok(cudaHostGetDevicePointer(&mapped, p, 0));
    fill<<<blocks(N), 256, 0, stream>>>(mapped, 3, N);
    ok(cudaStreamSynchronize(stream));
    check(is_all(p, 3));
    ok(cudaFreeHost(p));
    std::vector<float> own(1 << 16, 6.0f);
    ok(cudaHostRegister(own.data(), own.size() * sizeof(float), cudaHostRegisterDefault));
    ok(cudaMemcpyAsync(device, own.data(), BYTES, cudaMemcpyHostToDevice, stream));
    ok(cudaStreamSynchronize(stream));
    check(is_all_on_device(device, 6));
    ok(cudaHostUnregister(own.data()));
}

static void pools()
{
    cudaStream_t stream;
    float *a, *b = allocate(0);
    ok(cudaStreamCreate(&stream));
    ok(cudaDeviceSynchronize());
    for (int i = 0; i < 10; i++) {
        ok(cudaMallocAsync(&a, BYTES, stream));
        fill<<<blocks(N), 256, 0, stream>>>(a, 2, N);
        saxpy<<<blocks(N), 256, 0, stream>>>(N, 1, a, b);
        ok(cudaFreeAsync(a, stream));
    }
    ok(cudaStreamSynchronize(stream));
    check(is_all_on_device(b, 20));
    cudaMemPool_t pool;
    ok(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long used = 1;
    ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    check(used == 0);
}

static void graphs()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float *a = allocate(1, stream), *b = allocate(0, stream), *c = allocate(0, stream);
    saxpy<<<blocks(N), 256, 0, stream>>>(N, 0, a, b);
    ok(cudaStreamSynchronize(stream));
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    saxpy<<<blocks(N), 256, 0, stream>>>(N, 2, a, b);
    ok(cudaMemcpyAsync(c, b, BYTES, cudaMemcpyDeviceToDevice, stream));
    ok(cudaMemsetAsync(a, 0, sizeof(float), stream));
    ok(cudaStreamEndCapture(stream, &graph));
    ok(cudaGraphInstantiate(&exec, graph, 0));
    ok(cudaGraphDestroy(graph));
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    std::vector<float> values(N);
    ok(cudaMemcpy(values.data(), c, BYTES, cudaMemcpyDeviceToHost));
    check(values[0] == 2 && values[1] == 4 && values[N - 1] == 4);
    ok(cudaGraphExecDestroy(exec));
}

static void variables()
{
    float in[16], out[16];
    void *address;
    size_t bytes;
    for (int i = 0; i < 16; i++)
        in[i] = (float)i;
    if (cudaGetSymbolSize(&bytes, table) == cudaErrorSymbolNotFound && is_simulated())
        skip("the simulated driver does not look into what is compressed");
    ok(cudaGetSymbolSize(&bytes, table));
    check(bytes == sizeof in);
    ok(cudaMemcpyToSymbol(table, in, sizeof in));
    ok(cudaMemcpyFromSymbol(out, table, sizeof out));
    check(!memcmp(in, out, sizeof in));
    ok(cudaGetSymbolAddress(&address, table));
    ok(cudaMemcpy(out, (float *)address + 5, sizeof(float), cudaMemcpyDeviceToHost));
    check(out[0] == 5);
}

static void managed_variables()
{
    float *sum, got, in[4] = { 1, 2, 3, 4 };
    void *address;
    size_t bytes;
    if (cudaGetSymbolSize(&bytes, table) == cudaErrorSymbolNotFound && is_simulated())
        skip("the simulated driver does not look into what is compressed");
    ok(cudaGetSymbolAddress(&address, shared_table));
    check(address == shared_table);
    shared_table[0] = 4;
    ok(cudaMalloc(&sum, sizeof *sum));
    fill<<<1, 16>>>(shared_table + 16, 9, 16);
    vector_add<<<1, 1>>>(shared_table, shared_table + 16, sum, 1);
    ok(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
    check(got == 13);
    ok(cudaDeviceSynchronize());
    check(shared_table[15] == 0 && shared_table[16] == 9 && shared_table[31] == 9);
    ok(cudaMemcpyToSymbol(shared_table, in, sizeof in));
    ok(cudaDeviceSynchronize());
    check(shared_table[3] == 4 && shared_table[4] == 0);
    large_table[2998] = 6;
    fill<<<1, 16>>>(large_table, 8, 16);
    vector_add<<<1, 1>>>(large_table + 2998, large_table, large_table + 2999, 1);
    ok(cudaDeviceSynchronize());
    check(large_table[0] == 8 && large_table[2999] == 14 && shared_table[99] == 0);
}

static void pointers()
{
    float *device = allocate(0), *host, on_stack;
    cudaPointerAttributes told;
    ok(cudaPointerGetAttributes(&told, device + 1));
    check(told.type == cudaMemoryTypeDevice && told.device == 0);
    ok(cudaMallocHost(&host, BYTES));
    ok(cudaPointerGetAttributes(&told, host));
    check(told.type == cudaMemoryTypeHost);
    ok(cudaPointerGetAttributes(&told, &on_stack));
    check(told.type == cudaMemoryTypeUnregistered);
}

static void attributes()
{
    cudaFuncAttributes told;
    int count, grid, block;
    ok(cudaFuncGetAttributes(&told, saxpy));
    check(told.maxThreadsPerBlock >= 256 && told.numRegs > 0);
    ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, saxpy, 256, 0));
    check(count >= 1);
    ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, saxpy));
    check(grid >= 1 && block >= 32);
    ok(cudaFuncSetAttribute(saxpy, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 14));
}

static void errors()
{
    float *p = allocate(0);
    fill<<<1, 2048>>>(p, 1, N);
    gives(cudaErrorInvalidValue, cudaPeekAtLastError());
    gives(cudaErrorInvalidValue, cudaGetLastError());
    ok(cudaGetLastError());
    gives(cudaErrorMemoryAllocation, cudaMalloc(&p, (size_t)1 << 50));
    ok(cudaGetLastError() == cudaErrorMemoryAllocation ? cudaSuccess : cudaErrorUnknown);
    p = allocate(2);
    check(is_all_on_device(p, 2));
}

static void faults()
{
    fill<<<1, 256>>>((float *)64, 1, 256);
    ok(cudaGetLastError());
    gives(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    void *p;
    gives(cudaErrorIllegalAddress, cudaMalloc(&p, 4));
    gives(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

static void unknown_kernel()
{
    if (!is_simulated())
        skip("only the simulated driver does this");
    float *p = allocate(0);
    unknown<<<1, 1>>>(p);
    check(cudaGetLastError() != cudaSuccess);
    fill<<<blocks(N), 256>>>(p, 3, N); /* the others still work */
    ok(cudaGetLastError());
    check(is_all_on_device(p, 3));
}

static void threads()
{
    std::vector<std::thread> list;
    for (int number = 0; number < 8; number++)
        list.emplace_back([number] {
            cudaStream_t stream;
            std::vector<float> values(N);
            ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            for (int i = 0; i < 20; i++) {
                float *p;
                ok(cudaMalloc(&p, BYTES));
                fill<<<blocks(N), 256, 0, stream>>>(p, (float)number, N);
                ok(cudaMemcpyAsync(values.data(), p, BYTES, cudaMemcpyDeviceToHost, stream));
                ok(cudaStreamSynchronize(stream));
                check(is_all(values.data(), (float)number));
                ok(cudaFree(p));
            }
            ok(cudaStreamDestroy(stream));
        });
    for (std::thread &thread : list)
        thread.join();
}

static void reset()
{
    float *p = allocate(1);
    ok(cudaDeviceSynchronize());
    (void)p;
    ok(cudaDeviceReset());
    p = allocate(2);
    check(is_all_on_device(p, 2));
    ok(cudaDeviceReset());
}

/* Ends with work in flight. */
static void ends_meanwhile()
{
    cudaStream_t stream;
    ok(cudaStreamCreate(&stream));
    float *p = allocate(1, stream);
    for (int i = 0; i < 100; i++)
        saxpy<<<blocks(N), 256, 0, stream>>>(N, 1, p, p);
    ok(cudaLaunchHostFunc(stream, nap, NULL));
    exit(0);
}

/* Without the client it sometimes happens in the runtime, which frees its state meanwhile. */
static void needs_the_client()
{
    if (!getenv("AITHERION_SERVER"))
        skip("only the remoting client keeps the CUDA runtime from a crash, or from waiting, then");
}

static void threads_go_on()
{
    needs_the_client();
    static std::atomic<int> rounds(0);
    for (int i = 0; i < 4; i++)
        std::thread([] {
            for (float *p; cudaMalloc(&p, 100) == cudaSuccess; rounds++)
                cudaFree(p);
        }).detach();
    /* The runtime's first call sets it up. It crashes by itself if the process ends meanwhile. */
    while (rounds < 100)
        usleep(1000);
    exit(0);
}

static void kernel_goes_on()
{
    needs_the_client();
    int *flag;
    ok(cudaMalloc(&flag, 2 * sizeof *flag));
    ok(cudaMemset(flag, 0, 2 * sizeof *flag));
    std::thread([flag] {
        await_value<<<1, 1>>>(flag, 1, flag + 1);
        cudaDeviceSynchronize();
        pause(); /* the server may have ended the kernel before this process ends */
    }).detach();
    usleep(50000);
    exit(0);
}

static const struct {
    const char *name;
    void (*run)();
} tests[] = {
    { "memory is copied, and a kernel runs", launches },
    { "the device says what it is", facts },
    { "streams wait for each other by events", streams },
    { "events measure", events },
    { "managed memory is seen on both sides", managed },
    { "pinned memory is seen on both sides", pinned },
    { "memory is allocated in stream order", pools },
    { "graphs are captured and launched", graphs },
    { "variables are copied by their symbols", variables },
    { "managed variables are seen on both sides", managed_variables },
    { "pointers have attributes", pointers },
    { "kernels say what they are", attributes },
    { "errors are reported, and forgotten", errors },
    { "a fault is sticky", faults },
    { "a kernel that is not simulated is an error", unknown_kernel },
    { "threads work apart", threads },
    { "the device is reset", reset },
    { "the program may end meanwhile", ends_meanwhile },
    { "threads may go on while it ends", threads_go_on },
    { "a kernel may go on forever while it ends", kernel_goes_on },
};

/* Its exit code, or minus the signal that ended it. */
static int run_apart(void (*run)())
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        const char *patience_s = getenv("AITHERION_PATIENCE");
        alarm(patience_s ? atoi(patience_s) : 60);
        run();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0, skipped = 0;
    for (const auto &test : tests) {
        if (argc > 1 && !strcmp(argv[1], test.name)) {
            test.run();
            return 0;
        }
        if (argc > 1)
            continue;
        int code = run_apart(test.run);
        if (code && code != SKIPPED)
            printf("  FAILED '%s': exit code %d\n", test.name, code);
        else if (code)
            printf("  '%s' was skipped\n", test.name);
        passed += !code;
        skipped += code == SKIPPED;
        failed += code && code != SKIPPED;
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : 0;
}
