/*
 * The differential test of the runtime API: engine.h's steps with cudaXxx(). nvcc builds it together
 * with engine.c and objects.c.
 */
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#include "objects.h"

/* The names that the simulated driver knows. */
extern "C" __global__ void fill(float *p, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = v;
}

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}

#define CALL(name, ...) (calling(#name), (cudaError_t)called((int)name(__VA_ARGS__)))
#define STREAM_OF(object) ((cudaStream_t)(uintptr_t)(object)->handle)
#define EVENT_OF(object) ((cudaEvent_t)(uintptr_t)(object)->handle)
#define GRAPH_OF(object) ((cudaGraph_t)(uintptr_t)(object)->handle)
#define EXEC_OF(object) ((cudaGraphExec_t)(uintptr_t)(object)->handle)
#define HANDLE(handle) ((uint64_t)(uintptr_t)(handle))
#define HOST(address) ((void *)(uintptr_t)(address))

enum { ANY_DEVICE = ON_DEVICE | MANAGED, MOST = 128 << 10, PAGEABLE_BYTES = 64 << 10 };

/* ---- what the engine asks ---- */

static cudaStream_t probe;

static cudaStreamCaptureMode relax()
{
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static void tighten(cudaStreamCaptureMode mode)
{
    cudaThreadExchangeStreamCaptureMode(&mode);
}

static bool is_capturing(uint64_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !cudaStreamIsCapturing((cudaStream_t)(uintptr_t)stream, &status) &&
           status != cudaStreamCaptureStatusNone;
}

static bool wait_for(uint64_t stream, uint64_t)
{
    cudaStreamCaptureMode mode = relax();
    cudaError_t result = cudaStreamSynchronize((cudaStream_t)(uintptr_t)stream);
    tighten(mode);
    return result < cudaErrorStreamCaptureUnsupported || result > cudaErrorCapturedEvent;
}

static int late_error()
{
    cudaStreamCaptureMode mode = relax();
    int result = cudaStreamSynchronize(probe);
    tighten(mode);
    return result;
}

static void read_back(struct object *memory)
{
    static unsigned char room[16 << 20];
    size_t bytes = memory->bytes;
    cudaError_t result = cudaSuccess;
    if (memory->type & ON_HOST)
        memcpy(room, HOST(memory->handle), bytes);
    else if (!(result = cudaMemcpyAsync(room, HOST(memory->handle), bytes, cudaMemcpyDeviceToHost,
                                        probe)))
        result = cudaStreamSynchronize(probe);
    if (result)
        say(" %s: error %d", name_of(memory), (int)result);
    else
        say(" %s=%08x", name_of(memory), (unsigned int)hash_of(room, bytes));
}

static void check()
{
    cudaStreamCaptureMode mode = relax();
    settle_all();
    for (int i = 0; i < slots_of(MEMORY); i++)
        if (slot_of(MEMORY, i)->is_live && !slot_of(MEMORY, i)->busy_on)
            read_back(slot_of(MEMORY, i));
    tighten(mode);
    say(" last error %d", (int)cudaGetLastError());
}

/* ---- memory ---- */

static void new_memory(struct object *memory, int type, void *address, size_t bytes,
                       struct object *stream)
{
    born(memory, HANDLE(address), NULL);
    memory->type = type;
    memory->bytes = bytes;
    if (type & ON_HOST) {
        memset(address, 0x30 + memory->slot, bytes);
        return;
    }
    cudaError_t result = cudaMemsetAsync(address, 0x40 + memory->slot, bytes, STREAM_OF(stream));
    if (result) { /* its contents would be chance */
        say(" (filling it %d)", (int)result);
        dies(memory);
        return;
    }
    use(memory, stream);
}

static size_t some_bytes()
{
    return chance(20) ? (size_t)ONE_OF(0, 1, 3) : 4 * (1 + below(MOST / 4));
}

static void allocate()
{
    void *address = NULL;
    struct object *memory = vacant(MEMORY);
    size_t bytes = some_bytes();
    NEED(memory);
    say(" %s bytes=%zu", name_of(memory), bytes);
    if (!CALL(cudaMalloc, &address, bytes) && address)
        new_memory(memory, DEVICE, address, bytes, slot_of(STREAM, 0));
}

static void allocate_pinned()
{
    void *address = NULL;
    struct object *memory = vacant(MEMORY);
    size_t bytes = some_bytes();
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 2, 3, 4, 8);
    NEED(memory);
    say(" %s bytes=%zu flags=%u", name_of(memory), bytes, flags);
    if (!CALL(cudaHostAlloc, &address, bytes, flags) && address)
        new_memory(memory, PINNED, address, bytes, NULL);
}

