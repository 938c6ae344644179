/* Order: streams, events, the default streams, values in memory. */
#include "config.h"

#include "gpu.h"

enum { N = 1000, BYTES = N * sizeof(float) };

static CUstream stream, other;
static CUdeviceptr a, b;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    a = allocate(BYTES);
    b = allocate(BYTES);
    ok(launch_fill(a, 1, N, NULL));
    ok(launch_fill(b, 1, N, NULL));
    ok(cuCtxSynchronize());
}

/* The result is right in one order only. */
static void in_order(void)
{
    ok(launch_fill(a, 3, N, stream));
    ok(launch_saxpy(N, 1, a, b, stream)); /* 4 */
    ok(cuMemcpyDtoDAsync_v2(a, b, BYTES, stream));
    ok(launch_saxpy(N, 1, a, b, stream)); /* 8 */
    ok(cuMemsetD32Async(a, 0, N, stream));
    ok(launch_saxpy(N, 1, a, b, stream)); /* 8 */
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), 8);
    same(all_of(a, N), 0);
}

static void not_waiting(void)
{
    struct gate gate = GATE;
    close_gate(&gate, stream);
    ok(launch_fill(a, 2, N, stream));
    reach_gate(&gate);
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    ok(cuStreamQuery(other));
    open_gate(&gate);
    ok(cuStreamSynchronize(stream));
    ok(cuStreamQuery(stream));
    same(all_of(a, N), 2);
}

static void event_order(void)
{
    struct gate gate = GATE;
    CUevent event;
    ok(cuEventCreate(&event, CU_EVENT_DEFAULT));
    ok(cuEventQuery(event)); /* never recorded */
    close_gate(&gate, stream);
    ok(launch_fill(a, 5, N, stream));
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(other, event, 0));
    ok(launch_saxpy(N, 1, a, b, other));
    gives(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    open_gate(&gate);
    ok(cuStreamSynchronize(other));
    ok(cuEventQuery(event));
    same(all_of(b, N), 6);
    ok(cuEventDestroy_v2(event));
}

/* A later record does not count for a stream that waits already. */
static void event_wait_is_for_earlier_record(void)
{
    struct gate gate = GATE;
    CUevent event;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuEventRecord(event, other));
    ok(cuStreamWaitEvent(stream, event, 0));
    close_gate(&gate, other);
    ok(cuEventRecord(event, other));
    ok(cuStreamSynchronize(stream));
    gives(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    open_gate(&gate);
    ok(cuEventSynchronize(event));
    ok(cuEventDestroy_v2(event));
}

static void sleep_20_ms(void *unused)
{
    (void)unused;
    sleep_ms(20);
}

static void events_measure(void)
{
    struct gate gate = GATE;
    CUevent from, to, silent;
    float ms = -1;
    double begin_ms = now_ms();
    ok(cuEventCreate(&from, CU_EVENT_DEFAULT));
    ok(cuEventCreate(&to, CU_EVENT_BLOCKING_SYNC));
    ok(cuEventCreate(&silent, CU_EVENT_DISABLE_TIMING));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&ms, from, to));
    ok(cuEventRecord(from, stream));
    close_gate(&gate, stream);
    ok(cuLaunchHostFunc(stream, sleep_20_ms, NULL));
    ok(cuEventRecord(to, stream));
    gives(CUDA_ERROR_NOT_READY, cuEventElapsedTime_v2(&ms, from, to));
    open_gate(&gate);
    ok(cuEventSynchronize(to));
    ok(cuEventElapsedTime_v2(&ms, from, to));
    check(ms >= 19 && ms < now_ms() - begin_ms + 1);
    ok(cuEventRecord(silent, stream));
    ok(cuEventSynchronize(silent));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&ms, from, silent));
}

static void legacy_waits(void)
{
    struct gate gate = GATE;
    CUstream blocking;
    ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    close_gate(&gate, blocking);
    ok(launch_fill(a, 7, N, blocking));
    ok(launch_saxpy(N, 1, a, b, CU_STREAM_LEGACY));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    ok(cuStreamQuery(stream)); /* but not the others */
    open_gate(&gate);
    ok(cuStreamSynchronize(NULL));
    same(all_of(b, N), 8);
}

static void waits_for_legacy(void)
{
    struct gate gate = GATE;
    CUstream blocking;
    ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    close_gate(&gate, NULL);
    ok(launch_fill(a, 7, N, NULL));
    ok(launch_saxpy(N, 1, a, b, blocking));
    ok(cuStreamSynchronize(stream)); /* does not wait for the legacy stream */
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(blocking));
    open_gate(&gate);
    ok(cuCtxSynchronize());
    same(all_of(b, N), 8);
}

