/*
 * Wrong calls: each function of the driver interface with null pointers, handles of nothing,
 * handles of another kind, handles of objects that have ended, and numbers that are too large. The
 * program and its session live on, and a call with a wrong handle returns an error.
 *
 * NVIDIA's driver reads through a handle without a check, and a program that passes a wrong one
 * ends with SIGSEGV. So a GPU's own driver gets null pointers alone, and a call that ends the
 * program there is counted and told.
 */
#include "config.h"

#include "gpu.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdint.h>

#include "proto/cuda-wrong.h"

enum { ROOM = 1 << 16 };

static uint64_t living[ATH_CUDA_KIND_COUNT], ended[ATH_CUDA_KIND_COUNT],
    nothing[ATH_CUDA_KIND_COUNT], none[ATH_CUDA_KIND_COUNT], strange[ATH_CUDA_KIND_COUNT];
static _Alignas(64) unsigned char room[ROOM], garbage[ROOM];

/* The remoting client and the simulated driver know their handles. */
static bool are_handles_checked(void)
{
    return is_simulated() || dlsym(RTLD_DEFAULT, "aitherion_instance");
}

/* ---- objects ---- */

static void make_objects(uint64_t handles[ATH_CUDA_KIND_COUNT])
{
    CUDA_ARRAY_DESCRIPTOR row = { .Width = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    CUDA_ARRAY3D_DESCRIPTOR box = {
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
    };
    CUmemPoolProps pool = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUstream stream;
    CUevent event;
    CUmodule module;
    CUlibrary library;
    CUfunction function;
    CUkernel of_library;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUarray array;
    CUmipmappedArray mipmapped;
    CUmemoryPool memory_pool;
    CUlinkState linker;
    char *text = read_kernels();
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, 0));
    ok(cuModuleLoadData(&module, text));
    ok(cuModuleGetFunction(&function, module, "fill"));
    ok(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&of_library, library, "fill"));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(cuArrayCreate_v2(&array, &row));
    ok(cuMipmappedArrayCreate(&mipmapped, &box, 2));
    ok(cuMemPoolCreate(&memory_pool, &pool));
    ok(cuLinkCreate_v2(0, NULL, NULL, &linker));
    handles[ATH_CUDA_KIND_CONTEXT] = (uintptr_t)context;
    handles[ATH_CUDA_KIND_STREAM] = (uintptr_t)stream;
    handles[ATH_CUDA_KIND_EVENT] = (uintptr_t)event;
    handles[ATH_CUDA_KIND_MODULE] = (uintptr_t)module;
    handles[ATH_CUDA_KIND_FUNCTION] = (uintptr_t)function;
    handles[ATH_CUDA_KIND_LIBRARY] = (uintptr_t)library;
    handles[ATH_CUDA_KIND_KERNEL] = (uintptr_t)of_library;
    handles[ATH_CUDA_KIND_GRAPH] = (uintptr_t)graph;
    handles[ATH_CUDA_KIND_GRAPH_NODE] = (uintptr_t)node;
    handles[ATH_CUDA_KIND_GRAPH_EXEC] = (uintptr_t)exec;
    handles[ATH_CUDA_KIND_ARRAY] = (uintptr_t)array;
    handles[ATH_CUDA_KIND_MIPMAPPED_ARRAY] = (uintptr_t)mipmapped;
    handles[ATH_CUDA_KIND_MEMORY_POOL] = (uintptr_t)memory_pool;
    handles[ATH_CUDA_KIND_LINK_STATE] = (uintptr_t)linker;
    free(text);
}

#define OF(type, kind) ((type)(uintptr_t)handles[ATH_CUDA_KIND_##kind])

static void end_objects(const uint64_t handles[ATH_CUDA_KIND_COUNT])
{
    ok(cuLinkDestroy(OF(CUlinkState, LINK_STATE)));
    ok(cuMemPoolDestroy(OF(CUmemoryPool, MEMORY_POOL)));
    ok(cuMipmappedArrayDestroy(OF(CUmipmappedArray, MIPMAPPED_ARRAY)));
    ok(cuArrayDestroy(OF(CUarray, ARRAY)));
    ok(cuGraphExecDestroy(OF(CUgraphExec, GRAPH_EXEC)));
    ok(cuGraphDestroy(OF(CUgraph, GRAPH)));      /* and its node */
    ok(cuLibraryUnload(OF(CUlibrary, LIBRARY))); /* and its kernel */
    ok(cuModuleUnload(OF(CUmodule, MODULE)));    /* and its function */
    ok(cuEventDestroy_v2(OF(CUevent, EVENT)));
    ok(cuStreamDestroy_v2(OF(CUstream, STREAM)));
}