static void allocate_managed()
{
    void *address = NULL;
    struct object *memory = vacant(MEMORY);
    size_t bytes = some_bytes();
    NEED(memory);
    say(" %s bytes=%zu", name_of(memory), bytes);
    if (!CALL(cudaMallocManaged, &address, bytes, (unsigned int)ONE_OF(1, 1, 2, 0)) && address)
        new_memory(memory, MANAGED, address, bytes, slot_of(STREAM, 0));
}

static void allocate_in_stream()
{
    void *address = NULL;
    struct object *memory = vacant(MEMORY), *stream = pick(STREAM);
    size_t bytes = some_bytes();
    NEED(memory && stream && !is_stream_capturing(stream));
    say(" %s bytes=%zu %s", name_of(memory), bytes, name_of(stream));
    if (!CALL(cudaMallocAsync, &address, bytes, STREAM_OF(stream)) && address)
        new_memory(memory, POOLED, address, bytes, stream);
}

static void free_in_stream()
{
    struct object *memory = pick_memory(POOLED), *stream = pick(STREAM);
    NEED(memory && stream && !is_stream_capturing(stream) && use(memory, stream));
    say(" %s %s", name_of(memory), name_of(stream));
    if (!CALL(cudaFreeAsync, HOST(memory->handle), STREAM_OF(stream)))
        dies(memory);
}

static void free_memory()
{
    struct object *memory = pick_memory(DEVICE | MANAGED | PINNED);
    NEED(memory);
    settle(memory);
    say(" %s", name_of(memory));
    cudaError_t result = memory->type == PINNED ? CALL(cudaFreeHost, HOST(memory->handle))
                                                : CALL(cudaFree, HOST(memory->handle));
    if (!result)
        dies(memory);
}

static void free_wrongly()
{
    struct object *memory = pick_memory(DEVICE | PAGEABLE);
    NEED(memory);
    settle(memory);
    say(" %s+4", name_of(memory));
    CALL(cudaFree, HOST(memory->handle + 4));
}

static void register_memory()
{
    struct object *memory = pick_memory(PAGEABLE);
    NEED(memory);
    settle(memory);
    say(" %s", name_of(memory));
    if (chance(2))
        CALL(cudaHostRegister, HOST(memory->handle), (size_t)ONE_OF(4096, 65536, 0),
             (unsigned int)ONE_OF(0, 1, 2, 99));
    else
        CALL(cudaHostUnregister, HOST(memory->handle));
}

static void set()
{
    struct part to = pick_part(ANY_DEVICE, MOST);
    struct object *stream = chance(2) ? pick(STREAM) : NULL;
    NEED(to.memory && use(to.memory, stream ? stream : slot_of(STREAM, 0)));
    int value = (int)below(256);
    say(" %s value=%d %s", name_of_part(&to), value, stream ? name_of(stream) : "");
    if (stream)
        CALL(cudaMemsetAsync, HOST(to.address), value, to.bytes, STREAM_OF(stream));
    else
        CALL(cudaMemset, HOST(to.address), value, to.bytes);
}

