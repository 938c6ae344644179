/* A hash table. */
#include "config.h"

#include "runtime/cuda/handles.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

struct handle {
    struct handle *next;
    uint64_t value;
    CUcontext context;
    bool is_shared;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct handle *handles[BUCKETS];
static atomic_ullong age;

static struct handle **place_of(uint64_t value)
{
    struct handle **at = &handles[(size_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> 54) % BUCKETS];
    while (*at && (*at)->value != value)
        at = &(*at)->next;
    return at;
}

void ath_cuda_handle_add(uint64_t handle, CUcontext context)
{
    pthread_rwlock_wrlock(&lock);
    struct handle **at = place_of(handle);
    if (!*at)
        *at = calloc(1, sizeof **at);
    if (*at) {
        (*at)->value = handle;
        (*at)->context = context;
        (*at)->is_shared = false;
    }
    pthread_rwlock_unlock(&lock);
}

bool ath_cuda_handle_find(uint64_t handle, CUcontext *out_context, bool *out_is_shared)
{
    pthread_rwlock_rdlock(&lock);
    const struct handle *found = *place_of(handle);
    *out_context = found ? found->context : NULL;
    *out_is_shared = found && found->is_shared;
    pthread_rwlock_unlock(&lock);
    return found;
}

void ath_cuda_handle_share(uint64_t handle)
{
    pthread_rwlock_wrlock(&lock);
    struct handle *found = *place_of(handle);
    if (found)
        found->is_shared = true;
    age++;
    pthread_rwlock_unlock(&lock);
}

static void drop(struct handle **at)
{
    struct handle *gone = *at;
    *at = gone->next;
    free(gone);
}

void ath_cuda_handle_remove(uint64_t handle)
{
    pthread_rwlock_wrlock(&lock);
    struct handle **at = place_of(handle);
    if (*at)
        drop(at);
    age++;
    pthread_rwlock_unlock(&lock);
}

/* Those of a context, or with all every one. */
static void drop_many(CUcontext context, bool is_all)
{
    pthread_rwlock_wrlock(&lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct handle **at = &handles[i]; *at;) {
            if (is_all || (*at)->context == context)
                drop(at);
            else
                at = &(*at)->next;
        }
    }
    age++;
    pthread_rwlock_unlock(&lock);
}

void ath_cuda_handles_end(CUcontext context)
{
    drop_many(context, false);
}

void ath_cuda_handles_clear(void)
{
    drop_many(NULL, true);
}

uint64_t ath_cuda_handles_age(void)
{
    return age;
}
