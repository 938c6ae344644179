/*
 * Pinned memory whose addresses reach kernels in many ways: the program sees what a kernel wrote
 * there after it has waited, and a kernel sees what the program wrote there before the launch.
 */
#include "config.h"

#include "gpu.h"

#include <stdint.h>
#include <sys/mman.h>

enum { N = 256 * 1024, BYTES = N * sizeof(float), AT = N - 77 };

static CUstream stream;
static CUdeviceptr table, got;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    table = allocate(4096);
    got = allocate(4096);
    ok(cuCtxSynchronize());
}

/* Without CU_MEMHOSTALLOC_DEVICEMAP: the program never says that kernels use it. */
static void *pin(size_t bytes)
{
    void *memory;
    ok(cuMemHostAlloc(&memory, bytes, 0));
    memset(memory, 0, bytes);
    return memory;
}

static CUdeviceptr address_of(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

static CUresult launch_scatter(CUdeviceptr to, float v, int n)
{
    return launch(kernel("scatter"), n, stream, (void *[]){ &to, &v, &n });
}

static CUresult launch_gather(CUdeviceptr from, int n)
{
    return launch(kernel("gather"), n, stream, (void *[]){ &from, &got, &n });
}

/* A kernel writes a float, another reads what the program writes there; their only address of it
 * lies in memory. */
static void used_through(CUdeviceptr pointers, float *cell)
{
    float seen;
    for (int i = 1; i <= 3; i++) {
        ok(launch_scatter(pointers, (float)i, 1));
        ok(cuStreamSynchronize(stream));
        same(*cell, i);
        *cell = (float)(10 * i);
        ok(launch_gather(pointers, 1));
        ok(cuMemcpyDtoHAsync_v2(&seen, got, sizeof seen, stream));
        ok(cuStreamSynchronize(stream));
        same(seen, 10 * i);
    }
}

/* ---- parameters ---- */

static void by_parameter(void)
{
    float *pinned = pin(BYTES);
    pinned[AT] = 5;
    ok(launch_fill(address_of(&pinned[AT + 1]), 6, 2, stream));
    ok(launch_saxpy(1, 2, address_of(&pinned[AT]), address_of(&pinned[AT + 2]), stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[AT], 5);
    same(pinned[AT + 1], 6);
    same(pinned[AT + 2], 16);
    ok(cuMemFreeHost(pinned));
}

struct view {
    int first, n;
    float *p;
    float v;
};

static void in_a_structure(void)
{
    float *pinned = pin(BYTES);
    struct view view = { .first = 3, .n = 2, .p = &pinned[7], .v = 4 };
    ok(launch(kernel("fill_view"), 2, stream, (void *[]){ &view }));
    ok(cuStreamSynchronize(stream));
    same(pinned[9], 0);
    same(pinned[10], 4);
    same(pinned[11], 4);
    ok(cuMemFreeHost(pinned));
}

/* As a reverse iterator's. */
static void by_its_end(void)
{
    float *pinned = pin(BYTES);
    struct view view = { .first = -N, .n = N, .p = pinned + N, .v = 8 };
    ok(launch(kernel("fill_view"), N, stream, (void *[]){ &view }));
    ok(cuStreamSynchronize(stream));
    same(pinned[0], 8);
    same(pinned[N - 1], 8);
    ok(cuMemFreeHost(pinned));
}

static void in_a_packed_block(void)
{
    float *pinned = pin(BYTES);
    struct {
        float *p;
        float v;
        int n;
    } block = { &pinned[AT], 3, 5 };
    size_t bytes = sizeof block;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    ok(cuLaunchKernel(kernel("fill"), 1, 1, 1, 8, 1, 1, 0, stream, NULL, extra));
    ok(cuStreamSynchronize(stream));
    same(pinned[AT + 4], 3);
    same(pinned[AT + 5], 0);
    ok(cuMemFreeHost(pinned));
}

static void in_a_graph(void)
{
    float *pinned = pin(BYTES), v = 2;
    CUdeviceptr p = address_of(&pinned[AT]);
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    int n = 3;
    void *params[] = { &p, &v, &n };
    CUDA_KERNEL_NODE_PARAMS fill = { .func = kernel("fill"),
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 8,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params };
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &fill));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        memset(pinned, 0, BYTES);
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        same(pinned[AT + 2], 2);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFreeHost(pinned));
}

