/* Devices, contexts, parts of a GPU, threads, and what a program asks besides. */
#include <algorithm>
#include <atomic>
#include <thread>

#include <cuda_profiler_api.h>

#include "driver.cuh"

enum { N = 1 << 16, BLOCKS = N / 256 };

__global__ void add(int *values, int by)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

__global__ void tell_processor(unsigned *of_block)
{
    unsigned processor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
    if (!threadIdx.x)
        of_block[blockIdx.x] = processor;
    __nanosleep(10000);
}

/* ---- a part of the GPU ---- */

/* Calls that wait and calls that do not, in turn: at a server they may be of several threads, and
 * "a green context can be current to only one thread at a time" (cuda.h). */
static void work_in(CUcontext context, CUstream stream, unsigned *memory)
{
    enum { TURNS = 50, WORDS = 4096 };
    CUstream more[3];
    unsigned flags; /* cuCtxGetDevice() is another function by this name since CUDA 13 */
    cu_ok(driver(cuCtxSetCurrent)(context));
    for (unsigned i = 0; i < TURNS; i++) {
        cu_ok(driver(cuMemsetD32Async)((CUdeviceptr)memory, i, WORDS, stream));
        cu_ok(i % 2 ? driver(cuStreamSynchronize)(stream) : driver(cuCtxGetFlags)(&flags));
    }
    for (CUstream &one : more)
        cu_ok(driver(cuStreamCreate)(&one, CU_STREAM_NON_BLOCKING));
    for (CUstream one : more)
        cu_ok(driver(cuStreamDestroy)(one));
    cu_ok(driver(cuStreamSynchronize)(stream));
    cu_ok(driver(cuCtxSetCurrent)(nullptr));
}

