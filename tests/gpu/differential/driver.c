/* See driver.h. The main program of the driver API. */
#include "config.h"

#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGEABLE_COUNT = 3, PAGEABLE_BYTES = 96 << 10, SKIPPED_CODE = 77, KERNELS_ROOM = 1 << 16 };

static void *library;

/* ---- the library ---- */

static CUresult lacking(void)
{
    return CUDA_ERROR_STUB_LIBRARY;
}

static CUresult planted(void)
{
    return CUDA_SUCCESS;
}

void *driver_function(const char *name)
{
    const char *plant = getenv("AITHERION_DIFFERENTIAL_PLANT");
    void *function = dlsym(library, name);
    if (plant && !strcmp(plant, name))
        return (void *)planted;
    return function ? function : (void *)lacking;
}

const char *kernels_text(void)
{
    static char text[KERNELS_ROOM];
    char path[4096];
    const char *source = getenv("srcdir");
    if (text[0])
        return text;
    snprintf(path, sizeof path, "%s/tests/cuda_programs/kernels.ptx", source ? source : ".");
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    return length ? text : NULL;
}

/* ---- quiet calls ---- */

/* Calls between these are allowed although a stream captures. */
static CUstreamCaptureMode relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    D(cuThreadExchangeStreamCaptureMode)(&mode);
    return mode;
}

static void tighten(CUstreamCaptureMode mode)
{
    D(cuThreadExchangeStreamCaptureMode)(&mode);
}

static bool is_capturing(uint64_t stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return !D(cuStreamIsCapturing)((CUstream)(uintptr_t)stream, &status) &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static bool wait_for(uint64_t stream, uint64_t context)
{
    CUcontext popped;
    CUstreamCaptureMode mode = relax();
    bool is_pushed = context && !D(cuCtxPushCurrent_v2)((CUcontext)(uintptr_t)context);
    CUresult result = D(cuStreamSynchronize)((CUstream)(uintptr_t)stream);
    if (is_pushed)
        D(cuCtxPopCurrent_v2)(&popped);
    tighten(mode);
    return result < CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || result > CUDA_ERROR_CAPTURED_EVENT;
}

/* A late error is returned by the next call that waits, for whichever stream: here for one that has
 * no work. */
static CUstream probe;

static int late_error(void)
{
    CUcontext popped;
    CUstreamCaptureMode mode = relax();
    CUresult result = CUDA_SUCCESS;
    bool is_pushed = !D(cuCtxPushCurrent_v2)(CONTEXT_OF(slot_of(CONTEXT, 0)));
    if (!probe && is_pushed && D(cuStreamCreate)(&probe, CU_STREAM_NON_BLOCKING))
        probe = NULL;
    if (probe)
        result = D(cuStreamSynchronize)(probe);
    if (is_pushed)
        D(cuCtxPopCurrent_v2)(&popped);
    tighten(mode);
    return (int)result;
}

void forget_probe(void)
{
    probe = NULL;
}

/* ---- memory ---- */

struct object *legacy_stream(void)
{
    return slot_of(STREAM, 0);
}

void new_memory(struct object *memory, int type, uint64_t address, size_t bytes,
                struct object *stream)
{
    born(memory, address, NULL);
    memory->type = type;
    memory->bytes = bytes;
    if (type == PINNED || type == PAGEABLE) {
        for (size_t i = 0; i < bytes; i++)
            ((unsigned char *)HOST(address))[i] = (unsigned char)(i * 7 + (size_t)memory->slot);
        return;
    }
    CUresult result =
        D(cuMemsetD8Async)(address, (unsigned char)(0x40 + memory->slot), bytes, STREAM_OF(stream));
    if (result) { /* its contents would be chance */
        say(" (filling it %d)", (int)result);
        dies(memory);
        return;
    }
    use(memory, stream);
}

/* ---- begin ---- */

static void keep(struct object *object, uint64_t handle)
{
    born(object, handle, NULL);
    object->is_kept = true;
}

static void make_pageable(void)
{
    for (int i = 0; i < PAGEABLE_COUNT; i++) {
        void *memory = NULL;
        struct object *object = slot_of(MEMORY, i);
        if (posix_memalign(&memory, 65536, PAGEABLE_BYTES))
            abort();
        new_memory(object, PAGEABLE, HANDLE(memory), PAGEABLE_BYTES, NULL);
        object->is_kept = true;
    }
}

static void make_functions(void)
{
    static const char *const names[] = { "fill", "saxpy", "vector_add", "gather", "reduce_sum" };
    CUmodule module;
    CUfunction function;
    if (!kernels_text() || CALL(cuModuleLoadData, &module, kernels_text()))
        return;
    keep(slot_of(MODULE, 0), HANDLE(module));
    for (int i = 0; i < (int)COUNT(names); i++)
        if (!CALL(cuModuleGetFunction, &function, module, names[i])) {
            keep(slot_of(FUNCTION, i), HANDLE(function));
            slot_of(FUNCTION, i)->label = names[i];
            slot_of(FUNCTION, i)->parent = slot_of(MODULE, 0);
        }
}

/* Some objects of the usual kinds, so that the first steps have something to work with. */
static void make_some(void)
{
    CUdeviceptr address;
    void *pinned;
    CUstream stream;
    CUevent event;
    for (int i = 0; i < 4; i++)
        if (!CALL(cuMemAlloc_v2, &address, (size_t)20000 << i))
            new_memory(vacant(MEMORY), DEVICE, address, (size_t)20000 << i, legacy_stream());
    for (int i = 0; i < 2; i++)
        if (!CALL(cuMemHostAlloc, &pinned, 50000, CU_MEMHOSTALLOC_DEVICEMAP))
            new_memory(vacant(MEMORY), PINNED, HANDLE(pinned), 50000, NULL);
    for (unsigned int i = 0; i < 3; i++) {
        if (!CALL(cuStreamCreate, &stream, i & 1))
            born(vacant(STREAM), HANDLE(stream), NULL);
        if (!CALL(cuEventCreate, &event, 0))
            born(vacant(EVENT), HANDLE(event), NULL);
    }
}

static void begin(void)
{
    CUcontext context;
    if (CALL(cuInit, 0))
        exit(SKIPPED_CODE);
    if (CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context))
        return;
    current_context = HANDLE(context);
    keep(slot_of(CONTEXT, 0), current_context);
    keep(slot_of(STREAM, 0), 0);
    keep(slot_of(STREAM, 1), HANDLE(CU_STREAM_PER_THREAD));
    make_pageable();
    make_functions();
    make_some();
}

