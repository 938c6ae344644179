/*
 * A program of CUDA's driver API. It does the steps that standard input has, one for each line, and
 * prints the result of each: CUDA's name for the status, and the wanted value.
 *
 *     take KIND BYTES   memory: plain, pitch, managed, async, pool, create, array, mipmap, graph,
 * and halves (an array of three dimensions); of the second device while the first is current: other
 * (by its pool), far (by a graph). Memory that the driver takes for a program: context, and abroad
 * (of the second device), which are not made current; module and library (filed: from a file), with
 * a variable of so many bytes; kernel, of the library that was taken last; stack, heap and fifo,
 * which set a limit of the context give              gives back the memory that was taken last
 *     threshold BYTES   that the device's pool may keep
 *     trim              makes the pool keep nothing
 *     sync              waits for all work
 *     captured BYTES    captures memory in a graph, which is launched twice
 *     uncaptured        destroys that graph
 *     export            a handle for the memory that was taken last, in hexadecimal
 *     import HANDLE     opens it; "unimport" closes it
 *     park BYTES        exports memory as a descriptor, and releases it
 *     regain COUNT      imports that COUNT times, and keeps the last
 *     unpark            closes the descriptor
 *     memory            free and total bytes, by cuMemGetInfo() and cuDeviceTotalMem()
 *     devices           their names
 *     fill N            launches a kernel on N floats and reads them: "right" or "wrong"
 *     block             waits for a kernel that never ends
 *     launch COUNT      kernels, without waiting
 *     shorten           a kernel writes into a file that was cut off since it was registered
 *     threads COUNT     so many threads work at the same time: "right" or "wrong"
 *     keep              makes a stream, an event and memory for "end": the results of asking for
 *                       the state and of ending each, then work
 *     wrong             sets memory that does not exist, and the result of waiting for it
 *     repeat KIND       calls of a kind until one fails: "begins", then its result
 *     cycle KIND COUNT  this many calls of a kind, and their results
 *     wait KIND         a call that waits for a kernel that never ends: "waits", its result
 *     files COUNT       limits it to so many more descriptors; 0: no limit
 *     pinned            makes and frees pinned memory, and the result of each
 *     hold BYTES...     makes pieces of pinned memory and then frees them: the result of each piece
 *     captures COUNT    so many threads begin a capture each: how many have begun, and the first
 *                       other result
 *     fork              the results of a child's calls
 *     exit CODE         exits while one thread waits for the GPU and one makes calls: "waits", then
 *                       the result of those calls, of a host function at the very end, and of
 *                       unloading a module
 *     train LAUNCHES [mapped]   a step of a training: copies, launches, events, a result, one wait
 *     facts                     all facts that a runtime asks about a device: "right" or "wrong"
 *     begin             the first calls of each library, again
 *     reset             streams and events of the context before and after it is reset
 *     shapes SHAPES TIMES       cooperative launches, the same again: "right" or "wrong"
 *     clusters GRIDS [ask]      launches of clusters in grids of one and more, and in one of half a
 *                       cluster: "right" if that is refused. ask: before each launch how many fit,
 *                       and how many that are too large
 *     search            the best size of a block, by a function for the shared memory: "right" if
 *                       the function is called once for each size
 *     kernel NAME SHARED        all facts about a kernel: "right" or "wrong"
 *     record TIMES      an event by cuEventRecordWithFlags(): "right" if wrong flags are refused
 *     nodes VALUE       sets the nodes of an executable graph and launches it: "right" or "wrong"
 *     addresses [ended] attributes of addresses, and after they are freed: "right"
 *     several COUNT     makes COUNT streams and events, which must all differ, and uses some
 *
 *     tables BYTES      takes memory in the context of the second device, which is made by the
 *                       tables that a static CUDA runtime has from the driver
 *
 *     cancelled         a thread is cancelled while it takes memory, and then another takes some
 *
 * It calls cuInit() first, and prints the result.
 */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/api/cuda_api.h"

enum { ROOM = 1 << 20, TAKEN_MAX = 65536 };

enum kind {
    PLAIN,
    PITCH,
    MANAGED,
    ASYNC,
    POOL,
    CREATE,
    ARRAY,
    MIPMAP,
    GRAPH,
    OTHER,
    FAR,
    CONTEXT,
    ABROAD,
    MODULE,
    LIBRARY,
    FILED,
    KERNEL,
    STACK,
    HEAP,
    FIFO,
    HALVES,
    KINDS
};
static const char *const kinds[] = { "plain",  "pitch",  "managed", "async", "pool",   "create",
                                     "array",  "mipmap", "graph",   "other", "far",    "context",
                                     "abroad", "module", "library", "filed", "kernel", "stack",
                                     "heap",   "fifo",   "halves" };

struct taken {
    enum kind kind;
    uint64_t value;
};

static CUcontext context;
static CUmodule module;
static struct {
    CUgraph whole;
    CUgraphExec ready;
} graph; /* the last one that was taken */
static CUmemoryPool pool;
static struct taken taken[TAKEN_MAX];
static size_t taken_count;

static const char *name_of(CUresult status)
{
    const char *name = NULL;
    return cuGetErrorName(status, &name) || !name ? "?" : name;
}

/* ---- memory ---- */

static CUresult take_pool(CUdeviceptr *out, size_t bytes)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUresult status = pool ? CUDA_SUCCESS : cuMemPoolCreate(&pool, &props);
    return status ? status : cuMemAllocFromPoolAsync(out, bytes, pool, NULL);
}

static CUresult take_other(CUdeviceptr *out, size_t bytes)
{
    CUmemoryPool of_other;
    CUresult status = cuDeviceGetDefaultMemPool(&of_other, 1);
    return status ? status : cuMemAllocFromPoolAsync(out, bytes, of_other, NULL);
}

static CUresult take_graph(CUdeviceptr *out, size_t bytes, int device)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device } },
        .bytesize = bytes
    };
    CUgraphNode node;
    CUresult status = cuGraphCreate(&graph.whole, 0);
    if (!status)
        status = cuGraphAddMemAllocNode(&node, graph.whole, NULL, 0, &params);
    if (!status)
        status = cuGraphInstantiateWithFlags(&graph.ready, graph.whole, 0);
    if (!status)
        status = cuGraphLaunch(graph.ready, NULL);
    if (!status)
        status = cuStreamSynchronize(NULL); /* a launch is not waited for, and takes the memory */
    *out = params.dptr;
    return status;
}

static CUresult give_graph(CUdeviceptr address, int device)
{
    CUresult status = cuMemFree_v2(address);
    if (!status)
        status = cuGraphExecDestroy(graph.ready);
    if (!status)
        status = cuGraphDestroy(graph.whole);
    return status ? status : cuDeviceGraphMemTrim(device);
}

/* ---- what the driver takes for a program ---- */

static CUresult take_context(int device, uint64_t *out)
{
    CUcontext made = NULL;
    CUresult status = cuCtxCreate_v2(&made, 0, device);
    *out = (uintptr_t)made;
    return status ? status : cuCtxPopCurrent_v2(&made);
}

static CUresult load_file(CUlibrary *out, const char *code)
{
    char path[] = "cuda_steps.XXXXXX";
    int fd = mkstemp(path);
    size_t length = strlen(code) + 1;
    if (fd < 0 || write(fd, code, length) != (ssize_t)length)
        return CUDA_ERROR_OPERATING_SYSTEM;
    close(fd);
    CUresult status = cuLibraryLoadFromFile(out, path, NULL, NULL, 0, NULL, NULL, 0);
    unlink(path);
    return status;
}

static CUresult take_code(enum kind kind, size_t bytes, uint64_t *out)
{
    char code[512];
    CUmodule made = NULL;
    CUlibrary library = NULL;
    snprintf(code, sizeof code,
             ".version 6.0\n.target sm_50\n.address_size 64\n"
             ".visible .global .align 8 .b8 taken[%zu];\n.visible .entry fill()\n{\n ret;\n}\n",
             bytes);
    CUresult status = kind == MODULE  ? cuModuleLoadData(&made, code)
                      : kind == FILED ? load_file(&library, code)
                                      : cuLibraryLoadData(&library, code, 0, 0, 0, 0, 0, 0);
    *out = made ? (uintptr_t)made : (uintptr_t)library;
    return status;
}

