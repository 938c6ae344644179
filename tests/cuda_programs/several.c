/* One program with two devices that do not reach each other's memory, as those of two servers.
 */
#include <stdint.h>

#include "gpu.h"

enum { N = 1 << 16, BYTES = N * sizeof(float), DEVICES = 2, BLOCKS = 40 };

static CUcontext contexts[DEVICES];
static CUdeviceptr memory[DEVICES];
static CUstream streams[DEVICES];

static void use(int device)
{
    ok(cuCtxSetCurrent(contexts[device]));
}

static void setup(void)
{
    int count, can = 1;
    ok(cuDeviceGetCount(&count));
    if (count < DEVICES)
        skip("there is one device");
    ok(cuDeviceCanAccessPeer(&can, 0, 1));
    if (can)
        skip("the devices reach each other");
    contexts[0] = context;
    ok(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    for (int i = 0; i < DEVICES; i++) {
        use(i);
        memory[i] = allocate(BYTES);
        ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    use(0);
}

static CUkernel fill_of(const char *image)
{
    CUlibrary library;
    CUkernel fill;
    ok(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&fill, library, "fill"));
    return fill;
}

/* Uses a kernel of a library, which belongs to no context. */
static void fill(int device, float value)
{
    static CUkernel kernel;
    int n = N;
    if (!kernel) {
        char *image = read_kernels();
        kernel = fill_of(image);
        memset(image, 0, strlen(image)); /* the program's copy is not needed any more */
        free(image);
    }
    void *params[] = { &memory[device], &value, &n };
    use(device);
    ok(launch((CUfunction)(void *)kernel, N, streams[device], params));
}

/* On no device, and by no thread. */
static void unloaded(void)
{
    CUlibrary library;
    CUkernel kernel, found;
    int value;
    char *image = read_kernels();
    ok(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    free(image);
    ok(cuLibraryGetKernel(&kernel, library, "fill"));
    for (int i = 0; i < DEVICES; i++) {
        float number = 1;
        int n = N;
        void *params[] = { &memory[i], &number, &n };
        use(i);
        ok(launch((CUfunction)(void *)kernel, N, streams[i], params));
        ok(cuStreamSynchronize(streams[i]));
    }
    gives(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernel(&found, (CUlibrary)(void *)kernel, "fill"));
    gives(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload((CUlibrary)(void *)kernel));
    ok(cuLibraryUnload(library));
    for (int i = 0; i < DEVICES; i++) {
        use(i);
        gives(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernel(&found, library, "fill"));
        gives(CUDA_ERROR_INVALID_HANDLE,
              cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, i));
        gives(CUDA_ERROR_INVALID_HANDLE, cuKernelGetLibrary(&library, kernel));
        gives(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    }
}

/* The log belongs to the call that loads the library, not to later ones that load it elsewhere. */
static void written_once(void)
{
    static char log[4096];
    CUjit_option options[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_LOG_VERBOSE };
    void *values[] = { log, (void *)sizeof log, (void *)1 };
    CUlibrary library;
    CUkernel kernel;
    char *image = read_kernels();
    float number = 1;
    int n = N;

    ok(cuLibraryLoadData(&library, image, options, values, 3, NULL, NULL, 0));
    free(image);
    check(*log);
    memset(log, 'x', sizeof log);
    ok(cuLibraryGetKernel(&kernel, library, "fill"));
    for (int i = 0; i < DEVICES; i++) {
        void *params[] = { &memory[i], &number, &n };
        use(i);
        ok(launch((CUfunction)(void *)kernel, N, streams[i], params));
        ok(cuStreamSynchronize(streams[i]));
    }
    for (size_t i = 0; i < sizeof log; i++)
        same(log[i], 'x');
    ok(cuLibraryUnload(library));
}

static float value_on(int device)
{
    use(device);
    ok(cuStreamSynchronize(streams[device]));
    return all_of(memory[device], N);
}

static void kernels(void)
{
    fill(0, 1);
    fill(1, 2);
    same(value_on(0), 1);
    same(value_on(1), 2);
}

static void devices(void)
{
    CUdevice device = -1;
    CUuuid uuids[DEVICES];
    int value = 1;
    for (int i = 0; i < DEVICES; i++) {
        ok(cuDeviceGetUuid_v2(&uuids[i], i));
        use(i);
        ok(cuCtxGetDevice(&device));
        same(device, i);
        ok(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory[i]));
        same(value, i);
    }
    check(memcmp(&uuids[0], &uuids[1], sizeof uuids[0]) != 0);
    gives(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, DEVICES));
    use(0);
    gives(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(contexts[1], 0));
    ok(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    same(value, 0);
}

static void strangers(void)
{
    CUevent event;
    float value = 1;
    int n = N;
    void *params[] = { &memory[0], &value, &n };
    use(1);
    ok(cuEventCreate(&event, 0));
    use(0);
    gives(CUDA_ERROR_INVALID_HANDLE, launch(kernel("fill"), N, streams[1], params));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, streams[0]));
    ok(cuEventRecord(event, streams[1]));
    ok(cuEventSynchronize(event));
}