/* Any direction that is named may be the wrong one; a pageable memory as a device's would be a fault. */
static void copy()
{
    struct part to = pick_part(ANY_DEVICE | ON_HOST, MOST), from = pick_part(ANY_DEVICE | ON_HOST, MOST);
    struct object *stream = chance(2) ? pick(STREAM) : NULL;
    NEED(to.memory && from.memory && to.memory != from.memory);
    NEED(use(to.memory, stream ? stream : slot_of(STREAM, 0)) &&
         use(from.memory, stream ? stream : slot_of(STREAM, 0)));
    size_t bytes = to.bytes < from.bytes ? to.bytes : from.bytes;
    bool is_out = from.memory->type & ANY_DEVICE, is_in = to.memory->type & ANY_DEVICE;
    cudaMemcpyKind kind = chance(3) ? cudaMemcpyDefault
                          : is_in   ? (is_out ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                                    : (is_out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
    if (chance(20))
        kind = (cudaMemcpyKind)99;
    say(" %s from %s bytes=%zu kind=%d %s", name_of_part(&to), name_of_part(&from), bytes, (int)kind,
        stream ? name_of(stream) : "");
    if (stream)
        CALL(cudaMemcpyAsync, HOST(to.address), HOST(from.address), bytes, kind, STREAM_OF(stream));
    else
        CALL(cudaMemcpy, HOST(to.address), HOST(from.address), bytes, kind);
}

static void copy_rectangle()
{
    struct object *to = pick_memory(ANY_DEVICE | ON_HOST), *from = pick_memory(ANY_DEVICE | ON_HOST);
    NEED(to && from && to != from && use(to, slot_of(STREAM, 0)) && use(from, slot_of(STREAM, 0)));
    size_t width = 4 * (1 + below(20)), height = 1 + below(8), pitch = width + 16 * below(3);
    size_t wrong = height > 1 && chance(15) ? width - 4 : pitch;
    NEED(pitch * height <= to->bytes && pitch * height <= from->bytes);
    say(" %s pitch=%zu from %s pitch=%zu width=%zu height=%zu", name_of(to), wrong, name_of(from),
        pitch, width, height);
    CALL(cudaMemcpy2D, HOST(to->handle), wrong, HOST(from->handle), pitch, width, height,
         cudaMemcpyDefault);
}

/* ---- streams and events ---- */

static void make_stream()
{
    cudaStream_t handle = NULL;
    struct object *stream = vacant(STREAM);
    NEED(stream);
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 1, 7);
    say(" %s flags=%u", name_of(stream), flags);
    if (!CALL(cudaStreamCreateWithPriority, &handle, flags, (int)ONE_OF(0, -1, -9)))
        born(stream, HANDLE(handle), NULL);
}

static void end_stream()
{
    struct object *stream = pick_live(STREAM);
    NEED(stream && !stream->is_kept && !is_stream_capturing(stream));
    settle_stream(stream);
    say(" %s", name_of(stream));
    if (!CALL(cudaStreamDestroy, STREAM_OF(stream)))
        dies(stream);
}

static void wait_for_stream()
{
    struct object *stream = pick(STREAM);
    NEED(stream);
    say(" %s", name_of(stream));
    if (chance(2))
        CALL(cudaStreamSynchronize, STREAM_OF(stream));
    else
        CALL(cudaDeviceSynchronize);
}

static void ask_stream()
{
    unsigned int flags = 0;
    int priority = 0;
    struct object *stream = pick(STREAM);
    NEED(stream);
    say(" %s", name_of(stream));
    if (!CALL(cudaStreamGetFlags, STREAM_OF(stream), &flags))
        say(" %u", flags);
    if (!CALL(cudaStreamGetPriority, STREAM_OF(stream), &priority))
        say(" %d", priority);
}

static void make_event()
{
    cudaEvent_t handle = NULL;
    struct object *event = vacant(EVENT);
    NEED(event);
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 2, 3, 4, 6, 99);
    say(" %s flags=%u", name_of(event), flags);
    if (!CALL(cudaEventCreateWithFlags, &handle, flags))
        born(event, HANDLE(handle), NULL);
}

static void use_event()
{
    struct object *event = pick(EVENT), *stream = pick(STREAM);
    NEED(event && stream);
    say(" %s %s", name_of(event), name_of(stream));
    switch (below(4)) {
    case 0:
        CALL(cudaStreamWaitEvent, STREAM_OF(stream), EVENT_OF(event), (unsigned int)ONE_OF(0, 0, 1, 9));
        break;
    case 1:
        CALL(cudaEventSynchronize, EVENT_OF(event));
        break;
    default:
        CALL(cudaEventRecord, EVENT_OF(event), STREAM_OF(stream));
    }
}

static void end_event()
{
    struct object *event = pick_live(EVENT);
    NEED(event);
    say(" %s", name_of(event));
    if (!CALL(cudaEventDestroy, EVENT_OF(event)))
        dies(event);
}

static void count_up(void *memory)
{
    ++*(unsigned int *)HOST(((struct object *)memory)->handle);
}

static void call_host()
{
    struct object *stream = pick(STREAM), *memory = pick_memory(PAGEABLE);
    NEED(stream && memory && use(memory, stream));
    say(" %s %s", name_of(stream), name_of(memory));
    CALL(cudaLaunchHostFunc, STREAM_OF(stream), count_up, memory);
}

/* ---- kernels ---- */