static CUresult take_kernel(uint64_t *out)
{
    CUkernel kernel = NULL;
    size_t at = taken_count;
    while (at && taken[at - 1].kind != LIBRARY && taken[at - 1].kind != FILED)
        at--;
    CUresult status =
        at ? cuLibraryGetKernel(&kernel, (CUlibrary)(uintptr_t)taken[at - 1].value, "fill")
           : CUDA_ERROR_INVALID_VALUE;
    *out = (uintptr_t)kernel;
    return status;
}

static CUlimit limit_of(enum kind kind)
{
    return kind == STACK  ? CU_LIMIT_STACK_SIZE
           : kind == HEAP ? CU_LIMIT_MALLOC_HEAP_SIZE
                          : CU_LIMIT_PRINTF_FIFO_SIZE;
}

/* The value is the limit before. */
static CUresult take_limit(enum kind kind, size_t bytes, uint64_t *out)
{
    size_t before = 0;
    CUresult status = cuCtxGetLimit(&before, limit_of(kind));
    *out = before;
    return status ? status : cuCtxSetLimit(limit_of(kind), bytes);
}

static CUresult take(enum kind kind, size_t bytes, uint64_t *out)
{
    if (kind == CONTEXT || kind == ABROAD)
        return take_context(kind == ABROAD, out);
    if (kind == MODULE || kind == LIBRARY || kind == FILED)
        return take_code(kind, bytes, out);
    if (kind == KERNEL)
        return take_kernel(out);
    if (kind == STACK || kind == HEAP || kind == FIFO)
        return take_limit(kind, bytes, out);
    CUdeviceptr address = 0;
    size_t pitch;
    CUarray array = NULL;
    CUmipmappedArray mipmap = NULL;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 1024, .Height = bytes / 4096, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
    };
    CUDA_ARRAY3D_DESCRIPTOR halves = { .Width = 256,
                                       .Height = 4,
                                       .Depth = bytes / 4096,
                                       .Format = CU_AD_FORMAT_HALF,
                                       .NumChannels = 2 };
    CUresult status = CUDA_ERROR_INVALID_VALUE;

    switch (kind) {
    case PLAIN:
        status = cuMemAlloc_v2(&address, bytes);
        break;
    case PITCH:
        status = cuMemAllocPitch_v2(&address, &pitch, 4096, bytes / 4096, 4);
        break;
    case MANAGED:
        status = cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
        break;
    case ASYNC:
        status = cuMemAllocAsync(&address, bytes, NULL);
        break;
    case POOL:
        status = take_pool(&address, bytes);
        break;
    case OTHER:
        status = take_other(&address, bytes);
        break;
    case CREATE:
        status = cuMemCreate(&handle, bytes, &prop, 0);
        break;
    case ARRAY:
        status = cuArray3DCreate_v2(&array, &shape);
        break;
    case HALVES:
        status = cuArray3DCreate_v2(&array, &halves);
        break;
    case MIPMAP:
        status = cuMipmappedArrayCreate(&mipmap, &shape, 1);
        break;
    case GRAPH:
    case FAR:
        status = take_graph(&address, bytes, kind == FAR);
        break;
    default:
        break;
    }
    *out = address ? address : array ? (uintptr_t)array : mipmap ? (uintptr_t)mipmap : handle;
    return status;
}

static CUresult give(const struct taken *one)
{
    switch (one->kind) {
    case ASYNC:
    case POOL:
    case OTHER:
        return cuMemFreeAsync(one->value, NULL);
    case CREATE:
        return cuMemRelease(one->value);
    case ARRAY:
    case HALVES:
        return cuArrayDestroy((CUarray)(uintptr_t)one->value);
    case GRAPH:
    case FAR:
        return give_graph(one->value, one->kind == FAR);
    case MIPMAP:
        return cuMipmappedArrayDestroy((CUmipmappedArray)(uintptr_t)one->value);
    case CONTEXT:
    case ABROAD:
        return cuCtxDestroy_v2((CUcontext)(uintptr_t)one->value);
    case MODULE:
        return cuModuleUnload((CUmodule)(uintptr_t)one->value);
    case LIBRARY:
    case FILED:
        return cuLibraryUnload((CUlibrary)(uintptr_t)one->value);
    case KERNEL:
        return CUDA_SUCCESS;
    case STACK:
    case HEAP:
    case FIFO:
        return cuCtxSetLimit(limit_of(one->kind), one->value);
    default:
        return cuMemFree_v2(one->value);
    }
}

static void step_take(const char *words)
{
    char word[32];
    size_t bytes = 0;
    int kind = 0;
    CUresult status = CUDA_ERROR_INVALID_VALUE;
    if (sscanf(words, "%31s %zu", word, &bytes) == 2) {
        while (kind < KINDS && strcmp(kinds[kind], word))
            kind++;
        if (taken_count < TAKEN_MAX)
            status = take((enum kind)kind, bytes, &taken[taken_count].value);
    }
    if (!status)
        taken[taken_count++].kind = (enum kind)kind;
    puts(name_of(status));
}

static void step_give(const char *words)
{
    (void)words;
    puts(name_of(taken_count ? give(&taken[--taken_count]) : CUDA_ERROR_INVALID_VALUE));
}

static void step_threshold(const char *words)
{
    CUmemoryPool of_device;
    uint64_t bytes = strtoull(words, NULL, 10);
    CUresult status = cuDeviceGetMemPool(&of_device, 0);
    if (!status)
        status = cuMemPoolSetAttribute(of_device, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes);
    puts(name_of(status));
}

static void step_trim(const char *words)
{
    CUmemoryPool of_device;
    CUresult status = cuDeviceGetMemPool(&of_device, 0);
    (void)words;
    puts(name_of(status ? status : cuMemPoolTrimTo(of_device, 0)));
}

static void step_sync(const char *words)
{
    (void)words;
    puts(name_of(cuCtxSynchronize()));
}

static struct {
    CUgraph graph;
    CUgraphExec ready;
} captured;

static void step_uncaptured(const char *words)
{
    CUresult status = cuGraphExecDestroy(captured.ready);
    (void)words;
    puts(name_of(status ? status : cuGraphDestroy(captured.graph)));
}

static void step_captured(const char *words)
{
    CUstream stream;
    CUdeviceptr p;
    CUgraph whole = NULL;
    CUgraphExec ready = NULL;
    CUresult status = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (!status)
        status = cuMemAllocAsync(&p, strtoull(words, NULL, 10), stream);
    if (!status)
        status = cuMemsetD8Async(p, 1, 16, stream);
    if (!status)
        status = cuMemFreeAsync(p, stream);
    CUresult ended = cuStreamEndCapture(stream, &whole);
    if (!status)
        status = ended ? ended : cuGraphInstantiateWithFlags(&ready, whole, 0);
    for (int i = 0; i < 2 && !status; i++)
        status = cuGraphLaunch(ready, stream);
    if (!status) {
        captured.graph = whole;
        captured.ready = ready;
    }
    if (!status)
        status = cuStreamSynchronize(stream);
    puts(name_of(status ? status : cuStreamDestroy_v2(stream)));
}

static void step_export(const char *words)
{
    CUipcMemHandle handle = { { 0 } };
    CUresult status = taken_count ? cuIpcGetMemHandle(&handle, taken[taken_count - 1].value)
                                  : CUDA_ERROR_INVALID_VALUE;
    (void)words;
    printf("%s ", name_of(status));
    for (size_t i = 0; i < sizeof handle.reserved; i++)
        printf("%02x", (unsigned char)handle.reserved[i]);
    puts("");
}

static int parked = -1;

static void step_park(const char *words)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUmemGenericAllocationHandle handle;
    CUresult status = cuMemCreate(&handle, strtoull(words, NULL, 10), &prop, 0);
    if (!status)
        status = cuMemExportToShareableHandle(&parked, handle,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    puts(name_of(status ? status : cuMemRelease(handle)));
}

static void step_regain(const char *words)
{
    CUmemGenericAllocationHandle handles[64];
    int count = atoi(words), done = 0;
    CUresult status = CUDA_ERROR_INVALID_VALUE;
    while (done < count && done < 64 &&
           !(status = cuMemImportFromShareableHandle(&handles[done], (void *)(intptr_t)parked,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)))
        done++;
    for (int i = 0; i < done - 1 && !status; i++)
        status = cuMemRelease(handles[i]);
    if (!status)
        taken[taken_count++] = (struct taken){ CREATE, handles[done - 1] };
    puts(name_of(status));
}