static void copies(void)
{
    fill(0, 3);
    ok(cuMemcpyPeerAsync(memory[1], contexts[1], memory[0], contexts[0], BYTES, streams[0]));
    ok(cuStreamSynchronize(streams[0]));
    same(value_on(1), 3);
    fill(1, 4);
    ok(cuStreamSynchronize(streams[1]));
    ok(cuMemcpyPeer(memory[0], contexts[0], memory[1], contexts[1], BYTES));
    same(value_on(0), 4);
    fill(0, 5);
    ok(cuStreamSynchronize(streams[0]));
    ok(cuMemcpy(memory[1], memory[0], BYTES));
    same(value_on(1), 5);
    fill(1, 6);
    ok(cuMemcpyAsync(memory[0], memory[1], BYTES, streams[1]));
    ok(cuStreamSynchronize(streams[1]));
    same(value_on(0), 6);
}

/* A box larger than one part of the copy, with different pitches and more than one plane. */
static void boxes(void)
{
    enum { WIDTH = 3000, HEIGHT = 2000, DEPTH = 2, FROM = 4096, TO = 3072 };
    CUdeviceptr from, to;
    use(0);
    from = allocate((size_t)FROM * HEIGHT * DEPTH);
    ok(cuMemsetD8_v2(from, 7, (size_t)FROM * HEIGHT * DEPTH));
    ok(cuMemsetD8_v2(from + (size_t)FROM * HEIGHT, 8, (size_t)FROM * HEIGHT));
    use(1);
    to = allocate((size_t)TO * HEIGHT * DEPTH);
    ok(cuMemsetD8_v2(to, 9, (size_t)TO * HEIGHT * DEPTH));
    CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .srcPitch = FROM,
                           .srcHeight = HEIGHT,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .dstPitch = TO,
                           .dstHeight = HEIGHT,
                           .WidthInBytes = WIDTH,
                           .Height = HEIGHT,
                           .Depth = DEPTH };
    ok(cuMemcpy3D_v2(&copy));
    unsigned char *got = malloc((size_t)TO * HEIGHT * DEPTH);
    check(got);
    ok(cuMemcpyDtoH_v2(got, to, (size_t)TO * HEIGHT * DEPTH));
    for (size_t i = 0; i < (size_t)TO * HEIGHT * DEPTH; i++)
        same(got[i], i % TO >= WIDTH ? 9 : i < (size_t)TO * HEIGHT ? 7 : 8);
    free(got);
}

/* The program blocks the stream: the calls return, and take effect when the stream goes on. */
static void held(void)
{
    struct gate gate = GATE;
    CUevent event;
    fill(0, 1);
    fill(1, 1);
    same(value_on(0) + value_on(1), 2);
    use(0);
    ok(cuEventCreate(&event, 0));
    close_gate(&gate, streams[0]);
    fill(0, 2);
    ok(cuMemcpyPeerAsync(memory[1], contexts[1], memory[0], contexts[0], BYTES, streams[0]));
    ok(cuEventRecord(event, streams[0]));
    fill(0, 3);
    ok(cuStreamWaitEvent(streams[1], event, 0));
    fill(1, 4);
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(streams[0]));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(streams[1]));
    open_gate(&gate);
    same(value_on(0), 3);
    same(value_on(1), 4);
}

static void events(void)
{
    CUevent event;
    for (int i = 0; i < 20; i++) {
        use(0);
        ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        fill(0, (float)i);
        ok(cuEventRecord(event, streams[0]));
        ok(cuStreamWaitEvent(streams[1], event, 0));
        ok(cuMemcpyAsync(memory[1], memory[0], BYTES, streams[1]));
        same(value_on(1), i);
        ok(cuEventDestroy_v2(event));
    }
}