/* The program writes what a running kernel waits for, then waits for the kernel. */
static void written_before_a_wait(void)
{
    int *words = pin(BYTES), *flag = &words[1], *answer = &words[N - 1];
    for (int value = 5; value < 8; value++) {
        ok(launch(kernel("await_value"), 1, stream, (void *[]){ &flag, &value, &answer }));
        sleep_ms(20);
        gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
        __atomic_store_n(flag, value, __ATOMIC_RELEASE);
        ok(cuStreamSynchronize(stream));
        same(*answer, value);
    }
    ok(cuMemFreeHost(words));
}

/* ---- tables ---- */

static void in_a_copied_table(void)
{
    float *pinned = pin(BYTES), *p = &pinned[AT];
    ok(cuMemcpyHtoD_v2(table + 8, &p, sizeof p));
    used_through(table + 8, p);
    ok(cuMemFreeHost(pinned));
}

static void in_a_table_copied_from_an_odd_address(void)
{
    float *pinned = pin(BYTES), *p = &pinned[AT];
    unsigned char from[64] = { 0 };
    memcpy(from + 13, &p, sizeof p);
    ok(cuMemcpyHtoDAsync_v2(table + 4, from + 1, sizeof from - 1, stream));
    used_through(table + 16, p);
    ok(cuMemFreeHost(pinned));
}

/* In the middle of a copy that needs several messages, and at its end. */
static void in_a_large_copy(void)
{
    enum { LARGE = 20 * 1024 * 1024 };
    const size_t places[] = { 4, 8 * 1024 * 1024 - 4, LARGE - 12 }; /* in a copy to p + 4 */
    CUdeviceptr p = allocate(LARGE);
    unsigned char *from = calloc(1, LARGE);
    for (size_t i = 0; i < COUNT(places); i++) {
        float *pinned = pin(BYTES), *cell = &pinned[AT];
        memcpy(from + places[i], &cell, sizeof cell);
        ok(cuMemcpyHtoD_v2(p + 4, from, LARGE - 4));
        used_through(p + 4 + places[i], cell);
        ok(cuMemFreeHost(pinned));
    }
    ok(cuMemFree_v2(p));
    free(from);
}

static void in_copied_rows(void)
{
    enum { WIDTH = 12, ROWS = 3, PITCH = 20 };
    float *pinned = pin(BYTES), *p = &pinned[AT];
    unsigned char from[ROWS * WIDTH] = { 0 };
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = from,
                           .srcPitch = WIDTH,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = table,
                           .dstPitch = PITCH,
                           .WidthInBytes = WIDTH,
                           .Height = ROWS };
    memcpy(from + WIDTH + 4, &p, sizeof p); /* at PITCH + 4 in the table */
    ok(cuMemcpy2DAsync_v2(&copy, stream));
    used_through(table + PITCH + 4, p);
    ok(cuMemFreeHost(pinned));
}

static void in_a_table_in_pinned_memory(void)
{
    float *pinned = pin(BYTES), **from = pin(BYTES);
    from[9] = &pinned[AT];
    ok(cuMemcpyHtoDAsync_v2(table, &from[9], sizeof *from, stream));
    used_through(table, &pinned[AT]);
    ok(cuMemFreeHost(pinned));
    pinned = pin(BYTES);
    from[1000] = &pinned[AT];
    used_through(address_of(&from[1000]), &pinned[AT]); /* kernels read the table itself */
    ok(cuMemFreeHost(pinned));
    ok(cuMemFreeHost(from));
}

static void in_a_variable(void)
{
    float *pinned = pin(BYTES), *p = &pinned[AT];
    char *image = read_kernels();
    CUmodule module;
    CUdeviceptr variable;
    size_t bytes;
    ok(cuModuleLoadData(&module, image));
    ok(cuModuleGetGlobal_v2(&variable, &bytes, module, "table"));
    ok(cuMemcpyHtoDAsync_v2(variable + 16, &p, sizeof p, stream));
    used_through(variable + 16, p);
    ok(cuModuleUnload(module));
    ok(cuMemFreeHost(pinned));
    free(image);
}

static void in_managed_memory(void)
{
    float *pinned = pin(BYTES);
    CUdeviceptr managed;
    ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    float **pointers = (float **)(uintptr_t)managed;
    pointers[500] = &pinned[AT];
    used_through(address_of(&pointers[500]), &pinned[AT]);
    float *other = pin(BYTES);
    pointers[500] = &other[AT]; /* only some bytes of the word change */
    used_through(address_of(&pointers[500]), &other[AT]);
    ok(cuMemFree_v2(managed));
    ok(cuMemFreeHost(pinned));
    ok(cuMemFreeHost(other));
}

