/* Copies, streams, events, pinned and managed memory, pools, graphs, callbacks, threads. */
#include <atomic>
#include <thread>

#include "test.cuh"

__global__ void fill(float *p, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = v;
}

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}

/* Holds a stream for some milliseconds. */
__global__ void wait_for(long long ticks)
{
    long long begin = clock64();
    while (clock64() - begin < ticks)
        ;
}

enum { N = 1 << 20 };
static const int BLOCKS = N / 256;

/* ---- copies ---- */

static void two_dimensions()
{
    enum { WIDTH = 1000, HEIGHT = 300 };
    size_t pitch;
    char *device;
    std::vector<char> there(WIDTH * HEIGHT), back(WIDTH * HEIGHT);
    for (size_t i = 0; i < there.size(); i++)
        there[i] = (char)(i * 7);
    ok(cudaMallocPitch(&device, &pitch, WIDTH, HEIGHT));
    check(pitch >= WIDTH);
    ok(cudaMemcpy2D(device, pitch, there.data(), WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    ok(cudaMemcpy2D(back.data(), WIDTH, device, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    check(there == back);
    ok(cudaMemset2D(device, pitch, 5, WIDTH / 2, HEIGHT));
    ok(cudaMemcpy2D(back.data(), WIDTH, device, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    check(back[WIDTH / 2 - 1] == 5 && back[WIDTH / 2] == there[WIDTH / 2]);
    cudaStream_t stream;
    ok(cudaStreamCreate(&stream));
    ok(cudaMemcpy2DAsync(device, pitch, there.data(), WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice,
                         stream));
    ok(cudaMemcpy2DAsync(back.data(), WIDTH, device, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost,
                         stream));
    ok(cudaStreamSynchronize(stream));
    check(there == back);
}

static void three_dimensions()
{
    cudaExtent extent = make_cudaExtent(100 * sizeof(float), 30, 20);
    cudaPitchedPtr device;
    std::vector<float> there(100 * 30 * 20), back(there.size());
    for (size_t i = 0; i < there.size(); i++)
        there[i] = (float)i;
    ok(cudaMalloc3D(&device, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(there.data(), 100 * sizeof(float), 100, 30);
    copy.dstPtr = device;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    ok(cudaMemcpy3D(&copy));
    copy.srcPtr = device;
    copy.dstPtr = make_cudaPitchedPtr(back.data(), 100 * sizeof(float), 100, 30);
    copy.kind = cudaMemcpyDeviceToHost;
    ok(cudaMemcpy3D(&copy));
    check(there == back);
}

static void arrays()
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<float> there(64 * 32), back(there.size());
    for (size_t i = 0; i < there.size(); i++)
        there[i] = (float)i;
    ok(cudaMallocArray(&array, &format, 64, 32));
    ok(cudaMemcpy2DToArray(array, 0, 0, there.data(), 64 * 4, 64 * 4, 32, cudaMemcpyHostToDevice));
    ok(cudaMemcpy2DFromArray(back.data(), 64 * 4, array, 0, 0, 64 * 4, 32, cudaMemcpyDeviceToHost));
    check(there == back);
    ok(cudaFreeArray(array));
}

static void large_copies()
{
    size_t bytes = (size_t)300 << 20;
    std::vector<unsigned> there(bytes / 4), back(bytes / 4);
    for (size_t i = 0; i < there.size(); i++)
        there[i] = (unsigned)(i * 2654435761u);
    unsigned *device = on_device<unsigned>(bytes / 4);
    ok(cudaMemcpy(device, there.data(), bytes, cudaMemcpyHostToDevice));
    ok(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost));
    check(there == back);
}

static void odd_sizes()
{
    unsigned char *device = on_device<unsigned char>(1 << 20);
    for (size_t bytes : { 1, 2, 3, 63, 64, 65, 4095, 4097, 65535, 65537, 1000003 }) {
        for (size_t offset : { 0, 1, 7 }) {
            std::vector<unsigned char> there(bytes), back(bytes);
            for (size_t i = 0; i < bytes; i++)
                there[i] = (unsigned char)(i * 31 + offset);
            ok(cudaMemcpy(device + offset, there.data(), bytes, cudaMemcpyHostToDevice));
            ok(cudaMemcpy(back.data(), device + offset, bytes, cudaMemcpyDeviceToHost));
            check(there == back);
        }
    }
}

/* ---- streams ---- */

static void streams_overlap()
{
    enum { COUNT = 16 };
    cudaStream_t streams[COUNT];
    float *device[COUNT], *host[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ok(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        device[i] = on_device<float>(N);
        ok(cudaMallocHost(&host[i], N * sizeof(float)));
    }
    ok(cudaDeviceSynchronize());
    for (int round = 1; round <= 10; round++) {
        for (int i = 0; i < COUNT; i++) {
            fill<<<BLOCKS, 256, 0, streams[i]>>>(device[i], (float)(round * 100 + i), N);
            ok(cudaMemcpyAsync(host[i], device[i], N * sizeof(float), cudaMemcpyDeviceToHost,
                               streams[i]));
        }
        for (int i = 0; i < COUNT; i++) {
            ok(cudaStreamSynchronize(streams[i]));
            check(all_are(host[i], N, (float)(round * 100 + i)));
        }
    }
}

static void events_order_and_measure()
{
    cudaStream_t a, b;
    cudaEvent_t begin, end;
    float ms, *x = on_device<float>(N), *y = on_device<float>(N);
    ok(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    ok(cudaEventCreate(&begin));
    ok(cudaEventCreate(&end));
    ok(cudaDeviceSynchronize());
    for (int i = 1; i <= 100; i++) {
        ok(cudaEventRecord(begin, a));
        fill<<<BLOCKS, 256, 0, a>>>(x, (float)i, N);
        ok(cudaEventRecord(end, a));
        ok(cudaStreamWaitEvent(b, end, 0));
        saxpy<<<BLOCKS, 256, 0, b>>>(N, 1, x, y);
        ok(cudaEventRecord(end, b));
        ok(cudaStreamWaitEvent(a, end, 0));
    }
    ok(cudaEventSynchronize(end));
    ok(cudaEventQuery(end));
    ok(cudaEventElapsedTime(&ms, begin, end));
    check(ms >= 0 && ms < 10000);
    std::vector<float> values = read(y, N);
    check(all_are(values.data(), N, 5050.0f));
}

static void a_busy_stream_is_not_ready()
{
    needs_a_gpu();
    cudaStream_t stream;
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    wait_for<<<1, 1, 0, stream>>>(500000000);
    gives(cudaErrorNotReady, cudaStreamQuery(stream));
    ok(cudaStreamSynchronize(stream));
    ok(cudaStreamQuery(stream));
}

static void priorities()
{
    int least, greatest, got;
    cudaStream_t stream;
    ok(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ok(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    ok(cudaStreamGetPriority(stream, &got));
    check(got == greatest);
    printf("= priorities: %d %d\n", least, greatest);
}

/* ---- memory ---- */

static void pinned_without_copies()
{
    float *host, *seen;
    ok(cudaHostAlloc(&host, N * sizeof(float), cudaHostAllocMapped));
    ok(cudaHostGetDevicePointer(&seen, host, 0));
    for (int round = 1; round <= 5; round++) {
        fill<<<BLOCKS, 256>>>(seen, (float)round, N);
        ok(cudaDeviceSynchronize());
        check(all_are(host, N, (float)round));
        for (int i = 0; i < N; i++)
            host[i] = (float)(10 * round);
        saxpy<<<BLOCKS, 256>>>(N, 1, seen, seen);
        ok(cudaDeviceSynchronize());
        check(all_are(host, N, (float)(20 * round)));
    }
    ok(cudaFreeHost(host));
}

static void registered_without_copies()
{
    float *seen, *host = (float *)aligned_alloc(65536, N * sizeof(float));
    for (int i = 0; i < N; i++)
        host[i] = 3;
    ok(cudaHostRegister(host, N * sizeof(float), cudaHostRegisterMapped));
    ok(cudaHostGetDevicePointer(&seen, host, 0));
    saxpy<<<BLOCKS, 256>>>(N, 2, seen, seen);
    ok(cudaDeviceSynchronize());
    check(all_are(host, N, 9.0f));
    ok(cudaHostUnregister(host));
    free(host);
}

static void managed()
{
    float *x, *y;
    ok(cudaMallocManaged(&x, N * sizeof(float)));
    ok(cudaMallocManaged(&y, N * sizeof(float)));
    for (int i = 0; i < N; i++) {
        x[i] = 1;
        y[i] = 2;
    }
    for (int round = 1; round <= 5; round++) {
        saxpy<<<BLOCKS, 256>>>(N, 1, x, y);
        ok(cudaDeviceSynchronize());
        check(all_are(y, N, (float)(2 + round)));
    }
    ok(cudaMemset(x, 0, N * sizeof(float)));
    ok(cudaDeviceSynchronize());
    check(all_are(x, N, 0.0f));
    ok(cudaFree(x));
    ok(cudaFree(y));
}

__managed__ int counter = 5;
__global__ void count_up()
{
    counter += 37;
}

static void managed_variable()
{
    needs_a_gpu();
    counter = 5;
    count_up<<<1, 1>>>();
    ok(cudaDeviceSynchronize());
    check(counter == 42);
}

struct node {
    node *next;
    int value;
};

__global__ void sum_list(const node *first, int *out)
{
    int sum = 0;
    for (const node *one = first; one; one = one->next)
        sum += one->value;
    *out = sum;
}

static void managed_lists()
{
    needs_a_gpu();
    node *nodes;
    int *sum;
    ok(cudaMallocManaged(&nodes, 1000 * sizeof *nodes));
    ok(cudaMallocManaged(&sum, sizeof *sum));
    for (int i = 0; i < 1000; i++)
        nodes[i] = { i < 999 ? &nodes[i + 1] : nullptr, i };
    sum_list<<<1, 1>>>(nodes, sum);
    ok(cudaDeviceSynchronize());
    check(*sum == 499500);
}

static void pools_in_stream_order()
{
    cudaStream_t stream;
    ok(cudaStreamCreate(&stream));
    for (int i = 1; i <= 200; i++) {
        float *x, value;
        ok(cudaMallocAsync(&x, N * sizeof(float), stream));
        fill<<<BLOCKS, 256, 0, stream>>>(x, (float)i, N);
        ok(cudaMemcpyAsync(&value, x + i, sizeof value, cudaMemcpyDeviceToHost, stream));
        ok(cudaFreeAsync(x, stream));
        if (i % 20 == 0) {
            ok(cudaStreamSynchronize(stream));
            check(value == (float)i);
        }
    }
    cudaMemPool_t pool;
    ok(cudaDeviceGetDefaultMemPool(&pool, 0));
    ok(cudaMemPoolTrimTo(pool, 0));
}

/* ---- graphs and callbacks ---- */

static void captured_graph()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *x = on_device<float>(N), *y = on_device<float>(N);
    ok(cudaStreamCreate(&stream));
    fill<<<BLOCKS, 256, 0, stream>>>(x, 1.0f, N);
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 20; i++)
        saxpy<<<BLOCKS, 256, 0, stream>>>(N, 1, x, y);
    ok(cudaStreamEndCapture(stream, &graph));
    size_t count;
    ok(cudaGraphGetNodes(graph, nullptr, &count));
    check(count == 20);
    ok(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 50; i++)
        ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    std::vector<float> values = read(y, N);
    check(all_are(values.data(), N, 1000.0f));
    ok(cudaGraphExecDestroy(exec));
    ok(cudaGraphDestroy(graph));
}

static void made_graph()
{
    cudaGraph_t graph;
    cudaGraphNode_t set, kernel, copy;
    cudaGraphExec_t exec;
    float *x = on_device<float>(N), value = 4, *host;
    int n = N;
    ok(cudaMallocHost(&host, N * sizeof(float)));
    ok(cudaGraphCreate(&graph, 0));
    cudaMemsetParams memset_params = {};
    memset_params.dst = x;
    memset_params.elementSize = 4;
    memset_params.width = N;
    memset_params.height = 1;
    ok(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &memset_params));
    void *args[] = { &x, &value, &n };
    cudaKernelNodeParams kernel_params = {};
    kernel_params.func = (void *)fill;
    kernel_params.gridDim = dim3(BLOCKS / 2);
    kernel_params.blockDim = dim3(256);
    kernel_params.kernelParams = args;
    ok(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &kernel_params));
    ok(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, x, N * sizeof(float),
                                cudaMemcpyDeviceToHost));
    ok(cudaGraphInstantiate(&exec, graph, 0));
    ok(cudaGraphLaunch(exec, nullptr));
    ok(cudaDeviceSynchronize());
    check(all_are(host, N / 2, 4.0f) && all_are(host + N / 2, N / 2, 0.0f));
    value = 6;
    ok(cudaGraphExecKernelNodeSetParams(exec, kernel, &kernel_params));
    ok(cudaGraphLaunch(exec, nullptr));
    ok(cudaDeviceSynchronize());
    check(all_are(host, N / 2, 6.0f));
}

static void host_functions()
{
    static std::atomic<int> calls;
    cudaStream_t stream;
    float *x = on_device<float>(N);
    ok(cudaStreamCreate(&stream));
    for (int i = 0; i < 100; i++) {
        fill<<<BLOCKS, 256, 0, stream>>>(x, 1.0f, N);
        ok(cudaLaunchHostFunc(
            stream, [](void *) { calls++; }, nullptr));
    }
    ok(cudaStreamAddCallback(
        stream, [](cudaStream_t, cudaError_t status, void *) { calls += status == cudaSuccess; },
        nullptr, 0));
    ok(cudaStreamSynchronize(stream));
    check(calls == 101);
}

/* ---- threads ---- */

static void many_threads()
{
    std::atomic<int> wrong{ 0 };
    std::vector<std::thread> threads;
    for (int number = 0; number < 16; number++) {
        threads.emplace_back([number, &wrong] {
            cudaStream_t stream;
            float *x = on_device<float>(N);
            ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            ok(cudaDeviceSynchronize());
            for (int i = 0; i < 20; i++) {
                fill<<<BLOCKS, 256, 0, stream>>>(x, (float)(number * 100 + i), N);
                float value;
                ok(cudaMemcpyAsync(&value, x + N - 1, sizeof value, cudaMemcpyDeviceToHost,
                                   stream));
                ok(cudaStreamSynchronize(stream));
                wrong += value != (float)(number * 100 + i);
            }
            ok(cudaFree(x));
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    check(wrong == 0);
}

static void thousands_of_launches()
{
    float *x = on_device<float>(256), *y = on_device<float>(256);
    fill<<<1, 256>>>(x, 1.0f, 256);
    for (int i = 0; i < 50000; i++)
        saxpy<<<1, 256>>>(256, 1, x, y);
    std::vector<float> values = read(y, 256);
    check(all_are(values.data(), 256, 50000.0f));
}

static const test tests[] = {
    { "copies of two dimensions", two_dimensions },
    { "copies of three dimensions", three_dimensions },
    { "copies to and from arrays", arrays },
    { "300 MiB go there and back", large_copies },
    { "odd sizes and places", odd_sizes },
    { "16 streams at once", streams_overlap },
    { "events order and measure", events_order_and_measure },
    { "a busy stream is not ready", a_busy_stream_is_not_ready },
    { "streams have priorities", priorities },
    { "kernels use pinned memory", pinned_without_copies },
    { "kernels use registered memory", registered_without_copies },
    { "managed memory", managed },
    { "a managed variable", managed_variable },
    { "a list in managed memory", managed_lists },
    { "pools give memory in stream order", pools_in_stream_order },
    { "a captured graph", captured_graph },
    { "a graph made by hand", made_graph },
    { "host functions and callbacks", host_functions },
    { "16 threads", many_threads },
    { "50,000 launches", thousands_of_launches },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
