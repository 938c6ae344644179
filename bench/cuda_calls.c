/*
 * What calls of the driver API cost a program: linked to libcuda.so.1, which LD_LIBRARY_PATH
 * chooses. Prints "NAME VALUE UNIT" lines, once for each line on standard input; cuda_calls.py
 * compares two of them.
 */
#include "config.h"

#include <stdint.h>
#include <time.h>

#include "../tests/cuda_programs/gpu.h"

enum { MIB = 1024 * 1024, BYTES = 256 * MIB, ISSUED = 2000, WAITED = 200, COPIES = 3 };

static struct {
    CUfunction fill;
    CUstream stream;
    CUevent event;
    CUgraphExec graph;
    CUdeviceptr small, large, other;
    void *pinned, *pageable, *pinned_large, *pageable_large;
} on;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* ---- what is measured ---- */

static void launch_one(void)
{
    float value = 1;
    int n = 1;
    ok(launch(on.fill, n, on.stream, (void *[]){ &on.small, &value, &n }));
}

static void launch_graph(void)
{
    ok(cuGraphLaunch(on.graph, on.stream));
}

static void record(void)
{
    ok(cuEventRecord(on.event, on.stream));
}

static void synchronize(void)
{
    ok(cuStreamSynchronize(on.stream));
}

static void synchronize_context(void)
{
    ok(cuCtxSynchronize());
}

/* As PyTorch's item(): a value comes, then the stream is waited for. */
static void fetch_pinned(void)
{
    ok(cuMemcpyDtoHAsync_v2(on.pinned, on.small, 4, on.stream));
    synchronize();
}

static void fetch_pageable(void)
{
    ok(cuMemcpyDtoHAsync_v2(on.pageable, on.small, 4, on.stream));
    synchronize();
}

static void give_pageable(void)
{
    ok(cuMemcpyHtoDAsync_v2(on.small, on.pageable, 4096, on.stream));
}

static void give_pinned(void)
{
    ok(cuMemcpyHtoDAsync_v2(on.small, on.pinned, 4096, on.stream));
}

/* As a step of torch.compile with CUDA graphs: an input is copied, a graph is launched. */
static void replay(void)
{
    ok(cuMemcpyDtoDAsync_v2(on.other, on.small, 4096, on.stream));
    launch_graph();
    synchronize_context();
}

static void pinned_to(void)
{
    ok(cuMemcpyHtoDAsync_v2(on.large, on.pinned_large, BYTES, on.stream));
    synchronize();
}

static void pinned_from(void)
{
    ok(cuMemcpyDtoHAsync_v2(on.pinned_large, on.large, BYTES, on.stream));
    synchronize();
}

static void pageable_to(void)
{
    ok(cuMemcpyHtoDAsync_v2(on.large, on.pageable_large, BYTES, on.stream));
    synchronize();
}

static void pageable_from(void)
{
    ok(cuMemcpyDtoHAsync_v2(on.pageable_large, on.large, BYTES, on.stream));
    synchronize();
}

/* ---- measuring ---- */

/* Microseconds that a call of many takes to issue. */
static double issue(void (*call)(void), int count)
{
    synchronize_context();
    double begin = now_s();
    for (int i = 0; i < count; i++)
        call();
    double seconds = now_s() - begin;
    synchronize_context();
    return seconds / count * 1e6;
}

/* The median of single calls, in microseconds. */
static double single(void (*call)(void), int count)
{
    double taken[WAITED];
    for (int i = 0; i < count; i++) {
        double begin = now_s();
        call();
        taken[i] = (now_s() - begin) * 1e6;
    }
    qsort(taken, (size_t)count, sizeof *taken, compare);
    return taken[count / 2];
}

static double speed(void (*call)(void), int count)
{
    return BYTES / single(call, count) / 1e3; /* bytes a microsecond, as GB/s */
}

static const struct {
    const char *name, *unit;
    double (*measure)(void (*call)(void), int count);
    void (*call)(void);
    int count;
} rows[] = {
    { "launch, issued", "us", issue, launch_one, ISSUED },
    { "graph launch, issued", "us", issue, launch_graph, ISSUED },
    { "event record, issued", "us", issue, record, ISSUED },
    { "4 KiB pageable to device, issued", "us", issue, give_pageable, ISSUED },
    { "4 KiB pinned to device, issued", "us", issue, give_pinned, ISSUED },
    { "synchronize", "us", single, synchronize_context, WAITED },
    { "4 bytes from device to pinned, waited", "us", single, fetch_pinned, WAITED },
    { "4 bytes from device to pageable, waited", "us", single, fetch_pageable, WAITED },
    { "copy and graph, waited", "us", single, replay, WAITED },
    { "256 MiB pinned to device", "GB/s", speed, pinned_to, COPIES },
    { "256 MiB pinned from device", "GB/s", speed, pinned_from, COPIES },
    { "256 MiB pageable to device", "GB/s", speed, pageable_to, COPIES },
    { "256 MiB pageable from device", "GB/s", speed, pageable_from, COPIES },
};

static void prepare(void)
{
    CUgraph graph;
    on.fill = kernel("fill");
    ok(cuStreamCreate(&on.stream, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&on.event, CU_EVENT_DISABLE_TIMING));
    on.small = allocate(4096);
    on.other = allocate(4096);
    on.large = allocate(BYTES);
    ok(cuMemHostAlloc(&on.pinned, 4096, 0));
    on.pageable = calloc(1, 4096);
    ok(cuMemHostAlloc(&on.pinned_large, BYTES, 0));
    on.pageable_large = malloc(BYTES);
    check(on.pageable && on.pageable_large);
    memset(on.pinned_large, 1, BYTES);
    memset(on.pageable_large, 1, BYTES);
    ok(cuStreamBeginCapture_v2(on.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < 12; i++)
        launch_one();
    ok(cuStreamEndCapture(on.stream, &graph));
    ok(cuGraphInstantiateWithFlags(&on.graph, graph, 0));
}

int main(void)
{
    char line[64];
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    prepare();
    for (puts("ready"); !fflush(stdout) && fgets(line, sizeof line, stdin);) {
        for (size_t i = 0; i < COUNT(rows); i++)
            printf("%s = %.6g %s\n", rows[i].name, rows[i].measure(rows[i].call, rows[i].count),
                   rows[i].unit);
        puts("done");
    }
    return 0;
}
