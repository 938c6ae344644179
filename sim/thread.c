/* The data of each thread; a thread that ends takes its default streams with it. */
#include "config.h"

#include "sim/thread.h"

#include <pthread.h>
#include <stdlib.h>

#include "sim/context.h"
#include "sim/device.h"
#include "sim/facts.h"
#include "sim/green.h"
#include "sim/stream.h"

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
