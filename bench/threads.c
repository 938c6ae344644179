/* Copies of eight threads at the same time, each in a stream of its own. Both ways the threads
 * issue all copies of a turn, and then each waits for its stream. */
#include "config.h"

#include "../tests/cuda_programs/gpu.h"
#include "load.h"

enum { THREADS = 8, BYTES = 256 * 1024, COPIES = 400 };

static struct worker {
    pthread_t thread;
    CUstream stream;
    CUdeviceptr device;
    void *pinned;
} workers[THREADS];

static pthread_barrier_t turn; /* of all workers and the main thread */
static int copies;
static bool is_to_device, is_over;

static void copy_all(const struct worker *worker)
{
    for (int i = 0; i < copies; i++)
        if (is_to_device)
            ok(cuMemcpyHtoDAsync_v2(worker->device, worker->pinned, BYTES, worker->stream));
        else
            ok(cuMemcpyDtoHAsync_v2(worker->pinned, worker->device, BYTES, worker->stream));
    ok(cuStreamSynchronize(worker->stream));
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    ok(cuCtxSetCurrent(context));
    for (;; pthread_barrier_wait(&turn)) {
        pthread_barrier_wait(&turn);
        if (is_over)
            return NULL;
        copy_all(worker);
    }
}

static double speed(void)
{
    double begin = load_now_s();
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    return (double)THREADS * copies * BYTES / (load_now_s() - begin) / 1e9;
}

static void measure(void)
{
    copies = load_times(COPIES);
    is_to_device = true;
    load_row(speed(), "GB/s", "eight threads, 256 KiB pinned to device");
    is_to_device = false;
    load_row(speed(), "GB/s", "eight threads, 256 KiB pinned from device");
}

int main(void)
{
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    pthread_barrier_init(&turn, NULL, THREADS + 1);
    for (struct worker *worker = workers; worker < workers + THREADS; worker++) {
        ok(cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING));
        worker->device = allocate(BYTES);
        worker->pinned = allocate_pinned(BYTES);
        check(!pthread_create(&worker->thread, NULL, work, worker));
    }
    int code = load_serve(measure);
    is_over = true;
    pthread_barrier_wait(&turn);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    return code;
}