/* The thread's stream blocks the legacy stream as a stream of cuStreamCreate does. */
static void own_stream_waits_for_legacy(void)
{
    struct gate gate = GATE;
    close_gate(&gate, NULL);
    ok(launch_fill(a, 7, N, NULL));
    ok(launch_saxpy(N, 1, a, b, CU_STREAM_PER_THREAD));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
    open_gate(&gate);
    ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    ok(cuCtxSynchronize());
    same(all_of(b, N), 8);
}

static void *use_own_stream(void *gate)
{
    ok(cuCtxSetCurrent(context));
    ok(launch_fill(a, 4, N, CU_STREAM_PER_THREAD));
    ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    open_gate(gate);
    return NULL;
}

static void own_streams(void)
{
    struct gate gate = GATE;
    pthread_t thread;
    close_gate(&gate, CU_STREAM_PER_THREAD);
    check(!pthread_create(&thread, NULL, use_own_stream, &gate));
    check(!pthread_join(thread, NULL));
    ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    same(all_of(a, N), 4);
}

/* The functions that a program built with --default-stream per-thread calls. */
static void own_streams_by_name(void)
{
    struct gate gate = GATE;
    float value = 0;
    close_gate(&gate, CU_STREAM_PER_THREAD);
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery_ptsz(NULL));
    ok(cuStreamQuery(stream));
    open_gate(&gate);
    ok(cuStreamSynchronize_ptsz(NULL));
    ok(cuMemcpyHtoD_v2_ptds(b, &(float){ 9 }, sizeof(float)));
    ok(cuMemcpyDtoH_v2_ptds(&value, b, sizeof value));
    same(value, 9);
}

static void destroyed_stream(void)
{
    struct gate gate = GATE;
    close_gate(&gate, stream);
    ok(launch_fill(a, 6, N, stream));
    ok(cuStreamDestroy_v2(stream));
    open_gate(&gate);
    ok(cuCtxSynchronize());
    same(all_of(a, N), 6);
}

/* Many, so that values of handles come again. */
static void destroyed_in_turn(void)
{
    for (int i = 0; i < 40; i++) {
        CUstream own;
        ok(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
        ok(launch_saxpy(N, 1, a, b, own));
        ok(cuStreamSynchronize(own));
        ok(cuStreamDestroy_v2(own));
    }
    same(all_of(b, N), 41);
}

static void wrong_handles(void)
{
    CUevent event;
    ok(cuEventCreate(&event, 0));
    ok(cuEventDestroy_v2(event));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
    CUstreamCaptureStatus capture;
    ok(cuStreamIsCapturing(stream, &capture));
    same(capture, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuStreamDestroy_v2(stream));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamIsCapturing(stream, &capture));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamIsCapturing((CUstream)context, &capture));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamGetCaptureInfo(stream, &capture, NULL));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery((CUstream)context));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(stream));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(CU_STREAM_LEGACY));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(CU_STREAM_PER_THREAD));
    ok(launch_fill(a, 1, N, CU_STREAM_PER_THREAD));
    ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

/* A wrong call fails itself, not a later call that waits. */
static void wrong_arguments(void)
{
    CUevent event;
    ok(cuEventCreate(&event, 0));
    gives(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags(event, stream, 5));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuStreamAttachMemAsync(stream, a, 0, CU_MEM_ATTACH_SINGLE)); /* not managed */
    gives(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(0, 4096, 0, stream));
    ok(cuStreamSynchronize(stream));
}

/* Calls that need not wait for the GPU fail at once if their object is gone. */
static void gone(void)
{
    CUevent event, left;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuEventCreate(&left, CU_EVENT_DISABLE_TIMING));
    ok(cuEventRecord(event, stream));
    ok(cuEventDestroy_v2(event));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy_v2(event));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, stream));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(stream, event, 0));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(NULL, stream));
    gives(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(stream, NULL, 0));
    gives(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(stream, NULL, 9)); /* flags come first */
    gives(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(NULL, stream));
    ok(cuStreamDestroy_v2(other));
    gives(CUDA_ERROR_INVALID_HANDLE, launch_fill(a, 3, N, other));
    gives(CUDA_ERROR_INVALID_HANDLE, cuMemsetD32Async(a, 0, N, other));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(left, other));
    gives(CUDA_ERROR_INVALID_HANDLE, launch_fill(a, 3, N, (CUstream)0x1234560));
    ok(cuCtxSynchronize()); /* no effect of it comes later */
    same(all_of(a, N), 1);
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ok(launch_fill(a, 3, N, other));
    ok(cuEventRecord(left, other));
    ok(cuEventSynchronize(left));
    same(all_of(a, N), 3);
}

