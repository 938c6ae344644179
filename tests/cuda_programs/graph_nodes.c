/* Nodes of graphs: child graphs that are moved, the parameters of kernel nodes, and copies whose
 * parameters are read and set. */
#include "config.h"

#include "gpu.h"

enum { N = 1000, BYTES = N * sizeof(float) };

static CUstream stream;
static CUdeviceptr a, b;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    a = allocate(BYTES);
    b = allocate(BYTES);
    ok(launch_fill(a, 1, N, NULL));
    ok(launch_fill(b, 1, N, NULL));
    ok(cuCtxSynchronize());
}

static CUgraph new_graph(void)
{
    CUgraph graph;
    ok(cuGraphCreate(&graph, 0));
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

/* Launches the graph once. */
static void run_once(CUgraph graph)
{
    CUgraphExec exec = instantiate(graph);
    run(exec);
    ok(cuGraphExecDestroy(exec));
}

static size_t node_count(CUgraph graph)
{
    size_t count = 0;
    ok(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

static void needs_driver(int wanted)
{
    int version;
    ok(cuDriverGetVersion(&version));
    if (version < wanted)
        skip("the driver is older than this");
}

/* ---- copies and fills ---- */

static CUDA_MEMCPY3D copy_of(CUdeviceptr to, CUdeviceptr from)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = from,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = to,
                            .WidthInBytes = BYTES,
                            .Height = 1,
                            .Depth = 1 };
}

static CUDA_MEMSET_NODE_PARAMS set_of(CUdeviceptr to, unsigned int value)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = to, .value = value, .elementSize = 4, .width = N, .height = 1
    };
}

static unsigned int first_of(CUdeviceptr p)
{
    unsigned int value;
    ok(cuMemcpyDtoH_v2(&value, p, sizeof value));
    return value;
}

/* ---- child graphs: each function with an `ownership` ---- */

static CUgraphNodeParams child_params(CUgraph child, int ownership)
{
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
    params.graph.graph = child;
    params.graph.ownership = (CUgraphChildGraphNodeOwnership)ownership;
    return params;
}

/* The functions that add a child graph behind a node. */
static CUresult by_add(CUgraphNode *node, CUgraph graph, CUgraphNode after, CUgraph child,
                       int ownership)
{
    CUgraphNodeParams params = child_params(child, ownership);
    return cuGraphAddNode(node, graph, &after, 1, &params);
}

static CUresult by_add_v2(CUgraphNode *node, CUgraph graph, CUgraphNode after, CUgraph child,
                          int ownership)
{
    CUgraphNodeParams params = child_params(child, ownership);
    return cuGraphAddNode_v2(node, graph, &after, NULL, 1, &params);
}

static CUresult by_add_with_edges(CUgraphNode *node, CUgraph graph, CUgraphNode after,
                                  CUgraph child, int ownership)
{
    CUgraphNodeParams params = child_params(child, ownership);
    const CUgraphEdgeData edge = { 0 };
    return cuGraphAddNode_v2(node, graph, &after, &edge, 1, &params);
}

typedef CUresult add_child(CUgraphNode *node, CUgraph graph, CUgraphNode after, CUgraph child,
                           int ownership);
static add_child *const adders[] = { by_add, by_add_v2, by_add_with_edges };

/* A graph of a fill of a and a copy from a to b. */
struct inner {
    CUgraph graph;
    CUgraphNode set, copy;
};

static struct inner make_inner(void)
{
    struct inner made = { .graph = new_graph() };
    const CUDA_MEMSET_NODE_PARAMS set = set_of(a, 5);
    const CUDA_MEMCPY3D copy = copy_of(b, a);
    ok(cuGraphAddMemsetNode(&made.set, made.graph, NULL, 0, &set, context));
    ok(cuGraphAddMemcpyNode(&made.copy, made.graph, &made.set, 1, &copy, context));
    return made;
}

/* A graph of one empty node, which the child comes after. */
static CUgraph make_outer(CUgraphNode *first)
{
    CUgraph outer = new_graph();
    ok(cuGraphAddEmptyNode(first, outer, NULL, 0));
    return outer;
}

