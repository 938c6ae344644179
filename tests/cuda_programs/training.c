/*
 * The calls of a training's first two steps, as PyTorch makes them: blocks of a caching allocator,
 * streams of a pool, events without times, the workspaces of libraries, kernels that are looked up
 * when a layer first needs them, questions before each launch, and four bytes back in each step.
 */
#include "config.h"

#include "gpu.h"

enum { LAYERS = 12, STREAMS = 32, HANDLES = 3, EVENTS = 6, N = 512, STEPS = 2 };
static const size_t mib = 1 << 20;

/* ---- the allocator: it keeps what it has taken ---- */

/* One that is as large as PyTorch's on a GPU with 16 GiB, and smaller on a smaller one. */
static size_t large_block(void)
{
    size_t total;
    ok(cuDeviceTotalMem_v2(&total, 0));
    return (total / 640 + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

/* ---- libraries of kernels ---- */

struct handle {
    CUdeviceptr workspace;
    CUstream stream;
    CUevent events[EVENTS];
};

static void make_handle(struct handle *handle)
{
    handle->workspace = allocate(8 * mib);
    ok(cuMemsetD8Async(handle->workspace, 0, 8 * mib, NULL));
    ok(cuStreamCreate(&handle->stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < EVENTS; i++)
        ok(cuEventCreate(&handle->events[i], CU_EVENT_DISABLE_TIMING));
}

static void end_handle(struct handle *handle)
{
    for (int i = 0; i < EVENTS; i++)
        ok(cuEventDestroy_v2(handle->events[i]));
    ok(cuStreamDestroy_v2(handle->stream));
}

static CUlibrary code;

static CUfunction look_up(const char *name)
{
    CUkernel found;
    CUfunction function;
    int value, blocks = 0;
    ok(cuLibraryGetKernel(&found, code, name));
    ok(cuKernelGetFunction(&function, found));
    ok(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found, 0));
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, 256, 0, 0));
    check(value >= 256 && blocks > 0);
    return function;
}

/* ---- the network ---- */

static struct layer {
    CUdeviceptr weights, output, gradient, momentum;
} layers[LAYERS];
static CUstream streams[STREAMS];
static struct handle handles[HANDLES];

/* The questions before each launch. */
static void look_around(void)
{
    CUstreamCaptureStatus capture;
    CUdevice device;
    int value;
    ok(cuStreamIsCapturing(NULL, &capture));
    same(capture, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuCtxGetDevice(&device));
    ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
}

/* The questions of a library about an operand. */
static void look_at(CUdeviceptr memory)
{
    CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
    unsigned int type = 0;
    CUdeviceptr address = 0;
    void *values[] = { &type, &address };
    ok(cuPointerGetAttributes(2, which, values, memory));
    check(type == CU_MEMORYTYPE_DEVICE && address == memory);
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    same(type, CU_MEMORYTYPE_DEVICE);
}

static void run(CUfunction function, void **params)
{
    look_around();
    ok(launch(function, N, NULL, params));
}

static void fill(CUdeviceptr memory, float value)
{
    int n = N;
    run(look_up("fill"), (void *[]){ &memory, &value, &n });
}

static void add(CUdeviceptr to, float times, CUdeviceptr from)
{
    int n = N;
    run(look_up("saxpy"), (void *[]){ &n, &times, &from, &to });
}

/* The weights come from the program, each tensor is waited for. */
static void make_network(void)
{
    float ones[N];
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    for (int i = 0; i < LAYERS; i++) {
        layers[i].weights = allocate(i % 3 ? 2 * mib : 20 * mib);
        ok(cuMemcpyHtoDAsync_v2(layers[i].weights, ones, sizeof ones, NULL));
        ok(cuStreamSynchronize(NULL));
    }
    for (int i = 0; i < STREAMS; i++)
        ok(cuStreamCreateWithPriority(&streams[i], CU_STREAM_NON_BLOCKING, i % 2 ? -1 : 0));
}

/* Output, gradients and momentum of each layer are taken in the first step. */
static float step(bool is_first, size_t large)
{
    CUevent done;
    float loss;
    look_at(layers[0].weights);
    for (int i = 0; i < LAYERS; i++) {
        if (is_first) {
            (void)allocate(large + (size_t)i % 3 * 2 * mib); /* for an algorithm, and kept */
            layers[i].output = allocate(large * (i % 2 ? 2 : 1));
        }
        fill(layers[i].output, 0);
        add(layers[i].output, 1, i ? layers[i - 1].output : layers[i].weights);
    }
    if (is_first)
        for (int i = 0; i < LAYERS; i++) {
            layers[i].gradient = allocate(i % 3 ? 2 * mib : 20 * mib);
            layers[i].momentum = allocate(i % 3 ? 2 * mib : 20 * mib);
            fill(layers[i].momentum, 0);
        }
    for (int i = LAYERS; i--;) {
        fill(layers[i].gradient, -0.5f);
        add(layers[i].momentum, 1, layers[i].gradient);
        add(layers[i].weights, 1, layers[i].momentum);
    }
    ok(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    ok(cuEventRecord(done, streams[0]));
    ok(cuStreamWaitEvent(NULL, done, 0));
    ok(cuMemcpyDtoHAsync_v2(&loss, layers[LAYERS - 1].output, sizeof loss, NULL));
    ok(cuStreamSynchronize(NULL));
    ok(cuEventDestroy_v2(done));
    return loss;
}

static void starts(void)
{
    int least, greatest, active;
    unsigned int flags;
    size_t free_bytes, total, large = large_block();
    char *text = read_kernels();
    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ok(cuCtxGetStreamPriorityRange(&least, &greatest));
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    check(active && greatest <= least && free_bytes <= total);
    ok(cuLibraryLoadData(&code, text, NULL, NULL, 0, NULL, NULL, 0));
    free(text);
    make_network();
    for (int i = 0; i < HANDLES; i++)
        make_handle(&handles[i]);
    for (int i = 0; i < STEPS; i++)
        same(step(!i, large), i ? 0.5 : 1); /* the output is the first layer's weight */
    same(all_of(layers[0].weights, N), -0.5);
    ok(cuMemFree_v2(handles[0].workspace));
    for (int i = 0; i < HANDLES; i++)
        end_handle(&handles[i]);
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    printf("%zu bytes are taken\n", total - free_bytes);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        { "a training starts", starts, 0 },
    };
    return run_tests(argc, argv, NULL, tests, COUNT(tests));
}