static void setup(void)
{
    make_objects(living);
    memset(garbage, 0x5a, sizeof garbage);
    for (int kind = 0; kind < ATH_CUDA_KIND_COUNT; kind++) {
        nothing[kind] = (uintptr_t)garbage;
        strange[kind] = kind == ATH_CUDA_KIND_EVENT ? living[ATH_CUDA_KIND_MODULE]
                                                    : living[ATH_CUDA_KIND_EVENT];
    }
}

/* ---- calls ---- */

static sigjmp_buf back;

static void go_back(int number)
{
    siglongjmp(back, number);
}

/* Returns whether a name contains one of the words, which NULL ends. */
static bool contains(const char *name, const char *const *words)
{
    while (*words && !strstr(name, *words))
        words++;
    return *words;
}

/* The session lives if it answers. The calls may have changed the current context, and begun a
 * capture. */
static void check_session(const char *name)
{
    CUgraph captured;
    size_t left, all;
    cuStreamEndCapture((CUstream)(uintptr_t)living[ATH_CUDA_KIND_STREAM], &captured);
    CUresult status = cuCtxSetCurrent(context);
    if (!status)
        status = cuMemGetInfo_v2(&left, &all);
    if (status)
        failed(__FILE__, __LINE__, "after %s(): %s", name, error_name(status));
}

/* Makes a call. Returns false if it ended in a signal, which only a GPU's own driver may. */
static bool make_call(const struct wrong_call *call, const struct wrong_with *with, CUresult *out)
{
    struct sigaction old, recover = { .sa_handler = go_back };
    if (are_handles_checked()) {
        *out = call->make(with);
        return true;
    }
    sigaction(SIGSEGV, &recover, &old);
    bool is_back = sigsetjmp(back, 1);
    if (!is_back)
        *out = call->make(with);
    else
        printf("the driver itself ends the program: %s()\n", call->name);
    sigaction(SIGSEGV, &old, NULL);
    return !is_back;
}

/* must_fail: a call with a wrong handle, or with no pointer where one is needed. */
static void make_calls(struct wrong_with with, const char *const *without, bool must_fail)
{
    with.room = room;
    for (size_t i = 0; i < COUNT(wrong_calls); i++) {
        const struct wrong_call *call = &wrong_calls[i];
        CUresult status = CUDA_SUCCESS;
        if (contains(call->name, without) || (must_fail && !call->has_handle))
            continue; /* what else is made could have the handle of an object that has ended */
        memset(room, 0, sizeof room);
        if (getenv("WRONG_NAMES"))
            fprintf(stderr, "%s\n", call->name);
        if (make_call(call, &with, &status) && must_fail && !status)
            failed(__FILE__, __LINE__, "%s() succeeds", call->name);
        check_session(call->name);
    }
}

static const char *const all_of_them[] = { NULL };

static void calls_with_nothing(void)
{
    make_calls((struct wrong_with){ .handles = none, .device = -1 }, all_of_them, false);
}

static void calls_with_null_pointers(void)
{
    /* the objects must live on */
    static const char *const without[] = {
        "Destroy", "Unload", "Release", "Reset", "Detach", NULL
    };
    make_calls((struct wrong_with){ .handles = living, .number = 1 }, without, false);
}

static void calls_with_too_large_numbers(void)
{
    static const char *const without[] = {
        "Destroy", "Unload", "Release", "Reset", "Detach", NULL
    };
    make_calls((struct wrong_with){ .handles = living, .number = UINT64_MAX }, without, false);
}

static void need_checks(void)
{
    if (!are_handles_checked())
        skip("NVIDIA's driver reads through each handle without a check");
}

static void calls_with_handles_of_nothing(void)
{
    need_checks();
    make_calls(
        (struct wrong_with){ .handles = nothing, .pointer = room, .number = 1, .device = 99 },
        all_of_them, true);
}