static void move(add_child *add)
{
    CUgraphNode first, node, before;
    CUgraphNodeType type;
    CUgraph outer = make_outer(&first), told;
    struct inner inner = make_inner();
    size_t count = 1;
    ok(add(&node, outer, first, inner.graph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE));
    ok(cuGraphNodeGetDependencies(node, &before, &count));
    check(count == 1 && before == first);
    ok(cuGraphNodeGetType(node, &type));
    same(type, CU_GRAPH_NODE_TYPE_GRAPH);
    ok(cuGraphChildGraphNodeGetGraph(node, &told));
    check(told == inner.graph);
    ok(cuGraphNodeGetType(inner.copy, &type));
    same(type, CU_GRAPH_NODE_TYPE_MEMCPY);
    CUgraphExec exec = instantiate(outer);
    run(exec);
    same(first_of(b), 5);
    const CUDA_MEMSET_NODE_PARAMS set = set_of(a, 6); /* the executable knows the moved nodes */
    const CUDA_MEMCPY3D copy = copy_of(b + 4, a + 4);
    CUDA_MEMCPY3D part = copy;
    part.WidthInBytes = BYTES - 4;
    ok(cuGraphExecMemsetNodeSetParams(exec, inner.set, &set, context));
    ok(cuGraphExecMemcpyNodeSetParams(exec, inner.copy, &part, context));
    run(exec);
    same(first_of(b), 5);
    same(first_of(b + 4), 6);
    const CUDA_MEMSET_NODE_PARAMS later = set_of(a, 7); /* and the graph changes with its child */
    ok(cuGraphMemsetNodeSetParams(inner.set, &later));
    run_once(outer);
    same(first_of(b), 7);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(outer));
}

static void moved(void)
{
    needs_driver(12090);
    for (size_t i = 0; i < COUNT(adders); i++)
        move(adders[i]);
}

static void cloned_child(void)
{
    for (size_t i = 0; i < COUNT(adders); i++) {
        CUgraphNode first, node;
        CUgraph outer = make_outer(&first), told;
        struct inner inner = make_inner();
        const CUDA_MEMCPY3D copy = copy_of(b, a);
        ok(adders[i](&node, outer, first, inner.graph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE));
        ok(cuGraphChildGraphNodeGetGraph(node, &told));
        check(told != inner.graph);
        same(node_count(told), 2);
        CUgraphExec exec = instantiate(outer);
        check(cuGraphExecMemcpyNodeSetParams(exec, inner.copy, &copy, context) != CUDA_SUCCESS);
        ok(cuGraphDestroy(inner.graph)); /* the copy stays */
        run(exec);
        same(first_of(b), 5);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(outer));
    }
}

/* A graph that could not be added is as before. */
static void wrong_ownership(void)
{
    needs_driver(12090);
    for (size_t i = 0; i < COUNT(adders); i++)
        for (int ownership = -1; ownership < 8; ownership += 3) {
            CUgraphNode first, node;
            CUgraph outer = make_outer(&first);
            struct inner inner = make_inner();
            gives(CUDA_ERROR_INVALID_VALUE, adders[i](&node, outer, first, inner.graph, ownership));
            same(node_count(outer), 1);
            run_once(inner.graph);
            ok(cuGraphDestroy(inner.graph));
            ok(cuGraphDestroy(outer));
        }
}

static void refuses(const char *what, CUresult status)
{
    printf("= %s: %d\n", what, (int)status);
    if (!status)
        failed(__FILE__, __LINE__, "%s is accepted", what);
}

/* A moved graph has restrictions (cuda.h, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE). */
static void moved_is_bound(void)
{
    CUgraphNode first, node, more;
    CUgraph outer = make_outer(&first), other = new_graph();
    CUgraphExec exec;
    struct inner inner = make_inner();
    CUgraphExecUpdateResultInfo info;
    CUgraphNodeParams again = child_params(inner.graph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
        .bytesize = BYTES
    };
    needs_driver(12090);
    CUgraphExec alone = instantiate(inner.graph);
    ok(by_add(&node, outer, first, inner.graph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE));
    refuses("destroy", cuGraphDestroy(inner.graph));
    refuses("instantiate", cuGraphInstantiateWithFlags(&exec, inner.graph, 0));
    refuses("move again", cuGraphAddNode(&more, other, NULL, 0, &again));
    refuses("add a copy", cuGraphAddChildGraphNode(&more, other, NULL, 0, inner.graph));
    refuses("update", cuGraphExecUpdate_v2(alone, inner.graph, &info));
    refuses("allocate", cuGraphAddMemAllocNode(&more, inner.graph, NULL, 0, &memory));
    same(node_count(outer), 2);
    same(node_count(inner.graph), 2);
    same(node_count(other), 0);
    ok(cuGraphDestroyNode(node)); /* ends the child */
    same(node_count(outer), 1);
    ok(cuGraphDestroy(outer));
}

static void moved_into_itself(void)
{
    CUgraphNode first, node;
    CUgraph outer = make_outer(&first);
    needs_driver(12090);
    check(by_add(&node, outer, first, outer, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) != CUDA_SUCCESS);
    same(node_count(outer), 1);
    ok(cuGraphDestroy(outer));
}

