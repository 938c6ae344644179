/* Graphs beyond a capture: branches and loops, launches from the device, memory, updates. */
#include "driver.cuh"

enum { N = 1 << 16, BLOCKS = N / 256 };

__global__ void add(int *values, int by)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

/* It waits for no other stream, so what those do is done first. */
static cudaStream_t new_stream()
{
    cudaStream_t stream;
    ok(cudaDeviceSynchronize());
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static cudaGraphExec_t ready(cudaGraph_t graph, unsigned flags = 0)
{
    cudaGraphExec_t exec;
    ok(cudaGraphInstantiate(&exec, graph, flags));
    return exec;
}

static void run(cudaGraphExec_t exec, int times = 1)
{
    cudaStream_t stream = new_stream();
    for (int i = 0; i < times; i++)
        ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    ok(cudaStreamDestroy(stream));
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, void *kernel, dim3 grid, void **args,
                                  std::vector<cudaGraphNode_t> after = {})
{
    cudaGraphNode_t node;
    cudaKernelNodeParams what = {};
    what.func = kernel;
    what.gridDim = grid;
    what.blockDim = dim3(grid.x == 1 ? 1 : 256);
    what.kernelParams = args;
    ok(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &what));
    return node;
}

/* ---- branches and loops ---- */

__global__ void decide(cudaGraphConditionalHandle handle, const int *value)
{
    cudaGraphSetConditional(handle, (unsigned)*value);
}

__global__ void count_down(cudaGraphConditionalHandle handle, int *value)
{
    cudaGraphSetConditional(handle, (unsigned)--*value);
}

static cudaGraphNodeParams conditional(cudaGraph_t graph, cudaGraphConditionalNodeType type,
                                       unsigned bodies)
{
    cudaGraphNodeParams what = {};
    what.type = cudaGraphNodeTypeConditional;
    what.conditional.type = type;
    what.conditional.size = bodies;
    ok(cudaGraphConditionalHandleCreate(&what.conditional.handle, graph, 0, 0));
    return what;
}

/* Fills a body with the captured calls of a stream. */
static void fill_body(cudaGraph_t body, int *values, int by)
{
    cudaStream_t stream = new_stream();
    ok(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                     cudaStreamCaptureModeRelaxed));
    add<<<BLOCKS, 256, 0, stream>>>(values, by);
    ok(cudaGetLastError());
    ok(cudaStreamEndCapture(stream, nullptr));
    ok(cudaStreamDestroy(stream));
}

static void branches(cudaGraphConditionalNodeType type, unsigned bodies,
                     const std::vector<int> &wanted)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    int *value = on_device<int>(1), *values = on_device<int>(N);
    ok(cudaGraphCreate(&graph, 0));
    cudaGraphNodeParams what = conditional(graph, type, bodies);
    void *args[] = { &what.conditional.handle, &value };
    cudaGraphNode_t first = add_kernel(graph, (void *)decide, 1, args);
    ok(cudaGraphAddNode(&node, graph, &first, nullptr, 1, &what));
    for (unsigned i = 0; i < bodies; i++)
        fill_body(what.conditional.phGraph_out[i], values, i ? 100 * (int)i : 1);
    cudaGraphExec_t exec = ready(graph);
    for (size_t i = 0; i < wanted.size(); i++) {
        int now = (int)i;
        ok(cudaMemcpy(value, &now, sizeof now, cudaMemcpyHostToDevice));
        run(exec);
        check(all_are(read(values, N).data(), N, wanted[i]));
    }
}

static void if_and_switch()
{
    needs_a_gpu();
    branches(cudaGraphCondTypeIf, 1, { 0, 1, 2 });
    branches(cudaGraphCondTypeIf, 2, { 100, 101, 102 }); /* the second body is `else` */
    branches(cudaGraphCondTypeSwitch, 3, { 1, 101, 301, 301 });
}

