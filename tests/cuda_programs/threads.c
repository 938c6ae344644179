/* Threads: calls one after another keep their order, and other calls do not wait for each other. */
#include "config.h"

#include "gpu.h"

enum { N = 1000, BYTES = N * sizeof(float), THREADS = 8, TURNS = 50 };

static CUstream stream;
static CUdeviceptr a, b;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    a = allocate(BYTES);
    b = allocate(BYTES);
    ok(launch_fill(a, 1, N, NULL));
    ok(launch_fill(b, 0, N, NULL));
    ok(cuCtxSynchronize());
}

static void run_threads(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        check(!pthread_create(&threads[i], NULL, work, (void *)i));
    for (int i = 0; i < THREADS; i++)
        check(!pthread_join(threads[i], NULL));
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static float wanted;

/* The thread whose turn it is: b = b / 2 + value, on both sides with the same rounding. */
static void *take_turns(void *number)
{
    float value = (float)(intptr_t)number * 1024;
    ok(cuCtxSetCurrent(context));
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&turn);
        wanted = wanted - wanted * 0.5f + value;
        ok(cuMemcpyDtoDAsync_v2(a, b, BYTES, stream));
        ok(launch_saxpy(N, -0.5f, a, b, stream));
        ok(launch_fill(a, value, N, stream));
        ok(launch_saxpy(N, 1, a, b, stream));
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

static void one_order(void)
{
    run_threads(take_turns);
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), wanted);
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int step;
} relay = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static void wait_for_step(int step)
{
    pthread_mutex_lock(&relay.lock);
    while (relay.step != step)
        pthread_cond_wait(&relay.change, &relay.lock);
    pthread_mutex_unlock(&relay.lock);
}

static void next_step(void)
{
    pthread_mutex_lock(&relay.lock);
    relay.step++;
    pthread_cond_broadcast(&relay.change);
    pthread_mutex_unlock(&relay.lock);
}

/* Thread k does steps k, k + THREADS, ...: b = 2 b + 1 each, twelve in all. */
static void *relay_work(void *number)
{
    ok(cuCtxSetCurrent(context));
    for (int step = (int)(intptr_t)number; step < 12; step += THREADS) {
        wait_for_step(step);
        ok(cuMemcpyDtoDAsync_v2(a, b, BYTES, stream));
        ok(launch_saxpy(N, 1, a, b, stream));
        ok(launch_fill(a, 1, N, stream));
        ok(launch_saxpy(N, 1, a, b, stream));
        next_step();
    }
    return NULL;
}

static void relayed(void)
{
    run_threads(relay_work);
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), 4095); /* 2^12 - 1 */
}

static void *work_alone(void *number)
{
    CUstream own;
    float value = (float)(intptr_t)number, *got = malloc(BYTES);
    check(got != NULL);
    ok(cuCtxSetCurrent(context));
    ok(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < TURNS; i++) {
        CUdeviceptr p = allocate(BYTES);
        ok(launch_fill(p, value, N, own));
        ok(launch_saxpy(N, 1, p, p, own));
        ok(cuMemcpyDtoHAsync_v2(got, p, BYTES, own));
        ok(cuStreamSynchronize(own));
        same(got[0], 2 * value);
        same(got[N - 1], 2 * value);
        ok(cuMemFree_v2(p));
    }
    ok(cuStreamDestroy_v2(own));
    free(got);
    return NULL;
}

static void apart(void)
{
    run_threads(work_alone);
}

static void *wait_for_stream(void *done)
{
    ok(cuCtxSetCurrent(context));
    ok(cuStreamSynchronize(stream));
    __atomic_store_n((int *)done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A thread that waits does not delay another. */
static void waiting_is_alone(void)
{
    struct gate gate = GATE;
    int done = 0;
    CUstream other;
    CUevent event;
    pthread_t waiter;
    float value = 0;
    float *pinned = allocate_pinned(BYTES);
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    close_gate(&gate, stream);
    reach_gate(&gate);
    check(!pthread_create(&waiter, NULL, wait_for_stream, &done));
    sleep_ms(20);
    for (int i = 0; i < 20; i++) {
        ok(launch_fill(a, (float)i, N, other));
        ok(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, other));
        ok(cuEventRecord(event, other));
        ok(cuEventSynchronize(event));
        value = pinned[N - 1];
        same(value, i);
    }
    same(__atomic_load_n(&done, __ATOMIC_ACQUIRE), 0);
    open_gate(&gate);
    check(!pthread_join(waiter, NULL));
    same(done, 1);
}

static void *ask_current(void *unused)
{
    CUcontext current = context;
    CUdeviceptr p;
    (void)unused;
    ok(cuCtxGetCurrent(&current));
    check(current == NULL);
    gives(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&p, 4));
    ok(cuCtxSetCurrent(context));
    ok(cuMemAlloc_v2(&p, 4));
    ok(cuMemFree_v2(p));
    return NULL;
}

static void own_current(void)
{
    run_threads(ask_current);
}

/* Threads start and end, each with a default stream of its own. */
static void *use_own_stream(void *number)
{
    CUdeviceptr p = a + (CUdeviceptr)(intptr_t)number * sizeof(float);
    ok(cuCtxSetCurrent(context));
    ok(launch_fill(p, (float)(intptr_t)number, 1, CU_STREAM_PER_THREAD));
    return NULL;
}

static void short_lives(void)
{
    for (int i = 0; i < 20; i++) {
        run_threads(use_own_stream);
        ok(cuCtxSynchronize());
    }
    float got[THREADS];
    ok(cuMemcpyDtoH_v2(got, a, sizeof got));
    for (int i = 0; i < THREADS; i++)
        same(got[i], i);
}