static void launch()
{
    struct object *x = pick_memory(ANY_DEVICE), *y = pick_memory(ANY_DEVICE), *stream = pick(STREAM);
    NEED(x && y && x != y && stream && x->bytes >= 64 && y->bytes >= 64 && use(x, stream) &&
         use(y, stream));
    int n = 1 + (int)below((x->bytes < y->bytes ? x->bytes : y->bytes) / 4);
    float a = (float)below(9);
    float *to = (float *)HOST(y->handle);
    const float *from = (const float *)HOST(x->handle);
    size_t mistake = below(40);
    unsigned int threads = mistake == 0 ? 2000 : mistake == 1 ? 0 : 256;
    bool is_fill = chance(2);
    void *filling[] = { &to, &a, &n }, *adding[] = { &n, &a, &from, &to };
    say(" %s %s %s n=%d a=%g threads=%u", is_fill ? "fill" : "saxpy", name_of(y), name_of(stream), n,
        (double)a, threads);
    CALL(cudaLaunchKernel, is_fill ? (const void *)fill : (const void *)saxpy,
         dim3((unsigned int)(n + 255) / 256), dim3(threads), is_fill ? filling : adding,
         mistake == 2 ? (size_t)1 << 30 : 0, STREAM_OF(stream));
}

static void ask_kernel()
{
    cudaFuncAttributes attributes;
    int blocks = 0, size = 0;
    memset(&attributes, 0, sizeof attributes);
    switch (below(4)) {
    case 0:
        if (!CALL(cudaFuncGetAttributes, &attributes, (const void *)fill))
            say(" %d %zu %d", attributes.maxThreadsPerBlock, attributes.sharedSizeBytes,
                attributes.maxDynamicSharedSizeBytes);
        break;
    case 1:
        CALL(cudaFuncSetAttribute, (const void *)fill, (cudaFuncAttribute)ONE_OF(8, 9, 99),
             (int)ONE_OF(0, 50, 65536, 1 << 20));
        break;
    case 2:
        if (!CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, (const void *)saxpy,
                  (int)ONE_OF(32, 256, 1024, 0), 0))
            say(" %d", blocks);
        break;
    default:
        if (!CALL(cudaOccupancyMaxPotentialBlockSize, &blocks, &size, fill, 0, 0))
            say(" %d %d", blocks, size);
    }
}

/* ---- captures and graphs ---- */

static bool is_any_capturing()
{
    for (int i = 1; i < slots_of(STREAM); i++)
        if (is_stream_capturing(slot_of(STREAM, i)))
            return true;
    return false;
}

static void begin_capture()
{
    struct object *stream = pick(STREAM);
    NEED(stream);
    if (!is_any_capturing())
        begin_capturing();
    settle_all();
    NEED(settle_stream(stream));
    cudaStreamCaptureMode mode = (cudaStreamCaptureMode)ONE_OF(0, 1, 2, 2);
    say(" %s mode=%d", name_of(stream), (int)mode);
    CALL(cudaStreamBeginCapture, STREAM_OF(stream), mode);
}

static void end_capture()
{
    cudaGraph_t handle = NULL;
    size_t count = 0;
    struct object *stream = pick(STREAM), *graph = vacant(GRAPH);
    for (int i = 0; i < 6 && stream && !is_stream_capturing(stream); i++)
        stream = pick(STREAM);
    NEED(stream && graph);
    say(" %s", name_of(stream));
    if (CALL(cudaStreamEndCapture, STREAM_OF(stream), &handle) || !handle)
        return;
    born(graph, HANDLE(handle), NULL);
    take_captured(graph);
    say(" %s", name_of(graph));
    if (!CALL(cudaGraphGetNodes, handle, NULL, &count))
        say(" %zu nodes", count);
}

static void instantiate()
{
    cudaGraphExec_t handle = NULL;
    struct object *graph = pick(GRAPH), *exec = vacant(EXEC);
    NEED(graph && exec && is_whole(graph));
    say(" %s of %s", name_of(exec), name_of(graph));
    if (CALL(cudaGraphInstantiate, &handle, GRAPH_OF(graph), (unsigned long long)ONE_OF(0, 0, 1, 16)))
        return;
    born(exec, HANDLE(handle), NULL);
    memcpy(exec->uses, graph->uses, sizeof exec->uses);
}

static void launch_graph()
{
    struct object *exec = pick(EXEC), *stream = pick(STREAM);
    NEED(exec && stream && use_for_graph(exec, stream));
    say(" %s %s", name_of(exec), name_of(stream));
    CALL(cudaGraphLaunch, EXEC_OF(exec), STREAM_OF(stream));
}

static void end_graph()
{
    struct object *graph = pick_live(GRAPH), *exec = pick_live(EXEC);
    settle_all();
    if (graph && chance(2)) {
        say(" %s", name_of(graph));
        if (!CALL(cudaGraphDestroy, GRAPH_OF(graph)))
            dies(graph);
    } else if (exec) {
        say(" %s", name_of(exec));
        if (!CALL(cudaGraphExecDestroy, EXEC_OF(exec)))
            dies(exec);
    } else {
        leave_out();
    }
}

/* ---- questions ---- */