/* Only a moved child may have memory of its own (cuda.h, cuGraphAddMemAllocNode). */
static void moved_memory(void)
{
    CUgraphNode first, node, taken, set, copy, freed;
    CUgraph outer = make_outer(&first), inner = new_graph();
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
        .bytesize = BYTES
    };
    needs_driver(12090);
    ok(cuGraphAddMemAllocNode(&taken, inner, NULL, 0, &memory));
    const CUDA_MEMSET_NODE_PARAMS set_params = set_of(memory.dptr, 9);
    const CUDA_MEMCPY3D copy_params = copy_of(b, memory.dptr);
    ok(cuGraphAddMemsetNode(&set, inner, &taken, 1, &set_params, context));
    ok(cuGraphAddMemcpyNode(&copy, inner, &set, 1, &copy_params, context));
    ok(cuGraphAddMemFreeNode(&freed, inner, &copy, 1, memory.dptr));
    refuses("a copy of a graph with memory",
            by_add(&node, outer, first, inner, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE));
    ok(by_add(&node, outer, first, inner, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE));
    run_once(outer);
    same(first_of(b), 9);
    ok(cuGraphDestroy(outer));
}

/* The functions that change a child graph of an executable. */
static void child_is_set(void)
{
    CUgraphNode first, node;
    CUgraph outer = make_outer(&first);
    struct inner inner = make_inner(), other = make_inner();
    ok(by_add(&node, outer, first, inner.graph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE));
    CUgraphExec exec = instantiate(outer);
    for (unsigned int i = 0; i < 2; i++) {
        const CUDA_MEMSET_NODE_PARAMS set = set_of(a, 20 + i);
        CUgraphNodeParams params = child_params(other.graph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
        ok(cuGraphMemsetNodeSetParams(other.set, &set));
        ok(i ? cuGraphExecNodeSetParams(exec, node, &params)
             : cuGraphExecChildGraphNodeSetParams(exec, node, other.graph));
        run(exec);
        same(first_of(b), 20 + i);
    }
    CUgraph unlike = new_graph();
    check(cuGraphExecChildGraphNodeSetParams(exec, node, unlike) != CUDA_SUCCESS);
    run(exec);
    same(first_of(b), 21);
    ok(cuGraphExecDestroy(exec));
}

static void child_is_set_wrong(void)
{
    CUgraphNode first, node;
    CUgraph outer = make_outer(&first);
    struct inner inner = make_inner(), other = make_inner();
    needs_driver(12090);
    ok(by_add(&node, outer, first, inner.graph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE));
    CUgraphExec exec = instantiate(outer);
    for (int ownership = -1; ownership < 3; ownership++) {
        CUgraphNodeParams params = child_params(other.graph, ownership);
        printf("= executable, ownership %d: %d\n", ownership,
               (int)cuGraphExecNodeSetParams(exec, node, &params));
        if (ownership)
            printf("= graph, ownership %d: %d\n", ownership,
                   (int)cuGraphNodeSetParams(node, &params));
    }
    run(exec);
    same(first_of(b), 5);
}

/* ---- kernel nodes: parameters of each size and alignment ---- */

struct echoed { /* as in kernels.cu */
    char one;
    short two;
    int four;
    long long eight;
    _Alignas(16) int sixteen[4];
    int twelve[3];
    char five[5];
};

static const struct echoed sent = { .one = -3,
                                    .two = 0x1234,
                                    .four = 0x56789abc,
                                    .eight = 0x0102030405060708,
                                    .sixteen = { 11, 12, 13, 14 },
                                    .twelve = { 21, 22, 23 },
                                    .five = { 1, 2, 3, 4, 5 } };

enum { ECHO_COUNT = 8, ECHO_BYTES = 65 };
static struct {
    _Alignas(16) char bytes[ECHO_BYTES];
    size_t length;
    void *pointers[ECHO_COUNT], *extra[5];
} given;

static const size_t echo_offsets[ECHO_COUNT] = { 0, 8, 10, 12, 16, 32, 48, 60 };
static const size_t echo_sizes[ECHO_COUNT] = { 8, 1, 2, 4, 8, 16, 12, 5 };

static void prepare_echo(CUdeviceptr to)
{
    char *bytes = given.bytes;
    given.length = ECHO_BYTES;
    memset(bytes, 0, ECHO_BYTES);
    memcpy(bytes, &to, sizeof to);
    memcpy(bytes + 8, &sent.one, 1);
    memcpy(bytes + 10, &sent.two, 2);
    memcpy(bytes + 12, &sent.four, 4);
    memcpy(bytes + 16, &sent.eight, 8);
    memcpy(bytes + 32, sent.sixteen, 16);
    memcpy(bytes + 48, sent.twelve, 12);
    memcpy(bytes + 60, sent.five, 5);
    for (size_t i = 0; i < ECHO_COUNT; i++)
        given.pointers[i] = bytes + echo_offsets[i];
    given.extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    given.extra[1] = bytes;
    given.extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    given.extra[3] = &given.length;
    given.extra[4] = CU_LAUNCH_PARAM_END;
}

static CUDA_KERNEL_NODE_PARAMS echo_node(CUfunction function, CUkernel of_library, bool is_buffer)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = function,
                                      .kern = of_library,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = is_buffer ? NULL : given.pointers,
                                      .extra = is_buffer ? given.extra : NULL };
}