/* An event can be recorded in streams of its own context, and waited for in any stream. */
static void of_other_contexts(void)
{
    CUcontext second;
    CUevent event, own;
    CUstream of_second;
    ok(cuEventCreate(&own, CU_EVENT_DISABLE_TIMING));
    ok(cuCtxCreate_v2(&second, 0, 0));
    ok(cuStreamCreate(&of_second, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, stream));
    gives(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(own, of_second));
    ok(cuEventRecord(event, of_second));
    ok(cuEventRecord(own, stream));
    ok(cuStreamWaitEvent(stream, event, 0));
    ok(cuStreamWaitEvent(of_second, own, 0));
    ok(cuMemsetD32Async(a, 0, N, of_second));
    ok(cuStreamSynchronize(of_second));
    ok(cuCtxDestroy_v2(second));
    ok(cuCtxSetCurrent(context));
    ok(cuStreamSynchronize(stream));
    same(all_of(a, N), 0);
}

/* The address is the GPU's too, without asking for it. */
static void values_in_pinned(void)
{
    unsigned int *pinned;
    ok(cuMemHostAlloc((void **)&pinned, 64, 0));
    CUdeviceptr address = (uintptr_t)pinned;
    ok(cuStreamWriteValue32_v2(stream, address + 4, 9, 0));
    ok(cuStreamWaitValue32_v2(stream, address + 4, 9, CU_STREAM_WAIT_VALUE_GEQ));
    ok(cuStreamWriteValue64_v2(stream, address + 8, 10, 0));
    ok(cuStreamSynchronize(stream));
    same(pinned[1], 9);
    same(pinned[2], 10);
    ok(cuMemFreeHost(pinned));
}

static void values_in_memory(void)
{
    uint32_t *flag = allocate_pinned(8);
    CUdeviceptr address;
    ok(cuMemHostGetDevicePointer_v2(&address, flag, 0));
    ok(cuStreamWaitValue32_v2(stream, address, 3, CU_STREAM_WAIT_VALUE_GEQ));
    ok(cuStreamWriteValue32_v2(stream, address + 4, 7, 0));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 3, __ATOMIC_RELEASE);
    ok(cuStreamSynchronize(stream));
    same(__atomic_load_n(flag + 1, __ATOMIC_ACQUIRE), 7);
    ok(cuMemFreeHost(flag));
}

/* The program itself releases a stream, by another stream, after it has issued work behind the
 * value. Copies of pinned memory do not wait, and read the memory when their turn comes. */
