/* Graphs: captured from streams, made by hand, launched, changed. */
#include "config.h"

#include "gpu.h"

enum { N = 1000, BYTES = N * sizeof(float) };

static CUstream stream, other;
static CUdeviceptr a, b;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    a = allocate(BYTES);
    b = allocate(BYTES);
    ok(launch_fill(a, 1, N, NULL)); /* which loads the kernels, too */
    ok(launch_saxpy(N, 0, a, b, NULL));
    ok(launch_fill(b, 1, N, NULL));
    ok(cuCtxSynchronize());
}

static void begin(void)
{
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

static CUgraph end(void)
{
    CUgraph graph;
    ok(cuStreamEndCapture(stream, &graph));
    check(graph != NULL);
    return graph;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void run(CUgraphExec exec)
{
    ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(stream));
}

static size_t node_count(CUgraph graph)
{
    size_t count = 0;
    ok(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

static void captured(void)
{
    begin();
    ok(launch_saxpy(N, 2, a, b, stream));
    ok(cuMemcpyDtoDAsync_v2(a, b, BYTES, stream));
    CUgraph graph = end();
    same(node_count(graph), 2);
    same(all_of(b, N), 1); /* nothing has run */
    CUgraphExec exec = instantiate(graph);
    run(exec);
    same(all_of(b, N), 3);
    run(exec);
    run(exec);
    same(all_of(a, N), 27);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

/* Captured work stays when the graph is destroyed and its parameters change. */
static void captured_by_value(void)
{
    begin();
    {
        CUdeviceptr p = b;
        float v = 4;
        int n = N;
        ok(launch(kernel("fill"), N, stream, (void *[]){ &p, &v, &n }));
        p = 0;
        v = 0;
        n = 0;
    }
    CUgraph graph = end();
    CUgraphExec exec = instantiate(graph);
    ok(cuGraphDestroy(graph));
    run(exec);
    same(all_of(b, N), 4);
    ok(cuGraphExecDestroy(exec));
}

static void forked(void)
{
    CUevent fork_event, join;
    ok(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
    ok(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    begin();
    ok(launch_fill(a, 3, N, stream));
    ok(cuEventRecord(fork_event, stream));
    ok(cuStreamWaitEvent(other, fork_event, 0));
    ok(launch_saxpy(N, 1, a, b, other));
    ok(cuEventRecord(join, other));
    ok(cuStreamWaitEvent(stream, join, 0));
    ok(launch_saxpy(N, 1, b, a, stream)); /* 3 + (1 + 3) */
    CUgraph graph = end();
    same(node_count(graph), 3);
    run(instantiate(graph));
    same(all_of(a, N), 7);
}

static void capture_is_told(void)
{
    CUstreamCaptureStatus status;
    uint64_t id = 0, again = 0;
    ok(cuStreamIsCapturing(stream, &status));
    same(status, CU_STREAM_CAPTURE_STATUS_NONE);
    begin();
    ok(cuStreamIsCapturing(stream, &status));
    same(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(cuStreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL));
    same(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    check(id != 0);
    ok(cuStreamGetCaptureInfo_v2(stream, &status, &again, NULL, NULL, NULL));
    check(again == id);
    ok(cuStreamIsCapturing(other, &status));
    same(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuGraphDestroy(end()));
    ok(cuStreamIsCapturing(stream, &status));
    same(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

static void unjoined(void)
{
    CUevent event;
    CUgraph graph;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    begin();
    ok(launch_fill(a, 3, N, stream));
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(other, event, 0));
    ok(launch_fill(b, 3, N, other));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
    ok(launch_fill(b, 2, N, stream)); /* the streams are free again */
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), 2);
}

static void forbidden(void)
{
    CUgraph graph;
    begin();
    ok(launch_fill(a, 3, N, stream));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    same(all_of(a, N), 1);
}

/* A launch with a fault breaks the capture, which is found ahead of the next launch's faults. */
static void a_launch_breaks_a_capture(void)
{
    enum { TOO_MANY = 2000 };
    CUgraph graph;
    int n = N;
    float value = 3;
    void *params[] = { &a, &value, &n };
    CUfunction fill = kernel("fill");
    begin();
    gives(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(fill, 1, 70000, 1, 32, 1, 1, 0, stream, params, NULL));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          cuLaunchKernel(fill, 1, 70000, 1, 32, 1, 1, 0, stream, params, NULL));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          cuLaunchKernel(fill, 1, 1, 1, TOO_MANY, 1, 1, 0, stream, params, NULL));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          cuLaunchCooperativeKernel(fill, 1, 1, 1, TOO_MANY, 1, 1, 0, stream, params));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(fill, 1, 1, 1, TOO_MANY, 1, 1, 0, stream, params, NULL));
}

static void captured_event(void)
{
    CUevent event;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    begin();
    ok(launch_fill(a, 3, N, stream));
    ok(cuEventRecord(event, stream));
    gives(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event));
    CUgraph graph;
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

/* Host memory may not be taken while a stream captures, as the GPU's may not. */
static void host_memory_is_refused(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUgraph graph;
    void *memory;
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    ok(cuMemHostAlloc(&memory, 4096, 0));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemHostAlloc(&memory, 4096, 0xf8));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemHostAlloc(&memory, 4096, 0));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&memory, 4096, 0xf8));
    ok(cuMemFreeHost(memory));
}