/* The node has the parameters that were given, by pointers or in a buffer. */
static void has_given(const CUDA_KERNEL_NODE_PARAMS *told)
{
    const char *buffer = NULL;
    for (void **extra = told->extra; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
    check(told->kernelParams || buffer);
    for (size_t i = 0; i < ECHO_COUNT; i++) {
        const void *found = told->kernelParams ? told->kernelParams[i] : buffer + echo_offsets[i];
        if (memcmp(found, given.bytes + echo_offsets[i], echo_sizes[i]))
            failed(__FILE__, __LINE__, "parameter %zu is not the one that was given", i);
    }
}

static void forget_echo(void)
{
    ok(cuMemsetD8_v2(a, 0, sizeof sent));
    ok(cuCtxSynchronize());
}

static void has_echo(void)
{
    struct echoed got;
    ok(cuMemcpyDtoH_v2(&got, a, sizeof got));
    check(got.one == sent.one && got.two == sent.two && got.four == sent.four &&
          got.eight == sent.eight);
    check(!memcmp(got.sixteen, sent.sixteen, sizeof sent.sixteen));
    check(!memcmp(got.twelve, sent.twelve, sizeof sent.twelve));
    check(!memcmp(got.five, sent.five, sizeof sent.five));
}

/* Reads the parameters of a node, sets them again, and runs the graph. */
static void reads_back(CUgraph graph, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS told;
    CUDA_KERNEL_NODE_PARAMS_v1 old;
    ok(cuGraphKernelNodeGetParams_v2(node, &told));
    has_given(&told);
    forget_echo();
    run_once(graph);
    has_echo();
    ok(cuGraphKernelNodeSetParams_v2(node, &told));
    forget_echo();
    CUgraphExec exec = instantiate(graph);
    run(exec);
    has_echo();
    ok(cuGraphKernelNodeGetParams(node, &old));
    ok(cuGraphKernelNodeGetParams_v2(node, &told));
    has_given(&told);
    ok(cuGraphExecKernelNodeSetParams_v2(exec, node, &told));
    forget_echo();
    run(exec);
    has_echo();
    ok(cuGraphKernelNodeGetParams(node, &old));
    if (old.func) { /* a library's kernel has its own member, which this structure lacks */
        ok(cuGraphExecKernelNodeSetParams(exec, node, &old));
        forget_echo();
        run(exec);
        has_echo();
        ok(cuGraphKernelNodeSetParams(node, &old));
        forget_echo();
        run_once(graph);
        has_echo();
    }
    ok(cuGraphExecDestroy(exec));
}

/* The node in a graph, in its clone, and in a child of another graph. */
static void reads_back_anywhere(CUgraph graph, CUgraphNode node)
{
    CUgraph clone, outer = new_graph(), inner;
    CUgraphNode of_clone, child, of_child;
    size_t count = 1;
    ok(cuGraphClone(&clone, graph));
    ok(cuGraphNodeFindInClone(&of_clone, node, clone));
    reads_back(clone, of_clone);
    ok(cuGraphAddChildGraphNode(&child, outer, NULL, 0, graph));
    ok(cuGraphChildGraphNodeGetGraph(child, &inner));
    ok(cuGraphGetNodes(inner, &of_child, &count));
    reads_back(outer, of_child);
    reads_back(graph, node);
    ok(cuGraphDestroy(outer));
    ok(cuGraphDestroy(clone));
    ok(cuGraphDestroy(graph));
}

static void kernel_of_module(void)
{
    for (int is_buffer = 0; is_buffer < 2; is_buffer++) {
        CUgraph graph = new_graph();
        CUgraphNode node;
        prepare_echo(a);
        const CUDA_KERNEL_NODE_PARAMS params = echo_node(kernel("echo"), NULL, is_buffer);
        ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
        reads_back_anywhere(graph, node);
    }
}

static CUkernel kernel_of(const char *name)
{
    char *text = read_kernels();
    CUlibrary library;
    CUkernel found;
    ok(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    free(text);
    ok(cuLibraryGetKernel(&found, library, name));
    return found;
}

/* Also as a function, which a library's kernel may stand for. */
static void kernel_of_library(void)
{
    CUkernel echo = kernel_of("echo");
    for (int i = 0; i < 4; i++) {
        CUgraph graph = new_graph();
        CUgraphNode node;
        prepare_echo(a);
        const CUDA_KERNEL_NODE_PARAMS params =
            i / 2 ? echo_node((CUfunction)(void *)echo, NULL, i % 2) : echo_node(NULL, echo, i % 2);
        ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
        reads_back_anywhere(graph, node);
    }
}

static void kernel_by_structure(void)
{
    CUgraph graph = new_graph();
    CUgraphNode node;
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
    prepare_echo(a);
    params.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){ .func = kernel("echo"),
                                                  .gridDimX = 1,
                                                  .gridDimY = 1,
                                                  .gridDimZ = 1,
                                                  .blockDimX = 1,
                                                  .blockDimY = 1,
                                                  .blockDimZ = 1,
                                                  .kernelParams = given.pointers };
    ok(cuGraphAddNode(&node, graph, NULL, 0, &params));
    CUgraphExec exec = instantiate(graph);
    ok(cuGraphNodeSetParams(node, &params));
    ok(cuGraphExecNodeSetParams(exec, node, &params));
    forget_echo();
    run(exec);
    has_echo();
    reads_back_anywhere(graph, node);
}

static CUresult launch_any(CUfunction function, bool is_ex, bool is_buffer)
{
    void **params = is_buffer ? NULL : given.pointers, **extra = is_buffer ? given.extra : NULL;
    const CUlaunchConfig config = { .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .hStream = stream };
    return is_ex ? cuLaunchKernelEx(&config, function, params, extra)
                 : cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, extra);
}