static void step_unpark(const char *words)
{
    (void)words;
    puts(name_of(close(parked) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS));
}

static CUdeviceptr imported;

static void step_import(const char *words)
{
    CUipcMemHandle handle;
    for (size_t i = 0; i < sizeof handle.reserved; i++) {
        unsigned int byte = 0;
        if (sscanf(words + 2 * i, "%2x", &byte) != 1)
            break;
        handle.reserved[i] = (char)byte;
    }
    puts(name_of(cuIpcOpenMemHandle_v2(&imported, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)));
}

static void step_unimport(const char *words)
{
    (void)words;
    puts(name_of(cuIpcCloseMemHandle(imported)));
}

static void step_memory(const char *words)
{
    size_t left = 0, total = 0, of_device = 0;
    CUresult status = cuMemGetInfo_v2(&left, &total);
    (void)words;
    if (!status)
        status = cuDeviceTotalMem_v2(&of_device, 0);
    printf("%s %zu %zu %zu\n", name_of(status), left, total, of_device);
}

static void step_devices(const char *words)
{
    int count = 0;
    CUresult status = cuDeviceGetCount(&count);
    (void)words;
    printf("%s", name_of(status));
    for (int i = 0; i < count; i++) {
        char bus[32] = "";
        cuDeviceGetPCIBusId(bus, sizeof bus, i);
        printf(" %s", bus);
    }
    puts("");
}

/* ---- work ---- */

static size_t padding; /* bytes of blanks behind the code */

static CUresult load(void)
{
    char path[4096];
    const char *folder = getenv("srcdir");
    char *text = module ? NULL : calloc(1, ROOM + padding);
    if (!text)
        return module ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(path, sizeof path, "%s/tests/cuda_programs/kernels.ptx", folder ? folder : ".");
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, ROOM - 1, file) : 0;
    memset(text + length, '\n', padding);
    CUresult status = length ? cuModuleLoadData(&module, text) : CUDA_ERROR_FILE_NOT_FOUND;
    if (file)
        fclose(file);
    free(text);
    return status;
}

/* Code of at least so many bytes. */
static void step_load(const char *words)
{
    padding = strtoul(words, NULL, 10);
    printf("%s\n", name_of(load()));
    padding = 0;
}

/* Cooperative launches of so many shapes, each several times: "right" where all are done. */
static void step_shapes(const char *words) /* SHAPES TIMES */
{
    char *rest;
    unsigned int shapes = (unsigned int)strtoul(words, &rest, 10);
    unsigned int times = (unsigned int)strtoul(rest, NULL, 10);
    CUlaunchAttribute together = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 };
    CUdeviceptr p = 0;
    CUfunction function;
    float value = 3, got = 0;
    int n = 1;
    CUresult status = load();
    if (!status)
        status = cuModuleGetFunction(&function, module, "fill");
    if (!status)
        status = cuMemAlloc_v2(&p, sizeof value);
    for (unsigned int i = 0; i < shapes * times && !status; i++) {
        CUlaunchConfig config = { .gridDimX = 1 + i % shapes / 1024,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1 + i % shapes % 1024,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .attrs = &together,
                                  .numAttrs = 1 };
        status = cuLaunchKernelEx(&config, function, (void *[]){ &p, &value, &n }, NULL);
    }
    if (!status)
        status = cuMemcpyDtoH_v2(&got, p, sizeof got);
    if (!status)
        status = cuMemFree_v2(p);
    printf("%s %s\n", name_of(status), got == value ? "right" : "wrong");
}

/* Asks about clusters that are larger than any GPU has. */
static CUresult ask_for_too_much(CUfunction function, const CUlaunchConfig *config)
{
    CUlaunchConfig larger = *config;
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                  .value.clusterDim = { 64, 1, 1 } };
    int fit;
    larger.gridDimX *= 64;
    larger.attrs = &cluster;
    CUresult status = cuOccupancyMaxActiveClusters(&fit, function, &larger);
    return status == CUDA_ERROR_INVALID_CLUSTER_SIZE ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static void step_clusters(const char *words) /* GRIDS */
{
    enum { SIZE = 4 };
    char *rest;
    unsigned int grids = (unsigned int)strtoul(words, &rest, 10);
    bool asks = strstr(rest, "ask");
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                  .value.clusterDim = { SIZE, 1, 1 } };
    CUdeviceptr p = 0;
    CUfunction function;
    float value = 3;
    int n = 1;
    CUlaunchConfig config = { 0, 1, 1, 32, 1, 1, 0, NULL, &cluster, 1 };
    void *params[] = { &p, &value, &n };
    CUresult status = load(), refused = CUDA_SUCCESS;
    if (!status)
        status = cuModuleGetFunction(&function, module, "fill");
    if (!status)
        status = cuMemAlloc_v2(&p, sizeof value);
    for (unsigned int i = 1; i <= grids && !status; i++) {
        int fit = 0;
        config.gridDimX = SIZE * i;
        if (asks)
            status = cuOccupancyMaxActiveClusters(&fit, function, &config);
        if (asks && !status)
            status = ask_for_too_much(function, &config);
        if (!status)
            status = cuLaunchKernelEx(&config, function, params, NULL);
    }
    config.gridDimX = SIZE / 2;
    if (!status)
        refused = cuLaunchKernelEx(&config, function, params, NULL);
    if (!status)
        status = cuMemFree_v2(p);
    printf("%s %s\n", name_of(status), refused ? "right" : "wrong");
}

static unsigned int sizes_asked;

static size_t shared_for(int threads)
{
    sizes_asked++;
    return (size_t)threads * 4;
}

static void step_search(const char *words)
{
    enum { LARGEST = 1024, WARP = 32 };
    CUfunction function;
    int grid = 0, block = 0;
    CUresult status = load();
    (void)words;
    sizes_asked = 0;
    if (!status)
        status = cuModuleGetFunction(&function, module, "fill");
    if (!status)
        status = cuOccupancyMaxPotentialBlockSize(&grid, &block, function, shared_for, 0, 0);
    bool is_right = sizes_asked == LARGEST / WARP && block > 0 && grid > 0;
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
}

static CUlibrary library;

static CUresult load_library(void)
{
    char path[4096];
    const char *folder = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/cuda_programs/kernels.ptx", folder ? folder : ".");
    return library ? CUDA_SUCCESS
                   : cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0);
}

/* All that a runtime asks of a kernel before it launches it, with another limit of its shared
 * memory: "right" where its function says the same. */
static void step_kernel(const char *words) /* NAME [SHARED] */
{
    const CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    char name[64] = "";
    int shared = 0, known = 0, asked[CU_FUNC_ATTRIBUTE_MAX] = { 0 }, same = 0;
    CUkernel kernel;
    CUfunction function = NULL;
    bool is_set = sscanf(words, "%63s %d", name, &shared) == 2;
    CUresult status = load_library();
    if (!status)
        status = cuLibraryGetKernel(&kernel, library, name);
    if (!status && is_set)
        status = cuKernelSetAttribute(limit, shared, kernel, 0);
    for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX && !status; i++)
        known += !cuKernelGetAttribute(&asked[i], (CUfunction_attribute)i, kernel, 0);
    if (!status)
        status = cuKernelGetFunction(&function, kernel);
    for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX && !status; i++) {
        int value;
        same += !cuFuncGetAttribute(&value, (CUfunction_attribute)i, function) && value == asked[i];
    }
    printf("%s %s\n", name_of(status),
           known > 8 && same == known && (!is_set || asked[limit] == shared) ? "right" : "wrong");
}

static CUresult launch(const char *name, int n, CUstream stream, void **params)
{
    CUfunction function;
    CUresult status = load();
    if (!status)
        status = cuModuleGetFunction(&function, module, name);
    return status ? status
                  : cuLaunchKernel(function, (unsigned int)(n + 255) / 256, 1, 1, 256, 1, 1, 0,
                                   stream, params, NULL);
}

