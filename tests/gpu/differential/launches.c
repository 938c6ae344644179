/* Launches of kernels.ptx's kernels, right and wrong, and questions about kernels. */
#include "config.h"

#include "driver.h"

#include <string.h>

enum { ANY_DEVICE = ON_DEVICE | MANAGED, ARGUMENTS = 4, THREADS = 256, NUMBERS_MOST = 1 << 16 };

/* A kernel's arguments, and the memory that they point to. */
struct arguments {
    CUdeviceptr p[3];
    struct object *memory[3];
    float value;
    int n;
    void *list[ARGUMENTS];
};

static bool take_memory(struct arguments *arguments, int count, struct object *stream)
{
    arguments->n = NUMBERS_MOST;
    for (int i = 0; i < count; i++) {
        struct object *memory = pick_memory(ANY_DEVICE);
        if (!memory || memory->bytes < 64 || !use(memory, stream))
            return false;
        for (int j = 0; j < i; j++)
            if (arguments->memory[j] == memory)
                return false;
        arguments->memory[i] = memory;
        arguments->p[i] = memory->handle;
        if ((size_t)arguments->n * 4 > memory->bytes)
            arguments->n = (int)(memory->bytes / 4);
        say(" %s", name_of(memory));
    }
    arguments->n = 1 + (int)below((size_t)arguments->n);
    arguments->value = (float)below(100) / 4;
    say(" n=%d value=%g", arguments->n, (double)arguments->value);
    return true;
}

static bool make_arguments(struct arguments *a, const char *label, struct object *stream)
{
    memset(a, 0, sizeof *a);
    if (!label || !strcmp(label, "fill")) {
        if (!take_memory(a, 1, stream))
            return false;
        memcpy(a->list, (void *[]){ &a->p[0], &a->value, &a->n }, 3 * sizeof(void *));
    } else if (!strcmp(label, "saxpy")) {
        if (!take_memory(a, 2, stream))
            return false;
        memcpy(a->list, (void *[]){ &a->n, &a->value, &a->p[0], &a->p[1] }, 4 * sizeof(void *));
    } else if (!strcmp(label, "vector_add")) {
        if (!take_memory(a, 3, stream))
            return false;
        memcpy(a->list, (void *[]){ &a->p[0], &a->p[1], &a->p[2], &a->n }, 4 * sizeof(void *));
    } else if (!strcmp(label, "reduce_sum")) {
        if (!take_memory(a, 2, stream))
            return false;
        memcpy(a->list, (void *[]){ &a->p[0], &a->p[1], &a->n }, 3 * sizeof(void *));
    } else {
        return false; /* gather reads pointers from memory */
    }
    return true;
}

/* Rarely a size that no launch may have; one mistake is enough, since their order is no promise. */
static unsigned int some_blocks(int n)
{
    return chance(25) ? (unsigned int)ONE_OF(0, 70000, 1)
                      : (unsigned int)(n + THREADS - 1) / THREADS;
}

static void launch(void)
{
    struct arguments arguments;
    struct object *function = pick(FUNCTION), *stream = pick(STREAM);
    NEED(function && stream);
    say(" %s %s %s", name_of(function), function->label ? function->label : "", name_of(stream));
    NEED(make_arguments(&arguments, function->label, stream));
    bool is_right = function->kind == FUNCTION && stream->kind == STREAM;
    size_t mistake = is_right ? below(60) : 9;
    unsigned int blocks = mistake == 0 ? 0 : (unsigned int)(arguments.n + THREADS - 1) / THREADS;
    unsigned int y = mistake == 1 ? 70000 : 1;
    unsigned int threads = mistake == 2 ? (unsigned int)ONE_OF(0, 2000, 1024) : THREADS;
    unsigned int shared = mistake == 3 ? (unsigned int)ONE_OF(1024, 100 << 10, 1 << 30) : 0;
    say(" grid=%u,%u block=%u shared=%u", blocks, y, threads, shared);
    if (chance(5))
        CALL(cuLaunchCooperativeKernel, FUNCTION_OF(function), blocks, y, 1, threads, 1, 1, shared,
             STREAM_OF(stream), arguments.list);
    else
        CALL(cuLaunchKernel, FUNCTION_OF(function), blocks, y, 1, threads, 1, 1, shared,
             STREAM_OF(stream), arguments.list, NULL);
}