static void kernel_captured(void)
{
    CUfunction functions[] = { kernel("echo"), (CUfunction)(void *)kernel_of("echo") };
    for (int i = 0; i < 8; i++) {
        CUgraph graph;
        CUgraphNode node;
        size_t count = 1;
        prepare_echo(a);
        ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        ok(launch_any(functions[i & 1], i & 2, i & 4));
        ok(cuStreamEndCapture(stream, &graph));
        ok(cuGraphGetNodes(graph, &node, &count));
        reads_back_anywhere(graph, node);
    }
}

/* A module of PTX for an early GPU. */
static void kernel_of_ptx(void)
{
    static const char text[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                               ".visible .entry set_conditional(.param .u64 h, .param .u32 v)\n"
                               "{\n\tret;\n}\n";
    CUmodule module;
    CUfunction function;
    CUgraphNode node;
    CUgraph graph = new_graph();
    uint64_t handle = 0x123456789abcdef0;
    uint32_t value = 0xfedcba98;
    void *params[] = { &handle, &value };
    CUDA_KERNEL_NODE_PARAMS told;
    ok(cuModuleLoadData(&module, text));
    ok(cuModuleGetFunction(&function, module, "set_conditional"));
    CUDA_KERNEL_NODE_PARAMS asked = echo_node(function, NULL, false);
    asked.kernelParams = params;
    ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &asked));
    for (int i = 0; i < 2; i++) {
        ok(cuGraphKernelNodeGetParams_v2(node, &told));
        check(told.func == function && told.kernelParams);
        check(!memcmp(told.kernelParams[0], &handle, sizeof handle));
        check(!memcmp(told.kernelParams[1], &value, sizeof value));
        ok(cuGraphKernelNodeSetParams_v2(node, &told));
    }
}

/* ---- copies whose parameters are read and set ---- */

/* The kinds of memory that a copy may have at an end. */
enum memory { DEVICE, PINNED, PAGEABLE, MEMORY_KINDS };

/* The memory lives as long as the test, which is a process of its own. */
static float *host_memory(enum memory kind)
{
    static float *pageable[64];
    static size_t count;
    if (kind == PINNED)
        return allocate_pinned(BYTES);
    if (count == sizeof pageable / sizeof *pageable)
        return NULL;
    return pageable[count++] = calloc(N, sizeof(float));
}

static void put_source(CUDA_MEMCPY3D *copy, enum memory kind, CUdeviceptr device, const float *host)
{
    copy->srcMemoryType = kind == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy->srcDevice = kind == DEVICE ? device : 0;
    copy->srcHost = kind == DEVICE ? NULL : host;
}

static void put_target(CUDA_MEMCPY3D *copy, enum memory kind, CUdeviceptr device, float *host)
{
    copy->dstMemoryType = kind == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy->dstDevice = kind == DEVICE ? device : 0;
    copy->dstHost = kind == DEVICE ? NULL : host;
}

static void put_value(enum memory kind, CUdeviceptr device, float *host, float value)
{
    if (kind == DEVICE)
        ok(launch_fill(device, value, N, NULL));
    ok(cuCtxSynchronize());
    for (int i = 0; kind != DEVICE && i < N; i++)
        host[i] = value;
}

static void has_value(enum memory kind, CUdeviceptr device, const float *host, float value)
{
    if (kind == DEVICE)
        same(all_of(device, N), value);
    for (int i = 0; kind != DEVICE && i < N; i++)
        same(host[i], value);
}

static void has_params(CUgraphNode node, const CUDA_MEMCPY3D *wanted)
{
    CUDA_MEMCPY3D told;
    CUgraphNodeType type;
    ok(cuGraphNodeGetType(node, &type));
    same(type, CU_GRAPH_NODE_TYPE_MEMCPY);
    ok(cuGraphMemcpyNodeGetParams(node, &told));
    same(told.srcMemoryType, wanted->srcMemoryType);
    same(told.dstMemoryType, wanted->dstMemoryType);
    if (told.srcMemoryType == CU_MEMORYTYPE_HOST)
        check(told.srcHost == wanted->srcHost);
    else
        check(told.srcDevice == wanted->srcDevice);
    if (told.dstMemoryType == CU_MEMORYTYPE_HOST)
        check(told.dstHost == wanted->dstHost);
    else
        check(told.dstDevice == wanted->dstDevice);
    same(told.WidthInBytes, wanted->WidthInBytes);
    same(told.Height, wanted->Height);
    same(told.Depth, wanted->Depth);
}