/* ---- calls that wait for what another thread does next ---- */

static CUstream held; /* until the flag is 1 */
static CUdeviceptr flag;

static void *raise_flag(void *unused)
{
    (void)unused;
    sleep_ms(100);
    ok(cuCtxSetCurrent(context));
    ok(cuStreamWriteValue32(stream, flag, 1, 0));
    ok(cuStreamSynchronize(stream));
    return NULL;
}

/* Makes the stream wait for the other thread's first call, with the freeing of half of the memory
 * behind it. Returns the amount of memory before that. */
static size_t hold(pthread_t *out_other)
{
    size_t free_bytes, total;
    CUdeviceptr half;
    flag = allocate(sizeof(unsigned int));
    ok(cuMemsetD32_v2(flag, 0, 1));
    ok(cuStreamCreate(&held, CU_STREAM_DEFAULT));
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    ok(cuMemAllocAsync(&half, free_bytes / 2, held));
    ok(cuCtxSynchronize());
    ok(cuStreamWaitValue32(held, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    ok(cuMemFreeAsync(half, held));
    check(!pthread_create(out_other, NULL, raise_flag, NULL));
    return free_bytes;
}

static void go_on(pthread_t other)
{
    check(!pthread_join(other, NULL));
    ok(cuStreamSynchronize(held));
}

static void frees_while_held(void)
{
    pthread_t other;
    hold(&other);
    ok(cuMemFree_v2(a));
    go_on(other);
}

static void frees_managed_while_held(void)
{
    pthread_t other;
    CUdeviceptr managed;
    ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    hold(&other);
    ok(cuMemFree_v2(managed));
    go_on(other);
}

static void unloads_while_held(void)
{
    pthread_t other;
    CUmodule module;
    char *image = read_kernels();
    ok(cuModuleLoadData(&module, image));
    free(image);
    hold(&other);
    ok(cuModuleUnload(module));
    go_on(other);
}

static void copies_while_held(void)
{
    pthread_t other;
    float values[N] = { 7 };
    hold(&other);
    ok(cuMemcpyHtoD_v2(a, values, sizeof values));
    go_on(other);
}

static void allocates_while_held(void)
{
    pthread_t other;
    CUdeviceptr most;
    size_t free_bytes = hold(&other);
    ok(cuMemAlloc_v2(&most, free_bytes - free_bytes / 8));
    ok(cuMemFree_v2(most));
    go_on(other);
}

static void allocates_from_the_pool_while_held(void)
{
    pthread_t other;
    CUdeviceptr most;
    size_t free_bytes = hold(&other);
    ok(cuMemAllocAsync(&most, free_bytes - free_bytes / 8, stream));
    ok(cuMemFreeAsync(most, stream));
    go_on(other);
}

static void copies_a_rectangle_while_held(void)
{
    pthread_t other;
    enum { ROWS = 4, ROW_BYTES = BYTES / ROWS };
    void *values = allocate_pinned(BYTES);
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = values,
                           .srcPitch = ROW_BYTES,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = a,
                           .dstPitch = ROW_BYTES,
                           .WidthInBytes = ROW_BYTES,
                           .Height = ROWS };
    hold(&other);
    ok(cuMemcpy2D_v2(&copy));
    go_on(other);
}

static void copies_to_a_peer_while_held(void)
{
    pthread_t other;
    hold(&other);
    ok(cuMemcpyPeer(b, context, a, context, BYTES));
    go_on(other);
}

/* The thread has a context of its own, and its stream waits. */
static void ends_a_context_while_held(void)
{
    pthread_t other;
    CUcontext made;
    CUstream waiting;
    flag = allocate(sizeof(unsigned int));
    ok(cuMemsetD32_v2(flag, 0, 1));
    ok(cuCtxSynchronize());
    ok(cuCtxCreate_v2(&made, 0, 0));
    ok(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    ok(cuStreamWaitValue32(waiting, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    check(!pthread_create(&other, NULL, raise_flag, NULL));
    ok(cuCtxDestroy_v2(made));
    check(!pthread_join(other, NULL));
}

static const struct test tests[] = {
    { "threads that take turns have one order", one_order, 0 },
    { "work that threads hand on is in order", relayed, 0 },
    { "threads work apart", apart, 0 },
    { "a thread that waits does not delay others", waiting_is_alone, 0 },
    { "each thread has its current context", own_current, 0 },
    { "work of a thread outlives it", short_lives, 0 },
    /* a GPU's driver may make the two threads wait for each other */
    { "freed memory waits for another thread's call", frees_while_held, ONLY_SIMULATED },
    { "managed memory that is freed waits for another thread's call", frees_managed_while_held,
      ONLY_SIMULATED },
    { "a module that is unloaded waits for another thread's call", unloads_while_held,
      ONLY_SIMULATED },
    { "a copy waits for another thread's call", copies_while_held, ONLY_SIMULATED },
    { "memory is usable after another thread's call", allocates_while_held, ONLY_SIMULATED },
    { "memory of a pool is usable after another thread's call", allocates_from_the_pool_while_held,
      ONLY_SIMULATED },
    { "a rectangle waits for another thread's call", copies_a_rectangle_while_held,
      ONLY_SIMULATED },
    { "a copy to a peer waits for another thread's call", copies_to_a_peer_while_held,
      ONLY_SIMULATED },
    { "a context that ends waits for another thread's call", ends_a_context_while_held,
      ONLY_SIMULATED },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