/* One address leads to a table with the next. */
static void in_a_chain(void)
{
    float *pinned = pin(BYTES), **middle = pin(BYTES);
    float ***first = pin(BYTES);
    middle[0] = &pinned[AT];
    first[0] = middle;
    CUdeviceptr managed;
    ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    *(float ****)(uintptr_t)managed = first;
    used_through(address_of(middle), &pinned[AT]);
    ok(cuMemFree_v2(managed));
    ok(cuMemFreeHost(pinned));
    ok(cuMemFreeHost(middle));
    ok(cuMemFreeHost(first));
}

/* A kernel keeps an address, and later ones use it. */
static void kept_by_a_kernel(void)
{
    float *pinned = pin(BYTES), *p = &pinned[AT];
    ok(launch(kernel("put_address"), 1, stream, (void *[]){ &table, &p }));
    for (int i = 0; i < 100; i++) {
        ok(launch_fill(got, 1, 1, stream));
        ok(cuStreamSynchronize(stream));
    }
    used_through(table, p);
    ok(cuMemFreeHost(pinned));
}

/* ---- other memory ---- */

static void registered(void)
{
    /*
     * The server has no memory of its own here, so a kernel can reach what is registered. Both
     * sanitizers leave this address to programs, and executables are loaded above it
     * (tsan_platform.h of LLVM, ELF_ET_DYN_BASE of Linux).
     */
    void *const free_place = (void *)(uintptr_t)0x551000000000;
    const size_t both = 2 * (size_t)BYTES;
    float *memory = mmap(free_place, both, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    float *p = &memory[AT];
    check(memory != MAP_FAILED);
    ok(cuMemHostRegister_v2(memory, BYTES, 0));
    ok(cuMemHostRegister_v2(memory + N, BYTES, 0));
    ok(cuMemcpyHtoD_v2(table, &p, sizeof p));
    used_through(table, p);
    p = &memory[N + AT];
    ok(launch(kernel("put_address"), 1, stream, (void *[]){ &table, &p }));
    used_through(table, p);
    ok(cuMemHostUnregister(memory));
    ok(cuMemHostUnregister(memory + N));
    munmap(memory, both);
}

/* A graph that only copies pinned memory does not show that kernels use it. */
static void copied_by_a_graph_first(void)
{
    float *pinned = pin(BYTES), *p = &pinned[AT], one;
    CUgraph graph;
    CUgraphExec exec;
    ok(launch_fill(got, 3, 4, stream));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ok(cuMemcpyDtoHAsync_v2(&pinned[100], got, 4 * sizeof(float), stream));
    ok(cuMemcpyHtoDAsync_v2(got + 16, &pinned[200], sizeof(float), stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        pinned[100] = pinned[103] = 0;
        pinned[200] = (float)i;
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        same(pinned[100], 3);
        same(pinned[103], 3);
        same(pinned[104], 0);
        ok(cuMemcpyDtoH_v2(&one, got + 16, sizeof one));
        same(one, i);
    }
    ok(cuMemcpyDtoHAsync_v2(&pinned[5000], got, 4 * sizeof(float), stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[5003], 3);
    pinned[AT] = 12;
    ok(cuMemcpyHtoD_v2(table, &p, sizeof p));
    used_through(table, p);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFreeHost(pinned));
}

/* Rows and fills by the GPU, in memory that a graph has copied from. */
static void written_in_other_ways(void)
{
    enum { WIDTH = 64, ROWS = 4, PITCH = 4096 };
    float *pinned = pin(BYTES);
    CUgraph graph;
    ok(launch_fill(got, 7, WIDTH, stream));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ok(cuMemcpyHtoDAsync_v2(table, pinned, sizeof(float), stream));
    ok(cuStreamEndCapture(stream, &graph));
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = got,
                           .srcPitch = WIDTH,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = &pinned[1024],
                           .dstPitch = PITCH,
                           .WidthInBytes = WIDTH,
                           .Height = ROWS };
    ok(cuMemcpy2DAsync_v2(&copy, stream));
    ok(cuMemsetD32Async(address_of(&pinned[AT]), 0x40a00000 /* 5 */, 3, stream));
    ok(cuMemcpyDtoDAsync_v2(address_of(&pinned[AT - 8]), got, 4, stream));
    ok(cuMemcpyAsync(address_of(&pinned[AT - 16]), got, 4, stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[1024 + (ROWS - 1) * (PITCH / sizeof(float))], 7);
    same(pinned[AT + 2], 5);
    same(pinned[AT - 8], 7);
    same(pinned[AT - 16], 7);
    ok(cuGraphDestroy(graph));
    ok(cuMemFreeHost(pinned));
}

/* ---- copies to pinned memory, whose calls do not wait ---- */

enum { MANY = 1024 * 1024, TIMES = 4 };

static CUdeviceptr source_of(float value)
{
    CUdeviceptr p = allocate(MANY * sizeof(float));
    ok(launch_fill(p, value, MANY, stream));
    ok(cuStreamSynchronize(stream));
    return p;
}

static void copy_does_not_wait(void)
{
    struct gate gate = GATE;
    float *pinned = pin(MANY * sizeof(float)), small;
    CUdeviceptr p = source_of(3);
    CUevent event;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuMemcpyDtoHAsync_v2(&small, got, sizeof small, stream));
    close_gate(&gate, stream);
    reach_gate(&gate);
    ok(launch_fill(p, 4, MANY, stream));
    ok(cuMemcpyDtoHAsync_v2(pinned, p, MANY * sizeof(float), stream));
    ok(cuEventRecord(event, stream));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gives(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    same(pinned[MANY - 1], 0);
    open_gate(&gate);
    CUresult status;
    while ((status = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
        sleep_ms(1);
    ok(status);
    same(pinned[0], 4);
    same(pinned[MANY - 1], 4);
    ok(cuEventQuery(event));
    ok(cuEventDestroy_v2(event));
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(pinned));
}

/* The kernel takes some time, so that the call returns long before the copy is done. */
static void wait_for_host(int *flag)
{
    static int answer_of = 5;
    CUdeviceptr at = address_of(flag), answer = got;
    ok(launch(kernel("await_value"), 1, stream, (void *[]){ &at, &answer_of, &answer }));
}

static void copy_waits_for_a_kernel(void)
{
    float *pinned = pin(MANY * sizeof(float));
    int *flag = pin(BYTES);
    CUdeviceptr p = source_of(6);
    wait_for_host(flag);
    ok(cuMemcpyDtoHAsync_v2(pinned, p, MANY * sizeof(float), stream));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 5, __ATOMIC_RELEASE);
    ok(cuCtxSynchronize());
    same(pinned[MANY / 2], 6);
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(pinned));
    ok(cuMemFreeHost(flag));
}

/* Another stream that waits for the copy's event. */
static void copy_arrives_by_another_stream(void)
{
    float *pinned = pin(MANY * sizeof(float));
    CUdeviceptr p = source_of(7);
    CUstream other;
    CUevent event;
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < TIMES; i++) {
        pinned[MANY - 1] = 0;
        ok(cuMemcpyDtoHAsync_v2(pinned, p, MANY * sizeof(float), stream));
        ok(cuEventRecord(event, stream));
        ok(cuStreamWaitEvent(other, event, 0));
        ok(cuStreamSynchronize(other));
        same(pinned[MANY - 1], 7);
    }
    ok(cuEventDestroy_v2(event));
    ok(cuStreamDestroy_v2(other));
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(pinned));
}