/* Two copies from and to memory of these kinds: the node is made with one and changed to the other
 * and back. */
static void set_and_read(enum memory from, enum memory to)
{
    CUDA_MEMCPY3D copies[2];
    CUdeviceptr sources[2], targets[2];
    float *inputs[2], *outputs[2];
    for (int i = 0; i < 2; i++) {
        copies[i] = (CUDA_MEMCPY3D){ .WidthInBytes = BYTES, .Height = 1, .Depth = 1 };
        sources[i] = allocate(BYTES);
        targets[i] = allocate(BYTES);
        inputs[i] = host_memory(from);
        outputs[i] = host_memory(to);
        put_source(&copies[i], from, sources[i], inputs[i]);
        put_target(&copies[i], to, targets[i], outputs[i]);
        put_value(to, targets[i], outputs[i], 0);
    }
    CUgraph graph = new_graph(), clone;
    CUgraphNode node, of_clone;
    ok(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copies[0], context));
    same(node_count(graph), 1);
    has_params(node, &copies[0]);
    CUgraphExec exec = instantiate(graph);
    put_value(from, sources[0], inputs[0], 2);
    run(exec);
    has_value(to, targets[0], outputs[0], 2);
    ok(cuGraphExecMemcpyNodeSetParams(exec, node, &copies[1], context));
    has_params(node, &copies[0]); /* the executable alone has changed */
    put_value(from, sources[1], inputs[1], 3);
    run(exec);
    has_value(to, targets[1], outputs[1], 3);
    has_value(to, targets[0], outputs[0], 2);
    ok(cuGraphMemcpyNodeSetParams(node, &copies[1]));
    has_params(node, &copies[1]);
    ok(cuGraphClone(&clone, graph));
    ok(cuGraphNodeFindInClone(&of_clone, node, clone));
    has_params(of_clone, &copies[1]);
    ok(cuGraphMemcpyNodeSetParams(node, &copies[0]));
    has_params(node, &copies[0]);
    has_params(of_clone, &copies[1]); /* the clone has its own */
    put_value(from, sources[0], inputs[0], 4);
    put_value(from, sources[1], inputs[1], 5);
    run_once(graph);
    has_value(to, targets[0], outputs[0], 4);
    has_value(to, targets[1], outputs[1], 3);
    run_once(clone);
    has_value(to, targets[1], outputs[1], 5);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(clone));
    ok(cuGraphDestroy(graph));
}

static void copies_are_set(void)
{
    for (int from = DEVICE; from < MEMORY_KINDS; from++)
        for (int to = DEVICE; to < MEMORY_KINDS; to++)
            set_and_read((enum memory)from, (enum memory)to);
}

/* By the general structure. */
static void copies_are_set_by_structure(void)
{
    for (int from = DEVICE; from < MEMORY_KINDS; from++) {
        float *in = host_memory((enum memory)from), *other = host_memory((enum memory)from);
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
        CUDA_MEMCPY3D *copy = &params.memcpy.copyParams;
        CUgraph graph = new_graph();
        CUgraphNode node;
        *copy = copy_of(b, a);
        put_source(copy, (enum memory)from, a, in);
        params.memcpy.copyCtx = context;
        ok(cuGraphAddNode(&node, graph, NULL, 0, &params));
        has_params(node, copy);
        CUgraphExec exec = instantiate(graph);
        put_source(copy, (enum memory)from, a, other);
        put_value((enum memory)from, a, other, 8);
        ok(cuGraphExecNodeSetParams(exec, node, &params));
        run(exec);
        same(all_of(b, N), 8);
        ok(cuGraphNodeSetParams(node, &params));
        has_params(node, copy);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
    }
}

/* The general functions and the one for copies refuse what has no bytes. */
static void empty_copies_are_refused(void)
{
    for (int from = DEVICE; from < MEMORY_KINDS; from++)
        for (int i = 0; i < 6; i++) {
            CUDA_MEMCPY3D copy = copy_of(b, a);
            CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
            CUgraph graph = new_graph();
            CUgraphNode node;
            put_source(&copy, (enum memory)from, a, host_memory((enum memory)from));
            ok(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
            CUgraphExec exec = instantiate(graph);
            *(i % 3 == 0 ? &copy.WidthInBytes : i % 3 == 1 ? &copy.Height : &copy.Depth) = 0;
            params.memcpy.copyParams = copy;
            params.memcpy.copyCtx = context;
            gives(CUDA_ERROR_INVALID_VALUE,
                  i < 3 ? cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context)
                        : cuGraphExecNodeSetParams(exec, node, &params));
            ok(cuGraphExecDestroy(exec));
            ok(cuGraphDestroy(graph));
        }
}

/* ---- structures that come back ---- */