/* Within one server or across two, no batch of copies is captured. */
static CUresult batch_to(int device)
{
    CUmemcpyAttributes attributes = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    size_t bytes = BYTES, first = 0;
    return cuMemcpyBatchAsync_v2(&memory[device], &memory[1], &bytes, 1, &attributes, &first, 1,
                                 streams[1]);
}

static void batches(void)
{
    CUgraph graph = NULL;
    fill(0, 1);
    same(value_on(0), 1);
    fill(1, 5);
    ok(batch_to(0));
    same(value_on(1), 5); /* the copy is over, too */
    same(value_on(0), 5);
    use(1);
    for (int i = 0; i < 2; i++) {
        ok(cuStreamBeginCapture_v2(streams[1], CU_STREAM_CAPTURE_MODE_RELAXED));
        gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, batch_to(i));
        gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(streams[1], &graph));
    }
}

static void captured(void)
{
    CUevent event;
    CUgraph graph = NULL;
    use(0);
    ok(cuEventCreate(&event, 0));
    ok(cuEventRecord(event, streams[0]));
    use(1);
    for (int i = 0; i < 2; i++) {
        ok(cuStreamBeginCapture_v2(streams[1], CU_STREAM_CAPTURE_MODE_RELAXED));
        gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              i ? cuStreamWaitEvent(streams[1], event, 0)
                : cuMemcpyAsync(memory[1], memory[0], BYTES, streams[1]));
        gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(streams[1], &graph));
    }
}

static void addresses(void)
{
    CUdeviceptr all[DEVICES * BLOCKS];
    for (int i = 0; i < DEVICES * BLOCKS; i++) {
        use(i % DEVICES);
        all[i] = allocate(BYTES);
        for (int j = 0; j < i; j++)
            check(all[i] + BYTES <= all[j] || all[j] + BYTES <= all[i]);
    }
    use(0); /* memory belongs to its device, whatever is current */
    for (int i = 0; i < DEVICES * BLOCKS; i++)
        ok(cuMemFree_v2(all[i]));
}

/* Both servers choose the same addresses: a large allocation on one does not hinder small ones on
 * the other. */
static void large_and_small(void)
{
    enum { LARGE = 256 * 1024, SMALL = 512, PIECES = 20 };
    CUdeviceptr large, small[PIECES];
    if (getenv("AITHERION_SANITIZED"))
        skip("a sanitizer's heap is the simulated GPU's memory: a spacer between does not move the "
             "next "
             "address");
    use(0);
    ok(cuMemAlloc_v2(&large, LARGE));
    use(1);
    for (int i = 0; i < PIECES; i++) {
        if (i % 2)
            ok(cuMemAllocAsync(&small[i], SMALL, streams[1]));
        else
            ok(cuMemAlloc_v2(&small[i], SMALL));
        check(small[i] + SMALL <= large || large + LARGE <= small[i]);
    }
    for (int i = 0; i < PIECES; i++)
        ok(cuMemFree_v2(small[i]));
    use(0);
    ok(cuMemFree_v2(large));
}

