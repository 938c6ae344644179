/* What calls of the driver API cost a program: those that nobody waits for, and those that wait. */
#include "config.h"

#include "../tests/cuda_programs/gpu.h"
#include "load.h"

enum {
    BYTES = 4096,
    MAPPED_BYTES = 64 << 20,
    ISSUED = 2000,
    WAITED = 200,
    MAPPED_WAITED = 20,
    IN_GRAPH = 12
};

static struct {
    CUfunction fill;
    CUstream stream;
    CUevent event;
    CUgraphExec graph;
    CUdeviceptr here, there;
    void *pinned, *pageable;
} on;

/* ---- what is measured ---- */

static void launch_one(void)
{
    float value = 1;
    int n = 1;
    ok(launch(on.fill, n, on.stream, (void *[]){ &on.here, &value, &n }));
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

/* As PyTorch's item(): a value comes, then the stream is waited for. */
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

/* As a step of torch.compile with CUDA graphs: an input is copied, a graph is launched. */
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
    { "graph launch, issued", launch_graph },
    { "event record, issued", record },
    { "4 KiB pageable to device, issued", give_pageable },
    { "4 KiB pinned to device, issued", give_pinned },
}, waited[] = {
    { "synchronize, nothing under way", synchronize_context },
    { "free memory asked", ask },
    { "launch, waited", launch_and_wait },
    { "4 bytes from device to pinned, waited", fetch_pinned },
    { "4 bytes from device to pageable, waited", fetch_pageable },
    { "copy and graph, waited", replay },
};

/* Host memory that kernels reach: over TCP the server looks in all of it for what they wrote. */
static void measure_mapped(void)
{
    void *mapped;
    ok(cuMemHostAlloc(&mapped, MAPPED_BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
    load_row(load_single_us(synchronize_context, load_times(MAPPED_WAITED)), "us",
             "synchronize, 64 MiB mapped");
    ok(cuMemFreeHost(mapped));
}

static void measure(void)
{
    for (size_t i = 0; i < COUNT(issued); i++)
        load_row(load_issue_us(issued[i].call, synchronize_context, load_times(ISSUED)), "us", "%s",
                 issued[i].name);
    for (size_t i = 0; i < COUNT(waited); i++)
        load_row(load_single_us(waited[i].call, load_times(WAITED)), "us", "%s", waited[i].name);
    measure_mapped();
}

static void prepare(void)
{
    CUgraph graph;
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    on.fill = kernel("fill");
    ok(cuStreamCreate(&on.stream, CU_STREAM_NON_BLOCKING));
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