static void update_tells_why(void)
{
    CUgraphExecUpdateResultInfo info;
    CUgraphExecUpdateResult result;
    CUgraphNode node, other, told = NULL;
    CUgraph graph = new_graph(), unlike = new_graph();
    const CUDA_MEMSET_NODE_PARAMS set = set_of(a, 5);
    const CUDA_MEMCPY3D copy = copy_of(b, a);
    ok(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    ok(cuGraphAddMemcpyNode(&other, unlike, NULL, 0, &copy, context));
    CUgraphExec exec = instantiate(graph);
    memset(&info, 0xff, sizeof info);
    gives(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, unlike, &info));
    printf("= result: %d\n", (int)info.result);
    printf("= error node: %s\n", info.errorNode == other ? "of the new graph" : "another");
    printf("= error from node: %s\n", info.errorFromNode ? "one" : "none");
    gives(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, unlike, &told, &result));
    check(result == info.result && told == info.errorNode);
    memset(&info, 0xff, sizeof info);
    ok(cuGraphExecUpdate_v2(exec, graph, &info));
    same(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    check(!info.errorNode && !info.errorFromNode);
}

enum { LINE, FORK, ROWS }; /* 0 1 2, each behind the one before; 0 1 and 0 2; 0 1 and 2 */

/* A graph of three fills, with handles of its nodes. */
static CUgraph three_fills(int form, unsigned int value, CUgraphNode nodes[3])
{
    CUgraph graph = new_graph();
    const CUDA_MEMSET_NODE_PARAMS set = set_of(a, value);
    const size_t second_after = 1, third_after = form != ROWS;
    ok(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &set, context));
    ok(cuGraphAddMemsetNode(&nodes[1], graph, nodes, second_after, &set, context));
    ok(cuGraphAddMemsetNode(&nodes[2], graph, form == LINE ? &nodes[1] : &nodes[0], third_after,
                            &set, context));
    return graph;
}

/* The handles in the result are those of the new graph's nodes, and may be used. */
static void update_names_nodes(void)
{
    CUgraphExecUpdateResultInfo info;
    CUgraphNodeType type;
    CUgraphNode nodes[3], others[3], deps[2];
    CUgraph line = three_fills(LINE, 1, nodes);
    CUgraphExec exec = instantiate(line);

    CUgraph rows = three_fills(ROWS, 2, others); /* another count of dependencies */
    memset(&info, 0xff, sizeof info);
    gives(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, rows, &info));
    same(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    if (info.errorNode) { /* which one, the driver decides */
        check(info.errorNode == others[0] || info.errorNode == others[1] ||
              info.errorNode == others[2]);
        ok(cuGraphNodeGetType(info.errorNode, &type));
        same(type, CU_GRAPH_NODE_TYPE_MEMSET);
    }

    exec = instantiate(line);
    CUgraph fork = three_fills(FORK, 3, others); /* another dependency */
    memset(&info, 0xff, sizeof info);
    gives(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, fork, &info));
    same(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    if (is_simulated()) {
        check(info.errorNode == others[2] && info.errorFromNode == others[0]);
        ok(cuGraphDestroyNode(info.errorNode)); /* two nodes remain: no node is wrong */
        size_t count = 2;
        ok(cuGraphGetNodes(fork, deps, &count));
        same(count, 2);
        memset(&info, 0xff, sizeof info);
        gives(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, fork, &info));
        same(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        check(!info.errorNode && !info.errorFromNode);
    }

    exec = instantiate(line);
    CUgraph alike = three_fills(LINE, 4, others);
    ok(cuGraphExecUpdate_v2(exec, alike, &info));
    check(!info.result && !info.errorNode && !info.errorFromNode);
    ok(cuGraphDestroy(alike));
    ok(cuGraphLaunch(exec, NULL));
    same(first_of(a), 4);
}

