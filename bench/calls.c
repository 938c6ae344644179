/* The time that calls of the driver API take in a program: calls without an answer, and calls that
 * wait for one. */
#include "config.h"

#include "../tests/cuda_programs/gpu.h"
#include "load.h"

enum {
    BYTES = 4096,
    MAPPED_BYTES = 64 << 20,
    HELD_BYTES = 1 << 30,
    SIZE = 16384, /* in a parameter, beside an offset */
    OFFSET = 1 << 27,
    ISSUED = 2000,
    WAITED = 200,
    MAPPED_WAITED = 20,
    IN_GRAPH = 12,
    STREAMS = 8,
    MANAGED_BYTES = 64 << 20,
    PAGE = 4096
};

static struct {
    CUfunction fill, fill_view;
    CUstream stream, streams[STREAMS];
    CUevent event;
    CUgraphExec graph;
    CUdeviceptr here, there, managed;
    void *pinned, *pageable, *held;
} on;

/* ---- the measured calls ---- */

static void launch_one(void)
{
    float value = 1;
    int n = 1;
    ok(launch(on.fill, n, on.stream, (void *[]){ &on.here, &value, &n }));
}

/* To streams in turn. */
static void launch_anywhere(void)
{
    static unsigned int turn;
    ok(launch_fill(on.here, 1, 1, on.streams[turn++ % STREAMS]));
}

static void launch_graph(void)
{
    ok(cuGraphLaunch(on.graph, on.stream));
}

static void record(void)
{
    ok(cuEventRecord(on.event, on.stream));
}

static void give_pageable(void)
{
    ok(cuMemcpyHtoDAsync_v2(on.here, on.pageable, BYTES, on.stream));
}

static void give_pinned(void)
{
    ok(cuMemcpyHtoDAsync_v2(on.here, on.pinned, BYTES, on.stream));
}

static void allocate_and_free(void)
{
    CUdeviceptr memory;
    ok(cuMemAllocAsync(&memory, BYTES, on.stream));
    ok(cuMemFreeAsync(memory, on.stream));
}

static void make_stream(void)
{
    CUstream stream;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamDestroy_v2(stream));
}

static void synchronize(void)
{
    ok(cuStreamSynchronize(on.stream));
}

static void synchronize_context(void)
{
    ok(cuCtxSynchronize());
}

/* A question that only the server can answer. */
static void ask(void)
{
    size_t available, total;
    ok(cuMemGetInfo_v2(&available, &total));
}

static void launch_and_wait(void)
{
    launch_one();
    synchronize();
}

static void record_and_wait(void)
{
    record();
    ok(cuEventSynchronize(on.event));
}

static void do_nothing(void *argument)
{
    (void)argument;
}

static void call_back(void)
{
    ok(cuLaunchHostFunc(on.stream, do_nothing, NULL));
    synchronize();
}

/* As PyTorch's item(): copies a value, then waits for the stream. */
static void fetch_pinned(void)
{
    ok(cuMemcpyDtoHAsync_v2(on.pinned, on.here, 4, on.stream));
    synchronize();
}

static void fetch_pageable(void)
{
    ok(cuMemcpyDtoHAsync_v2(on.pageable, on.here, 4, on.stream));
    synchronize();
}

/* As a step of torch.compile with CUDA graphs: copies an input and launches a graph. */
static void replay(void)
{
    ok(cuMemcpyDtoDAsync_v2(on.there, on.here, BYTES, on.stream));
    launch_graph();
    synchronize_context();
}

/* ---- measuring ---- */

static const struct {
    const char *name;
    void (*call)(void);
} issued[] = {
    { "launch, issued", launch_one },
    { "launch to eight streams, issued", launch_anywhere },
    { "graph launch, issued", launch_graph },
    { "event record, issued", record },
    { "4 KiB pageable to device, issued", give_pageable },
    { "4 KiB pinned to device, issued", give_pinned },
    { "memory taken and freed in a stream, issued", allocate_and_free },
    { "stream made and ended, issued", make_stream },
}, waited[] = {
    { "synchronize, nothing under way", synchronize_context },
    { "free memory asked", ask },
    { "launch, waited", launch_and_wait },
    { "event recorded, waited", record_and_wait },
    { "host function, waited", call_back },
    { "4 bytes from device to pinned, waited", fetch_pinned },
    { "4 bytes from device to pageable, waited", fetch_pageable },
    { "copy and graph, waited", replay },
};

