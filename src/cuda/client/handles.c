/* A hash map. */
#include "config.h"

#include "cuda/client/handles.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/map.h"

struct handle {
    struct ath_map_entry entry; /* by the handle's value */
    struct ath_cuda_handle_facts facts;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ath_map handles = ATH_MAP(10);
static atomic_ullong age;

void ath_cuda_handle_add(uint64_t handle, enum ath_cuda_kind kind, CUcontext context)
{
    pthread_rwlock_wrlock(&lock);
    struct handle *found = ath_map_find(&handles, handle);
    if (!found && (found = calloc(1, sizeof *found)))
        ath_map_add(&handles, &found->entry, handle);
    if (found)
        found->facts = (struct ath_cuda_handle_facts){ .kind = kind, .context = context };
    pthread_rwlock_unlock(&lock);
}

bool ath_cuda_handle_find(uint64_t handle, struct ath_cuda_handle_facts *out)
{
    pthread_rwlock_rdlock(&lock);
    const struct handle *found = ath_map_find(&handles, handle);
    if (found)
        *out = found->facts;
    pthread_rwlock_unlock(&lock);
    return found;
}

void ath_cuda_handle_share(uint64_t handle)
{
    pthread_rwlock_wrlock(&lock);
    struct handle *found = ath_map_find(&handles, handle);
    if (found)
        found->facts.is_shared = true;
    age++;
    pthread_rwlock_unlock(&lock);
}

void ath_cuda_handle_remove(uint64_t handle)
{
    pthread_rwlock_wrlock(&lock);
    free(ath_map_take(ath_map_at(&handles, handle)));
    age++;
    pthread_rwlock_unlock(&lock);
}

/* Removes the handles of a context, or all. */
static void drop_handles(CUcontext context, bool is_all)
{
    pthread_rwlock_wrlock(&lock);
    ATH_MAP_EACH(&handles, at)
    if (is_all || ((const struct handle *)*at)->facts.context == context)
        free(ath_map_take(at));
    age++;
    pthread_rwlock_unlock(&lock);
}

void ath_cuda_handles_end(CUcontext context)
{
    drop_handles(context, false);
}

void ath_cuda_handles_clear(void)
{
    drop_handles(NULL, true);
}

uint64_t ath_cuda_handles_age(void)
{
    return age;
}
