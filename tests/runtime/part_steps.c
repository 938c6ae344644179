/*
 * A program of CUDA's driver API that tells on which multiprocessors its work runs. It does the
 * steps that standard input has, one for each line, and prints the result of each.
 *
 *     count           multiprocessors: by the device's attribute, of the device, of the context,
 * and how many the best grid of a kernel is for on WHERE        those on which a kernel ran, with
 * commas between: null (the null stream), stream, nonblocking, thread (its own default stream),
 * captured (a graph), node (of a graph, added by hand), own (a green context of the program's, of
 *                     the smallest part of what it has)
 *     fits            a cooperative launch of as many blocks as fit on its multiprocessors, and one
 *                     of one more: the results
 *     order           whether the null stream and others wait for each other as CUDA says: "right"
 *     time US LOOPS   milliseconds of ten kernels that have blocks for a whole GPU: each takes so
 *                     many microseconds on all multiprocessors of the simulated device, and so many
 *                     loops on a GPU
 *     context         the result of cuCtxCreate()
 *     hidden          whether the program sees only its primary context: "right"
 *     again           ends the primary context and begins it again
 *
 * It calls cuInit() and takes the primary context of the first device, and prints the result.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda/api/cuda_api.h"

enum { PROCESSORS_MAX = 1024, BLOCKS = 4096, THREADS = 256 };

static CUcontext context;
static CUmodule module;
static CUfunction tell, occupy;
static CUdeviceptr marks;

static const char *name_of(CUresult status)
{
    const char *name = "?";
    cuGetErrorName(status, &name);
    return name;
}

/* Ends the program with the first result that is an error. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        CUresult status_ = (call);                                                                 \
        if (status_) {                                                                             \
            printf("%s: %s\n", #call, name_of(status_));                                           \
            fflush(stdout);                                                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static char *read_kernels(void)
{
    const char *folder = getenv("srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/cuda_programs/kernels.ptx", folder ? folder : ".");
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || !fread(text, 1, (1 << 20) - 1, file)) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

static CUresult begin(void)
{
    CUresult status = cuDevicePrimaryCtxRetain(&context, 0);
    if (!status)
        status = cuCtxSetCurrent(context);
    if (status)
        return status;
    char *text = read_kernels();
    OK(cuModuleLoadData(&module, text));
    free(text);
    OK(cuModuleGetFunction(&tell, module, "tell_processors"));
    OK(cuModuleGetFunction(&occupy, module, "occupy"));
    OK(cuMemAlloc_v2(&marks, PROCESSORS_MAX * sizeof(unsigned int)));
    OK(cuMemsetD8_v2(marks, 0, PROCESSORS_MAX * sizeof(unsigned int)));
    OK(cuCtxSynchronize());
    return CUDA_SUCCESS;
}

/* ---- the number ---- */

static void step_count(const char *words)
{
    CUdevResource whole, of_context;
    int attribute, blocks, grid, block;
    (void)words;
    OK(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuCtxGetDevResource(context, &of_context, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, tell, NULL, 0, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tell, block, 0));
    printf("%d %u %u %d\n", attribute, whole.sm.smCount, of_context.sm.smCount, grid / blocks);
}

/* ---- where ---- */

static CUresult launch(CUstream stream)
{
    void *params[] = { &marks };
    return cuLaunchKernel(tell, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, params, NULL);
}

static void on_stream(CUstream stream)
{
    OK(launch(stream));
    OK(cuStreamSynchronize(stream));
}

static void on_new(unsigned int flags)
{
    CUstream stream;
    OK(cuStreamCreate(&stream, flags));
    on_stream(stream);
    OK(cuStreamDestroy_v2(stream));
}

static void on_graph(CUgraph graph)
{
    CUgraphExec exec;
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void on_captured(void)
{
    CUstream stream;
    CUgraph graph;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch(stream));
    OK(cuStreamEndCapture(stream, &graph));
    on_graph(graph);
    OK(cuStreamDestroy_v2(stream));
}

static void on_node(void)
{
    void *params[] = { &marks };
    const CUDA_KERNEL_NODE_PARAMS kernel = { .func = tell,
                                             .gridDimX = BLOCKS,
                                             .gridDimY = 1,
                                             .gridDimZ = 1,
                                             .blockDimX = THREADS,
                                             .blockDimY = 1,
                                             .blockDimZ = 1,
                                             .kernelParams = params };
    CUDA_KERNEL_NODE_PARAMS got;
    CUgraph graph;
    CUgraphNode node;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    OK(cuGraphKernelNodeGetParams_v2(node, &got)); /* and back, as programs do that change a node */
    OK(cuGraphKernelNodeSetParams_v2(node, &got));
    on_graph(graph);
}

static void on_own(void)
{
    CUdevResource whole, part;
    CUdevResourceDesc description;
    CUgreenCtx green;
    CUstream stream;
    unsigned int count = 1;
    OK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 0, 0));
    OK(cuDevResourceGenerateDesc(&description, &part, 1));
    OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    on_stream(stream);
    OK(cuStreamDestroy_v2(stream));
    OK(cuGreenCtxDestroy(green));
}