/* Host memory that kernels reach. Over TCP the server compares all of it to find what they wrote.
 */
static void measure_mapped(void)
{
    void *mapped;
    ok(cuMemHostAlloc(&mapped, MAPPED_BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
    load_row(load_single_us(synchronize_context, load_times(MAPPED_WAITED)), "us",
             "synchronize, 64 MiB mapped");
    ok(cuMemFreeHost(mapped));
}

/* The GPU writes all of the memory, and the program then touches each page of it. */
static void take_turns(void)
{
    float value = 1;
    int n = MANAGED_BYTES / (int)sizeof value;
    ok(launch(on.fill, n, on.stream, (void *[]){ &on.managed, &value, &n }));
    synchronize();
    volatile char *bytes = (void *)(uintptr_t)on.managed; // NOLINT(performance-no-int-to-ptr)
    for (size_t i = 0; i < MANAGED_BYTES; i += PAGE)
        bytes[i]++;
}

static void measure_managed(void)
{
    ok(cuMemAllocManaged(&on.managed, MANAGED_BYTES, CU_MEM_ATTACH_GLOBAL));
    load_row(load_single_us(take_turns, load_times(MAPPED_WAITED)) / 1e3, "ms",
             "64 MiB managed, by turns");
    ok(cuMemFree_v2(on.managed));
}

/* As a kernel of a library: gets an address and numbers in one parameter. */
static void launch_view_and_wait(void)
{
    const struct {
        int first, n;
        CUdeviceptr p;
        float v;
    } view = {
        .first = OFFSET, .n = SIZE, .p = on.here - (CUdeviceptr)OFFSET * sizeof(float), .v = 1
    };
    ok(launch(on.fill_view, 1, on.stream, (void *[]){ (void *)(uintptr_t)&view }));
    synchronize();
}

static void launch_by_pointer_and_wait(void)
{
    float value = 1;
    int n = 1;
    ok(launch(on.fill, n, on.stream, (void *[]){ &on.held, &value, &n }));
    synchronize();
}

/* Pinned memory that the program holds: first no kernel gets its address, as in PyTorch's cache of
 * pinned memory, then one does. BENCH_HELD is its size in bytes. */
static void measure_held(void)
{
    const size_t bytes = load_number("BENCH_HELD", load_is_quick() ? MAPPED_BYTES : HELD_BYTES);
    ok(cuMemHostAlloc(&on.held, bytes, 0));
    load_row(load_single_us(launch_view_and_wait, load_times(WAITED)), "us",
             "launch with pinned memory held, waited");
    ok(launch(on.fill, 1, on.stream, (void *[]){ &on.held, &(float){ 1 }, &(int){ 1 } }));
    load_row(load_single_us(launch_by_pointer_and_wait, load_times(MAPPED_WAITED)), "us",
             "launch on the pinned memory, waited");
    ok(cuMemFreeHost(on.held));
}

static void measure(void)
{
    for (size_t i = 0; i < COUNT(issued); i++)
        load_row(load_issue_us(issued[i].call, synchronize_context, load_times(ISSUED)), "us", "%s",
                 issued[i].name);
    for (size_t i = 0; i < COUNT(waited); i++)
        load_row(load_single_us(waited[i].call, load_times(WAITED)), "us", "%s", waited[i].name);
    measure_mapped();
    measure_held();
    measure_managed();
}

static void prepare(void)
{
    CUgraph graph;
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    on.fill = kernel("fill");
    on.fill_view = kernel("fill_view");
    ok(cuStreamCreate(&on.stream, CU_STREAM_NON_BLOCKING));
    for (size_t i = 0; i < STREAMS; i++)
        ok(cuStreamCreate(&on.streams[i], CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&on.event, CU_EVENT_DISABLE_TIMING));
    on.here = allocate(BYTES);
    on.there = allocate(BYTES);
    ok(cuMemHostAlloc(&on.pinned, BYTES, 0));
    on.pageable = calloc(1, BYTES);
    check(on.pageable);
    ok(cuStreamBeginCapture_v2(on.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < IN_GRAPH; i++)
        launch_one();
    ok(cuStreamEndCapture(on.stream, &graph));
    ok(cuGraphInstantiateWithFlags(&on.graph, graph, 0));
}

int main(void)
{
    prepare();
    return load_serve(measure);
}
