/* Threads: one order for what happens one after another, and no waiting for each other else. */
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

/* Whoever has its turn: b = b / 2 + value, on both sides with the same rounding. */
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

/* A thread that waits holds up no other. */
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

/* Threads come and go, each with a default stream of its own. */
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

static const struct test tests[] = {
    { "threads that take turns have one order", one_order, 0 },
    { "what threads hand on is in order", relayed, 0 },
    { "threads work apart", apart, 0 },
    { "a thread that waits holds up no other", waiting_is_alone, 0 },
    { "each thread has its current context", own_current, 0 },
    { "work of a thread outlives it", short_lives, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