/* On a stream of its own. */
static CUresult fill(int n, float value, bool *out_is_right)
{
    CUdeviceptr p = 0;
    CUstream stream = NULL;
    float *values = calloc((size_t)n, sizeof *values);
    CUresult status =
        values ? cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!status)
        status = cuMemAlloc_v2(&p, (size_t)n * sizeof *values);
    if (!status)
        status = launch("fill", n, stream, (void *[]){ &p, &value, &n });
    if (!status)
        status = cuMemcpyDtoHAsync_v2(values, p, (size_t)n * sizeof *values, stream);
    if (!status)
        status = cuStreamSynchronize(stream);
    *out_is_right = !status;
    for (int i = 0; i < n && *out_is_right; i++)
        *out_is_right = values[i] == value;
    if (!status)
        status = cuMemFree_v2(p);
    if (!status)
        status = cuStreamDestroy_v2(stream);
    free(values);
    return status;
}

static void step_fill(const char *words)
{
    bool is_right = false;
    CUresult status = fill(atoi(words), 7, &is_right);
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
}

/* A piece of pageable memory, in one row or in two. */
static CUresult copy_piece(CUdeviceptr to, const void *from, size_t bytes, bool is_rectangle,
                           CUstream stream)
{
    const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = from,
                                 .srcPitch = bytes / 2,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = to,
                                 .dstPitch = bytes / 2,
                                 .WidthInBytes = bytes / 2,
                                 .Height = 2 };
    return is_rectangle ? cuMemcpy2DAsync_v2(&rows, stream)
                        : cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}

/* Copies of pageable memory behind what is to come; the memory is used again at once. */
static void step_behind(const char *words) /* PIECES BYTES */
{
    char *rest;
    size_t pieces = strtoul(words, &rest, 10), bytes = strtoul(rest, NULL, 10);
    unsigned char *piece = malloc(bytes), *got = calloc(pieces, bytes);
    CUdeviceptr p = 0, gate = 0;
    CUstream stream = NULL, other = NULL;
    bool is_right = true;
    CUresult status =
        piece && got ? cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!status)
        status = cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = cuMemAlloc_v2(&p, pieces * bytes);
    if (!status)
        status = cuMemAlloc_v2(&gate, sizeof(int));
    if (!status)
        status = cuMemsetD32_v2(gate, 0, 1);
    if (!status)
        status = cuStreamSynchronize(NULL); /* which the other two do not wait for */
    if (!status)
        status = cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ);
    for (size_t i = 0; i < pieces && !status; i++) {
        memset(piece, (int)i + 1, bytes);
        status = copy_piece(p + i * bytes, piece, bytes, i % 2, stream);
    }
    if (!status)
        status = cuStreamWriteValue32_v2(other, gate, 1, 0);
    if (!status)
        status = cuStreamSynchronize(stream);
    if (!status)
        status = cuMemcpyDtoH_v2(got, p, pieces * bytes);
    for (size_t i = 0; !status && i < pieces * bytes; i++)
        is_right = is_right && got[i] == i / bytes + 1;
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
    cuMemFree_v2(p);
    free(piece);
    free(got);
}

/* A pattern goes to the GPU, and comes back so many times; each copy is waited for. */
static CUresult fetch(int times, size_t bytes, bool *is_right)
{
    uint8_t *there = malloc(bytes), *back = calloc(1, bytes);
    CUdeviceptr memory = 0;
    CUstream stream = NULL;
    CUresult status =
        there && back ? cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; there && i < bytes; i++)
        there[i] = (uint8_t)(i * 7 + i / 4093);
    if (!status)
        status = cuMemAlloc_v2(&memory, bytes);
    if (!status)
        status = cuMemcpyHtoDAsync_v2(memory, there, bytes, stream);
    for (int i = 0; !status && i < times; i++) {
        status = cuMemcpyDtoHAsync_v2(back, memory, bytes, stream);
        if (!status)
            status = cuStreamSynchronize(stream);
    }
    *is_right = !status && !memcmp(there, back, bytes);
    free(there);
    free(back);
    if (!status)
        status = cuMemFree_v2(memory);
    return status ? status : cuStreamDestroy_v2(stream);
}

static void step_fetch(const char *words) /* TIMES BYTES */
{
    char *rest;
    bool is_right = false;
    int times = (int)strtol(words, &rest, 10);
    CUresult status = fetch(times, strtoul(rest, NULL, 10), &is_right);
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
}

/* Brings tensors to the GPU, and waits after each, as PyTorch does. */
static CUresult bring(int times, size_t bytes, bool is_exported, bool *is_right)
{
    uint32_t *there = malloc(bytes), *back = calloc(1, bytes);
    CUdeviceptr memory = 0;
    CUstream stream = NULL;
    CUresult status =
        there && back ? cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) : CUDA_ERROR_OUT_OF_MEMORY;
    *is_right = !status;
    for (int i = 0; !status && i < times; i++) {
        for (size_t k = 0; k < bytes / sizeof *there; k++)
            there[k] = (uint32_t)(k * 7 + (size_t)i);
        CUipcMemHandle handle;
        status = cuMemAlloc_v2(&memory, bytes);
        if (!status && is_exported)
            status = cuIpcGetMemHandle(&handle, memory);
        if (!status)
            status = cuMemcpyHtoDAsync_v2(memory, there, bytes, stream);
        if (!status)
            status = cuStreamSynchronize(stream);
        there[0] = ~0u; /* the copy has read it */
    }
    if (!status)
        status = cuMemcpyDtoH_v2(back, memory, bytes);
    there[0] = (uint32_t)(times - 1);
    *is_right = !status && !memcmp(there, back, bytes);
    free(there);
    free(back);
    return status;
}

static void step_bring(const char *words) /* TIMES BYTES [exported] */
{
    char *rest;
    bool is_right = false;
    int times = (int)strtol(words, &rest, 10);
    size_t bytes = strtoul(rest, &rest, 10);
    CUresult status = bring(times, bytes, strstr(rest, "exported"), &is_right);
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
}

/* A copy to memory that is not there: the next call that is answered and waits tells. */
static void step_lost(const char *words)
{
    int value = 1;
    CUdeviceptr memory;
    (void)words;
    CUresult status = cuMemAlloc_v2(&memory, sizeof value);
    if (!status)
        status = cuMemcpyHtoD_v2(memory, &value, sizeof value);
    if (!status)
        status = cuMemFree_v2(memory);
    if (!status)
        status = cuMemcpyHtoDAsync_v2(memory, &value, sizeof value, NULL);
    if (!status)
        status = cuCtxSynchronize();
    printf("%s\n", name_of(status));
}

/* ---- a step of a training, whose result is 4 bytes that both sides have or that are copied ----
 */

enum { BATCH = 1024, EVENTS = 4 };

static struct {
    CUstream stream;
    CUevent events[EVENTS];
    CUdeviceptr batch;
    float *given, *result;
} training;

static CUresult begin_training(void)
{
    CUresult status = cuStreamCreate(&training.stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < EVENTS && !status; i++)
        status = cuEventCreate(&training.events[i], CU_EVENT_DISABLE_TIMING);
    if (!status)
        status = cuMemAlloc_v2(&training.batch, BATCH * sizeof(float));
    if (!status)
        status = cuMemAllocHost_v2((void **)&training.given, BATCH * sizeof(float));
    if (!status)
        status =
            cuMemHostAlloc((void **)&training.result, sizeof(float), CU_MEMHOSTALLOC_DEVICEMAP);
    return status;
}

static CUresult train(int launches, bool is_mapped)
{
    static float value = 1;
    int n = BATCH, one = 1;
    CUdeviceptr batch = training.batch, result = (CUdeviceptr)(uintptr_t)training.result;
    CUresult status =
        cuMemcpyHtoDAsync_v2(batch, training.given, BATCH * sizeof(float), training.stream);
    value++;
    for (int i = 0; i < launches && !status; i++) {
        CUevent event = training.events[i % EVENTS];
        status = launch("fill", n, training.stream, (void *[]){ &batch, &value, &n });
        if (!status && i % 50 == 0)
            status = cuEventRecord(event, training.stream);
        if (!status && i % 50 == 0)
            status = cuStreamWaitEvent(training.stream, event, 0);
    }
    if (!status && is_mapped)
        status = launch("fill", 1, training.stream, (void *[]){ &result, &value, &one });
    else if (!status)
        status = cuMemcpyDtoHAsync_v2(training.result, batch, sizeof(float), training.stream);
    if (!status)
        status = cuStreamSynchronize(training.stream);
    return !status && *training.result != value ? CUDA_ERROR_UNKNOWN : status;
}