/* Nor may it be freed, registered or unregistered; that comes ahead of other errors. */
static void host_memory_is_kept(void)
{
    CUgraph graph;
    void *memory;
    char *own = aligned_alloc(4096, 8192);
    ok(cuMemHostAlloc(&memory, 4096, 0));
    ok(cuMemHostRegister_v2(own, 4096, 0));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFreeHost(memory));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFreeHost(own));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemHostUnregister(own));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemHostUnregister(own + 4096));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemHostRegister_v2(own + 4096, 4096, 0));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    ok(cuMemHostUnregister(own));
    ok(cuMemFreeHost(memory));
    free(own);
}

/* Copies that wait are no part of what another stream captures for this thread. */
static void copies_beside_a_capture(void)
{
    float value = 4, got = 0;
    CUgraph graph;
    CUdeviceptr p = allocate(sizeof value);
    CUstream apart;
    ok(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture_v2(apart, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ok(cuMemcpyHtoD_v2(p, &value, sizeof value));
    ok(cuMemcpyDtoH_v2(&got, p, sizeof got));
    same(got, 4);
    ok(cuStreamEndCapture(apart, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuStreamDestroy_v2(apart));
    ok(cuMemFree_v2(p));
}

/* The same for pinned memory, which both sides of shared memory reach. */
static void pinned_copies_beside_a_capture(void)
{
    enum { COUNT_OF_FLOATS = 4096 };
    const size_t bytes = COUNT_OF_FLOATS * sizeof(float);
    float *pinned;
    CUgraph graph;
    CUdeviceptr p = allocate(bytes);
    CUstream apart;
    ok(cuMemHostAlloc((void **)&pinned, 2 * bytes, 0));
    for (size_t i = 0; i < COUNT_OF_FLOATS; i++)
        pinned[i] = (float)i;
    ok(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture_v2(apart, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ok(cuMemcpyHtoD_v2(p, pinned, bytes));
    ok(cuMemcpyDtoH_v2(pinned + COUNT_OF_FLOATS, p, bytes));
    check(!memcmp(pinned, pinned + COUNT_OF_FLOATS, bytes));
    ok(cuStreamEndCapture(apart, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuStreamDestroy_v2(apart));
    ok(cuMemFreeHost(pinned));
    ok(cuMemFree_v2(p));
}

/* PyTorch allocates in another mode while it captures. */
static void exchanged_mode(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUdeviceptr p;
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    same(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuMemAlloc_v2(&p, 4096));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    same(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(launch_fill(p, 5, N, stream));
    run(instantiate(end()));
    same(all_of(p, N), 5);
}

/* A number that is no mode is kept, and forbids what the global mode does. */
static void exchanged_for_no_mode(void)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode)7;
    CUdeviceptr p;
    CUgraph graph;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    same(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    gives(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)7));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&p, 4096));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    same(mode, 7);
    gives(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(NULL));
}

/* ---- made by hand ---- */

static void fill_params(CUDA_KERNEL_NODE_PARAMS *out, void **params)
{
    *out = (CUDA_KERNEL_NODE_PARAMS){
        .func = kernel("fill"),
        .gridDimX = (N + 255) / 256,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 256,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = params,
    };
}

static float found;

static void look(void *memory)
{
    found = ((float *)memory)[N - 1];
}

static void by_hand(void)
{
    CUgraph graph;
    CUgraphNode fill, copy, set, host;
    float *pinned = allocate_pinned(BYTES), v = 6;
    int n = N;
    CUDA_KERNEL_NODE_PARAMS kernel_params;
    fill_params(&kernel_params, (void *[]){ &a, &v, &n });
    CUDA_MEMCPY3D copy_params = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = a,
        .srcPitch = BYTES,
        .dstPitch = BYTES,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = pinned,
        .WidthInBytes = BYTES,
        .Height = 1,
        .Depth = 1,
    };
    CUDA_MEMSET_NODE_PARAMS set_params = {
        .dst = b,
        .value = 0,
        .elementSize = 4,
        .width = N,
        .height = 1,
    };
    CUDA_HOST_NODE_PARAMS host_params = { .fn = look, .userData = pinned };
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddKernelNode_v2(&fill, graph, NULL, 0, &kernel_params));
    ok(cuGraphAddMemcpyNode(&copy, graph, &fill, 1, &copy_params, context));
    ok(cuGraphAddMemsetNode(&set, graph, NULL, 0, &set_params, context));
    ok(cuGraphAddHostNode(&host, graph, (CUgraphNode[]){ copy, set }, 2, &host_params));
    same(node_count(graph), 4);
    CUgraphNodeType type;
    ok(cuGraphNodeGetType(copy, &type));
    same(type, CU_GRAPH_NODE_TYPE_MEMCPY);
    size_t roots = 0;
    ok(cuGraphGetRootNodes(graph, NULL, &roots));
    same(roots, 2);
    CUgraphExec exec = instantiate(graph);
    run(exec);
    same(found, 6);
    same(all_of(b, N), 0);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFreeHost(pinned));
}

