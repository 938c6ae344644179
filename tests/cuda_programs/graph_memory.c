/* Memory that a graph allocates, in copies whose direction the driver finds out. The memory does
 * not exist before the graph runs. */
#include "config.h"

#include <sys/mman.h>

#include "gpu.h"

enum { N = 1000, BYTES = N * sizeof(float) };

static CUstream stream;
static CUdeviceptr plain;    /* of the device */
static float *pinned, *here; /* of the host */

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    plain = allocate(BYTES);
    pinned = allocate_pinned(BYTES);
    here = calloc(N, sizeof *here);
}

/* ---- the functions that find out the direction ---- */

typedef CUresult copy_any(CUdeviceptr to, CUdeviceptr from);

static CUresult by_async(CUdeviceptr to, CUdeviceptr from)
{
    return cuMemcpyAsync(to, from, BYTES, stream);
}

static CUmemcpyAttributes in_order(void)
{
    return (CUmemcpyAttributes){ .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
}

static CUresult by_batch(CUdeviceptr to, CUdeviceptr from)
{
    size_t bytes = BYTES, first = 0, failed_at;
    CUmemcpyAttributes attributes = in_order();
    return cuMemcpyBatchAsync(&to, &from, &bytes, 1, &attributes, &first, 1, &failed_at, stream);
}

static CUresult by_batch_v2(CUdeviceptr to, CUdeviceptr from)
{
    size_t bytes = BYTES, first = 0;
    CUmemcpyAttributes attributes = in_order();
    return cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &attributes, &first, 1, stream);
}

static CUresult by_2d(CUdeviceptr to, CUdeviceptr from)
{
    const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .srcDevice = from,
                                 .srcPitch = BYTES / 10,
                                 .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .dstDevice = to,
                                 .dstPitch = BYTES / 10,
                                 .WidthInBytes = BYTES / 10,
                                 .Height = 10 };
    return cuMemcpy2DAsync_v2(&copy, stream);
}

static CUDA_MEMCPY3D rows(CUdeviceptr to, CUdeviceptr from)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                            .srcDevice = from,
                            .srcPitch = BYTES / 20,
                            .srcHeight = 10,
                            .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                            .dstDevice = to,
                            .dstPitch = BYTES / 20,
                            .dstHeight = 10,
                            .WidthInBytes = BYTES / 20,
                            .Height = 10,
                            .Depth = 2 };
}

static CUresult by_3d(CUdeviceptr to, CUdeviceptr from)
{
    const CUDA_MEMCPY3D copy = rows(to, from);
    return cuMemcpy3DAsync_v2(&copy, stream);
}

static CUresult by_3d_peer(CUdeviceptr to, CUdeviceptr from)
{
    const CUDA_MEMCPY3D asked = rows(to, from);
    CUDA_MEMCPY3D_PEER copy;
    memcpy(&copy, &asked, sizeof copy);
    copy.srcContext = copy.dstContext = context;
    return cuMemcpy3DPeerAsync(&copy, stream);
}