static void while_loop()
{
    needs_a_gpu();
    cudaGraph_t graph;
    cudaGraphNode_t node;
    int rounds = 50, *value = on_device<int>(1), *values = on_device<int>(N);
    ok(cudaGraphCreate(&graph, 0));
    cudaGraphNodeParams what = conditional(graph, cudaGraphCondTypeWhile, 1);
    void *args[] = { &what.conditional.handle, &value };
    cudaGraphNode_t first = add_kernel(graph, (void *)decide, 1, args);
    ok(cudaGraphAddNode(&node, graph, &first, nullptr, 1, &what));
    fill_body(what.conditional.phGraph_out[0], values, 1);
    cudaGraphNode_t last;
    size_t count = 1;
    ok(cudaGraphGetNodes(what.conditional.phGraph_out[0], &last, &count));
    add_kernel(what.conditional.phGraph_out[0], (void *)count_down, 1, args, { last });
    ok(cudaMemcpy(value, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
    run(ready(graph));
    check(all_are(read(values, N).data(), N, rounds) && read(value, 1)[0] == 0);
    cudaGraphNodeType type;
    ok(cudaGraphNodeGetType(node, &type));
    check(type == cudaGraphNodeTypeConditional);
}

/* ---- launches from the device ---- */

__global__ void launch_it(cudaGraphExec_t exec)
{
    cudaGraphLaunch(exec, cudaStreamGraphFireAndForget);
}

__global__ void launch_again(int *left)
{
    if (--*left > 0)
        cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

static cudaGraph_t of_one_kernel(void *kernel, dim3 grid, void **args)
{
    cudaGraph_t graph;
    ok(cudaGraphCreate(&graph, 0));
    add_kernel(graph, kernel, grid, args);
    return graph;
}

static void launched_by_a_kernel()
{
    needs_a_gpu();
    int *values = on_device<int>(N), *left = on_device<int>(1), by = 3, rounds = 10;
    void *args[] = { &values, &by }, *no_args[] = { &left };
    cudaGraphExec_t inner =
        ready(of_one_kernel((void *)add, BLOCKS, args), cudaGraphInstantiateFlagDeviceLaunch);
    cudaStream_t stream = new_stream();
    ok(cudaGraphUpload(inner, stream));
    ok(cudaStreamSynchronize(stream));
    void *launch_args[] = { &inner };
    run(ready(of_one_kernel((void *)launch_it, 1, launch_args)), 4);
    check(all_are(read(values, N).data(), N, 12));

    cudaGraphExec_t again = ready(of_one_kernel((void *)launch_again, 1, no_args),
                                  cudaGraphInstantiateFlagDeviceLaunch);
    ok(cudaMemcpy(left, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
    ok(cudaDeviceSynchronize());
    ok(cudaGraphUpload(again, stream));
    ok(cudaGraphLaunch(again, stream));
    ok(cudaStreamSynchronize(stream));
    check(read(left, 1)[0] == 0);
}

__global__ void change_node(cudaGraphDeviceNode_t node, int by, bool is_on)
{
    cudaGraphKernelNodeSetParam(node, sizeof(int *), by); /* behind the pointer */
    cudaGraphKernelNodeSetEnabled(node, is_on);
}

static void changed_by_a_kernel()
{
    needs_a_gpu();
    cudaGraph_t graph;
    int *values = on_device<int>(N), by = 1;
    void *args[] = { &values, &by };
    ok(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = add_kernel(graph, (void *)add, BLOCKS, args);
    cudaLaunchAttributeValue value = {};
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    ok(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    ok(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    check(value.deviceUpdatableKernelNode.devNode);
    cudaGraphExec_t exec = ready(graph);
    cudaStream_t stream = new_stream();
    ok(cudaGraphUpload(exec, stream));
    ok(cudaGraphLaunch(exec, stream));
    change_node<<<1, 1, 0, stream>>>(value.deviceUpdatableKernelNode.devNode, 10, true);
    ok(cudaGraphLaunch(exec, stream));
    change_node<<<1, 1, 0, stream>>>(value.deviceUpdatableKernelNode.devNode, 20, false);
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(values, N).data(), N, 11));
}

/* ---- memory ---- */

static void memory_of_graphs()
{
    needs_a_gpu();
    cudaGraph_t graph;
    int *kept = on_device<int>(N), *inner = nullptr;
    cudaStream_t stream = new_stream();
    size_t used, reserved;
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ok(cudaMallocAsync(&inner, N * sizeof(int), stream));
    ok(cudaMemsetAsync(inner, 0, N * sizeof(int), stream));
    add<<<BLOCKS, 256, 0, stream>>>(inner, 5);
    ok(cudaMemcpyAsync(kept, inner, N * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    ok(cudaFreeAsync(inner, stream));
    ok(cudaStreamEndCapture(stream, &graph));
    run(ready(graph), 5);
    check(all_are(read(kept, N).data(), N, 5));
    ok(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
    ok(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
    printf("= used at most %zu, reserved %zu\n", used, reserved);
    check(used >= N * sizeof(int));
    ok(cudaDeviceGraphMemTrim(0));
}

/* Memory that a graph allocates may outlive the graph, and another stream may free it. */
static void memory_outlives_its_graph()
{
    needs_a_gpu();
    cudaGraph_t graph;
    cudaStream_t stream = new_stream();
    int *outlives = nullptr;
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ok(cudaMallocAsync(&outlives, N * sizeof(int), stream));
    ok(cudaMemsetAsync(outlives, 0, N * sizeof(int), stream));
    ok(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = ready(graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    for (int i = 0; i < 3; i++) {
        ok(cudaGraphLaunch(exec, stream));
        add<<<BLOCKS, 256, 0, stream>>>(outlives, i);
        ok(cudaStreamSynchronize(stream));
        check(all_are(read(outlives, N).data(), N, i));
    }
    ok(cudaFreeAsync(outlives, stream));
    ok(cudaStreamSynchronize(stream));
}

/* Each launch takes what is then in the host's memory. */
static void captured_copies_of(int *from, int *to)
{
    cudaGraph_t graph;
    int *device = on_device<int>(N);
    cudaStream_t stream = new_stream();
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ok(cudaMemcpyAsync(device, from, N * sizeof(int), cudaMemcpyHostToDevice, stream));
    add<<<BLOCKS, 256, 0, stream>>>(device, 1);
    ok(cudaMemcpyAsync(to, device, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    ok(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = ready(graph);
    for (int i = 0; i < 5; i++) {
        for (size_t j = 0; j < N; j++)
            from[j] = 10 * i;
        run(exec);
        check(all_are(to, N, 10 * i + 1));
    }
}

static void captured_copies_of_pinned_memory()
{
    needs_a_gpu();
    int *from, *to;
    ok(cudaMallocHost(&from, N * sizeof(int)));
    ok(cudaMallocHost(&to, N * sizeof(int)));
    captured_copies_of(from, to);
}

static void captured_copies_of_plain_memory()
{
    needs_a_gpu();
    std::vector<int> from(N), to(N);
    captured_copies_of(from.data(), to.data());
}

/* ---- updates ---- */

static void changed_in_place()
{
    needs_a_gpu();
    cudaGraph_t graph;
    int *values = on_device<int>(N), by = 1;
    void *args[] = { &values, &by };
    ok(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = add_kernel(graph, (void *)add, BLOCKS, args);
    cudaGraphExec_t exec = ready(graph);
    cudaKernelNodeParams what;
    ok(cudaGraphKernelNodeGetParams(node, &what));
    check(what.func == (void *)add && what.gridDim.x == BLOCKS);
    for (by = 2; by < 5; by++) {
        what.kernelParams = args;
        ok(cudaGraphExecKernelNodeSetParams(exec, node, &what));
        run(exec);
    }
    unsigned is_on;
    ok(cudaGraphNodeSetEnabled(exec, node, 0));
    ok(cudaGraphNodeGetEnabled(exec, node, &is_on));
    run(exec);
    check(!is_on && all_are(read(values, N).data(), N, 9));

    by = 100;
    cudaGraph_t other = of_one_kernel((void *)add, BLOCKS, args);
    cudaGraphExecUpdateResultInfo how;
    ok(cudaGraphExecUpdate(exec, other, &how));
    check(how.result == cudaGraphExecUpdateSuccess);
    ok(cudaGraphNodeSetEnabled(exec, node, 1));
    run(exec);
    check(all_are(read(values, N).data(), N, 109));
    add_kernel(other, (void *)add, BLOCKS, args);
    cudaError_t got = cudaGraphExecUpdate(exec, other, &how);
    printf("= one node more: %s %d\n", cudaGetErrorName(got), how.result);
    check(got == cudaErrorGraphExecUpdateFailure);
}

static void graphs_in_graphs()
{
    needs_a_gpu();
    cudaGraph_t graph, inner, copy;
    cudaGraphNode_t child, there;
    int *values = on_device<int>(N), by = 1;
    void *args[] = { &values, &by };
    ok(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first = add_kernel(graph, (void *)add, BLOCKS, args);
    by = 10;
    ok(cudaGraphAddChildGraphNode(&child, graph, &first, 1,
                                  of_one_kernel((void *)add, BLOCKS, args)));
    ok(cudaGraphChildGraphNodeGetGraph(child, &inner));
    size_t count;
    ok(cudaGraphGetNodes(inner, nullptr, &count));
    check(count == 1);
    ok(cudaGraphClone(&copy, graph));
    ok(cudaGraphNodeFindInClone(&there, child, copy));
    by = 100;
    add_kernel(copy, (void *)add, BLOCKS, args, { there });
    run(ready(graph), 2);
    run(ready(copy), 2);
    check(all_are(read(values, N).data(), N, 2 * 11 + 2 * 111));
    ok(cudaGraphDestroyNode(there));
    ok(cudaGraphGetEdges(copy, nullptr, nullptr, nullptr, &count));
    check(count == 0);
}

static void streams_fork_and_join()
{
    needs_a_gpu();
    cudaGraph_t graph;
    cudaEvent_t forked, joined;
    int *x = on_device<int>(N), *y = on_device<int>(N);
    cudaStream_t a = new_stream(), b = new_stream();
    ok(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    ok(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    ok(cudaEventRecord(forked, a));
    ok(cudaStreamWaitEvent(b, forked, 0));
    add<<<BLOCKS, 256, 0, a>>>(x, 1);
    add<<<BLOCKS, 256, 0, b>>>(y, 2);
    cudaStreamCaptureStatus status;
    unsigned long long id;
    ok(cudaStreamIsCapturing(b, &status));
    check(status == cudaStreamCaptureStatusActive);
    ok(cudaStreamGetCaptureInfo(b, &status, &id, nullptr, nullptr, nullptr, nullptr));
    ok(cudaEventRecord(joined, b));
    ok(cudaStreamWaitEvent(a, joined, 0));
    add<<<BLOCKS, 256, 0, a>>>(y, 4);
    ok(cudaStreamEndCapture(a, &graph));
    size_t nodes, edges;
    ok(cudaGraphGetNodes(graph, nullptr, &nodes));
    ok(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    printf("= %zu nodes, %zu edges\n", nodes, edges);
    run(ready(graph), 3);
    check(all_are(read(x, N).data(), N, 3) && all_are(read(y, N).data(), N, 18));
}

static void captures_that_fail()
{
    needs_a_gpu();
    cudaGraph_t graph;
    int *values = on_device<int>(N);
    cudaStream_t stream = new_stream();
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<BLOCKS, 256, 0, stream>>>(values, 1);
    cudaError_t got = cudaStreamSynchronize(stream);
    printf("= to wait in a capture: %s\n", cudaGetErrorName(got));
    got = cudaStreamEndCapture(stream, &graph);
    printf("= its end: %s\n", cudaGetErrorName(got));
    check(got != cudaSuccess);
    cudaGetLastError();
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    got = cudaMalloc(&values, 1024);
    printf("= to allocate in a capture: %s\n", cudaGetErrorName(got));
    cudaGetLastError();
    got = cudaStreamEndCapture(stream, &graph);
    printf("= its end: %s\n", cudaGetErrorName(got));
    cudaGetLastError();
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ok(cudaMalloc(&values, 1024));
    ok(cudaStreamEndCapture(stream, &graph));
    values = on_device<int>(N);
    add<<<BLOCKS, 256, 0, stream>>>(values, 1);
    ok(cudaStreamSynchronize(stream));
}

static void CUDART_CB note(void *place)
{
    int *order = (int *)place;
    order[0]++;
    order[order[0]] = order[0];
}

static void host_functions_in_a_row()
{
    needs_a_gpu();
    cudaGraph_t graph;
    int order[64] = {}, *values = on_device<int>(N);
    cudaStream_t stream = new_stream();
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 5; i++) {
        add<<<BLOCKS, 256, 0, stream>>>(values, 1);
        ok(cudaLaunchHostFunc(stream, note, order));
    }
    ok(cudaStreamEndCapture(stream, &graph));
    run(ready(graph), 10);
    check(order[0] == 50 && all_are(read(values, N).data(), N, 50));
    for (int i = 0; i < 10; i++)
        ok(cudaLaunchHostFunc(stream, note, order));
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)); /* while those are due */
    add<<<BLOCKS, 256, 0, stream>>>(values, 1);
    ok(cudaStreamEndCapture(stream, &graph));
    run(ready(graph));
    ok(cudaStreamSynchronize(stream));
    check(order[0] == 60 && all_are(read(values, N).data(), N, 51));
}

static void events_in_graphs()
{
    needs_a_gpu();
    cudaGraph_t graph;
    cudaGraphNode_t node, first, last;
    cudaEvent_t begin, end, got;
    int *values = on_device<int>(N), by = 1;
    void *args[] = { &values, &by };
    ok(cudaEventCreate(&begin));
    ok(cudaEventCreate(&end));
    ok(cudaGraphCreate(&graph, 0));
    ok(cudaGraphAddEventRecordNode(&first, graph, nullptr, 0, begin));
    node = add_kernel(graph, (void *)add, BLOCKS, args, { first });
    ok(cudaGraphAddEventRecordNode(&last, graph, &node, 1, end));
    ok(cudaGraphEventRecordNodeGetEvent(last, &got));
    check(got == end);
    run(ready(graph));
    float ms = -1;
    ok(cudaEventElapsedTime(&ms, begin, end));
    check(ms >= 0 && ms < 1000);
    ok(cudaGraphDebugDotPrint(graph, "graph.dot", cudaGraphDebugDotFlagsVerbose));
    check(!unlink("graph.dot"));
}

static int released;
static void CUDART_CB release(void *)
{
    released++;
}

static void objects_of_graphs()
{
    needs_a_gpu();
    cudaGraph_t graph;
    cudaUserObject_t object;
    int *values = on_device<int>(N), by = 1;
    void *args[] = { &values, &by };
    ok(cudaUserObjectCreate(&object, &released, release, 1, cudaUserObjectNoDestructorSync));
    graph = of_one_kernel((void *)add, BLOCKS, args);
    ok(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    cudaGraphExec_t exec = ready(graph);
    ok(cudaGraphDestroy(graph));
    run(exec);
    check(!released);
    ok(cudaGraphExecDestroy(exec));
    for (int i = 0; i < 2000 && !*(volatile int *)&released; i++)
        usleep(1000);
    check(released == 1);
}

static const test tests[] = {
    { "a graph branches", if_and_switch },
    { "a graph loops", while_loop },
    { "kernels launch graphs", launched_by_a_kernel },
    { "kernels change graphs", changed_by_a_kernel },
    { "graphs allocate", memory_of_graphs },
    { "what a graph allocates outlives it", memory_outlives_its_graph },
    { "captured copies of pinned memory", captured_copies_of_pinned_memory },
    { "captured copies of plain memory", captured_copies_of_plain_memory },
    { "a graph is changed in place", changed_in_place },
    { "graphs in graphs, and copies of them", graphs_in_graphs },
    { "captured streams fork and join", streams_fork_and_join },
    { "captures that fail", captures_that_fail },
    { "host functions in a row", host_functions_in_a_row },
    { "events in graphs", events_in_graphs },
    { "objects of graphs", objects_of_graphs },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