static void step_train(const char *words) /* LAUNCHES [mapped] */
{
    CUresult status = load();
    if (!status && !training.stream)
        status = begin_training();
    puts(name_of(status ? status : train(atoi(words), strstr(words, "mapped"))));
}

/* As a runtime's cudaEventRecordWithFlags() does. */
static void step_record(const char *words) /* TIMES */
{
    CUevent event;
    CUresult status = cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    for (int i = atoi(words); i > 0 && !status; i--)
        status = cuEventRecordWithFlags(event, NULL, CU_EVENT_RECORD_DEFAULT);
    if (!status)
        status = cuEventSynchronize(event);
    CUresult wrong = cuEventRecordWithFlags(event, NULL, 5);
    if (!status)
        status = cuEventDestroy_v2(event);
    printf("%s %s\n", name_of(status), wrong == CUDA_ERROR_INVALID_VALUE ? "right" : "wrong");
}

/* The facts of a device that a CUDA runtime asks for at its start. */
static void step_facts(const char *words)
{
    int value, known = 0;
    char name[256];
    size_t bytes;
    CUuuid uuid;
    (void)words;
    for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
        known += !cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0);
    CUresult status = cuDeviceGetName(name, sizeof name, 0);
    if (!status)
        status = cuDeviceGetUuid(&uuid, 0);
    if (!status)
        status = cuDeviceTotalMem_v2(&bytes, 0);
    printf("%s %s\n", name_of(status), known > 50 ? "right" : "wrong");
}

static void step_begin(const char *words)
{
    CUcontext had = NULL, same = NULL;
    size_t is_of_graphics = 1;
    int version;
    (void)words;
    CUresult status = cuCtxGetCurrent(&had);
    if (!status)
        status = cuDriverGetVersion(&version);
    if (!status)
        status = cuInit(0);
    if (!status)
        status = cuDevicePrimaryCtxRetain(&same, 0);
    if (!status)
        status = cuCtxGetLimit(&is_of_graphics, CU_LIMIT_CIG_ENABLED);
    puts(name_of(!status && (same != had || is_of_graphics) ? CUDA_ERROR_UNKNOWN : status));
}

/* Each is one of its own: an event is recorded behind a stream's work alone. */
static CUresult use(CUstream stream, CUevent event)
{
    CUdeviceptr memory = 0;
    CUresult status = cuMemAllocAsync(&memory, 4, stream);
    if (!status)
        status = cuMemsetD32Async(memory, 1, 1, stream);
    if (!status)
        status = cuEventRecord(event, stream);
    if (!status)
        status = cuEventSynchronize(event);
    if (!status)
        status = cuMemFreeAsync(memory, stream);
    return status;
}

static void step_several(const char *words)
{
    enum { MOST = 100 };
    CUstream streams[MOST];
    CUevent events[MOST];
    int count = atoi(words), made = 0;
    CUresult status = CUDA_SUCCESS;
    while (made < count && made < MOST && !status) {
        status = cuStreamCreate(&streams[made], CU_STREAM_NON_BLOCKING);
        if (!status)
            status = cuEventCreate(&events[made], CU_EVENT_DISABLE_TIMING);
        for (int i = 0; !status && i < made; i++)
            if (streams[i] == streams[made] || events[i] == events[made])
                status = CUDA_ERROR_UNKNOWN;
        made += !status;
    }
    for (int i = 0; i < made; i++) {
        if (!status && i % 32 == 0)
            status = use(streams[i], events[i]);
        if (!status)
            status = cuEventDestroy_v2(events[i]);
        if (!status)
            status = cuStreamDestroy_v2(streams[i]);
    }
    puts(name_of(status));
}

/* Streams and events made in advance for a context end with the reset of the context. */
static void step_reset(const char *words)
{
    enum { ROUNDS = 3, COUNT = 3 }; /* after three some are made ahead */
    CUcontext own = NULL;
    CUresult status = CUDA_SUCCESS;
    (void)words;
    for (int round = 0; round < ROUNDS && !status; round++) {
        status = cuDevicePrimaryCtxReset_v2(0); /* it keeps its handle */
        if (!status)
            status = cuDevicePrimaryCtxRetain(&own, 0);
        if (!status)
            status = cuCtxSetCurrent(own);
        for (int i = 0; i < COUNT && !status; i++) {
            CUstream stream = NULL;
            CUevent event = NULL;
            status = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            if (!status)
                status = cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
            if (!status)
                status = use(stream, event);
        }
    }
    puts(name_of(status));
}

/* A library's: it takes the primary context for each piece of work, and makes streams for it. */
static CUresult work_by_itself(void)
{
    enum { COUNT = 4 }; /* the last of them is made ahead */
    CUstream streams[COUNT] = { NULL };
    CUcontext other = NULL;
    CUresult status = cuDevicePrimaryCtxRetain(&other, 0);
    for (int i = 0; i < COUNT && !status; i++)
        status = cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < COUNT && !status; i++)
        status = cuStreamDestroy_v2(streams[i]);
    return status ? status : cuDevicePrimaryCtxRelease_v2(0);
}

/* pieces N: of work by itself; right where all went well */
static void step_pieces(const char *words)
{
    long count = strtol(words, NULL, 10);
    CUresult status = CUDA_SUCCESS;
    while (count-- > 0 && !status)
        status = work_by_itself();
    printf("%s %s\n", name_of(status), status ? "wrong" : "right");
}

/* Objects that a library has left in a context that another library has reset. It ends them later.
 */
static void step_stale(const char *words)
{
    CUstreamCaptureStatus capture;
    CUstream stream = NULL;
    CUevent event = NULL;
    CUcontext own = NULL;
    (void)words;
    CUresult status = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    if (!status)
        status = cuDevicePrimaryCtxReset_v2(0);
    if (!status)
        status = cuDevicePrimaryCtxRetain(&own, 0);
    bool is_right = cuStreamIsCapturing(stream, &capture) == CUDA_ERROR_INVALID_HANDLE &&
                    cuStreamDestroy_v2(stream) == CUDA_ERROR_INVALID_HANDLE &&
                    cuEventDestroy_v2(event) == CUDA_ERROR_INVALID_HANDLE;
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
}

static CUresult block(void)
{
    CUdeviceptr flag = 0;
    int value = 5;
    CUstream stream;
    CUresult status = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = cuMemAlloc_v2(&flag, 2 * sizeof(int));
    if (!status)
        status = cuMemsetD32_v2(flag, 0, 2);
    CUdeviceptr answer = flag + sizeof(int);
    if (!status)
        status = launch("await_value", 1, stream, (void *[]){ &flag, &value, &answer });
    puts("waits");
    fflush(stdout);
    return status ? status : cuStreamSynchronize(stream);
}

/* ---- an executable graph whose nodes are set again and again ---- */

enum { SET_NODES = 20 };

static struct {
    CUgraphExec exec;
    CUgraphNode nodes[SET_NODES];
    CUdeviceptr memory;
    CUfunction fill;
} set;

static CUresult begin_set(void)
{
    CUgraph made = NULL;
    size_t count = SET_NODES;
    float value = 0;
    int n = 1;
    CUstream stream = NULL;
    CUresult status = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = cuMemAlloc_v2(&set.memory, SET_NODES * sizeof(float));
    if (!status)
        status = cuModuleGetFunction(&set.fill, module, "fill");
    if (!status)
        status = cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    for (int i = 0; i < SET_NODES && !status; i++)
        status = launch("fill", n, stream, (void *[]){ &set.memory, &value, &n });
    if (!status)
        status = cuStreamEndCapture(stream, &made);
    if (!status)
        status = cuGraphGetNodes(made, set.nodes, &count);
    return status ? status : cuGraphInstantiateWithFlags(&set.exec, made, 0);
}

static CUresult set_node(int i, float value, unsigned int threads)
{
    int n = 1;
    CUdeviceptr place = set.memory + (size_t)i * sizeof(float);
    CUDA_KERNEL_NODE_PARAMS params = {
        .func = set.fill,
        .gridDimX = 1,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = threads,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = (void *[]){ &place, &value, &n },
    };
    return cuGraphExecKernelNodeSetParams_v2(set.exec, set.nodes[i], &params);
}