static CUDA_MEMCPY3D_BATCH_OP operation(CUdeviceptr to, CUdeviceptr from)
{
    CUDA_MEMCPY3D_BATCH_OP op = { .extent = { BYTES, 1, 1 },
                                  .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = from;
    op.dst.op.ptr.ptr = to;
    return op;
}

static CUresult by_3d_batch(CUdeviceptr to, CUdeviceptr from)
{
    CUDA_MEMCPY3D_BATCH_OP op = operation(to, from);
    size_t failed_at;
    return cuMemcpy3DBatchAsync(1, &op, &failed_at, 0, stream);
}

static CUresult by_3d_batch_v2(CUdeviceptr to, CUdeviceptr from)
{
    CUDA_MEMCPY3D_BATCH_OP op = operation(to, from);
    return cuMemcpy3DBatchAsync_v2(1, &op, 0, stream);
}

static const struct {
    const char *name;
    copy_any *copy;
} functions[] = {
    { "cuMemcpyAsync", by_async },
    { "cuMemcpyBatchAsync", by_batch },
    { "cuMemcpyBatchAsync_v2", by_batch_v2 },
    { "cuMemcpy2DAsync", by_2d },
    { "cuMemcpy3DAsync", by_3d },
    { "cuMemcpy3DPeerAsync", by_3d_peer },
    { "cuMemcpy3DBatchAsync", by_3d_batch },
    { "cuMemcpy3DBatchAsync_v2", by_3d_batch_v2 },
};

/* ---- one end is memory of the graph, the other any ---- */

enum other { PLAIN, OF_GRAPH, PINNED, PAGEABLE, OTHERS };
static const char *const other_names[] = { "device", "graph", "pinned", "pageable" };

static CUdeviceptr address_of(enum other kind, CUdeviceptr of_graph)
{
    return kind == PLAIN      ? plain
           : kind == OF_GRAPH ? of_graph
           : kind == PINNED   ? (uintptr_t)pinned
                              : (uintptr_t)here;
}

static void fill_host(float value)
{
    for (int i = 0; i < N; i++)
        pinned[i] = here[i] = value;
}

static void prepare(float value)
{
    ok(launch_fill(plain, value, N, NULL));
    ok(cuCtxSynchronize());
    fill_host(value);
}

static float value_of(enum other kind)
{
    const float *host = kind == PINNED ? pinned : here;
    if (kind == PLAIN || kind == OF_GRAPH)
        return all_of(plain, N);
    for (int i = 1; i < N; i++)
        check(host[i] == host[0]);
    return host[0];
}

static CUdeviceptr take_memory(void)
{
    CUdeviceptr taken;
    ok(cuMemAllocAsync(&taken, BYTES, stream));
    return taken;
}

/* A float's bits, for a fill. */
enum { THREE = 0x40400000, NINE = 0x41100000 };

/* Launches the graph. false: functions like this one cannot be captured, which is the same
 * everywhere. */
static bool launches(CUresult status, const char *name)
{
    CUgraph graph;
    CUgraphExec exec;
    if (status == CUDA_ERROR_NOT_SUPPORTED || status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
        printf("= %s cannot be captured\n", name);
        cuStreamEndCapture(stream, &graph);
        return false;
    }
    ok(status);
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    return true;
}

/* {take p; p = 3; other = p; free p} */
static void copy_out(size_t i, enum other kind)
{
    prepare(1);
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUdeviceptr p = take_memory(), q = kind == OF_GRAPH ? take_memory() : 0;
    ok(cuMemsetD32Async(p, THREE, N, stream));
    CUresult status = functions[i].copy(address_of(kind, q), p);
    if (!status && q)
        ok(cuMemcpyDtoDAsync_v2(plain, q, BYTES, stream));
    if (!status && q)
        ok(cuMemFreeAsync(q, stream));
    if (!status)
        ok(cuMemFreeAsync(p, stream));
    if (launches(status, functions[i].name) && value_of(kind) != 3)
        failed(__FILE__, __LINE__, "%s from a graph to %s gives %g, not 3", functions[i].name,
               other_names[kind], value_of(kind));
}

/* {take p; p = other; device = p; free p}: the source is read again at each launch */
static void copy_in(size_t i, enum other kind)
{
    prepare(kind == PLAIN ? 9 : 1);
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUdeviceptr p = take_memory(), q = kind == OF_GRAPH ? take_memory() : 0;
    if (q)
        ok(cuMemsetD32Async(q, NINE, N, stream));
    CUresult status = functions[i].copy(p, address_of(kind, q));
    if (!status)
        ok(cuMemcpyDtoDAsync_v2(plain, p, BYTES, stream));
    if (!status && q)
        ok(cuMemFreeAsync(q, stream));
    if (!status)
        ok(cuMemFreeAsync(p, stream));
    fill_host(9);
    if (launches(status, functions[i].name) && value_of(PLAIN) != 9)
        failed(__FILE__, __LINE__, "%s from %s to a graph gives %g, not 9", functions[i].name,
               other_names[kind], value_of(PLAIN));
}

static void captured(void)
{
    for (size_t i = 0; i < COUNT(functions); i++)
        for (int kind = PLAIN; kind < OTHERS; kind++) {
            copy_out(i, (enum other)kind);
            copy_in(i, (enum other)kind);
        }
}

/* ---- the same by nodes ---- */

static CUdeviceptr add_memory(CUgraphNode *node, CUgraph graph, bool is_general)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUDA_MEM_ALLOC_NODE_PARAMS memory = { .poolProps = props, .bytesize = BYTES };
    CUgraphNodeParams general = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
    general.alloc.poolProps = props;
    general.alloc.bytesize = BYTES;
    ok(is_general ? cuGraphAddNode(node, graph, NULL, 0, &general)
                  : cuGraphAddMemAllocNode(node, graph, NULL, 0, &memory));
    return is_general ? general.alloc.dptr : memory.dptr;
}