static void pinned_behind_a_value(void)
{
    CUdeviceptr flag = allocate(4);
    float *to, *from;
    ok(cuMemHostAlloc((void **)&to, N * sizeof(float), 0));
    ok(cuMemHostAlloc((void **)&from, N * sizeof(float), 0));
    ok(cuMemsetD32_v2(flag, 0, 1));
    ok(launch_fill(a, 3, N, NULL));
    ok(cuCtxSynchronize());
    *from = 1;
    ok(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    ok(cuMemcpyDtoHAsync_v2(to, a, N * sizeof(float), stream));
    ok(cuMemcpyHtoDAsync_v2(b, from, N * sizeof(float), stream));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    *from = 2;
    ok(cuStreamWriteValue32_v2(other, flag, 1, 0));
    ok(cuStreamSynchronize(stream));
    same(*to, 3);
    ok(cuMemcpyDtoH_v2(to, b, 4));
    same(*to, 2);
    ok(cuMemFreeHost(to));
    ok(cuMemFreeHost(from));
    ok(cuMemFree_v2(flag));
}

/* The program writes the value that a stream waits for, and only queries the stream. */
static void looked_at(void)
{
    uint32_t *flag = allocate_pinned(4);
    CUdeviceptr address;
    ok(cuMemHostGetDevicePointer_v2(&address, flag, 0));
    ok(cuStreamWaitValue32_v2(stream, address, 3, CU_STREAM_WAIT_VALUE_GEQ));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 3, __ATOMIC_RELEASE);
    CUresult status;
    while ((status = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
        sleep_ms(1);
    ok(status);
    ok(cuMemFreeHost(flag));
}

static void *wait_for_stream(void *unused)
{
    (void)unused;
    ok(cuCtxSetCurrent(context));
    ok(cuStreamSynchronize(stream));
    return NULL;
}

/* A thread that waits does not delay the thread that ends the wait. */
static void value_of_device(void)
{
    pthread_t thread;
    CUdeviceptr flag = allocate(4);
    ok(cuMemsetD32_v2(flag, 0, 1));
    ok(cuCtxSynchronize());
    ok(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    check(!pthread_create(&thread, NULL, wait_for_stream, NULL));
    sleep_ms(50);
    ok(cuStreamWriteValue32_v2(other, flag, 1, 0));
    ok(cuStreamSynchronize(other));
    check(!pthread_join(thread, NULL));
}

static void facts(void)
{
    unsigned int flags;
    int priority, least, greatest;
    unsigned long long id, other_id;
    CUcontext of;
    CUstream urgent;
    ok(cuCtxGetStreamPriorityRange(&least, &greatest));
    check(greatest <= least);
    ok(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, greatest - 1000));
    ok(cuStreamGetFlags(urgent, &flags));
    same(flags, CU_STREAM_NON_BLOCKING);
    ok(cuStreamGetPriority(urgent, &priority));
    same(priority, greatest);
    ok(cuStreamGetId(urgent, &id));
    ok(cuStreamGetId(NULL, &other_id));
    check(id != other_id);
    ok(cuStreamGetCtx(urgent, &of));
    check(of == context);
    gives(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&urgent, 0x80));
}

/* More launches than a queue is likely to hold. */
static void many_launches(void)
{
    enum { LAUNCHES = 5000 };
    float zero = 0;
    ok(cuMemcpyHtoD_v2(b, &zero, sizeof zero));
    for (int i = 0; i < LAUNCHES; i++)
        ok(launch_saxpy(1, 1, a, b, stream));
    ok(cuStreamSynchronize(stream));
    same(all_of(b, 1), LAUNCHES);
}

static void *open_soon(void *gate)
{
    sleep_ms(100);
    open_gate(gate);
    return NULL;
}

/* As many launches behind a host function. The calls wait when the queue is full, but the function
 * does not. */
static void many_behind_a_gate(void)
{
    enum { LAUNCHES = 5000 };
    struct gate gate = GATE;
    float zero = 0;
    pthread_t opener;
    ok(cuMemcpyHtoD_v2(b, &zero, sizeof zero));
    close_gate(&gate, stream);
    check(!pthread_create(&opener, NULL, open_soon, &gate));
    for (int i = 0; i < LAUNCHES; i++)
        ok(launch_saxpy(1, 1, a, b, stream));
    ok(cuStreamSynchronize(stream));
    check(!pthread_join(opener, NULL));
    same(all_of(b, 1), LAUNCHES);
}

static const struct test tests[] = {
    { "a stream is in order", in_order, 0 },
    { "a stream does not hold up the host", not_waiting, 0 },
    { "an event orders streams", event_order, 0 },
    { "a wait is for the record before it", event_wait_is_for_earlier_record, 0 },
    { "events measure", events_measure, 0 },
    { "the legacy stream waits for blocking streams", legacy_waits, 0 },
    { "blocking streams wait for the legacy stream", waits_for_legacy, 0 },
    { "a thread's default stream waits for the legacy stream", own_stream_waits_for_legacy, 0 },
    { "each thread has a default stream", own_streams, 0 },
    { "ptsz and ptds mean the thread's default stream", own_streams_by_name, 0 },
    { "a destroyed stream does its work", destroyed_stream, 0 },
    { "streams come and go", destroyed_in_turn, 0 },
    { "a wrong handle is an error", wrong_handles, ONLY_SIMULATED },
    { "a wrong argument is an error at once", wrong_arguments, 0 },
    { "an object that is gone is an error at once", gone, ONLY_SIMULATED },
    { "events are of their context", of_other_contexts, 0 },
    { "values in memory order a stream", values_in_memory, SHARED_PAGES },
    { "values are written into pinned memory", values_in_pinned, 0 },
    { "a stream goes on when the program looks at it", looked_at, 0 },
    { "copies of pinned memory behind a value in memory do not wait", pinned_behind_a_value, 0 },
    { "a thread that waits does not delay others", value_of_device, 0 },
    { "a stream reports its properties", facts, 0 },
    { "thousands of launches stay in order", many_launches, 0 },
    { "thousands of launches wait for a host function", many_behind_a_gate, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
