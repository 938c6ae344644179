/*
 * A program that wants its share of a GPU: for bench/shares and tests/runtime/test_shares.py.
 *
 *     party KIND     prepares itself, prints "ready", then reads lines:
 *                    "go MS [EDGE_MS]" works for so long and prints one line
 *                    of JSON, about the time without EDGE_MS at both ends;
 *                    without EDGE_MS about all of it, until the last work has ended
 *     party loops    prints how many loops of the kernel 'occupy' a microsecond has
 *
 * Work is counted in microseconds of a GPU that has nothing else to do. A chunk is what a program
 * issues before it looks back: some kernels, or a graph. "in flight" is how many chunks have been
 * issued when it waits for the first one, so 1 is a loop of launch and synchronize.
 *
 * From the environment: BENCH_PARTY is the number of the party (for the books of the simulated
 * GPU), BENCH_LOOPS the loops of a microsecond, BENCH_KERNEL_US another length for the kernels.
 */
#include "config.h"

#include "load.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../tests/cuda_programs/gpu.h"

enum {
    IN_FLIGHT_MAX = 8,
    LANES_MAX = 16,
    STREAMS = 32,
    LATENCIES_MAX = 1 << 16,
    BLOCKS_OF_SM = 2,
    THREADS_OF_BLOCK = 1024,
    CLEARED_BYTES = 1 << 20,
};

enum lanes { ONE_THREAD, THREADS, CONTEXTS, CHILDREN };

struct lane;

/* A way to use the GPU. */
struct kind {
    const char *name;
    unsigned int kernel_us, kernels; /* of a chunk */
    unsigned int in_flight;
    enum lanes lanes;
    unsigned int lane_count;
    unsigned int pause_us; /* of the program, after each chunk */
    void (*issue)(struct lane *lane);
};

/* One thread or process that makes calls; in memory that processes share. */
struct lane {
    const struct kind *kind;
    sem_t may_begin, is_done;
    double ms, edge_ms; /* to work for, and how much of it does not count at each end */
    CUcontext context;
    CUfunction occupy;
    CUstream stream, streams[STREAMS];
    CUevent ends[IN_FLIGHT_MAX];
    CUgraphExec graph;
    CUdeviceptr memory;
    sem_t calls; /* functions of the program that were called, if is_calling */
    bool is_calling;
    /* results */
    uint64_t chunks;
    double seconds, stall_ms;
    size_t latency_count;
    float latencies_ms[LATENCIES_MAX];
};

static unsigned int party, loops_of_us, block_count;
static unsigned int other_kernel_us; /* 0: the kind's */

/* ---- chunks ---- */

static unsigned int kernel_us(const struct kind *kind)
{
    return other_kernel_us ? other_kernel_us : kind->kernel_us;
}

static void occupy_for(const struct lane *lane, CUstream stream, unsigned int us)
{
    unsigned int loops = us * loops_of_us;
    ok(cuLaunchKernel(lane->occupy, block_count, 1, 1, THREADS_OF_BLOCK, 1, 1, 0, stream,
                      (void *[]){ &us, &loops, &party }, NULL));
}

static void occupy(const struct lane *lane, CUstream stream)
{
    occupy_for(lane, stream, kernel_us(lane->kind));
}

static void issue_kernels(struct lane *lane)
{
    for (unsigned int i = 0; i < lane->kind->kernels; i++)
        occupy(lane, lane->stream);
}

/* One kernel of ten takes most of the time, as a convolution among small kernels does. */
static void issue_uneven(struct lane *lane)
{
    enum { OF = 10, SMALL_PERCENT = 40 };
    unsigned int us = kernel_us(lane->kind), small_us = us * SMALL_PERCENT / 100;
    for (unsigned int i = 0; i < lane->kind->kernels; i++)
        occupy_for(lane, lane->stream, i % OF ? small_us : OF * us - (OF - 1) * small_us);
}