/* A buffer in place of a list. */
static void launch_with_buffer(void)
{
    struct arguments arguments;
    struct object *function = slot_of(FUNCTION, 0), *stream = pick(STREAM);
    struct {
        CUdeviceptr p;
        float value;
        int n;
    } buffer;
    NEED(function->is_live && stream);
    say(" %s %s", name_of(function), name_of(stream));
    NEED(make_arguments(&arguments, function->label, stream));
    memset(&buffer, 0, sizeof buffer);
    buffer.p = arguments.p[0], buffer.value = arguments.value, buffer.n = arguments.n;
    size_t bytes = chance(10) ? (size_t)ONE_OF(8, 12) : sizeof buffer;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    NEED(bytes == sizeof buffer); /* a short buffer leaves n to chance */
    CALL(cuLaunchKernel, FUNCTION_OF(function), some_blocks(arguments.n), 1, 1, THREADS, 1, 1, 0,
         STREAM_OF(stream), NULL, extra);
}

static void fill_attribute(CUlaunchAttribute *attribute)
{
    memset(attribute, 0, sizeof *attribute);
    attribute->id = (CUlaunchAttributeID)ONE_OF(0, 2, 4, 6, 8, 9, 10, 14, 99);
    if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        attribute->value.clusterDim.x = (unsigned int)ONE_OF(1, 2, 3),
        attribute->value.clusterDim.y = attribute->value.clusterDim.z = 1;
    else
        attribute->value.priority = (int)below(2);
    say(" attribute %d=%d", (int)attribute->id, attribute->value.priority);
}

static void launch_with_attributes(void)
{
    struct arguments arguments;
    CUlaunchAttribute attributes[2];
    struct object *function = pick(FUNCTION), *stream = pick(STREAM);
    NEED(function && stream);
    say(" %s %s", name_of(function), name_of(stream));
    NEED(make_arguments(&arguments, function->label, stream));
    unsigned int count = (unsigned int)below(3);
    for (unsigned int i = 0; i < count; i++)
        fill_attribute(&attributes[i]);
    CUlaunchConfig config = { some_blocks(arguments.n), 1,          1,    THREADS, 1, 1, 0,
                              STREAM_OF(stream),        attributes, count };
    say(" grid=%u", config.gridDimX);
    CALL(cuLaunchKernelEx, &config, FUNCTION_OF(function), arguments.list, NULL);
}

static void launch_kernel_of_library(void)
{
    struct arguments arguments;
    struct object *kernel = pick_live(KERNEL), *stream = pick(STREAM);
    NEED(kernel && stream);
    say(" %s %s %s", name_of(kernel), kernel->label, name_of(stream));
    NEED(make_arguments(&arguments, kernel->label, stream));
    CALL(cuLaunchKernel, (CUfunction)(uintptr_t)kernel->handle, some_blocks(arguments.n), 1, 1,
         THREADS, 1, 1, 0, STREAM_OF(stream), arguments.list, NULL);
}

/* ---- questions ---- */

static void ask_attribute(void)
{
    int value = 0;
    struct object *function = pick(FUNCTION);
    CUfunction_attribute attribute = (CUfunction_attribute)below(18);
    NEED(function);
    say(" %d of %s", (int)attribute, name_of(function));
    if (!CALL(cuFuncGetAttribute, &value, attribute, FUNCTION_OF(function)))
        say(" %d", value);
}