/* A graph with one node. */
static CUgraph graph_of(const CUDA_KERNEL_NODE_PARAMS *params, CUgraphNode *node)
{
    CUgraph graph;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddKernelNode_v2(node, graph, NULL, 0, params));
    return graph;
}

static void changed(void)
{
    CUgraphNode node;
    float v = 6;
    int n = N;
    CUDA_KERNEL_NODE_PARAMS params;
    fill_params(&params, (void *[]){ &a, &v, &n });
    CUgraph graph = graph_of(&params, &node);
    CUgraphExec exec = instantiate(graph);
    v = 7;
    ok(cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
    run(exec);
    same(all_of(a, N), 7);
    CUDA_KERNEL_NODE_PARAMS got;
    ok(cuGraphKernelNodeGetParams_v2(node, &got)); /* of the graph, which has not changed */
    same(got.blockDimX, 256);
    check(got.func == params.func);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

/* Writes seven numbers that all differ, and none of which is 0 or 1. */
static void number_sizes(CUDA_KERNEL_NODE_PARAMS *params, unsigned int first)
{
    unsigned int *const sizes[] = { &params->gridDimX,      &params->gridDimY,  &params->gridDimZ,
                                    &params->blockDimX,     &params->blockDimY, &params->blockDimZ,
                                    &params->sharedMemBytes };
    for (unsigned int i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i] = first + i;
}

static void has_sizes(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *given)
{
    CUDA_KERNEL_NODE_PARAMS got;
    ok(cuGraphKernelNodeGetParams_v2(node, &got));
    same(got.gridDimX, given->gridDimX);
    same(got.gridDimY, given->gridDimY);
    same(got.gridDimZ, given->gridDimZ);
    same(got.blockDimX, given->blockDimX);
    same(got.blockDimY, given->blockDimY);
    same(got.blockDimZ, given->blockDimZ);
    same(got.sharedMemBytes, given->sharedMemBytes);
}

static void node_sizes(void)
{
    CUgraphNode node;
    float v = 6;
    int n = N;
    CUDA_KERNEL_NODE_PARAMS params;
    fill_params(&params, (void *[]){ &a, &v, &n });
    number_sizes(&params, 2);
    CUgraph graph = graph_of(&params, &node);
    has_sizes(node, &params);
    number_sizes(&params, 3);
    ok(cuGraphKernelNodeSetParams_v2(node, &params));
    has_sizes(node, &params);
    ok(cuGraphDestroy(graph));
}

/* As torch does for a graph that was captured again. */
static void updated(void)
{
    CUgraphExecUpdateResultInfo info;
    begin();
    ok(launch_fill(a, 2, N, stream));
    CUgraph first = end();
    CUgraphExec exec = instantiate(first);
    begin();
    ok(launch_fill(a, 3, N, stream));
    CUgraph second = end();
    ok(cuGraphExecUpdate_v2(exec, second, &info));
    same(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    run(exec);
    same(all_of(a, N), 3);
    begin();
    ok(cuMemsetD32Async(a, 0, N, stream));
    CUgraph unlike = end();
    gives(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, unlike, &info));
    check(info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS);
}

static void child(void)
{
    CUgraph inner, outer;
    CUgraphNode first, second;
    begin();
    ok(launch_saxpy(N, 1, a, b, stream));
    inner = end();
    ok(cuGraphCreate(&outer, 0));
    ok(cuGraphAddChildGraphNode(&first, outer, NULL, 0, inner));
    ok(cuGraphAddChildGraphNode(&second, outer, &first, 1, inner));
    run(instantiate(outer));
    same(all_of(b, N), 3);
}

static void cloned(void)
{
    CUgraph clone;
    begin();
    ok(launch_fill(b, 8, N, stream));
    CUgraph graph = end();
    ok(cuGraphClone(&clone, graph));
    ok(cuGraphDestroy(graph));
    same(node_count(clone), 1);
    run(instantiate(clone));
    same(all_of(b, N), 8);
}

static void ordered_launches(void)
{
    begin();
    ok(launch_saxpy(N, 1, a, b, stream));
    CUgraphExec exec = instantiate(end());
    for (int i = 0; i < 10; i++)
        ok(cuGraphLaunch(exec, stream));
    ok(launch_saxpy(N, 1, b, a, stream)); /* after them */
    ok(cuStreamSynchronize(stream));
    same(all_of(a, N), 12);
}

static void *open_soon(void *gate)
{
    sleep_ms(50);
    open_gate(gate);
    return NULL;
}

/* The graph's work is still done. The driver may let the call wait for it, or not. */
static void destroyed(void)
{
    struct gate gate = GATE;
    begin();
    ok(launch_fill(b, 9, N, stream));
    CUgraph graph = end();
    CUgraphExec exec = instantiate(graph);
    pthread_t opener;
    close_gate(&gate, stream);
    ok(cuGraphLaunch(exec, stream));
    check(!pthread_create(&opener, NULL, open_soon, &gate));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    check(!pthread_join(opener, NULL));
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), 9);
}

