/* Host functions and callbacks, which streams call in order, in the program. */
#include "config.h"

#include "gpu.h"

enum { N = 1000, BYTES = N * sizeof(float) };

static CUstream stream, other;
static CUdeviceptr a;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    a = allocate(BYTES);
    ok(launch_fill(a, 1, N, NULL));
    ok(cuCtxSynchronize());
}

static int order[100], called;

static void note(void *number)
{
    order[called++] = (int)(intptr_t)number;
}

static void in_order(void)
{
    for (intptr_t i = 0; i < 100; i++)
        ok(cuLaunchHostFunc(stream, note, (void *)i));
    ok(cuStreamSynchronize(stream));
    same(called, 100);
    for (int i = 0; i < 100; i++)
        same(order[i], i);
}

static pid_t process;
static pthread_t caller;

static void note_thread(void *unused)
{
    (void)unused;
    process = getpid();
    caller = pthread_self();
}

static void in_the_program(void)
{
    ok(cuLaunchHostFunc(stream, note_thread, NULL));
    ok(cuStreamSynchronize(stream));
    same(process, getpid());
    check(!pthread_equal(caller, pthread_self()));
}

/* Work behind a host function waits for it, on the device too. */
static void holds_up(void)
{
    struct gate gate = GATE;
    float *pinned = allocate_pinned(BYTES);
    close_gate(&gate, stream);
    ok(launch_fill(a, 2, N, stream));
    reach_gate(&gate);
    sleep_ms(20);
    ok(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, other));
    ok(cuStreamSynchronize(other));
    same(pinned[0], 1);
    open_gate(&gate);
    ok(cuStreamSynchronize(stream));
    same(all_of(a, N), 2);
    ok(cuMemFreeHost(pinned));
}

static void call_driver(void *memory)
{
    *(CUresult *)memory = cuStreamQuery(NULL);
}

static void no_driver_calls(void)
{
    CUresult status = CUDA_SUCCESS;
    ok(cuLaunchHostFunc(stream, call_driver, &status));
    ok(cuStreamSynchronize(stream));
    gives(CUDA_ERROR_NOT_PERMITTED, status);
}

static struct {
    CUstream stream;
    CUresult status;
    int count;
} told = { .status = CUDA_ERROR_UNKNOWN };

static void call_back(CUstream of, CUresult status, void *data)
{
    check(data == &told);
    told.stream = of;
    told.status = status;
    told.count++;
}

static void callbacks(void)
{
    ok(launch_fill(a, 2, N, stream));
    ok(cuStreamAddCallback(stream, call_back, &told, 0));
    ok(cuStreamAddCallback(stream, call_back, &told, 0));
    ok(cuStreamSynchronize(stream));
    same(told.count, 2);
    ok(told.status);
    check(told.stream == stream);
    gives(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, call_back, &told, 1));
    gives(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL));
}

static void wake(void *memory)
{
    __atomic_store_n((int *)memory, 1, __ATOMIC_RELEASE);
}

/* Callbacks also come without any call: a program may wait for them in its own way. */
static void unasked(void)
{
    static int flag;
    ok(launch_fill(a, 3, N, stream));
    ok(cuLaunchHostFunc(stream, wake, &flag));
    check(becomes(&flag, 1));
    ok(cuStreamQuery(other));
}

static void in_graphs(void)
{
    CUgraph graph;
    CUgraphExec exec;
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ok(cuLaunchHostFunc(stream, note, (void *)7));
    ok(cuStreamEndCapture(stream, &graph));
    same(called, 0);
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(stream));
    same(called, 3);
    same(order[2], 7);
}

/* The program ends while work is in flight; the harness notices a hang. */
static void ends_meanwhile(void)
{
    static struct gate gate = GATE;
    close_gate(&gate, stream);
    ok(launch_fill(a, 3, N, stream));
    reach_gate(&gate);
    exit(0);
}

static void count_call(void *count)
{
    __atomic_add_fetch((int *)count, 1, __ATOMIC_RELEASE);
}

/* A late error belongs to the program, and the thread that calls host functions does not take it.
 */
static void beside_an_error(void)
{
    int count = 0;
    CUresult status = cuStreamWriteValue32_v2(stream, a, 1, 2); /* no such flag */
    check(!status || status == CUDA_ERROR_INVALID_VALUE);
    ok(cuLaunchHostFunc(stream, count_call, &count));
    check(becomes(&count, 1));
    CUresult late = cuStreamSynchronize(stream);
    check((status != 0) + (late != 0) == 1);
    ok(cuLaunchHostFunc(stream, count_call, &count));
    check(becomes(&count, 2));
}

static const struct test tests[] = {
    { "host functions are called in order", in_order, 0 },
    { "they are called in the program, by another thread", in_the_program, 0 },
    { "the stream waits for them", holds_up, 0 },
    { "they may not call the driver", no_driver_calls, 0 },
    { "callbacks are called with the status", callbacks, 0 },
    { "they are called without any call of the program", unasked, 0 },
    { "graphs call them", in_graphs, 0 },
    { "they are called beside an error of another call", beside_an_error, 0 },
    { "the program may end meanwhile", ends_meanwhile, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