static void calls_with_handles_of_another_kind(void)
{
    need_checks();
    make_calls(
        (struct wrong_with){ .handles = strange, .pointer = room, .number = 1, .device = 99 },
        all_of_them, true);
}

static void calls_with_ended_objects(void)
{
    need_checks();
    memcpy(ended, nothing, sizeof ended);
    make_objects(ended);
    end_objects(ended);
    ended[ATH_CUDA_KIND_CONTEXT] = nothing[ATH_CUDA_KIND_CONTEXT];
    make_calls((struct wrong_with){ .handles = ended, .pointer = room, .number = 1, .device = 99 },
               all_of_them, true);
}

static void texts_of_errors(void)
{
    static const struct {
        CUresult error;
        const char *text;
    } texts[] = {
        { CUDA_SUCCESS, "no error" },
        { CUDA_ERROR_INVALID_VALUE, "invalid argument" },
        { CUDA_ERROR_INVALID_CONTEXT, "invalid device context" },
        { CUDA_ERROR_INVALID_HANDLE, "invalid resource handle" },
        { CUDA_ERROR_NOT_FOUND, "named symbol not found" },
        { CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered" },
        { CUDA_ERROR_UNKNOWN, "unknown error" },
    };
    const char *text;
    for (size_t i = 0; i < COUNT(texts); i++) {
        ok(cuGetErrorString(texts[i].error, &text));
        check(!strcmp(text, texts[i].text));
    }
    gives(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &text));
}

static void flags_of_waits(void)
{
    CUstream stream = (CUstream)(uintptr_t)living[ATH_CUDA_KIND_STREAM];
    CUevent event = (CUevent)(uintptr_t)living[ATH_CUDA_KIND_EVENT];
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
    gives(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(stream, event, 9));
}

static void counted_nowhere(void)
{
    size_t left, all, again;
    ok(cuMemGetInfo_v2(&left, &all));
    ok(cuMemGetInfo_v2(NULL, &again));
    same(again, all);
    ok(cuMemGetInfo_v2(&again, NULL));
    ok(cuMemGetInfo_v2(NULL, NULL));
}

static void unknown_launch_attributes(void)
{
    CUlaunchAttribute attribute = { .id = (CUlaunchAttributeID)12345 };
    CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, NULL, &attribute, 1 };
    CUdeviceptr p = allocate(4);
    float v = 1;
    int n = 1;
    void *params[] = { &p, &v, &n };
    gives(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, kernel("fill"), params, NULL));
    config.numAttrs = 0;
    ok(cuLaunchKernelEx(&config, kernel("fill"), params, NULL));
    same(all_of(p, 1), 1);
}

/* The runtime gets the primary context's handle by an entry of its own, even if the GPU has no
 * memory for the context; the error comes from cuDevicePrimaryCtxRetain(). */
static void full_gpu(void)
{
    static const CUuuid runtime = {
        "\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9"
    };
    CUresult (*const *table)(CUcontext *, CUdevice);
    CUcontext handle = NULL, made;
    ok(cuInit(0));
    if (cuDevicePrimaryCtxRetain(&made, 0) != CUDA_ERROR_OUT_OF_MEMORY)
        skip("the GPU has memory for a context");
    if (cuGetExportTable((const void **)&table, &runtime))
        skip("the library has no tables for the runtime");
    ok(table[2](&handle, 0));
    check(handle != NULL);
    ok(cuCtxSetCurrent(handle));
    gives(CUDA_ERROR_OUT_OF_MEMORY, cuDevicePrimaryCtxRetain(&made, 0));
}

static const struct test tests[] = {
    { "a GPU without memory for a context", full_gpu, NO_SETUP },
    { "errors have CUDA's texts", texts_of_errors, 0 },
    { "flags of a wait that do not exist", flags_of_waits, 0 },
    { "no room for the count of memory", counted_nowhere, 0 },
    { "a launch attribute that does not exist", unknown_launch_attributes, 0 },
    { "calls with nothing at all", calls_with_nothing, 0 },
    { "calls with null pointers", calls_with_null_pointers, 0 },
    { "calls with too large numbers", calls_with_too_large_numbers, 0 },
    { "calls with handles of nothing", calls_with_handles_of_nothing, 0 },
    { "calls with handles of another kind", calls_with_handles_of_another_kind, 0 },
    { "calls with objects that have ended", calls_with_ended_objects, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
