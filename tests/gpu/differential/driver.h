/*
 * The driver API for the areas: calls of whichever libcuda.so.1 LD_LIBRARY_PATH names, opened by
 * name, so that the program is linked to no library of CUDA.
 *
 * AITHERION_DIFFERENTIAL_PLANT=FUNCTION makes a function do nothing and return success: a
 * difference that the test must find.
 */
#pragma once
#include "cuda/api/cuda_api.h"
#include "engine.h"
#include "objects.h"

/* The function of that name; one that returns CUDA_ERROR_STUB_LIBRARY if the driver lacks it. */
void *driver_function(const char *name);

/* A function of the driver, by the name of its prototype. */
#define D(name)                                                                                    \
    ((__typeof__(&name))__extension__({                                                            \
        static void *function_;                                                                    \
        if (!function_)                                                                            \
            function_ = driver_function(#name);                                                    \
        function_;                                                                                 \
    }))
/* A call that the line shows. */
#define CALL(name, ...) (calling(#name), (CUresult)called((int)D(name)(__VA_ARGS__)))

/* The same where a fault of the GPU may or may not be known yet. */
#define CALL_BY_CHANCE(name, ...)                                                                  \
    (calling(#name), (CUresult)called_by_chance((int)D(name)(__VA_ARGS__)))

#define STREAM_OF(object) ((CUstream)(uintptr_t)(object)->handle)
#define EVENT_OF(object) ((CUevent)(uintptr_t)(object)->handle)
#define CONTEXT_OF(object) ((CUcontext)(uintptr_t)(object)->handle)
#define GRAPH_OF(object) ((CUgraph)(uintptr_t)(object)->handle)
#define NODE_OF(object) ((CUgraphNode)(uintptr_t)(object)->handle)
#define EXEC_OF(object) ((CUgraphExec)(uintptr_t)(object)->handle)
#define POOL_OF(object) ((CUmemoryPool)(uintptr_t)(object)->handle)
#define ARRAY_OF(object) ((CUarray)(uintptr_t)(object)->handle)
#define MIPMAP_OF(object) ((CUmipmappedArray)(uintptr_t)(object)->handle)
#define MODULE_OF(object) ((CUmodule)(uintptr_t)(object)->handle)
#define LIBRARY_OF(object) ((CUlibrary)(uintptr_t)(object)->handle)
#define KERNEL_OF(object) ((CUkernel)(uintptr_t)(object)->handle)
#define FUNCTION_OF(object) ((CUfunction)(uintptr_t)(object)->handle)
#define HANDLE(handle) ((uint64_t)(uintptr_t)(handle))
#define HOST(address) ((void *)(uintptr_t)(address))

struct object *legacy_stream(void); /* the null stream */
/* Fills new memory with a pattern and makes the object live. */
void new_memory(struct object *memory, int type, uint64_t address, size_t bytes,
                struct object *stream);
/* Ends an object by a call, rarely twice. It is dead if the call succeeded. */
#define END(object, function, ...)                                                                 \
    do {                                                                                           \
        bool twice_ = may_end_twice(object);                                                       \
        CUresult result_ = CALL(function, __VA_ARGS__);                                            \
        if (twice_ && !result_)                                                                    \
            CALL(function, __VA_ARGS__);                                                           \
        if (!result_ && (object)->slot >= 0)                                                       \
            dies(object);                                                                          \
    } while (0)

const char *kernels_text(void); /* of kernels.ptx, or NULL */
void forget_probe(void);        /* its context has ended */

extern const struct area array_area, capture_area, context_area, copy_area, device_area, event_area,
    fault_area, graph_area, ipc_area, launch_area, memory_area, module_area, node_area,
    parameter_area, pool_area, stream_area, texture_area, virtual_area;
