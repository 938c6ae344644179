/* Memory that stands for functions. A list suffices: few libraries need such memory. */
#include "config.h"

#include "cuda/client/function_proxy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "proto/cuda-client.h"

enum { MEMORY_BYTES = 2048 }; /* more than libraries were seen to read */

struct proxy {
    struct proxy *next;
    CUmodule module;
    CUfunction function;
    void *memory[MEMORY_BYTES / sizeof(void *)]; /* the second word is the module */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct proxy *all;
static atomic_int count;

/* A module's handle may be reused for another module. The memory stays, since a library may hold
 * its address, and then stands for a function of the new module. */
CUresult ath_cuda_function_proxy(CUmodule module, CUfunction *out)
{
    CUfunction first = NULL;
    CUresult status = ath_cuda_do_cuModuleEnumerateFunctions(&first, 1, module);
    if (status || !first)
        return status ? status : CUDA_ERROR_NOT_FOUND;
    pthread_mutex_lock(&lock);
    struct proxy *one = all;
    while (one && one->module != module)
        one = one->next;
    if (!one && (one = calloc(1, sizeof *one))) {
        one->module = module;
        one->memory[1] = module;
        one->next = all;
        all = one;
        count++;
    }
    if (one) {
        one->function = first;
        *out = (CUfunction)(void *)one->memory;
    }
    pthread_mutex_unlock(&lock);
    return one ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

uint64_t ath_cuda_function_proxy_target(uint64_t function)
{
    if (!count)
        return function;
    pthread_mutex_lock(&lock);
    const struct proxy *one = all;
    while (one && (uintptr_t)one->memory != function)
        one = one->next;
    if (one)
        function = (uintptr_t)one->function;
    pthread_mutex_unlock(&lock);
    return function;
}