/* ---- check points ---- */

static void read_back(struct object *memory, CUstream stream)
{
    static unsigned char room[16 << 20];
    CUresult result = CUDA_SUCCESS;
    size_t bytes = memory->bytes < sizeof room ? memory->bytes : sizeof room;
    if (memory->type & (PINNED | PAGEABLE)) {
        memcpy(room, HOST(memory->handle), bytes);
    } else {
        result = D(cuMemcpyDtoHAsync_v2)(room, memory->handle, bytes, stream);
        if (!result)
            result = D(cuStreamSynchronize)(stream);
    }
    if (result)
        say(" %s: error %d", name_of(memory), (int)result);
    else
        say(" %s=%08x", name_of(memory), (unsigned int)hash_of(room, bytes));
}

static void check(void)
{
    CUcontext popped;
    CUstream stream = NULL;
    CUstreamCaptureMode mode = relax();
    settle_all();
    bool is_pushed = !D(cuCtxPushCurrent_v2)(CONTEXT_OF(slot_of(CONTEXT, 0)));
    CUresult result = D(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    if (result)
        say(" no stream: %d", (int)result);
    for (int i = 0; i < slots_of(MEMORY) && !result; i++)
        if (slot_of(MEMORY, i)->is_live && !slot_of(MEMORY, i)->busy_on)
            read_back(slot_of(MEMORY, i), stream);
    if (stream)
        D(cuStreamDestroy_v2)(stream);
    if (is_pushed)
        D(cuCtxPopCurrent_v2)(&popped);
    tighten(mode);
}

static const struct area *const areas[] = {
    &memory_area, &stream_area,  &event_area,     &copy_area,    &launch_area, &module_area,
    &graph_area,  &node_area,    &parameter_area, &capture_area, &pool_area,   &virtual_area,
    &array_area,  &texture_area, &context_area,   &device_area,  &ipc_area,    &fault_area,
};

int main(int argc, char **argv)
{
    static const struct api api = { areas,    COUNT(areas), begin,     check,
                                    wait_for, is_capturing, late_error };
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library && (argc < 2 || strcmp(argv[1], "--list"))) {
        printf("skipped: %s\n", dlerror());
        return SKIPPED_CODE;
    }
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    return run_differential(argc, argv, &api);
}