/* Copies and kernels behind it in the stream find the data. */
static void copy_is_used_by_what_follows(void)
{
    float *pinned = pin(MANY * sizeof(float)), back[2];
    CUdeviceptr p = source_of(8), q = source_of(0);
    ok(cuMemcpyDtoHAsync_v2(pinned, p, MANY * sizeof(float), stream));
    ok(cuMemcpyHtoDAsync_v2(q, pinned, MANY * sizeof(float), stream));
    ok(cuMemcpyDtoHAsync_v2(back, q + (MANY - 2) * sizeof(float), sizeof back, stream));
    ok(cuStreamSynchronize(stream));
    same(back[1], 8);

    ok(launch_fill(p, 9, MANY, stream)); /* a small copy after a large one, to the same place */
    ok(cuMemcpyDtoHAsync_v2(pinned, q, MANY * sizeof(float), stream));
    ok(cuMemcpyDtoHAsync_v2(&pinned[5], p, sizeof(float), stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[4], 8);
    same(pinned[5], 9);

    ok(cuMemcpyDtoHAsync_v2(pinned, p, MANY * sizeof(float), stream));
    ok(launch_saxpy(2, 1, address_of(&pinned[MANY - 2]), q, stream)); /* maps the memory */
    ok(cuMemcpyDtoHAsync_v2(back, q, sizeof back, stream));
    ok(cuStreamSynchronize(stream));
    same(back[0], 17);
    ok(cuMemcpyDtoHAsync_v2(pinned, q, MANY * sizeof(float), stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[0], 17);
    same(pinned[2], 8);
    ok(cuMemFree_v2(p));
    ok(cuMemFree_v2(q));
    ok(cuMemFreeHost(pinned));
}

static float seen;

static void look(void *memory)
{
    seen = ((float *)memory)[MANY - 1];
}

static void copy_is_seen_by_a_host_function(void)
{
    float *pinned = pin(MANY * sizeof(float));
    CUdeviceptr p = source_of(2);
    ok(cuMemcpyDtoHAsync_v2(pinned, p, MANY * sizeof(float), stream));
    ok(cuLaunchHostFunc(stream, look, pinned));
    ok(cuStreamSynchronize(stream));
    same(seen, 2);
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(pinned));
}

/* A capture of its stream begins, which copies the same memory. */
static void copy_before_a_capture(void)
{
    float *pinned = pin(MANY * sizeof(float));
    CUdeviceptr p = source_of(5);
    CUgraph graph;
    CUgraphExec exec;
    ok(cuMemcpyDtoHAsync_v2(pinned, p, MANY * sizeof(float), stream));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuMemcpyHtoDAsync_v2(got, &pinned[MANY - 1], sizeof(float), stream));
    ok(cuMemcpyDtoHAsync_v2(&pinned[1], got, sizeof(float), stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[2], 5);
    same(pinned[1], 5);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(pinned));
}

