/* A hash table. */
#include "config.h"

#include "runtime/several/objects.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { BUCKETS = 1024 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ath_several_object *objects[BUCKETS];

static struct ath_several_object **bucket_of(const void *address)
{
    return &objects[(size_t)((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 54) % BUCKETS];
}

/* The caller has the lock. */
static struct ath_several_object **place_of(const void *address, enum ath_several_kind kind)
{
    struct ath_several_object **at = bucket_of(address);
    while (*at && (*at != address || (*at)->kind != kind))
        at = &(*at)->next;
    return at;
}

void ath_several_object_add(struct ath_several_object *object, enum ath_several_kind kind)
{
    struct ath_several_object **bucket = bucket_of(object);
    pthread_rwlock_wrlock(&lock);
    *object = (struct ath_several_object){ .next = *bucket, .kind = kind };
    *bucket = object;
    pthread_rwlock_unlock(&lock);
}

bool ath_several_object_is(const void *address, enum ath_several_kind kind)
{
    pthread_rwlock_rdlock(&lock);
    bool is_there = *place_of(address, kind);
    pthread_rwlock_unlock(&lock);
    return is_there;
}

bool ath_several_object_take(const void *address, enum ath_several_kind kind)
{
    pthread_rwlock_wrlock(&lock);
    struct ath_several_object **at = place_of(address, kind);
    bool is_there = *at;
    if (is_there)
        *at = (*at)->next;
    pthread_rwlock_unlock(&lock);
    return is_there;
}