/* "The update failed for an unexpected reason which is described in the return value" (cuda.h). */
static void update_of_nothing(void)
{
    CUgraphExecUpdateResultInfo info;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    CUgraphNode nodes[3], told;
    CUgraph line = three_fills(LINE, 1, nodes);
    CUgraphExec ended = instantiate(line);
    told = nodes[0];
    ok(cuGraphExecDestroy(ended));
    memset(&info, 0xff, sizeof info);
    gives(CUDA_ERROR_INVALID_VALUE, cuGraphExecUpdate_v2(ended, line, &info));
    same(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
    check(!info.errorNode && !info.errorFromNode);
    gives(CUDA_ERROR_INVALID_VALUE, cuGraphExecUpdate(ended, line, &told, &result));
    same(result, CU_GRAPH_EXEC_UPDATE_ERROR);
    check(!told);
}

static unsigned int calls;

static void count_call(void *data)
{
    calls += *(unsigned int *)data;
}

/* The executable has the functions and the program's memory of the new graph, which may end. */
static void update_keeps_what_it_took(void)
{
    static unsigned int one = 1, ten = 10, room[N];
    const CUDA_HOST_NODE_PARAMS first = { count_call, &one }, second = { count_call, &ten };
    CUgraphExecUpdateResultInfo info;
    CUgraphExec exec = NULL;
    CUgraph graphs[2];
    CUgraphNode node;
    for (int i = 0; i < 2; i++) {
        ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        ok(cuMemsetD32Async(a, 40 + (unsigned int)i, N, stream));
        ok(cuMemcpyDtoHAsync_v2(room, a, BYTES, stream));
        ok(cuStreamEndCapture(stream, &graphs[i]));
        ok(cuGraphAddHostNode(&node, graphs[i], NULL, 0, i ? &second : &first));
        if (!i)
            exec = instantiate(graphs[0]);
    }
    ok(cuGraphExecUpdate_v2(exec, graphs[1], &info));
    same(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    ok(cuGraphDestroy(graphs[0]));
    ok(cuGraphDestroy(graphs[1]));
    for (unsigned int i = 1; i <= 3; i++) {
        memset(room, 0, sizeof room);
        run(exec);
        same(room[0], 41);
        same(room[N - 1], 41);
        same(calls, 10 * i);
    }
    ok(cuGraphExecDestroy(exec));
}

/* "These bytes are unused and must be zeroed" (cuda.h, CUgraphEdgeData). */
static void edges_are_checked(void)
{
    for (size_t i = 0; i < sizeof(CUgraphEdgeData); i++) {
        CUgraphEdgeData edge = { 0 };
        CUgraphNode first, second, third;
        CUgraph graph = make_outer(&first);
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
        ok(cuGraphAddEmptyNode(&second, graph, NULL, 0));
        ((unsigned char *)&edge)[i] = 77;
        refuses("an edge with data", cuGraphAddDependencies_v2(graph, &first, &second, &edge, 1));
        refuses("a node with it", cuGraphAddNode_v2(&third, graph, &first, &edge, 1, &params));
        same(node_count(graph), 2);
        ok(cuGraphAddDependencies_v2(graph, &first, &second, NULL, 1));
        refuses("an edge that is another",
                cuGraphRemoveDependencies_v2(graph, &first, &second, &edge, 1));
        ok(cuGraphDestroy(graph));
    }
}

static void edges_are_told(void)
{
    CUgraphEdgeData edges[2], none = { 0 };
    CUgraphNode first, second, from[2], to[2];
    size_t count = 2;
    CUgraph graph = make_outer(&first);
    memset(edges, 0xff, sizeof edges);
    ok(cuGraphAddEmptyNode(&second, graph, &first, 1));
    ok(cuGraphGetEdges_v2(graph, from, to, edges, &count));
    check(count == 1 && from[0] == first && to[0] == second);
    check(!memcmp(&edges[0], &none, sizeof none));
    memset(edges, 0xff, sizeof edges);
    count = 2;
    ok(cuGraphNodeGetDependencies_v2(second, from, edges, &count));
    check(count == 1 && from[0] == first && !memcmp(&edges[0], &none, sizeof none));
    memset(edges, 0xff, sizeof edges);
    count = 2;
    ok(cuGraphNodeGetDependentNodes_v2(first, to, edges, &count));
    check(count == 1 && to[0] == second && !memcmp(&edges[0], &none, sizeof none));
    ok(cuGraphRemoveDependencies_v2(graph, &first, &second, &edges[0], 1));
    ok(cuGraphDestroy(graph));
}

static const struct test tests[] = {
    { "a moved child graph keeps its nodes", moved, 0 },
    { "a copied child graph has nodes of its own", cloned_child, 0 },
    { "an unknown ownership is refused", wrong_ownership, 0 },
    { "a moved graph belongs to its parent", moved_is_bound, 0 },
    { "a graph is not moved into itself", moved_into_itself, 0 },
    { "only a moved child has memory of its own", moved_memory, 0 },
    { "a child graph of an executable is set", child_is_set, 0 },
    { "and with the wrong ownership", child_is_set_wrong, 0 },
    { "parameters of a module's kernel are read and set", kernel_of_module, 0 },
    { "and of a library's", kernel_of_library, 0 },
    { "and by the general structure", kernel_by_structure, 0 },
    { "and of a captured launch", kernel_captured, 0 },
    { "and of PTX for an early GPU", kernel_of_ptx, 0 },
    { "copies of any memory are read and set", copies_are_set, 0 },
    { "and by the general structure, too", copies_are_set_by_structure, 0 },
    { "copies of no bytes are refused", empty_copies_are_refused, 0 },
    { "an update says why it failed", update_tells_why, 0 },
    { "an update names nodes of the new graph", update_names_nodes, 0 },
    { "an update of nothing is an error of its own", update_of_nothing, ONLY_SIMULATED },
    { "an update keeps functions and memory of the new graph", update_keeps_what_it_took, 0 },
    { "edges with unknown data are refused", edges_are_checked, 0 },
    { "edges tell their data", edges_are_told, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