static int ended;

static void note_end(void *unused)
{
    (void)unused;
    __atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
}

/* Objects that a graph uses live as long as the graph and everything made from it. */
static void user_objects(void)
{
    struct gate gate = GATE;
    CUuserObject object, own;
    begin();
    ok(launch_fill(b, 9, N, stream));
    CUgraph graph = end(), clone;
    ok(cuUserObjectCreate(&object, NULL, note_end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CUgraphExec exec = instantiate(graph);
    ok(cuGraphClone(&clone, graph));
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(clone));
    run(exec);
    sleep_ms(20);
    same(__atomic_load_n(&ended, __ATOMIC_ACQUIRE), 0);
    close_gate(&gate, stream);
    ok(cuGraphLaunch(exec, stream));
    open_gate(&gate);
    ok(cuGraphExecDestroy(exec));
    ok(cuStreamSynchronize(stream));
    check(becomes(&ended, 1));
    ok(cuUserObjectCreate(&own, NULL, note_end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuUserObjectRetain(own, 2));
    ok(cuUserObjectRelease(own, 2));
    same(__atomic_load_n(&ended, __ATOMIC_ACQUIRE), 1);
    ok(cuUserObjectRelease(own, 1));
    check(becomes(&ended, 2));
}

static void *free_pinned(void *pinned)
{
    ok(cuCtxSetCurrent(context));
    ok(cuMemFreeHost(pinned));
    ok(cuMemFreeHost(allocate_pinned(BYTES)));
    return NULL;
}

/* Another thread may free memory; only a wait for the whole context would break a capture. */
static void free_beside(void)
{
    pthread_t thread;
    float *pinned = allocate_pinned(BYTES);
    ok(cuMemcpyHtoDAsync_v2(b, pinned, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    begin();
    ok(launch_fill(a, 5, N, stream));
    check(!pthread_create(&thread, NULL, free_pinned, pinned));
    check(!pthread_join(thread, NULL));
    ok(launch_saxpy(N, 1, a, a, stream));
    CUgraph graph = end();
    same(node_count(graph), 2);
    run(instantiate(graph));
    same(all_of(a, N), 10);
    ok(cuMemFreeHost(allocate_pinned(BYTES)));
}

/* A destroyed stream ends its capture, and leaves no trace of a capture. */
static void destroyed_amid(void)
{
    CUstream gone;
    CUstreamCaptureStatus status;
    ok(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture_v2(gone, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ok(launch_fill(a, 5, N, gone));
    ok(cuStreamDestroy_v2(gone));
    ok(cuStreamIsCapturing(stream, &status));
    same(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuCtxSynchronize());
    ok(cuMemFreeHost(allocate_pinned(BYTES)));
    begin();
    ok(launch_fill(a, 7, N, stream));
    CUgraph graph = end();
    run(instantiate(graph));
    same(all_of(a, N), 7);
}

static void *wait_for_all(void *unused)
{
    (void)unused;
    ok(cuCtxSetCurrent(context));
    gives(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
    return NULL;
}

static void waited_for_beside(void)
{
    pthread_t thread;
    CUgraph graph;
    begin();
    ok(launch_fill(a, 5, N, stream));
    check(!pthread_create(&thread, NULL, wait_for_all, NULL));
    check(!pthread_join(thread, NULL));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

static void cycle(void)
{
    CUgraph graph;
    CUgraphNode first, second;
    CUgraphExec exec;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    ok(cuGraphAddEmptyNode(&second, graph, &first, 1));
    CUresult status = cuGraphAddDependencies(graph, &second, &first, 1);
    if (!status)
        status = cuGraphInstantiateWithFlags(&exec, graph, 0);
    gives(CUDA_ERROR_INVALID_VALUE, status);
}

/* ---- host memory ---- */

/* A copy in a graph reads its source and writes its target again at each launch. */
static void copies_of(float *in, float *out)
{
    begin();
    CUresult status = cuMemcpyHtoDAsync_v2(a, in, BYTES, stream);
    if (status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        skip("such memory can't be captured");
    ok(status);
    ok(launch_saxpy(N, 1, a, b, stream));
    ok(cuMemcpyDtoHAsync_v2(out, b, BYTES, stream));
    CUgraph graph = end();
    CUgraphExec exec = instantiate(graph);
    ok(launch_fill(b, 1, N, stream));
    for (int i = 1; i < 4; i++) {
        for (int k = 0; k < N; k++)
            in[k] = (float)i;
        out[0] = out[N - 1] = 0;
        run(exec);
        same(out[0], 1 + i * (i + 1) / 2);
        same(out[N - 1], out[0]);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

static void pinned_copies(void)
{
    copies_of(allocate_pinned(BYTES), allocate_pinned(BYTES));
}

static void pageable_copies(void)
{
    float *in = malloc(BYTES), *out = malloc(BYTES);
    copies_of(in, out);
    free(in);
    free(out);
}

/* A graph's copies work, even after other graphs with copies are gone. */
static void pageable_graphs_in_turn(void)
{
    enum { ROUNDS = 6 };
    static float in[ROUNDS][N];
    CUgraphExec kept[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        begin();
        ok(cuMemcpyHtoDAsync_v2(a, in[i], i % 2 ? BYTES / 2 : BYTES, stream));
        CUgraph graph = end();
        kept[i] = instantiate(graph);
        ok(cuGraphDestroy(graph));
        if (i % 3 == 1)
            ok(cuGraphExecDestroy(kept[i]));
        sleep_ms(5);
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 3 == 1)
            continue;
        in[i][0] = (float)(i + 1);
        run(kept[i]);
        float first;
        ok(cuMemcpyDtoH_v2(&first, a, sizeof first));
        same(first, i + 1);
        ok(cuGraphExecDestroy(kept[i]));
    }
}

/* The same with nodes that the program adds. */
static void pageable_nodes(void)
{
    static float in[N], out[N];
    CUgraph graph;
    CUgraphNode there, kernel_node, back;
    float one = 1;
    int n = N;
    void *params[] = { &n, &one, &a, &b };
    const CUDA_KERNEL_NODE_PARAMS saxpy = { .func = kernel("saxpy"),
                                            .gridDimX = (N + 127) / 128,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 128,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = params };
    CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = in,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = a,
                           .WidthInBytes = BYTES,
                           .Height = 1,
                           .Depth = 1 };
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemcpyNode(&there, graph, NULL, 0, &copy, context));
    ok(cuGraphAddKernelNode_v2(&kernel_node, graph, &there, 1, &saxpy));
    copy = (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = b,
                            .srcXInBytes = 4, /* all except the first */
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = out,
                            .dstXInBytes = 4,
                            .WidthInBytes = BYTES - 4,
                            .Height = 1,
                            .Depth = 1 };
    ok(cuGraphAddMemcpyNode(&back, graph, NULL, 0, &copy, context));
    ok(cuGraphAddDependencies(graph, &kernel_node, &back, 1));
    CUgraphExec exec = instantiate(graph);
    ok(launch_fill(b, 1, N, stream));
    for (int i = 1; i < 4; i++) {
        for (int k = 0; k < N; k++)
            in[k] = (float)i;
        run(exec);
        same(out[0], 0);
        same(out[1], 1 + i * (i + 1) / 2);
        same(out[N - 1], out[1]);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

enum { ROWS = 3, WIDTH = 5, PITCH = 8, CELLS = ROWS * PITCH };

/* A copy from rows of PITCH in the program's memory to rows of WIDTH in the GPU's. */
static CUDA_MEMCPY3D rows_to(CUdeviceptr to, const float *from)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_HOST,
                            .srcHost = from,
                            .srcXInBytes = sizeof(float),
                            .srcPitch = PITCH * sizeof(float),
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = to,
                            .dstPitch = WIDTH * sizeof(float),
                            .WidthInBytes = WIDTH * sizeof(float),
                            .Height = ROWS,
                            .Depth = 1 };
}

static CUDA_MEMCPY3D rows_from(float *to, CUdeviceptr from)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = from,
                            .srcPitch = WIDTH * sizeof(float),
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = to,
                            .dstY = 1,
                            .dstPitch = PITCH * sizeof(float),
                            .WidthInBytes = WIDTH * sizeof(float),
                            .Height = ROWS - 1,
                            .Depth = 1 };
}

static CUDA_MEMCPY3D here(float *to, const float *from)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_HOST,
                            .srcHost = from,
                            .srcPitch = PITCH * sizeof(float),
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = to,
                            .dstPitch = PITCH * sizeof(float),
                            .WidthInBytes = 2 * sizeof(float),
                            .Height = ROWS,
                            .Depth = 1 };
}

/* Each launch copies rows from in[0] over the GPU to out, and from in[0] to in[1]. */
static void moves_rows(CUgraph graph, float in[2][CELLS], float out[CELLS])
{
    CUgraphExec exec = instantiate(graph);
    for (int i = 1; i < 3; i++) {
        for (int k = 0; k < CELLS; k++)
            in[0][k] = (float)(100 * i + k);
        run(exec);
        same(out[0], 0);
        same(out[PITCH], 100 * i + 1);
        same(out[2 * PITCH + WIDTH - 1], 100 * i + PITCH + WIDTH);
        same(out[2 * PITCH + WIDTH], 0);
        same(in[1][PITCH + 1], 100 * i + PITCH + 1);
        same(in[1][PITCH + 2], 0);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

static void pageable_rows(void)
{
    static float in[2][CELLS], out[CELLS];
    const CUDA_MEMCPY3D copies[] = { rows_to(a, in[0]), rows_from(out, a), here(in[1], in[0]) };
    begin();
    CUresult status = cuMemcpy3DAsync_v2(&copies[0], stream);
    if (status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        skip("such memory can't be captured");
    ok(status);
    ok(cuMemcpy3DAsync_v2(&copies[1], stream));
    ok(cuMemcpy3DAsync_v2(&copies[2], stream));
    moves_rows(end(), in, out);
}

static void pageable_rows_by_nodes(void)
{
    static float in[2][CELLS], out[CELLS];
    const CUDA_MEMCPY3D copies[] = { rows_to(a, in[0]), rows_from(out, a), here(in[1], in[0]) };
    CUgraph graph;
    CUgraphNode node = NULL;
    ok(cuGraphCreate(&graph, 0));
    for (size_t i = 0; i < COUNT(copies); i++)
        ok(cuGraphAddMemcpyNode(&node, graph, &node, i > 0, &copies[i], context));
    moves_rows(graph, in, out);
}

/* Also between two buffers of the program, and to and from an array. */
static void pageable_rest(void)
{
    static float in[N], out[N], copied[N];
    const CUDA_ARRAY_DESCRIPTOR shape = { N, 0, CU_AD_FORMAT_FLOAT, 1 };
    CUarray array;
    ok(cuArrayCreate_v2(&array, &shape));
    begin();
    CUresult status = cuMemcpyHtoAAsync_v2(array, 0, in, BYTES, stream);
    if (status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        skip("such memory can't be captured");
    ok(status);
    ok(cuMemcpyAtoHAsync_v2(out, array, sizeof(float), BYTES - sizeof(float), stream));
    ok(cuMemcpyAsync((uintptr_t)copied, (uintptr_t)out, BYTES, stream));
    CUgraph graph = end();
    CUgraphExec exec = instantiate(graph);
    for (int i = 1; i < 3; i++) {
        in[1] = (float)i;
        in[N - 1] = (float)(2 * i);
        run(exec);
        same(copied[0], i);
        same(copied[N - 2], 2 * i);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuArrayDestroy(array));
}

static void nothing(void *unused)
{
    (void)unused;
}

/* A host function that may be due in a graph does not change captures. */
static void after_host_nodes(void)
{
    CUgraph graph;
    CUgraphNode node;
    const CUDA_HOST_NODE_PARAMS params = { .fn = nothing };
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; i++) {
        begin();
        ok(launch_fill(a, (float)(5 + i), N, stream));
        ok(cuLaunchHostFunc(stream, nothing, NULL));
        CUgraphExec captured_one = instantiate(end());
        run(captured_one);
        run(exec);
        same(all_of(a, N), 5 + i);
    }
}

static void not_recorded(void)
{
    CUevent event;
    CUgraph graph;
    CUstream blocking;
    ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    ok(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    ok(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    gives(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuEventRecord(event, NULL));
    gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
    ok(cuEventSynchronize(event));
    ok(cuEventDestroy_v2(event));
    ok(cuStreamDestroy_v2(blocking));
}

/* The legacy stream would wait for a capturing stream, so any call on it ends the capture. */
static void legacy_beside(void)
{
    float value = 1;
    CUgraph graph;
    CUstream blocking;
    ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    for (int i = 0; i < 3; i++) {
        ok(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CUresult status = i == 0   ? cuMemcpyHtoD_v2(a, &value, sizeof value)
                          : i == 1 ? cuMemcpyDtoH_v2(&value, a, sizeof value)
                                   : launch_fill(a, 3, N, NULL);
        check(status == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
              status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        gives(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
        ok(cuCtxSynchronize()); /* no effect of it comes later */
    }
    same(all_of(a, N), 1);
}

/* ---- conditional nodes ---- */

static CUgraphConditionalHandle condition_of(CUgraph graph, unsigned int value)
{
    CUgraphConditionalHandle handle;
    ok(cuGraphConditionalHandleCreate(&handle, graph, context, value,
                                      CU_GRAPH_COND_ASSIGN_DEFAULT));
    return handle;
}

/* A graph with a conditional node; *out are its bodies. */
static CUgraphNode add_conditional(CUgraph graph, CUgraphConditionalHandle handle,
                                   CUgraphConditionalNodeType type, unsigned int size,
                                   CUgraph **out)
{
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    CUgraphNode node;
    CUgraphNodeType told;
    params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = handle, .type = type, .size = size, .ctx = context
    };
    ok(cuGraphAddNode(&node, graph, NULL, 0, &params));
    check(params.conditional.phGraph_out && params.conditional.phGraph_out[0]);
    ok(cuGraphNodeGetType(node, &told));
    same(told, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    *out = params.conditional.phGraph_out;
    return node;
}

/* Its work is captured into an existing graph. */
static void capture_fill(CUgraph graph, float v)
{
    CUgraph got;
    ok(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ok(launch_fill(a, v, N, stream));
    bool is_asked = v > 10;
    ok(cuStreamEndCapture(stream, is_asked ? &got : NULL));
    check(!is_asked || got == graph);
}

/* The content of a after a launch with a value. */
static float chosen(CUgraphConditionalNodeType type, unsigned int size, unsigned int value)
{
    CUgraph graph, *bodies;
    ok(cuGraphCreate(&graph, 0));
    add_conditional(graph, condition_of(graph, value), type, size, &bodies);
    for (unsigned int i = 0; i < size; i++)
        capture_fill(bodies[i], (float)(10 + i));
    CUgraphExec exec = instantiate(graph);
    ok(launch_fill(a, 1, N, stream));
    run(exec);
    run(exec);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    return all_of(a, N);
}

static void conditional(void)
{
    same(chosen(CU_GRAPH_COND_TYPE_IF, 1, 1), 10);
    same(chosen(CU_GRAPH_COND_TYPE_IF, 1, 0), 1);
    same(chosen(CU_GRAPH_COND_TYPE_WHILE, 1, 0), 1);
}

static void branches(void)
{
    int version;
    ok(cuDriverGetVersion(&version));
    if (version < 12080)
        skip("the driver is older than these nodes");
    same(chosen(CU_GRAPH_COND_TYPE_IF, 2, 1), 10);
    same(chosen(CU_GRAPH_COND_TYPE_IF, 2, 0), 11);
    same(chosen(CU_GRAPH_COND_TYPE_SWITCH, 3, 2), 12);
    same(chosen(CU_GRAPH_COND_TYPE_SWITCH, 3, 3), 1);
}

/* On a GPU a kernel needs the device's runtime for it, which plain PTX does not have. */
static const char setter[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                             ".visible .entry set_conditional(.param .u64 h, .param .u32 v)\n"
                             "{\n\tret;\n}\n";

static void loop(void)
{
    CUmodule module;
    CUfunction set;
    CUgraph graph, *bodies;
    CUgraphNode node;
    unsigned int off = 0;
    ok(cuModuleLoadData(&module, setter));
    ok(cuModuleGetFunction(&set, module, "set_conditional"));
    ok(cuGraphCreate(&graph, 0));
    CUgraphConditionalHandle handle = condition_of(graph, 1);
    add_conditional(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1, &bodies);
    void *params[] = { &handle, &off };
    const CUDA_KERNEL_NODE_PARAMS last = { .func = set,
                                           .gridDimX = 1,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = 1,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .kernelParams = params };
    capture_fill(bodies[0], 7);
    ok(cuGraphAddKernelNode_v2(&node, bodies[0], NULL, 0, &last));
    CUgraphExec exec = instantiate(graph);
    run(exec);
    same(all_of(a, N), 7);
    ok(launch_fill(a, 1, N, stream));
    run(exec); /* the value starts again */
    same(all_of(a, N), 7);
}

static void wrong_conditional(void)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    ok(cuGraphCreate(&graph, 0));
    params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = condition_of(graph, 1), .type = CU_GRAPH_COND_TYPE_IF, .size = 0, .ctx = context
    };
    gives(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &params));
}

static uint64_t graph_memory(CUgraphMem_attribute attribute)
{
    uint64_t bytes = 0;
    ok(cuDeviceGetGraphMemAttribute(0, attribute, &bytes));
    return bytes;
}

/* The graph itself allocates, sets, copies and frees the memory, at each launch. */
static void own_memory(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc_params = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
        .bytesize = BYTES
    };
    CUgraph graph;
    CUgraphNode taken, set, copy, freed;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemAllocNode(&taken, graph, NULL, 0, &alloc_params));
    check(alloc_params.dptr);
    const CUDA_MEMSET_NODE_PARAMS set_params = {
        .dst = alloc_params.dptr, .value = 0x40400000, .elementSize = 4, .width = N, .height = 1
    };
    const CUDA_MEMCPY3D copy_params = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = alloc_params.dptr,
        .srcPitch = BYTES,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = b,
        .dstPitch = BYTES,
        .WidthInBytes = BYTES,
        .Height = 1,
        .Depth = 1,
    };
    ok(cuGraphAddMemsetNode(&set, graph, &taken, 1, &set_params, context));
    ok(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &copy_params, context));
    ok(cuGraphAddMemFreeNode(&freed, graph, &copy, 1, alloc_params.dptr));
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        ok(cuMemsetD32_v2(b, 0, N));
        ok(cuCtxSynchronize()); /* the graph's stream does not wait for the legacy one */
        run(exec);
        same(all_of(b, N), 3);
        check(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= BYTES);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuDeviceGraphMemTrim(0));
    same(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
    check(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) >= BYTES);
}

static const struct test tests[] = {
    { "captured work runs at each launch", captured, 0 },
    { "captured parameters are kept by value", captured_by_value, 0 },
    { "a capture goes over streams", forked, 0 },
    { "a stream reports whether it captures", capture_is_told, 0 },
    { "a stream that does not join is an error", unjoined, 0 },
    { "a synchronize breaks the capture", forbidden, 0 },
    { "a captured event can't be asked", captured_event, 0 },
    { "a launch with a fault breaks the capture", a_launch_breaks_a_capture, 0 },
    { "memory is allocated in relaxed mode", exchanged_mode, 0 },
    { "a mode that does not exist is kept", exchanged_for_no_mode, 0 },
    { "host memory taken during a capture", host_memory_is_refused, 0 },
    { "nor is it freed or registered", host_memory_is_kept, 0 },
    { "copies that wait beside a capture", copies_beside_a_capture, 0 },
    { "pinned copies that wait beside a capture", pinned_copies_beside_a_capture, 0 },
    { "pinned memory is freed beside a capture", free_beside, 0 },
    { "a stream is destroyed during its capture", destroyed_amid, 0 },
    { "a wait for the context breaks the capture", waited_for_beside, 0 },
    { "a graph is made by hand", by_hand, 0 },
    { "an executable graph is changed", changed, 0 },
    { "a node keeps the sizes of its launch", node_sizes, 0 },
    { "an executable graph is updated", updated, 0 },
    { "a graph is part of another", child, 0 },
    { "a graph is cloned", cloned, 0 },
    { "launches are in order", ordered_launches, 0 },
    { "a graph may be destroyed while it runs", destroyed, 0 },
    { "user objects live as long as graphs use them", user_objects, 0 },
    { "a cycle is refused", cycle, 0 },
    { "pinned memory is copied again at each launch", pinned_copies, 0 },
    { "pageable memory is, too", pageable_copies, 0 },
    { "and by nodes of the program's", pageable_nodes, 0 },
    { "rows of pageable memory are, too", pageable_rows, 0 },
    { "and those by nodes of the program's", pageable_rows_by_nodes, 0 },
    { "what goes past the GPU or into an array is, too", pageable_rest, 0 },
    { "graphs with pageable memory come and go", pageable_graphs_in_turn, 0 },
    { "captures go on where a graph has host functions", after_host_nodes, 0 },
    { "the legacy stream breaks a capture", legacy_beside, 0 },
    { "an event that could not be recorded is not waited for", not_recorded, 0 },
    { "a conditional node's graph runs if its condition holds", conditional, 0 },
    { "a conditional node chooses one of its graphs", branches, 0 },
    { "a conditional node runs until a kernel says so", loop, ONLY_SIMULATED },
    { "a conditional node without a graph is refused", wrong_conditional, 0 },
    { "a graph has memory of its own", own_memory, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
