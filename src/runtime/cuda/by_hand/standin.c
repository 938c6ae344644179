/* A list: libraries that want such memory are few, and so are their modules. */
#include "config.h"

#include "runtime/cuda/by_hand/standin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "proto/cuda-client.h"

enum { MEMORY_BYTES = 2048 }; /* more than was seen to be looked at */

struct stand_in {
    struct stand_in *next;
    CUmodule module;
    CUfunction function;
    void *memory[MEMORY_BYTES / sizeof(void *)]; /* the second is the module */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stand_in *all;
static atomic_int count;

/* A module's handle may come again for another one; the memory stays, since a library may hold
 * it, and stands for the new one's function then. */
CUresult ath_cuda_stand_in(CUmodule module, CUfunction *out)
{
    CUfunction first = NULL;
    CUresult status = ath_cuda_do_cuModuleEnumerateFunctions(&first, 1, module);
    if (status || !first)
        return status ? status : CUDA_ERROR_NOT_FOUND;
    pthread_mutex_lock(&lock);
    struct stand_in *one = all;
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

uint64_t ath_cuda_stood_for(uint64_t function)
{
    if (!count)
        return function;
    pthread_mutex_lock(&lock);
    const struct stand_in *one = all;
    while (one && (uintptr_t)one->memory != function)
        one = one->next;
    if (one)
        function = (uintptr_t)one->function;
    pthread_mutex_unlock(&lock);
    return function;
}