static void say_marks(void)
{
    unsigned int found[PROCESSORS_MAX];
    const char *between = "";
    OK(cuMemcpyDtoH_v2(found, marks, sizeof found));
    OK(cuMemsetD8_v2(marks, 0, sizeof found));
    OK(cuCtxSynchronize()); /* a non-blocking stream does not wait for the fill */
    for (int i = 0; i < PROCESSORS_MAX; i++)
        if (found[i]) {
            printf("%s%d", between, i);
            between = ",";
        }
    puts("");
}

static void step_on(const char *where)
{
    if (!strcmp(where, "null"))
        on_stream(NULL);
    else if (!strcmp(where, "stream"))
        on_new(CU_STREAM_DEFAULT);
    else if (!strcmp(where, "nonblocking"))
        on_new(CU_STREAM_NON_BLOCKING);
    else if (!strcmp(where, "thread"))
        on_stream(CU_STREAM_PER_THREAD);
    else if (!strcmp(where, "captured"))
        on_captured();
    else if (!strcmp(where, "node"))
        on_node();
    else
        on_own();
    say_marks();
}

static void step_fits(const char *words)
{
    void *params[] = { &marks };
    int processors, blocks;
    (void)words;
    OK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tell, THREADS, 0));
    unsigned int most = (unsigned int)(processors * blocks);
    CUresult all = cuLaunchCooperativeKernel(tell, most, 1, 1, THREADS, 1, 1, 0, NULL, params);
    CUresult more = cuLaunchCooperativeKernel(tell, most + 1, 1, 1, THREADS, 1, 1, 0, NULL, params);
    OK(cuCtxSynchronize());
    OK(cuMemsetD8_v2(marks, 0, PROCESSORS_MAX * sizeof(unsigned int)));
    printf("%s %s\n", name_of(all), name_of(more));
}

/* ---- order ---- */

static void be_late(void *done)
{
    usleep(200000);
    __atomic_store_n((int *)done, 1, __ATOMIC_RELEASE);
}

/* Whether work of one stream waits for earlier work of another. */
static bool waits(CUstream later, CUstream earlier)
{
    static int done;
    __atomic_store_n(&done, 0, __ATOMIC_RELEASE);
    OK(cuLaunchHostFunc(earlier, be_late, &done));
    OK(cuMemsetD8Async(marks, 0, 4, later));
    OK(cuStreamSynchronize(later));
    bool is_after = __atomic_load_n(&done, __ATOMIC_ACQUIRE) != 0;
    OK(cuCtxSynchronize());
    return is_after;
}

static void step_order(const char *words)
{
    CUstream blocking, other;
    (void)words;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    bool is_right = waits(NULL, blocking) && waits(blocking, NULL) && !waits(other, NULL) &&
                    !waits(NULL, other) && !waits(other, blocking) &&
                    waits(CU_STREAM_PER_THREAD, NULL) && waits(NULL, CU_STREAM_PER_THREAD);
    OK(cuStreamDestroy_v2(blocking));
    OK(cuStreamDestroy_v2(other));
    puts(is_right ? "right" : "wrong");
}

/* ---- the rest ---- */

static void step_time(const char *words)
{
    enum { TIMES = 10, MANY = 2112 };
    char *end;
    unsigned int us = (unsigned int)strtoul(words, &end, 10);
    unsigned int loops = (unsigned int)strtoul(end, NULL, 10), party = 1;
    void *params[] = { &us, &loops, &party };
    struct timespec before, after;
    OK(cuCtxSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < TIMES; i++)
        OK(cuLaunchKernel(occupy, MANY, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%ld\n",
           (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000);
}

static void step_context(const char *words)
{
    CUcontext made;
    (void)words;
    puts(name_of(cuCtxCreate_v2(&made, 0, 0)));
}

static void step_hidden(const char *words)
{
    CUcontext got[3];
    CUgreenCtx green;
    CUstream stream;
    (void)words;
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuCtxGetCurrent(&got[0]));
    OK(cuStreamGetCtx(NULL, &got[1]));
    OK(cuStreamGetCtx(stream, &got[2]));
    OK(cuStreamGetGreenCtx(stream, &green));
    OK(cuStreamDestroy_v2(stream));
    bool is_right = !green;
    for (int i = 0; i < 3; i++)
        is_right = is_right && got[i] == context;
    puts(is_right ? "right" : "wrong");
}

static void step_again(const char *words)
{
    (void)words;
    OK(cuMemFree_v2(marks));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    puts(name_of(begin()));
}

static const struct {
    const char *name;
    void (*run)(const char *words);
} steps[] = {
    { "count", step_count },   { "on", step_on },       { "fits", step_fits },
    { "order", step_order },   { "time", step_time },   { "context", step_context },
    { "hidden", step_hidden }, { "again", step_again },
};

static void run_step(char *line)
{
    char *words = line + strcspn(line, " \n");
    if (*words)
        *words++ = '\0';
    words[strcspn(words, "\n")] = '\0';
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!strcmp(steps[i].name, line)) {
            steps[i].run(words);
            fflush(stdout);
            return;
        }
    puts("no such step");
    fflush(stdout);
}

int main(void)
{
    char line[256];
    CUresult status = cuInit(0);
    if (!status)
        status = begin();
    puts(name_of(status));
    fflush(stdout);
    while (!status && fgets(line, sizeof line, stdin))
        run_step(line);
    return status != CUDA_SUCCESS;
}