static void green_contexts()
{
    needs_a_gpu();
    CUdevResource whole, part, rest;
    CUdevResourceDesc described;
    CUgreenCtx green;
    CUcontext context, before;
    CUstream stream;
    unsigned groups = 1, *of_block = on_device<unsigned>(4096);
    cu_ok(driver(cuCtxGetCurrent)(&before));
    cu_ok(driver(cuDeviceGetDevResource)(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    printf("= processors: %u\n", whole.sm.smCount);
    cu_ok(driver(cuDevSmResourceSplitByCount)(&part, &groups, &whole, &rest, 0, 16));
    printf("= split: %u, %u and %u\n", groups, part.sm.smCount, rest.sm.smCount);
    check(groups == 1 && part.sm.smCount >= 16 && part.sm.smCount < whole.sm.smCount);
    cu_ok(driver(cuDevResourceGenerateDesc)(&described, &part, 1));
    cu_ok(driver(cuGreenCtxCreate)(&green, described, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    cu_ok(driver(cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    cu_ok(driver(cuCtxFromGreenCtx)(&context, green));
    cu_ok(driver(cuCtxGetDevResource)(context, &rest, CU_DEV_RESOURCE_TYPE_SM));
    check(rest.sm.smCount == part.sm.smCount);
    ok(cudaDeviceSynchronize());
    tell_processor<<<4096, 32, 0, stream>>>(of_block);
    ok(cudaGetLastError());
    ok(cudaStreamSynchronize(stream));
    std::vector<bool> is_used(1024);
    for (unsigned processor : read(of_block, 4096))
        is_used.at(processor) = true;
    size_t used = (size_t)std::count(is_used.begin(), is_used.end(), true);
    check(used && used <= part.sm.smCount);
    CUgreenCtx of_stream;
    cu_ok(driver(cuStreamGetGreenCtx)(stream, &of_stream));
    check(of_stream == green);
    work_in(context, stream, of_block);
    std::thread(work_in, context, stream, of_block).join();
    work_in(context, stream, of_block);
    cu_ok(driver(cuCtxSetCurrent)(before));
    cu_ok(driver(cuStreamDestroy)(stream));
    cu_ok(driver(cuGreenCtxDestroy)(green));
}

/* ---- contexts ---- */

static void two_contexts()
{
    needs_a_gpu();
    int *x = on_device<int>(N);
    CUcontext primary, other, now;
    CUdeviceptr y;
    unsigned version;
    ok(cudaDeviceSynchronize());
    cu_ok(driver(cuCtxGetCurrent)(&primary));
    cu_ok(driver(cuCtxCreate)(&other, nullptr, 0, 0));
    cu_ok(driver(cuCtxGetApiVersion)(other, &version));
    cu_ok(driver(cuMemAlloc)(&y, N * sizeof(int)));
    cu_ok(driver(cuMemsetD32)(y, 5, N));
    add<<<BLOCKS, 256>>>((int *)y, 1); /* the runtime loads its kernels here as well */
    ok(cudaGetLastError());
    ok(cudaDeviceSynchronize());
    check(read((int *)y, N)[N - 1] == 6);
    cu_ok(driver(cuCtxPopCurrent)(&now));
    check(now == other);
    cu_ok(driver(cuCtxSetCurrent)(primary));
    add<<<BLOCKS, 256>>>(x, 1);
    check(read(x, N)[0] == 1);
    cu_ok(driver(cuMemcpyPeer)((CUdeviceptr)x, primary, y, other, N * sizeof(int)));
    check(read(x, N)[0] == 6);
    cu_ok(driver(cuCtxDestroy)(other));
    add<<<BLOCKS, 256>>>(x, 1);
    check(read(x, N)[0] == 7);
}

static void found_in_many_ways()
{
    needs_a_gpu();
    int device, least, most, value;
    char bus[64], name[256];
    cudaDeviceProp wanted = {}, got;
    CUuuid uuid;
    size_t bytes;
    ok(cudaInitDevice(0, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    ok(cudaGetDeviceProperties(&got, 0));
    ok(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    ok(cudaDeviceGetByPCIBusId(&device, bus));
    check(!device);
    wanted.major = got.major;
    ok(cudaChooseDevice(&device, &wanted));
    ok(cudaDeviceGetStreamPriorityRange(&least, &most));
    cu_ok(driver(cuDeviceGetUuid)(&uuid, 0));
    check(!memcmp(&uuid, &got.uuid, sizeof uuid));
    cu_ok(driver(cuDeviceGetName)(name, sizeof name, 0));
    check(!strcmp(name, got.name));
    printf("= %s %s %d %d %zu %d\n", name, bus, least, most, got.totalGlobalMem,
           got.multiProcessorCount);
    for (int i = 1; i < 150; i++) { /* each there is, but what tells of this machine */
        cudaError_t error = cudaDeviceGetAttribute(&value, (cudaDeviceAttr)i, 0);
        if (error)
            printf("= attribute %d: %s\n", i, cudaGetErrorName(error));
        else
            printf("attribute %d: %d\n", i, value);
    }
    cudaGetLastError();
    for (cudaLimit limit : { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize,
                             cudaLimitDevRuntimeSyncDepth, cudaLimitMaxL2FetchGranularity }) {
        cudaError_t error = cudaDeviceGetLimit(&bytes, limit);
        printf("= limit %d: %s %zu\n", limit, cudaGetErrorName(error), error ? 0 : bytes);
    }
    cudaGetLastError();
    ok(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
    ok(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
    check(bytes == 8192);
    unsigned flags;
    ok(cudaGetDeviceFlags(&flags));
    printf("= flags: %u\n", flags);
    gives(cudaErrorInvalidDevice, cudaSetDevice(99));
    cudaGetLastError();
}

static __global__ void deep(int *values, int n)
{
    int own[4000];
    for (int i = 0; i < 4000; i++)
        own[i] = values[i % 32] + i;
    for (int i = 0; i < n; i++)
        own[i * 7919 % 4000] += own[i * 31 % 4000];
    values[threadIdx.x] = own[n % 4000];
}

/* The driver raises the limit by itself, so a client that keeps the limit would return an old one.
 */
static void the_stack_grows_with_a_kernel()
{
    needs_a_gpu();
    int *values;
    size_t before, after;
    ok(cudaMalloc(&values, 32 * sizeof *values));
    ok(cudaMemset(values, 0, 32 * sizeof *values));
    ok(cudaDeviceGetLimit(&before, cudaLimitStackSize));
    deep<<<1, 32>>>(values, 100);
    ok(cudaDeviceSynchronize());
    ok(cudaDeviceGetLimit(&after, cudaLimitStackSize));
    printf("= stack %zu, then %zu\n", before, after);
    check(after >= 16000 && before < after);
}

static void functions_by_their_names()
{
    needs_a_gpu();
    cudaDriverEntryPointQueryResult result;
    void *function = &result;
    ok(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault,
                                        &result));
    check(result == cudaDriverEntryPointSuccess && function);
    ok(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, cudaEnableDefault,
                                        &result));
    check(result == cudaDriverEntryPointSymbolNotFound);
    ok(cudaGetDriverEntryPointByVersion("cuGreenCtxCreate", &function, 11000, cudaEnableDefault,
                                        &result));
    check(result == cudaDriverEntryPointVersionNotSufficent);
    int driver_version, runtime_version;
    ok(cudaDriverGetVersion(&driver_version));
    ok(cudaRuntimeGetVersion(&runtime_version));
    printf("= versions: %d %d\n", driver_version, runtime_version);
}

/* ---- streams and threads ---- */

static void facts_of_streams()
{
    needs_a_gpu();
    cudaStream_t a, b;
    int least, most, priority, device;
    unsigned flags;
    unsigned long long id_a, id_b;
    ok(cudaDeviceGetStreamPriorityRange(&least, &most));
    ok(cudaStreamCreateWithPriority(&a, cudaStreamNonBlocking, most));
    ok(cudaStreamCreate(&b));
    ok(cudaStreamGetPriority(a, &priority));
    ok(cudaStreamGetFlags(a, &flags));
    ok(cudaStreamGetId(a, &id_a));
    ok(cudaStreamGetId(b, &id_b));
    ok(cudaStreamGetDevice(b, &device));
    check(priority == most && flags == cudaStreamNonBlocking && id_a != id_b && !device);
    ok(cudaStreamCopyAttributes(b, a));
    ok(cudaStreamDestroy(a));
    ok(cudaStreamDestroy(b));
}

static void errors_are_the_same()
{
    needs_a_gpu();
    cudaEvent_t event, timed;
    float ms;
    int *values = on_device<int>(N);
    const struct {
        const char *name;
        cudaError_t is;
    } errors[] = {
        { "too many threads", (add<<<1, 2000>>>(values, 1), cudaGetLastError()) },
        { "no direction", cudaMemcpy(values, values, 4, (cudaMemcpyKind)77) },
        { "no memory", cudaMemset(nullptr, 0, 100) },
        { "beyond the end", cudaMemset(values, 0, 1ul << 40) },
        { "a null copy", cudaMemcpy(nullptr, values, 100, cudaMemcpyDeviceToDevice) },
        { "no event", cudaEventRecord(nullptr) },
        { "an event of no time",
          (cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaEventCreate(&timed),
           cudaEventRecord(event), cudaEventRecord(timed),
           cudaEventElapsedTime(&ms, event, timed)) },
        { "no flags", cudaStreamCreateWithFlags((cudaStream_t *)&event, 99) },
        { "no attribute", cudaFuncSetAttribute(add, (cudaFuncAttribute)99, 1) },
        { "too much shared memory",
          cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) },
        { "much memory", cudaMalloc(&values, (size_t)1 << 50) },
        { "no bytes", cudaMalloc(&values, 0) },
        { "a peer of its own", cudaDeviceEnablePeerAccess(0, 0) },
        { "nothing wrong", cudaDeviceSynchronize() },
    };
    for (const auto &error : errors)
        printf("= %s: %s\n", error.name, cudaGetErrorName(error.is));
    cudaGetLastError();
    check(cudaPeekAtLastError() == cudaSuccess);
}

struct link_of_chain {
    std::atomic<int> *count;
    int number;
    bool *is_ordered;
};

static void CUDART_CB in_turn(void *place)
{
    link_of_chain *one = (link_of_chain *)place;
    if (one->count->fetch_add(1) != one->number)
        *one->is_ordered = false;
}

static void chains_of_host_functions()
{
    needs_a_gpu();
    enum { STREAMS = 8, LENGTH = 200 };
    static std::atomic<int> counts[STREAMS];
    bool is_ordered = true;
    std::vector<link_of_chain> links(STREAMS * LENGTH);
    cudaStream_t streams[STREAMS];
    int *values = on_device<int>(N);
    ok(cudaDeviceSynchronize());
    for (cudaStream_t &stream : streams)
        ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < LENGTH; i++)
        for (int j = 0; j < STREAMS; j++) {
            link_of_chain &one = links[(size_t)(i * STREAMS + j)];
            one = { &counts[j], i, &is_ordered };
            add<<<1, 1, 0, streams[j]>>>(values + j, 1);
            ok(cudaLaunchHostFunc(streams[j], in_turn, &one));
        }
    for (cudaStream_t stream : streams)
        ok(cudaStreamSynchronize(stream));
    for (std::atomic<int> &count : counts)
        check(count == LENGTH);
    check(is_ordered && read(values, STREAMS)[3] == LENGTH);
}

static void threads_pass_events_on()
{
    needs_a_gpu();
    enum { THREADS = 8, ROUNDS = 50 };
    int *values = on_device<int>(N);
    cudaEvent_t done[THREADS];
    std::atomic<int> turn{ 0 };
    ok(cudaDeviceSynchronize());
    for (cudaEvent_t &event : done)
        ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    std::vector<std::thread> threads;
    for (int number = 0; number < THREADS; number++)
        threads.emplace_back([&, number] {
            cudaStream_t stream;
            ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            for (int round = 0; round < ROUNDS; round++) {
                while (turn.load() != round * THREADS + number)
                    std::this_thread::yield();
                ok(cudaStreamWaitEvent(stream, done[(number + THREADS - 1) % THREADS], 0));
                add<<<BLOCKS, 256, 0, stream>>>(values, 1);
                ok(cudaEventRecord(done[number], stream));
                turn++;
            }
            ok(cudaStreamSynchronize(stream));
        });
    for (std::thread &thread : threads)
        thread.join();
    check(all_are(read(values, N).data(), N, THREADS * ROUNDS));
}

static void profilers_start_and_stop()
{
    needs_a_gpu();
    int *values = on_device<int>(N);
    ok(cudaProfilerStart());
    add<<<BLOCKS, 256>>>(values, 1);
    ok(cudaProfilerStop());
    check(read(values, N)[0] == 1);
}

static const test tests[] = {
    { "a part of the GPU", green_contexts },
    { "two contexts", two_contexts },
    { "a device is found in many ways", found_in_many_ways },
    { "functions by their names", functions_by_their_names },
    { "the stack grows with a kernel", the_stack_grows_with_a_kernel },
    { "facts of streams", facts_of_streams },
    { "errors are the same", errors_are_the_same },
    { "chains of host functions", chains_of_host_functions },
    { "threads pass events on", threads_pass_events_on },
    { "profilers start and stop", profilers_start_and_stop },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
