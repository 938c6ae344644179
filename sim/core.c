/* The lock, the registry of objects, and the data of each thread. */
#include "config.h"

#include "sim/sim.h"

#include <stdlib.h>

enum { BUCKETS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static struct sim_object *buckets[BUCKETS];

int sim_lock(void)
{
    pthread_mutex_lock(&lock);
    return 0;
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void sim_lock_anew(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

void sim_wait(void)
{
    pthread_cond_wait(&change, &lock);
}

void sim_changed(void)
{
    pthread_cond_broadcast(&change);
}

/* ---- objects ---- */

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

/* ---- threads ---- */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* Ends the default streams of a thread that ends. */
static void end_thread(void *memory)
{
    struct sim_thread *thread = memory;
    SIM_LOCKED;
    struct sim_context *context;
    for (int i = 0; i < SIM_DEVICES_MAX; i++) {
        struct sim_device *device = sim_device(i);
        if (!device || !(context = device->primary))
            continue;
        struct sim_stream *stream = context->streams;
        while (stream && (stream->thread != thread->id || stream->is_closing))
            stream = stream->next;
        if (stream)
            sim_stream_end(stream);
    }
    sim_green_ends(thread->id);
    free(thread);
}

static void make_key(void)
{
    pthread_key_create(&thread_key, end_thread);
}

struct sim_thread *sim_thread(void)
{
    static struct sim_thread of_none; /* out of memory: a thread without a context */
    static uint64_t last_id;

    pthread_once(&thread_once, make_key);
    struct sim_thread *thread = pthread_getspecific(thread_key);
    if (thread)
        return thread;
    thread = calloc(1, sizeof *thread);
    if (!thread || pthread_setspecific(thread_key, thread)) {
        free(thread);
        return &of_none;
    }
    thread->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    return thread;
}
