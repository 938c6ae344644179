/* A hash map by address. */
#include "config.h"

#include "cuda/several/handle_table.h"

#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ath_map objects = ATH_MAP(10);

/* Returns the link to an object; NULL if there is none of this kind. The caller holds the lock. */
static struct ath_map_entry **object_at(const void *address, enum ath_several_kind kind)
{
    struct ath_map_entry **at = ath_map_at(&objects, (uintptr_t)address);
    return *at && ((const struct ath_several_handle *)*at)->kind == kind ? at : NULL;
}

void ath_several_handle_add(struct ath_several_handle *object, enum ath_several_kind kind)
{
    pthread_rwlock_wrlock(&lock);
    object->kind = kind;
    ath_map_add(&objects, &object->entry, (uintptr_t)object);
    pthread_rwlock_unlock(&lock);
}

bool ath_several_handle_is(const void *address, enum ath_several_kind kind)
{
    pthread_rwlock_rdlock(&lock);
    bool is_there = object_at(address, kind);
    pthread_rwlock_unlock(&lock);
    return is_there;
}

bool ath_several_handle_take(const void *address, enum ath_several_kind kind)
{
    pthread_rwlock_wrlock(&lock);
    struct ath_map_entry **at = object_at(address, kind);
    if (at)
        ath_map_take(at);
    pthread_rwlock_unlock(&lock);
    return at;
}