static void set_attribute(void)
{
    struct object *function = pick(FUNCTION);
    CUfunction_attribute attribute = (CUfunction_attribute)ONE_OF(8, 9, 9, 10, 11, 14, 0, 4, 99);
    int value = (int)ONE_OF(0, 1, 50, 100, 1024, 65536, 232448, 1 << 20, -1, -5);
    NEED(function);
    say(" %d of %s: %d", (int)attribute, name_of(function), value);
    CALL(cuFuncSetAttribute, FUNCTION_OF(function), attribute, value);
}

static void set_caching(void)
{
    struct object *function = pick(FUNCTION);
    int config = (int)below(6);
    NEED(function);
    say(" %s %d", name_of(function), config);
    if (chance(2))
        CALL(cuFuncSetCacheConfig, FUNCTION_OF(function), (CUfunc_cache)config);
    else
        CALL(cuFuncSetSharedMemConfig, FUNCTION_OF(function), (CUsharedconfig)config);
}

static void ask_names(void)
{
    const char *name = NULL;
    CUmodule module = NULL;
    size_t offset = 0, bytes = 0, index = below(6);
    CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
    struct object *function = pick(FUNCTION);
    NEED(function);
    say(" %s", name_of(function));
    switch (below(4)) {
    case 0:
        if (!CALL(cuFuncGetName, &name, FUNCTION_OF(function)))
            say(" %s", name);
        break;
    case 1:
        if (!CALL(cuFuncGetModule, &module, FUNCTION_OF(function)))
            say(" %s", name_of_handle(MODULE, HANDLE(module)));
        break;
    case 2:
        say(" parameter %zu", index);
        if (!CALL(cuFuncGetParamInfo, FUNCTION_OF(function), index, &offset, &bytes))
            say(" offset=%zu bytes=%zu", offset, bytes);
        break;
    default: /* when a function is loaded is the driver's choice */
        CALL(cuFuncIsLoaded, &state, FUNCTION_OF(function));
        CALL(cuFuncLoad, FUNCTION_OF(function));
    }
}

/* ---- occupancy ---- */

static size_t no_memory(int block)
{
    return block > 512 ? 1024 : 0;
}

static void ask_occupancy(void)
{
    int blocks = 0, size = 0;
    size_t bytes = 0;
    struct object *function = pick(FUNCTION);
    int block = (int)ONE_OF(32, 64, 256, 1024, 1, 0, 2048, -1);
    size_t shared = (size_t)ONE_OF(0, 0, 1024, 49152, 1 << 20);
    NEED(function);
    say(" %s block=%d shared=%zu", name_of(function), block, shared);
    switch (below(4)) {
    case 0:
        if (!CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, FUNCTION_OF(function),
                  block, shared))
            say(" blocks=%d", blocks);
        break;
    case 1:
        if (!CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &blocks,
                  FUNCTION_OF(function), block, shared, (unsigned int)below(3)))
            say(" blocks=%d", blocks);
        break;
    case 2:
        if (!CALL(cuOccupancyMaxPotentialBlockSize, &blocks, &size, FUNCTION_OF(function),
                  chance(2) ? no_memory : NULL, shared, block))
            say(" blocks=%d size=%d", blocks, size);
        break;
    default:
        if (!CALL(cuOccupancyAvailableDynamicSMemPerBlock, &bytes, FUNCTION_OF(function),
                  (int)ONE_OF(1, 2, 8, 0, 1000), block))
            say(" bytes=%zu", bytes);
    }
}

static const struct operation operations[] = {
    { "launch", 50, launch },
    { "launch with a buffer", 8, launch_with_buffer },
    { "launch with attributes", 10, launch_with_attributes },
    { "launch a library's kernel", 8, launch_kernel_of_library },
    { "attribute", 8, ask_attribute },
    { "set attribute", 6, set_attribute },
    { "set caching", 3, set_caching },
    { "names", 6, ask_names },
    { "occupancy", 8, ask_occupancy },
};

const struct area launch_area = { "launches", operations, COUNT(operations), 0 };