/* Frees and allocates, so that addresses are used again. */
static void *churn(void *own)
{
    int device = (int)(intptr_t)own % DEVICES, other = !device;
    use(device);
    for (int i = 0; i < 30; i++) {
        CUdeviceptr p = allocate(BYTES);
        ok(cuMemcpyPeerAsync(p, contexts[device], memory[other], contexts[other], BYTES,
                             CU_STREAM_PER_THREAD));
        ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
        same(all_of(p, N), other);
        ok(cuMemFree_v2(p));
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[2 * DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        fill(i, (float)i);
        same(value_on(i), i);
    }
    for (size_t i = 0; i < COUNT(all); i++)
        check(!pthread_create(&all[i], NULL, churn, (void *)(intptr_t)i));
    for (size_t i = 0; i < COUNT(all); i++)
        pthread_join(all[i], NULL);
}

static void pinned(void)
{
    float *host = allocate_pinned(BYTES);
    for (int i = 0; i < N; i++)
        host[i] = 11;
    for (int i = 0; i < DEVICES; i++) {
        use(i);
        ok(cuMemcpyHtoDAsync_v2(memory[i], host, BYTES, streams[i]));
        same(value_on(i), 11);
    }
    fill(1, 12);
    ok(cuMemcpyDtoHAsync_v2(host, memory[1], BYTES, streams[1]));
    ok(cuStreamSynchronize(streams[1]));
    same(host[N - 1], 12);
    use(1);
    ok(cuMemFreeHost(host));
}

/* Much memory on one leaves room on the other, although both choose the same addresses. */
static void much_and_little(void)
{
    enum { MUCH = 64 * 1024 * 1024, PIECES = 20, PIECE = 1024 * 1024 };
    void *pinned[DEVICES];
    CUdeviceptr pieces[DEVICES][PIECES];
    for (int i = 0; i < DEVICES; i++) {
        use(i);
        ok(cuMemHostAlloc(&pinned[i], i ? 4096 : MUCH, 0));
        for (int j = 0; j < PIECES; j++)
            ok(cuMemAllocManaged(&pieces[i][j], i ? 4096 : PIECE, CU_MEM_ATTACH_GLOBAL));
    }
    for (int i = 0; i < DEVICES; i++) {
        use(i);
        *(float *)(uintptr_t)pieces[i][PIECES - 1] = (float)(7 + i);
        ok(cuMemcpyDtoD_v2(memory[i], pieces[i][PIECES - 1], sizeof(float)));
        ok(cuMemcpyDtoH_v2(pinned[i], memory[i], sizeof(float)));
        same(*(float *)pinned[i], 7 + i);
        for (int j = 0; j < PIECES; j++)
            ok(cuMemFree_v2(pieces[i][j]));
        ok(cuMemFreeHost(pinned[i]));
    }
}

/* The access is a fault, and standard error explains it. */
static void managed(void)
{
    CUdeviceptr of_other;
    char said[512] = "";
    FILE *file = tmpfile();
    int standard_error = dup(STDERR_FILENO);
    float value = 1;
    int n = N;
    check(file && standard_error >= 0);
    use(1);
    ok(cuMemAllocManaged(&of_other, BYTES, CU_MEM_ATTACH_GLOBAL));
    use(0);
    void *params[] = { &of_other, &value, &n };
    ok(launch(kernel("fill"), N, streams[0], params));
    check(dup2(fileno(file), STDERR_FILENO) >= 0);
    CUresult first = cuStreamSynchronize(streams[0]), second = cuStreamSynchronize(streams[0]);
    check(dup2(standard_error, STDERR_FILENO) >= 0);
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, first);
    gives(CUDA_ERROR_ILLEGAL_ADDRESS, second);
    rewind(file);
    check(fgets(said, sizeof said, file) && strstr(said, "managed and pinned memory too"));
    check(!fgets(said, sizeof said, file)); /* once */
    fclose(file);
    close(standard_error);
    use(1);
    ok(cuCtxSynchronize());
}

/* A linker works at the server where it was made, whichever device is current then. */
static void linkers(void)
{
    char *image = read_kernels();
    for (int device = 0; device < DEVICES; device++) {
        CUlinkState linker;
        CUmodule module;
        CUfunction function;
        void *cubin;
        float value = 3;
        int n = N;
        use(device);
        ok(cuLinkCreate_v2(0, NULL, NULL, &linker));
        use(1 - device);
        ok(cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, image, strlen(image) + 1, "kernels", 0, NULL,
                            NULL));
        ok(cuLinkComplete(linker, &cubin, NULL));
        use(device);
        ok(cuModuleLoadData(&module, cubin));
        ok(cuLinkDestroy(linker));
        ok(cuModuleGetFunction(&function, module, "fill"));
        void *params[] = { &memory[device], &value, &n };
        ok(launch(function, N, streams[device], params));
        ok(cuStreamSynchronize(streams[device]));
        same(all_of(memory[device], N), 3);
    }
    free(image);
}

static const struct test tests[] = {
    { "devices are one list", devices, 0 },
    { "a library's kernel runs on both", kernels, 0 },
    { "a library that is unloaded is gone", unloaded, ONLY_SIMULATED },
    { "a library's log is written once", written_once, ONLY_SIMULATED },
    { "linkers belong to one server", linkers, 0 },
    { "objects of one server are refused on the other", strangers, 0 },
    { "memory is copied from one to the other", copies, 0 },
    { "boxes are copied", boxes, 0 },
    { "a stream that is held holds what waits for it", held, 0 },
    { "a stream waits for the other's event", events, 0 },
    { "work across servers is not captured", captured, 0 },
    { "a batch of copies is copied across servers, and not captured", batches, 0 },
    { "addresses belong to one server only", addresses, 0 },
    { "a large piece leaves room for small ones", large_and_small, 0 },
    { "threads take and free memory of both", threads, 0 },
    { "pinned memory is copied to both", pinned, 0 },
    { "a fault by the other's managed memory is explained", managed, 0 },
    { "much on one leaves room on the other", much_and_little, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
