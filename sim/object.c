/* The registry of objects. */
#include "config.h"

#include "sim/object.h"

#include <stdint.h>
#include <stdlib.h>

#include "sim/facts.h"

enum { BUCKETS = 1024 };

static struct sim_object *buckets[BUCKETS];

static struct sim_object **bucket_of(const void *handle)
{
    /* Addresses of malloc() are multiples of 16. */
    return &buckets[((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 32 & (BUCKETS - 1)];
}

void *sim_object_new(enum sim_kind kind, struct sim_context *context, size_t bytes)
{
    struct sim_object *object = calloc(1, bytes);
    if (!object)
        return NULL;
    struct sim_object **bucket = bucket_of(object);
    object->kind = kind;
    object->context = context;
    object->next = *bucket;
    *bucket = object;
    return object;
}

void *sim_object_find(enum sim_kind kind, const void *handle)
{
    for (struct sim_object *object = *bucket_of(handle); object; object = object->next)
        if (object == handle)
            return object->kind == kind ? object : NULL;
    if (handle && sim_facts_trusts_handles())
        abort();
    return NULL;
}

void sim_object_forget(struct sim_object *object)
{
    struct sim_object **at = bucket_of(object);
    while (*at && *at != object)
        at = &(*at)->next;
    if (*at)
        *at = object->next;
}

struct sim_object *sim_object_of(const struct sim_context *context, enum sim_kind kind)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct sim_object *object = buckets[i]; object; object = object->next)
            if (object->context == context && object->kind == kind)
                return object;
    return NULL;
}
