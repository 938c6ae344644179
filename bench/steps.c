/*
 * Loads that have the shape of a framework's: a training step of 328 calls of the driver's, a
 * generated token of 285 launches (counted of PyTorch: ResNet-50, GPT-2). Each ends with the one
 *value that the program wants to see, so that a step needs at least one round trip.
 *
 *     steps WORK COUNT   does one of them so often, and ends (AITHERION_CUDA_LOG=summary counts)
 */
#include "config.h"

#include "../tests/cuda_programs/gpu.h"
#include "load.h"

enum { BYTES = 256 * 1024, BATCHES = 2, LAYERS = 320, KERNELS_A_TOKEN = 285, STEPS = 40 };

static struct {
    CUfunction fill;
    CUstream compute, copies;
    CUevent is_there;
    CUdeviceptr input, weights;
    void *batch;
    float *result;
} on;

static void launch_one(void)
{
    ok(launch(on.fill, 256, on.compute, (void *[]){ &on.weights, &(float){ 1 }, &(int){ 256 } }));
}

static void read_result(void)
{
    ok(cuMemcpyDtoHAsync_v2(on.result, on.weights, sizeof *on.result, on.compute));
    ok(cuStreamSynchronize(on.compute));
}

/* The input is copied on a stream of its own, and the kernels wait for it. */
static void train(void)
{
    for (int i = 0; i < BATCHES; i++)
        ok(cuMemcpyHtoDAsync_v2(on.input, on.batch, BYTES, on.copies));
    ok(cuEventRecord(on.is_there, on.copies));
    ok(cuStreamWaitEvent(on.compute, on.is_there, 0));
    ok(cuMemsetD32Async(on.input, 0, BYTES / 4, on.compute));
    ok(cuMemsetD32Async(on.weights, 0, BYTES / 4, on.compute));
    for (int i = 0; i < LAYERS; i++)
        launch_one();
    read_result();
}

static void generate(void)
{
    for (int i = 0; i < KERNELS_A_TOKEN; i++)
        launch_one();
    read_result();
}

static const struct {
    const char *name;
    void (*run)(void);
} works[] = {
    { "training step of 328 calls", train },
    { "token of 285 launches", generate },
};

static void measure(void)
{
    for (size_t i = 0; i < COUNT(works); i++)
        load_row(load_single_us(works[i].run, load_times(STEPS)) / 1e3, "ms", "%s", works[i].name);
}

static void prepare(void)
{
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    on.fill = kernel("fill");
    ok(cuStreamCreate(&on.compute, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&on.copies, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&on.is_there, CU_EVENT_DISABLE_TIMING));
    on.input = allocate(BYTES);
    on.weights = allocate(BYTES);
    ok(cuMemHostAlloc(&on.batch, BYTES, 0));
    ok(cuMemHostAlloc((void **)&on.result, sizeof *on.result, 0));
}

static int repeat(const char *name, int count)
{
    for (size_t i = 0; i < COUNT(works); i++)
        for (int k = 0; k < count && !strcmp(works[i].name, name); k++)
            works[i].run();
    return 0;
}

int main(int argc, char **argv)
{
    prepare();
    return argc == 3 ? repeat(argv[1], atoi(argv[2])) : load_serve(measure);
}