static void issue_graph(struct lane *lane)
{
    if (!lane->graph) {
        CUgraph graph;
        ok(cuStreamBeginCapture_v2(lane->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        issue_kernels(lane);
        ok(cuStreamEndCapture(lane->stream, &graph));
        ok(cuGraphInstantiateWithFlags(&lane->graph, graph, 0));
    }
    ok(cuGraphLaunch(lane->graph, lane->stream));
}

/* The chunk's end is that of the last stream: the others have as much to do. */
static void issue_in_streams(struct lane *lane)
{
    for (unsigned int i = 0; i < STREAMS; i++) {
        if (!lane->streams[i])
            ok(cuStreamCreate(&lane->streams[i], CU_STREAM_NON_BLOCKING));
        occupy(lane, lane->streams[i]);
    }
    occupy(lane, lane->stream);
}

/* The first kernel tells the simulated GPU whose fills these are. */
static void issue_clearing(struct lane *lane)
{
    if (!lane->memory) {
        lane->memory = allocate(CLEARED_BYTES);
        occupy(lane, lane->stream);
    }
    for (unsigned int i = 0; i < lane->kind->kernels; i++)
        ok(cuMemsetD8Async(lane->memory, 1, CLEARED_BYTES, lane->stream));
}

/* Records an event after each kernel, without ever waiting for it. */
static void issue_with_events(struct lane *lane)
{
    static CUevent event;
    if (!event)
        ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (unsigned int i = 0; i < lane->kind->kernels; i++) {
        occupy(lane, lane->stream);
        ok(cuEventRecord(event, lane->stream));
    }
}

static void nothing(void *memory)
{
    (void)memory;
}

/* A host function stands behind each kernel, so the server cannot wait for the end of all work. */
static void issue_with_host_functions(struct lane *lane)
{
    issue_kernels(lane);
    ok(cuLaunchHostFunc(lane->stream, nothing, NULL));
}

static void call_for_more(void *calls)
{
    sem_post(calls);
}

/* Each kernel is launched because the function behind an earlier one was called. */
static void issue_from_host_functions(struct lane *lane)
{
    if (!lane->is_calling)
        sem_init(&lane->calls, 0, lane->kind->in_flight);
    lane->is_calling = true;
    while (sem_wait(&lane->calls))
        ;
    issue_kernels(lane);
    ok(cuLaunchHostFunc(lane->stream, call_for_more, &lane->calls));
}

/* name, us of a kernel, kernels, in flight, lanes, their number, pause, how */
static const struct kind kinds[] = {
    /* the parties of the goals */
    { "kernels", 10000, 1, 4, ONE_THREAD, 1, 0, issue_kernels },
    { "issued", 5, 1000, 3, ONE_THREAD, 1, 0, issue_kernels },
    { "loop", 200, 1, 1, ONE_THREAD, 1, 0, issue_kernels },
    { "graphs", 20, 100, 2, ONE_THREAD, 1, 0, issue_graph },
    { "steps", 80, 400, 1, ONE_THREAD, 1, 2000, issue_uneven },
    { "training", 300, 100, 2, ONE_THREAD, 1, 0, issue_kernels },
    { "inference", 50, 20, 1, ONE_THREAD, 1, 10000, issue_kernels },
    /* those that want more than their share */
    { "streams", 1000, STREAMS + 1, 2, ONE_THREAD, 1, 0, issue_in_streams },
    { "threads", 1000, 4, 2, THREADS, 8, 0, issue_kernels },
    { "contexts", 1000, 4, 2, CONTEXTS, 4, 0, issue_kernels },
    { "children", 1000, 4, 2, CHILDREN, 4, 0, issue_kernels },
    { "clearing", 0, 50, 3, ONE_THREAD, 1, 0, issue_clearing },
    { "unwaited", 500, 10, IN_FLIGHT_MAX, ONE_THREAD, 1, 0, issue_with_events },
    { "callbacks", 50000, 1, 4, ONE_THREAD, 1, 0, issue_with_host_functions },
    { "called", 50000, 1, 4, ONE_THREAD, 1, 0, issue_from_host_functions },
    { "long", 100000, 1, 2, ONE_THREAD, 1, 0, issue_kernels },
};

/* ---- a lane ---- */

static void prepare_lane(struct lane *lane)
{
    if (lane->kind->lanes == CONTEXTS)
        ok(cuCtxCreate_v2(&lane->context, 0, 0));
    ok(cuCtxSetCurrent(lane->context));
    ok(cuStreamCreate(&lane->stream, CU_STREAM_NON_BLOCKING));
    for (unsigned int i = 0; i < lane->kind->in_flight; i++)
        ok(cuEventCreate(&lane->ends[i], CU_EVENT_DISABLE_TIMING));
}

/* A function of this lane's context. */
static void load_kernel(struct lane *lane)
{
    CUmodule module;
    char *text = read_kernels();
    ok(cuModuleLoadData(&module, text));
    free(text);
    ok(cuModuleGetFunction(&lane->occupy, module, "occupy"));
}

/* The first chunk behind the counted time ends the last stall. */
static void note_end(struct lane *lane, double issued_ms, const double counted_ms[2],
                     double *last_ms)
{
    double now = now_ms();
    if (now < counted_ms[0] || *last_ms >= counted_ms[1])
        return;
    if (now - *last_ms > lane->stall_ms)
        lane->stall_ms = now - *last_ms;
    *last_ms = now;
    if (now >= counted_ms[1])
        return;
    if (lane->latency_count < LATENCIES_MAX)
        lane->latencies_ms[lane->latency_count++] = (float)(now - issued_ms);
    lane->chunks++;
}

/* Work goes on behind the counted time, so that a program's last chunks do not run while others
 * have ended. Without an edge all of them count. */
static void work(struct lane *lane)
{
    const struct kind *kind = lane->kind;
    const double begin_ms = now_ms(), end_ms = begin_ms + lane->ms;
    const double counted_ms[2] = { begin_ms + lane->edge_ms,
                                   lane->edge_ms > 0 ? end_ms - lane->edge_ms : INFINITY };
    double issued_ms[IN_FLIGHT_MAX], last_ms = counted_ms[0];
    uint64_t issued = 0, ended = 0;
    lane->chunks = 0;
    lane->latency_count = 0;
    lane->stall_ms = 0;
    for (;;) {
        bool is_over = now_ms() >= end_ms;
        if (is_over && ended == issued)
            break;
        if (!is_over) {
            issued_ms[issued % kind->in_flight] = now_ms();
            kind->issue(lane);
            ok(cuEventRecord(lane->ends[issued++ % kind->in_flight], lane->stream));
        }
        if (issued - ended < kind->in_flight && !is_over)
            continue;
        ok(cuEventSynchronize(lane->ends[ended % kind->in_flight]));
        note_end(lane, issued_ms[ended++ % kind->in_flight], counted_ms, &last_ms);
        if (kind->pause_us)
            usleep(kind->pause_us);
    }
    double last = now_ms();
    lane->seconds = ((last < counted_ms[1] ? last : counted_ms[1]) - counted_ms[0]) / 1e3;
}

static void *serve_lane(void *memory)
{
    struct lane *lane = memory;
    prepare_lane(lane);
    load_kernel(lane);
    occupy(lane, lane->stream);
    ok(cuCtxSynchronize());
    sem_post(&lane->is_done);
    while (!sem_wait(&lane->may_begin)) {
        work(lane);
        sem_post(&lane->is_done);
    }
    return NULL;
}

/* ---- the device ---- */

static void begin_driver(void)
{
    int count;
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    ok(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    block_count = (unsigned int)count * BLOCKS_OF_SM;
}

static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return a < b ? -1 : a > b;
}

/* Prints the loops of a microsecond. */
static int print_loops(void)
{
    enum { LOOPS = 1 << 20, TIMES = 7 };
    static const struct kind kind = { "loops", 1000, 1, 1, ONE_THREAD, 1, 0, issue_kernels };
    static struct lane lane = { .kind = &kind };
    unsigned int us = 1000, loops = LOOPS;
    float ms[TIMES];
    CUevent before, after;
    begin_driver();
    lane.context = context;
    prepare_lane(&lane);
    load_kernel(&lane);
    ok(cuEventCreate(&before, 0));
    ok(cuEventCreate(&after, 0));
    for (int i = 0; i < TIMES; i++) {
        ok(cuEventRecord(before, lane.stream));
        ok(cuLaunchKernel(lane.occupy, block_count, 1, 1, THREADS_OF_BLOCK, 1, 1, 0, lane.stream,
                          (void *[]){ &us, &loops, &party }, NULL));
        ok(cuEventRecord(after, lane.stream));
        ok(cuEventSynchronize(after));
        ok(cuEventElapsedTime(&ms[i], before, after));
    }
    qsort(ms, TIMES, sizeof *ms, compare);
    printf("%.0f\n", ms[TIMES / 2] > 0 ? LOOPS / (ms[TIMES / 2] * 1e3) + 0.5 : 1.0);
    return 0;
}

/* ---- the program ---- */

static struct lane *lanes;

static void begin_lanes(const struct kind *kind)
{
    lanes = mmap(NULL, LANES_MAX * sizeof *lanes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(lanes != MAP_FAILED && kind->in_flight <= IN_FLIGHT_MAX);
    if (kind->lanes != CHILDREN)
        begin_driver();
    for (unsigned int i = 0; i < kind->lane_count; i++) {
        struct lane *lane = &lanes[i];
        pthread_t thread;
        lane->kind = kind;
        lane->context = context;
        sem_init(&lane->may_begin, 1, 0);
        sem_init(&lane->is_done, 1, 0);
        if (kind->lanes != CHILDREN) {
            check(!pthread_create(&thread, NULL, serve_lane, lane));
        } else if (!fork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            begin_driver();
            lane->context = context;
            serve_lane(lane);
        }
    }
}

static void await_lanes(const struct kind *kind)
{
    for (unsigned int i = 0; i < kind->lane_count; i++)
        while (sem_wait(&lanes[i].is_done))
            ;
}

static double work_us(const struct lane *lane)
{
    const struct kind *kind = lane->kind;
    if (kind->issue == issue_clearing)
        return (double)lane->chunks * kind->kernels; /* alone there is no other measure */
    return (double)lane->chunks * kind->kernels * kernel_us(kind);
}

static void print_result(const struct kind *kind)
{
    struct lane *first = &lanes[0];
    double work = 0, seconds = 0, stall = 0;
    for (unsigned int i = 0; i < kind->lane_count; i++) {
        work += work_us(&lanes[i]);
        seconds = lanes[i].seconds > seconds ? lanes[i].seconds : seconds;
        stall = lanes[i].stall_ms > stall ? lanes[i].stall_ms : stall;
    }
    qsort(first->latencies_ms, first->latency_count, sizeof *first->latencies_ms, compare);
    size_t last = first->latency_count ? first->latency_count - 1 : 0;
    printf("{\"work_us\": %.0f, \"seconds\": %.4f, \"stall_ms\": %.3f, \"chunks\": %zu, "
           "\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"most_ms\": %.3f}\n",
           work, seconds, stall, first->latency_count, first->latencies_ms[last / 2],
           first->latencies_ms[last * 99 / 100], first->latencies_ms[last]);
}

/* Without one of its children the program would wait forever. */
static void lose_child(int signal_number)
{
    (void)signal_number;
    _exit(1);
}

static int serve(const struct kind *kind)
{
    char line[64];
    signal(SIGCHLD, lose_child);
    begin_lanes(kind);
    await_lanes(kind);
    puts("ready");
    while (!fflush(stdout) && fgets(line, sizeof line, stdin)) {
        for (unsigned int i = 0; i < kind->lane_count; i++) {
            char *rest;
            lanes[i].ms = strtod(line + strcspn(line, " "), &rest);
            lanes[i].edge_ms = strtod(rest, NULL);
            sem_post(&lanes[i].may_begin);
        }
        await_lanes(kind);
        print_result(kind);
    }
    fflush(stdout);
    _exit(0); /* the lanes wait */
}

int main(int argc, char **argv)
{
    const char *name = argc == 2 ? argv[1] : "";
    party = (unsigned int)load_number("BENCH_PARTY", 0);
    loops_of_us = (unsigned int)load_number("BENCH_LOOPS", 1);
    other_kernel_us = (unsigned int)load_number("BENCH_KERNEL_US", 0);
    if (!strcmp(name, "loops"))
        return print_loops();
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (!strcmp(kinds[i].name, name))
            return serve(&kinds[i]);
    fprintf(stderr, "party: no kind '%s':", name);
    for (size_t i = 0; i < COUNT(kinds); i++)
        fprintf(stderr, " %s", kinds[i].name);
    fputc('\n', stderr);
    return 2;
}