static CUDA_MEMCPY3D row(CUdeviceptr to, CUdeviceptr from)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                            .srcDevice = from,
                            .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                            .dstDevice = to,
                            .WidthInBytes = BYTES,
                            .Height = 1,
                            .Depth = 1 };
}

static void copy_by_nodes(bool is_general, enum other kind)
{
    CUgraph graph;
    CUgraphNode taken, set, out, in, back, freed;
    CUgraphExec exec;
    prepare(1);
    ok(cuGraphCreate(&graph, 0));
    CUdeviceptr p = add_memory(&taken, graph, is_general);
    const CUDA_MEMSET_NODE_PARAMS three = {
        .dst = p, .value = THREE, .elementSize = 4, .width = N, .height = 1
    };
    const CUDA_MEMSET_NODE_PARAMS zero = { .dst = p, .elementSize = 4, .width = N, .height = 1 };
    CUDA_MEMCPY3D copies[] = { row(address_of(kind, p), p), row(p, address_of(kind, p)),
                               row(plain, p) };
    ok(cuGraphAddMemsetNode(&set, graph, &taken, 1, &three, context));
    ok(cuGraphAddMemcpyNode(&out, graph, &set, 1, &copies[0], context));
    ok(cuGraphAddMemsetNode(&set, graph, &out, 1, &zero, context));
    ok(cuGraphAddMemcpyNode(&in, graph, &set, 1, &copies[1], context));
    ok(cuGraphAddMemcpyNode(&back, graph, &in, 1, &copies[2], context));
    ok(cuGraphAddMemFreeNode(&freed, graph, &back, 1, p));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(stream));
    same(value_of(kind), 3);
    same(value_of(PLAIN), 3);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

static void nodes(void)
{
    static const enum other kinds[] = { PLAIN, PINNED, PAGEABLE };
    for (int is_general = 0; is_general < 2; is_general++)
        for (size_t i = 0; i < COUNT(kinds); i++)
            copy_by_nodes(is_general, kinds[i]);
}

/* ---- the rest ---- */

/* Memory that the graph leaves to the stream. */
static void left_to_the_stream(void)
{
    CUgraph graph;
    CUgraphExec exec;
    prepare(1);
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUdeviceptr p = take_memory();
    ok(cuMemsetD32Async(p, THREE, N, stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(cuGraphLaunch(exec, stream));
    ok(cuMemcpyAsync(plain, p, BYTES, stream));
    ok(cuMemcpyAsync((uintptr_t)pinned, p, BYTES, stream));
    ok(cuMemcpyAsync((uintptr_t)here, p, BYTES, stream));
    ok(cuMemFreeAsync(p, stream));
    ok(cuStreamSynchronize(stream));
    same(value_of(PLAIN), 3);
    same(value_of(PINNED), 3);
    same(value_of(PAGEABLE), 3);
}

/* Host memory of the program is at the address that the graph's memory has on the GPU, which a
 * remote GPU's may be. */
static void at_a_place_of_the_host(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CUgraph graph;
    CUgraphExec exec;
    prepare(1);
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUdeviceptr p = take_memory();
    void *wanted = (void *)(uintptr_t)(p / page * page);
    void *mapped = mmap(wanted, page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped != wanted)
        skip("the program cannot have memory there");
    ok(cuMemsetD32Async(p, THREE, N, stream));
    ok(cuMemcpyAsync(plain, p, BYTES, stream));
    ok(cuMemFreeAsync(p, stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(stream));
    same(value_of(PLAIN), 3);
}

static const struct test tests[] = {
    { "copies of unified addresses are captured", captured, 0 },
    { "and added as nodes", nodes, 0 },
    { "memory that a graph leaves is copied", left_to_the_stream, 0 },
    { "the host may have memory at the same address", at_a_place_of_the_host, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