/* Memory, stream and context end while the copy is under way. */
static void copy_and_its_end(void)
{
    float *memory = aligned_alloc(4096, MANY * sizeof(float));
    CUdeviceptr p = source_of(1);
    for (int i = 0; i < TIMES; i++) {
        CUstream other;
        memory[MANY - 1] = 0;
        ok(cuMemHostRegister_v2(memory, MANY * sizeof(float), 0));
        ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        ok(cuMemcpyDtoHAsync_v2(memory, p, MANY * sizeof(float), other));
        ok(cuStreamDestroy_v2(other));
        ok(cuMemHostUnregister(memory));
        same(memory[MANY - 1], 1);
    }
    CUcontext made;
    CUdeviceptr there;
    ok(cuCtxCreate_v2(&made, 0, 0));
    float *pinned = pin(MANY * sizeof(float));
    ok(cuMemAlloc_v2(&there, MANY * sizeof(float)));
    ok(cuMemcpyDtoHAsync_v2(pinned, there, MANY * sizeof(float), NULL));
    ok(cuCtxDestroy_v2(made));
    ok(cuCtxSetCurrent(context));
    ok(cuCtxSynchronize());
    ok(cuMemFree_v2(p));
    free(memory);
}

/* More bytes under way than the server holds. */
static void many_copies(void)
{
    enum { COPIES = 40 };
    float *pinned[COPIES];
    CUdeviceptr p = source_of(0);
    for (int i = 0; i < COPIES; i++) {
        pinned[i] = pin(MANY * sizeof(float));
        ok(launch_fill(p, (float)(i + 1), MANY, stream));
        ok(cuMemcpyDtoHAsync_v2(pinned[i], p, MANY * sizeof(float), stream));
    }
    ok(cuStreamSynchronize(stream));
    for (int i = 0; i < COPIES; i++) {
        same(pinned[i][0], i + 1);
        same(pinned[i][MANY - 1], i + 1);
        ok(cuMemFreeHost(pinned[i]));
    }
    ok(cuMemFree_v2(p));
}

/* The server has rooms of all sizes for them. */
static void copies_of_all_sizes(void)
{
    enum { LEAST = 64 * 1024 };
    float *pinned = pin(MANY * sizeof(float));
    CUdeviceptr p = source_of(3);
    for (size_t bytes = LEAST; bytes <= MANY * sizeof(float); bytes *= 2) {
        for (int i = 0; i < 20; i++)
            ok(cuMemcpyDtoHAsync_v2(pinned, p, bytes, stream));
        ok(cuStreamSynchronize(stream));
        same(pinned[bytes / sizeof(float) - 1], 3);
        memset(pinned, 0, bytes);
    }
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(pinned));
}

