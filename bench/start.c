/*
 * The time until a program's first kernel has run. A process starts once, so this one
 * measures once: bench/run starts a new one for each round.
 */
#include "config.h"

#include "../tests/cuda_programs/gpu.h"
#include "load.h"

static double since;

/* Milliseconds since the last call. */
static double lap_ms(void)
{
    double before = since;
    since = load_now_s();
    return (since - before) * 1e3;
}

static void measure(void)
{
    enum { N = 256 };
    double begin = since = load_now_s();
    ok(cuInit(0));
    load_row(lap_ms(), "ms", "cuInit: the session opens");
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    load_row(lap_ms(), "ms", "a context");
    CUfunction fill = kernel("fill");
    load_row(lap_ms(), "ms", "a library loads");
    CUdeviceptr memory = allocate(N * sizeof(float));
    ok(launch(fill, N, NULL, (void *[]){ &memory, &(float){ 1 }, &(int){ N } }));
    ok(cuCtxSynchronize());
    load_row(lap_ms(), "ms", "the first kernel runs");
    load_row((since - begin) * 1e3, "ms", "from cuInit to the end of the first kernel");
}

int main(void)
{
    return load_serve(measure);
}