/* Each node gets arguments of its own. A refusal comes at once. */
static void step_nodes(const char *words) /* VALUE */
{
    float found[SET_NODES];
    int value = atoi(words);
    CUresult status = load();
    if (!status && !set.exec)
        status = begin_set();
    for (int i = 0; i < SET_NODES && !status; i++)
        status = set_node(i, (float)(value + i), 32);
    bool is_right = set_node(0, 0, 1 << 20) == CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = cuGraphLaunch(set.exec, NULL);
    if (!status)
        status = cuMemcpyDtoH_v2(found, set.memory, sizeof found);
    for (int i = 0; i < SET_NODES && !status; i++)
        is_right = is_right && found[i] == (float)(value + i);
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
}

/* ---- attributes of addresses ---- */

enum { ADDRESSES = 8, ADDRESS_BYTES = 4096 };

/* As Triton asks about each argument, and as the CUDA runtime does. */
static CUresult ask_about(CUdeviceptr address, CUdeviceptr *out)
{
    unsigned int type = 0;
    CUdeviceptr same = 0;
    CUpointer_attribute both[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
    CUresult status = cuPointerGetAttribute(out, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address);
    CUresult other = cuPointerGetAttributes(2, both, (void *[]){ &type, &same }, address);
    bool is_same =
        !other && (status ? !type && !same : type == CU_MEMORYTYPE_DEVICE && same == *out);
    return is_same ? status : CUDA_ERROR_UNKNOWN;
}

static CUresult ask_about_all(CUdeviceptr memory)
{
    CUresult status = CUDA_SUCCESS;
    for (int i = 0; i < ADDRESSES && !status; i++) {
        CUdeviceptr address = memory + (CUdeviceptr)i * ADDRESS_BYTES, found = 0;
        status = ask_about(address, &found);
        if (!status && found != address)
            status = CUDA_ERROR_UNKNOWN;
    }
    return status;
}

/* "right" if an address that is freed is none, in both ways to allocate and free. */
static void step_addresses(const char *words) /* [ended] */
{
    static CUdeviceptr memory, of_stream;
    CUdeviceptr found = 0;
    bool is_right = true;
    CUresult status = CUDA_SUCCESS;
    if (!memory)
        status = cuMemAlloc_v2(&memory, (size_t)ADDRESSES * ADDRESS_BYTES);
    if (!status && !of_stream)
        status = cuMemAllocAsync(&of_stream, (size_t)ADDRESSES * ADDRESS_BYTES, NULL);
    if (!status)
        status = ask_about_all(memory);
    if (!status)
        status = ask_about_all(of_stream);
    if (!status && !strncmp(words, "ended", strlen("ended"))) {
        is_right = !cuMemFree_v2(memory) && ask_about(memory, &found) == CUDA_ERROR_INVALID_VALUE &&
                   !cuMemFreeAsync(of_stream, NULL) && !cuStreamSynchronize(NULL) &&
                   ask_about(of_stream, &found) == CUDA_ERROR_INVALID_VALUE;
        memory = of_stream = 0;
    }
    printf("%s %s\n", name_of(status), is_right ? "right" : "wrong");
}

static void step_block(const char *words)
{
    (void)words;
    puts(name_of(block()));
}

/* ---- calls of every kind ---- */

enum { REPEATED_BYTES = 1 << 20, IMAGE_BYTES = 5 << 20 };

static struct {
    CUstream stream;
    CUevent event, other;
    CUgraphExec graph;
    CUdeviceptr memory, managed;
    void *pinned;
    char *pageable;
} tools;

static CUresult capture_graph(void)
{
    CUgraph made = NULL;
    float value = 3;
    int n = 256;
    CUresult status = cuStreamBeginCapture_v2(tools.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (!status)
        status = launch("fill", n, tools.stream, (void *[]){ &tools.memory, &value, &n });
    if (!status)
        status = cuStreamEndCapture(tools.stream, &made);
    return status ? status : cuGraphInstantiateWithFlags(&tools.graph, made, 0);
}

static CUresult make_tools(void)
{
    CUresult status = cuStreamCreate(&tools.stream, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = load();
    if (!status)
        status = cuEventCreate(&tools.event, CU_EVENT_DEFAULT);
    if (!status)
        status = cuEventCreate(&tools.other, CU_EVENT_DISABLE_TIMING);
    if (!status)
        status = cuMemAlloc_v2(&tools.memory, REPEATED_BYTES);
    if (!status)
        status = cuMemAllocManaged(&tools.managed, 65536, CU_MEM_ATTACH_GLOBAL);
    if (!status)
        status = cuMemHostAlloc(&tools.pinned, REPEATED_BYTES, 0);
    tools.pageable = calloc(1, REPEATED_BYTES);
    return status ? status : capture_graph();
}

static CUresult settle(CUresult status)
{
    return status ? status : cuStreamSynchronize(tools.stream);
}

static CUresult fill_stream(CUdeviceptr memory)
{
    float value = 3;
    int n = 256;
    return launch("fill", n, tools.stream, (void *[]){ &memory, &value, &n });
}

static CUresult repeat_launch(void)
{
    return fill_stream(tools.memory);
}

static CUresult repeat_sync(void)
{
    return settle(fill_stream(tools.memory));
}

static CUresult repeat_alloc(void)
{
    CUdeviceptr p;
    CUresult status = cuMemAlloc_v2(&p, 65536);
    return status ? status : cuMemFree_v2(p);
}

static CUresult repeat_pool(void)
{
    CUdeviceptr p;
    CUresult status = cuMemAllocAsync(&p, 65536, tools.stream);
    if (!status)
        status = cuMemFreeAsync(p, tools.stream);
    return settle(status);
}

static CUresult repeat_pooled(void)
{
    CUdeviceptr p;
    CUresult status = cuMemAllocAsync(&p, 65536, tools.stream);
    return status ? status : cuMemFreeAsync(p, tools.stream);
}

static CUresult repeat_marked(void)
{
    CUresult status = repeat_pooled();
    return status ? status : cuEventRecord(tools.event, tools.stream);
}

static CUresult repeat_virtual(void)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUresult status = cuMemCreate(&handle, 2 << 20, &prop, 0);
    return status ? status : cuMemRelease(handle);
}

static CUresult repeat_up(void)
{
    return cuMemcpyHtoD_v2(tools.memory, tools.pageable, REPEATED_BYTES);
}

static CUresult repeat_down(void)
{
    return cuMemcpyDtoH_v2(tools.pageable, tools.memory, REPEATED_BYTES);
}

static CUresult repeat_up_pinned(void)
{
    return settle(cuMemcpyHtoDAsync_v2(tools.memory, tools.pinned, REPEATED_BYTES, tools.stream));
}

static CUresult repeat_down_pinned(void)
{
    return settle(cuMemcpyDtoHAsync_v2(tools.pinned, tools.memory, REPEATED_BYTES, tools.stream));
}

static CUresult repeat_set(void)
{
    return settle(cuMemsetD8Async(tools.memory, 1, REPEATED_BYTES, tools.stream));
}

static CUresult repeat_event(void)
{
    CUresult status = cuEventRecord(tools.event, tools.stream);
    return status ? status : cuEventSynchronize(tools.event);
}

static CUresult repeat_query(void)
{
    CUresult status = cuEventQuery(tools.event);
    return status == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : status;
}

static CUresult repeat_await(void)
{
    CUresult status = cuStreamWaitEvent(NULL, tools.event, 0);
    return status ? status : cuCtxSynchronize();
}

static void do_nothing(void *unused)
{
    (void)unused;
}

static CUresult repeat_host(void)
{
    return settle(cuLaunchHostFunc(tools.stream, do_nothing, NULL));
}

static CUresult repeat_graph(void)
{
    return settle(cuGraphLaunch(tools.graph, tools.stream));
}

static CUresult repeat_module(void)
{
    CUmodule kept_module = module, other;
    module = NULL;
    CUresult status = load();
    other = module;
    module = kept_module;
    return status ? status : cuModuleUnload(other);
}

static CUresult repeat_stream(void)
{
    CUstream stream;
    CUresult status = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    return status ? status : cuStreamDestroy_v2(stream);
}

static CUresult repeat_pinned(void)
{
    void *memory;
    CUresult status = cuMemHostAlloc(&memory, 65536, 0);
    return status ? status : cuMemFreeHost(memory);
}

static CUresult repeat_managed(void)
{
    *(volatile char *)(uintptr_t)tools.managed = 1; /* NOLINT(performance-no-int-to-ptr) */
    return settle(fill_stream(tools.managed));
}

static CUresult repeat_info(void)
{
    size_t left, total;
    return cuMemGetInfo_v2(&left, &total);
}

/* An image that is more than goes with one call. */
static CUresult repeat_image(void)
{
    CUmodule kept_module = module, other;
    module = NULL;
    padding = IMAGE_BYTES;
    CUresult status = load();
    padding = 0;
    other = module;
    module = kept_module;
    return status ? status : cuModuleUnload(other);
}

static void *use_own_stream(void *result)
{
    CUresult status = cuCtxSetCurrent(context);
    if (!status)
        status = cuMemsetD8Async(tools.memory, 1, 64, CU_STREAM_PER_THREAD);
    *(CUresult *)result = status ? status : cuStreamSynchronize(CU_STREAM_PER_THREAD);
    return NULL;
}

static CUresult repeat_thread(void)
{
    pthread_t thread;
    CUresult result = CUDA_ERROR_OPERATING_SYSTEM;
    if (!pthread_create(&thread, NULL, use_own_stream, &result))
        pthread_join(thread, NULL);
    return result;
}

/* Copies of pageable memory both ways in a graph, which is used and ends. */
static CUresult repeat_capture(void)
{
    static char back[REPEATED_BYTES];
    CUgraph made = NULL;
    CUgraphExec exec = NULL;
    tools.pageable[0]++;
    CUresult status = cuStreamBeginCapture_v2(tools.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (!status)
        status = cuMemcpyHtoDAsync_v2(tools.memory, tools.pageable, REPEATED_BYTES, tools.stream);
    if (!status)
        status = cuMemcpyDtoHAsync_v2(back, tools.memory, REPEATED_BYTES, tools.stream);
    if (!status)
        status = cuStreamEndCapture(tools.stream, &made);
    if (!status)
        status = cuGraphInstantiateWithFlags(&exec, made, 0);
    if (!status)
        status = settle(cuGraphLaunch(exec, tools.stream));
    if (!status)
        status = back[0] == tools.pageable[0] ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    if (!status)
        status = cuGraphExecDestroy(exec);
    return status ? status : cuGraphDestroy(made);
}

static const struct {
    const char *name;
    CUresult (*once)(void);
} repeated[] = {
    { "launch", repeat_launch },
    { "sync", repeat_sync },
    { "alloc", repeat_alloc },
    { "pool", repeat_pool },
    { "pooled", repeat_pooled },
    { "marked", repeat_marked },
    { "virtual", repeat_virtual },
    { "up", repeat_up },
    { "down", repeat_down },
    { "up-pinned", repeat_up_pinned },
    { "down-pinned", repeat_down_pinned },
    { "set", repeat_set },
    { "event", repeat_event },
    { "query", repeat_query },
    { "await", repeat_await },
    { "host", repeat_host },
    { "graph", repeat_graph },
    { "module", repeat_module },
    { "stream", repeat_stream },
    { "pinned", repeat_pinned },
    { "managed", repeat_managed },
    { "info", repeat_info },
    { "image", repeat_image },
    { "thread", repeat_thread },
    { "capture", repeat_capture },
};

static size_t kind_of(const char *words)
{
    size_t which = 0;
    while (which < sizeof repeated / sizeof *repeated &&
           strncmp(repeated[which].name, words, strcspn(words, " \n")) != 0)
        which++;
    return which;
}

static void step_cycle(const char *words)
{
    size_t which = kind_of(words);
    int times = atoi(words + strcspn(words, " "));
    CUresult status =
        which < sizeof repeated / sizeof *repeated ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!status && !tools.stream)
        status = make_tools();
    while (!status && times-- > 0)
        status = repeated[which].once();
    puts(name_of(status));
}

static void step_repeat(const char *words)
{
    size_t which = kind_of(words), count = sizeof repeated / sizeof *repeated;
    CUresult status = make_tools();
    if (status || which == count) {
        printf("%s\n", which == count ? "no such kind" : name_of(status));
        return;
    }
    puts("begins");
    fflush(stdout);
    while (!(status = repeated[which].once()))
        ;
    puts(name_of(status));
}

static void sleep_for_ever(void *unused)
{
    (void)unused;
    for (;;)
        pause();
}

/* Behind a kernel that never ends. */
static CUresult wait_by(const char *words)
{
    if (!strncmp(words, "event", 5))
        return cuEventSynchronize(tools.event);
    if (!strncmp(words, "context", 7))
        return cuCtxSynchronize();
    if (!strncmp(words, "copy", 4))
        return settle(cuMemcpyDtoHAsync_v2(tools.pageable, tools.memory, 4096, tools.stream));
    if (!strncmp(words, "pinned", 6))
        return settle(cuMemcpyDtoHAsync_v2(tools.pinned, tools.memory, 4096, tools.stream));
    if (!strncmp(words, "host", 4))
        return settle(cuLaunchHostFunc(tools.stream, do_nothing, NULL));
    if (!strncmp(words, "graph", 5))
        return settle(cuGraphLaunch(tools.graph, tools.stream));
    return cuStreamSynchronize(tools.stream);
}

static void step_wait(const char *words)
{
    int value = 5;
    CUdeviceptr answer;
    CUresult status = make_tools();
    bool is_running_host = !strncmp(words, "function", 8); /* a function of the program's runs */
    answer = tools.memory + sizeof(int);
    if (!status)
        status = cuMemsetD32_v2(tools.memory, 0, 2);
    if (!status)
        status = is_running_host ? cuLaunchHostFunc(tools.stream, sleep_for_ever, NULL)
                                 : launch("await_value", 1, tools.stream,
                                          (void *[]){ &tools.memory, &value, &answer });
    if (!status)
        status = cuEventRecord(tools.event, tools.stream);
    puts("waits");
    fflush(stdout);
    puts(name_of(status ? status : wait_by(words)));
}

static void step_files(const char *words)
{
    struct rlimit limit;
    int more = atoi(words), next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = more ? (rlim_t)(next + more) : limit.rlim_max;
    puts(setrlimit(RLIMIT_NOFILE, &limit) ? "?" : name_of(CUDA_SUCCESS));
}

static void step_pinned(const char *words)
{
    void *memory = NULL;
    CUresult status = cuMemHostAlloc(&memory, 65536, 0);
    (void)words;
    printf("%s %s\n", name_of(status), name_of(status ? status : cuMemFreeHost(memory)));
}

static void step_hold(const char *words)
{
    enum { PIECES_MAX = 8 };
    void *pieces[PIECES_MAX];
    char *rest;
    int count = 0;
    for (size_t bytes; count < PIECES_MAX && (bytes = strtoull(words, &rest, 10)); count++) {
        words = rest;
        CUresult status = cuMemHostAlloc(&pieces[count], bytes, 0);
        if (status)
            pieces[count] = NULL;
        printf("%s%s", count ? " " : "", name_of(status));
    }
    while (count--)
        if (pieces[count])
            cuMemFreeHost(pieces[count]);
    puts("");
}

struct capturing {
    pthread_t thread;
    CUresult status;
};

static pthread_barrier_t all_capture;

static void *capture(void *argument)
{
    struct capturing *own = argument;
    CUstream stream = NULL;
    CUgraph recorded = NULL;
    own->status = cuCtxSetCurrent(context);
    if (!own->status)
        own->status = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!own->status)
        own->status = cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    pthread_barrier_wait(&all_capture);
    if (!own->status && !cuStreamEndCapture(stream, &recorded))
        cuGraphDestroy(recorded);
    return NULL;
}

static void step_captures(const char *words)
{
    int count = atoi(words), begun = 0;
    struct capturing *all = calloc((size_t)count, sizeof *all);
    CUresult other = CUDA_SUCCESS;
    pthread_barrier_init(&all_capture, NULL, (unsigned int)count);
    for (int i = 0; all && i < count; i++)
        pthread_create(&all[i].thread, NULL, capture, &all[i]);
    for (int i = 0; all && i < count; i++) {
        pthread_join(all[i].thread, NULL);
        begun += !all[i].status;
        other = other ? other : all[i].status;
    }
    printf("%d %s\n", begun, name_of(other));
    pthread_barrier_destroy(&all_capture);
    free(all);
}

/* A file that the GPU has is cut off before a kernel writes there. */
static void step_shorten(const char *words)
{
    enum { BYTES = 1 << 16 };
    int fd = memfd_create("shortened", MFD_CLOEXEC), n = 256;
    void *memory = fd < 0 || ftruncate(fd, BYTES)
                       ? MAP_FAILED
                       : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CUdeviceptr p = 0;
    float value = 1;
    (void)words;
    CUresult status = cuMemHostRegister_v2(memory, BYTES, CU_MEMHOSTREGISTER_DEVICEMAP);
    if (!status)
        status = cuMemHostGetDevicePointer_v2(&p, memory, 0);
    if (!status && !ftruncate(fd, 0))
        status = launch("fill", n, NULL, (void *[]){ &p, &value, &n });
    puts(name_of(status ? status : cuCtxSynchronize()));
}

static void step_launch(const char *words)
{
    CUdeviceptr p = 0;
    float value = 1;
    int n = 256;
    CUresult status = cuMemAlloc_v2(&p, 1024);
    for (int left = atoi(words); left && !status; left--)
        status = launch("fill", n, NULL, (void *[]){ &p, &value, &n });
    puts(name_of(status));
}

struct worker {
    pthread_t thread;
    int number;
    bool is_right;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    bool is_right = !cuCtxSetCurrent(context);
    for (int i = 0; i < 20 && is_right; i++)
        is_right =
            !fill(1000 + worker->number, (float)(worker->number * 20 + i), &is_right) && is_right;
    worker->is_right = is_right;
    return NULL;
}

static void step_threads(const char *words)
{
    struct worker workers[64];
    int count = atoi(words);
    bool is_right = count <= 64 && !load();
    for (int i = 0; i < count && is_right; i++) {
        workers[i] = (struct worker){ .number = i };
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < count && i < 64; i++) {
        pthread_join(workers[i].thread, NULL);
        is_right = is_right && workers[i].is_right;
    }
    puts(is_right ? "right" : "wrong");
}

static struct {
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    void *pinned;
} kept;

static void step_keep(const char *words)
{
    (void)words;
    CUresult status = cuStreamCreate(&kept.stream, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = cuEventCreate(&kept.event, CU_EVENT_DEFAULT);
    if (!status)
        status = cuMemAlloc_v2(&kept.memory, 1024);
    if (!status)
        status = cuMemHostAlloc(&kept.pinned, 1024, 0);
    puts(name_of(status));
}

static void step_end(const char *words)
{
    unsigned int flags;
    int is_active = 0;
    CUcontext current = NULL;
    CUdevice device;
    CUresult given[] = { cuDevicePrimaryCtxGetState(0, &flags, &is_active),
                         cuCtxGetCurrent(&current),
                         cuCtxGetDevice(&device),
                         cuCtxSetCurrent(current),
                         cuMemFree_v2(kept.memory),
                         cuMemFreeHost(kept.pinned),
                         cuEventDestroy_v2(kept.event),
                         cuStreamDestroy_v2(kept.stream),
                         cuDevicePrimaryCtxRelease_v2(0),
                         cuMemAlloc_v2(&kept.memory, 1024),
                         cuCtxSynchronize() };
    (void)words;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        printf("%d ", (int)given[i]);
    puts(is_active && current ? "active" : "inactive");
}

static void step_wrong(const char *words)
{
    (void)words;
    CUresult status = cuMemsetD8Async(16, 0, 1, NULL);
    printf("%s %s\n", name_of(status), name_of(cuCtxSynchronize()));
}

static void step_fork(const char *words)
{
    int status = 0;
    (void)words;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        int count;
        printf("%s\n", name_of(cuDeviceGetCount(&count)));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
}

static void *wait_for_ever(void *argument)
{
    cuCtxSetCurrent(context);
    block();
    return argument;
}

static pthread_t busy;
static bool is_busy;

/* Calls until one fails, and keeps that call's status. */
static void *ask_until_failure(void *argument)
{
    size_t free_bytes, total;
    CUresult status;
    (void)argument;
    cuCtxSetCurrent(context);
    while (!(status = cuMemGetInfo_v2(&free_bytes, &total)))
        ;
    return (void *)(intptr_t)status;
}

/* Registered before cuInit(), so it runs after what the client does at exit, as what a static
 * runtime does. While a kernel runs a module's end waits. */
static void say_at_last(void)
{
    void *status;
    if (!is_busy)
        return;
    pthread_join(busy, &status);
    CUstream stream;
    CUresult own = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!own)
        own = cuLaunchHostFunc(stream, do_nothing, NULL);
    if (!own)
        own = cuStreamSynchronize(stream);
    printf("%s %s %s\n", name_of((CUresult)(intptr_t)status), name_of(own),
           name_of(cuModuleUnload(module)));
}

static void step_exit(const char *words)
{
    pthread_t thread;
    is_busy = true;
    pthread_create(&busy, NULL, ask_until_failure, NULL);
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    usleep(200000);
    exit(atoi(words));
}

static void *take_cancelled(void *nothing)
{
    CUdeviceptr memory;
    (void)nothing;
    cuCtxSetCurrent(context);
    pthread_cancel(pthread_self());
    cuMemAlloc_v2(&memory, 1);
    return NULL;
}

static void step_cancelled(const char *words)
{
    pthread_t thread;
    CUdeviceptr memory;
    (void)words;
    if (!pthread_create(&thread, NULL, take_cancelled, NULL))
        pthread_join(thread, NULL);
    puts(name_of(cuMemAlloc_v2(&memory, 1)));
}

/* The context of a device as a static CUDA runtime gets it, past cuDevicePrimaryCtxRetain(). */
static CUresult retain_by_table(CUcontext *out, CUdevice device)
{
    const CUuuid runtime_interface = { "\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd"
                                       "\x9d\xf9" };
    enum { RETAIN = 2 };
    const void *table = NULL;
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult status = cuGetExportTable(&table, &runtime_interface);
    if (status || !table)
        return status ? status : CUDA_ERROR_NOT_SUPPORTED;
    memcpy(&retain, (const char *)table + RETAIN * sizeof retain, sizeof retain);
    return retain(out, device);
}

static void step_tables(const char *bytes)
{
    CUdeviceptr memory;
    CUcontext second;
    CUresult status = retain_by_table(&second, 1);
    if (!status)
        status = cuCtxPushCurrent_v2(second);
    if (!status)
        status = cuMemAlloc_v2(&memory, (size_t)atol(bytes));
    cuCtxPopCurrent_v2(&second);
    puts(name_of(status));
}

static const struct {
    const char *name;
    void (*run)(const char *words);
} steps[] = {
    { "take", step_take },           { "give", step_give },
    { "memory", step_memory },       { "devices", step_devices },
    { "fill", step_fill },           { "block", step_block },
    { "hold", step_hold },           { "captures", step_captures },
    { "launch", step_launch },       { "threads", step_threads },
    { "fork", step_fork },           { "exit", step_exit },
    { "keep", step_keep },           { "end", step_end },
    { "wrong", step_wrong },         { "repeat", step_repeat },
    { "wait", step_wait },           { "files", step_files },
    { "pinned", step_pinned },       { "shorten", step_shorten },
    { "threshold", step_threshold }, { "trim", step_trim },
    { "sync", step_sync },           { "export", step_export },
    { "import", step_import },       { "unimport", step_unimport },
    { "captured", step_captured },   { "uncaptured", step_uncaptured },
    { "park", step_park },           { "regain", step_regain },
    { "unpark", step_unpark },       { "fetch", step_fetch },
    { "bring", step_bring },         { "lost", step_lost },
    { "train", step_train },         { "facts", step_facts },
    { "begin", step_begin },         { "several", step_several },
    { "reset", step_reset },         { "cycle", step_cycle },
    { "pieces", step_pieces },       { "behind", step_behind },
    { "load", step_load },           { "stale", step_stale },
    { "shapes", step_shapes },       { "clusters", step_clusters },
    { "search", step_search },

    { "kernel", step_kernel },       { "record", step_record },
    { "nodes", step_nodes },         { "addresses", step_addresses },
    { "tables", step_tables },       { "cancelled", step_cancelled },
};

static void run_step(char *line)
{
    char *words = line + strcspn(line, " \n");
    if (*words)
        *words++ = '\0';
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
    atexit(say_at_last);
    CUresult status = cuInit(0);
    if (!status)
        status = cuDevicePrimaryCtxRetain(&context, 0);
    if (!status)
        status = cuCtxSetCurrent(context);
    puts(name_of(status));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        run_step(line);
    return 0;
}