/* ---- what is no address ---- */

/* Two parameters side by side, each of them half of an address. */
static void halves_of_an_address(void)
{
    float *pinned = pin(BYTES), a;
    CUdeviceptr p = address_of(pinned), x = got, y = got + 1024;
    int low = (int)(uint32_t)p, high = (int)(uint32_t)(p >> 32);
    memcpy(&a, &high, sizeof a);
    ok(launch(kernel("saxpy"), 1, stream, (void *[]){ &low, &a, &x, &y }));
    ok(cuStreamSynchronize(stream));
    ok(cuMemFreeHost(pinned));
}

/* Sizes and offsets side by side in a structure, in a copy, and small numbers of other kinds. */
static void sizes_and_values(void)
{
    enum { SIZES = 1 << 16 };
    const float halves[] = { 0, 0.5f, 1, -1, 3.14159f, 1e-3f, 1e4f };
    float *pinned = pin(BYTES);
    uint32_t *sizes = malloc(SIZES * sizeof *sizes);
    CUdeviceptr p = allocate(SIZES * sizeof *sizes);
    for (uint32_t i = 0; i < SIZES; i++) /* every number as an upper half */
        sizes[i] = i % 2 ? i / 2 : 1024 * (i % 64);
    ok(cuMemcpyHtoD_v2(p, sizes, SIZES * sizeof *sizes));
    for (uint32_t i = 0; i < SIZES; i++)
        memcpy(&sizes[i], &halves[i % COUNT(halves)], sizeof(float));
    ok(cuMemcpyHtoD_v2(p, sizes, SIZES * sizeof *sizes));
    for (int n = 1; n < 1 << 20; n *= 2) {
        struct view view = { .first = 1000, .n = n, .p = (float *)(uintptr_t)p, .v = 1 };
        ok(launch(kernel("fill_view"), 1, stream, (void *[]){ &view }));
    }
    ok(cuStreamSynchronize(stream));
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(pinned));
    free(sizes);
}

static const struct test tests[] = {
    { "a kernel gets an address inside of pinned memory", by_parameter, 0 },
    { "a kernel gets it in a structure", in_a_structure, 0 },
    { "a kernel gets the end of pinned memory and counts down", by_its_end, 0 },
    { "a kernel gets it in a block of parameters", in_a_packed_block, 0 },
    { "a graph's kernel gets it", in_a_graph, 0 },
    { "a kernel gets what is written before the program waits for it", written_before_a_wait, 0 },
    { "in a table that is copied", in_a_copied_table, 0 },
    { "in a table that is copied from an odd address", in_a_table_copied_from_an_odd_address, 0 },
    { "in a large copy", in_a_large_copy, 0 },
    { "in rows that are copied", in_copied_rows, 0 },
    { "in a table in other pinned memory", in_a_table_in_pinned_memory, 0 },
    { "in a variable of a module", in_a_variable, 0 },
    { "in managed memory", in_managed_memory, 0 },
    { "at the end of a chain of addresses", in_a_chain, 0 },
    { "a kernel keeps it in memory for later ones", kept_by_a_kernel, 0 },
    { "registered memory", registered, SAME_PLACES },
    { "memory that a graph copies first", copied_by_a_graph_first, 0 },
    { "memory that the GPU writes without kernels", written_in_other_ways, 0 },
    { "a copy to pinned memory does not wait", copy_does_not_wait, 0 },
    { "nor if the stream waits for a kernel", copy_waits_for_a_kernel, 0 },
    { "its data arrive with another stream that waits for it", copy_arrives_by_another_stream, 0 },
    { "what follows it in the stream finds its data", copy_is_used_by_what_follows, 0 },
    { "a host function behind it finds its data", copy_is_seen_by_a_host_function, 0 },
    { "its stream captures behind it", copy_before_a_capture, 0 },
    { "memory, stream and context end behind it", copy_and_its_end, 0 },
    { "many copies are under way", many_copies, 0 },
    { "copies of all sizes are under way", copies_of_all_sizes, 0 },
    { "halves of an address side by side are none", halves_of_an_address, 0 },
    { "sizes and values are none", sizes_and_values, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