static void ask_pointer()
{
    cudaPointerAttributes attributes;
    struct object *memory = pick_memory(ANY_DEVICE | ON_HOST);
    NEED(memory);
    memset(&attributes, 0, sizeof attributes);
    const void *address = chance(10) ? NULL : HOST(memory->handle + below(memory->bytes));
    say(" %s", name_of_address(HANDLE(address)));
    if (!CALL(cudaPointerGetAttributes, &attributes, address))
        say(" type=%d device=%d %s %s", (int)attributes.type, attributes.device,
            name_of_address(HANDLE(attributes.devicePointer)),
            name_of_address(HANDLE(attributes.hostPointer)));
}

static void ask_error()
{
    cudaError_t error = (cudaError_t)ONE_OF(0, 1, 2, 3, 98, 100, 101, 209, 400, 700, 719, 801, 900, 9999);
    say(" %d", (int)error);
    if (chance(2))
        say(" '%s'", cudaGetErrorString(error));
    else
        say(" '%s'", cudaGetErrorName(error));
    calling(chance(2) ? "cudaGetLastError" : "cudaPeekAtLastError");
    called_by_chance((int)(chance(2) ? cudaGetLastError() : cudaPeekAtLastError()));
}

static void ask_device()
{
    int value = 0;
    size_t bytes = 0, total = 0;
    switch (below(5)) {
    case 0:
        CALL(cudaSetDevice, (int)ONE_OF(0, 0, 9, -1));
        break;
    case 1:
        if (!CALL(cudaGetDevice, &value))
            say(" %d", value);
        break;
    case 2:
        if (!CALL(cudaMemGetInfo, chance(4) ? NULL : &bytes, &total))
            say(" %zu", total);
        break;
    case 3:
        if (!CALL(cudaDeviceGetLimit, &bytes, (cudaLimit)below(8)))
            say(" %zu", bytes);
        break;
    default: {
        int attribute = (int)below(88);
        say(" %d", attribute);
        if (!CALL(cudaDeviceGetAttribute, &value, (cudaDeviceAttr)attribute, (int)ONE_OF(0, 0, 0, 9)))
            say(" %d", value);
    }
    }
}

/* ---- begin ---- */

static void begin()
{
    static unsigned char pageable[2][PAGEABLE_BYTES] __attribute__((aligned(65536)));
    int count = 0;
    CALL(cudaGetDeviceCount, &count);
    if (CALL(cudaSetDevice, 0) || CALL(cudaFree, NULL))
        return;
    cudaStreamCreateWithFlags(&probe, cudaStreamNonBlocking);
    for (int i = 0; i < 2; i++) {
        born(slot_of(STREAM, i), HANDLE(i ? cudaStreamPerThread : NULL), NULL);
        slot_of(STREAM, i)->is_kept = true;
        new_memory(slot_of(MEMORY, i), PAGEABLE, pageable[i], PAGEABLE_BYTES, NULL);
        slot_of(MEMORY, i)->is_kept = true;
    }
}

static const struct operation operations[] = {
    { "allocate", 30, allocate },
    { "allocate pinned", 15, allocate_pinned },
    { "allocate managed", 8, allocate_managed },
    { "allocate in a stream", 15, allocate_in_stream },
    { "free", 15, free_memory },
    { "free in a stream", 10, free_in_stream },
    { "free wrongly", 3, free_wrongly },
    { "register", 5, register_memory },
    { "set", 20, set },
    { "copy", 40, copy },
    { "copy a rectangle", 10, copy_rectangle },
    { "make a stream", 15, make_stream },
    { "end a stream", 5, end_stream },
    { "wait", 10, wait_for_stream },
    { "ask a stream", 4, ask_stream },
    { "make an event", 10, make_event },
    { "use an event", 20, use_event },
    { "end an event", 3, end_event },
    { "host function", 6, call_host },
    { "launch", 30, launch },
    { "ask a kernel", 6, ask_kernel },
    { "begin a capture", 8, begin_capture },
    { "end a capture", 15, end_capture },
    { "instantiate", 10, instantiate },
    { "launch a graph", 15, launch_graph },
    { "end a graph", 3, end_graph },
    { "ask a pointer", 8, ask_pointer },
    { "errors", 8, ask_error },
    { "device", 8, ask_device },
};

static const struct area runtime_area = { "runtime", operations, COUNT(operations), area::ALWAYS };
static const struct area *const areas[] = { &runtime_area };

int main(int argc, char **argv)
{
    static const struct api api = { areas, COUNT(areas), begin, check, wait_for, is_capturing,
                                    late_error };
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    return run_differential(argc, argv, &api);
}
