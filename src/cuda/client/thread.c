/* The state of each thread of the program, and its number. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/connection.h"

enum { MESSAGE_MAX = 64 * 1024 * 1024 + 65536 }; /* a chunk of a copy and its message */

_Thread_local struct ath_cuda_thread *ath_cuda_known_thread;
static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER; /* taken inside order, if both */
static atomic_uint number_count;                                 /* of threads at one time */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* A thread takes the lowest free number: the server keeps one stream for each number that used
 * CU_STREAM_PER_THREAD. */
static uint8_t *taken_numbers; /* number_count entries, guarded by numbers_lock */

static bool take_number(uint32_t *out)
{
    pthread_mutex_lock(&numbers_lock);
    uint32_t count = number_count;
    uint8_t *place = count ? memchr(taken_numbers, 0, count) : NULL;
    uint32_t number = place ? (uint32_t)(place - taken_numbers) : count;
    uint8_t *grown = place ? taken_numbers : realloc(taken_numbers, (size_t)count + 1);
    if (grown) {
        taken_numbers = grown;
        taken_numbers[number] = true;
        number_count = number == count ? count + 1 : count;
    }
    pthread_mutex_unlock(&numbers_lock);
    *out = number;
    return grown;
}

/* A thread that ends during its capture keeps its number, since the next thread with this number
 * would continue the capture. */
static void give_number(uint32_t number)
{
    if (ath_cuda_is_thread_capturing(number))
        return;
    pthread_mutex_lock(&numbers_lock);
    taken_numbers[number] = false;
    pthread_mutex_unlock(&numbers_lock);
}

static void free_thread(void *memory)
{
    struct ath_cuda_thread *thread = memory;
    give_number(thread->id);
    ath_wire_builder_free(&thread->builder);
    ath_frame_free(&thread->answer);
    ath_frame_free(&thread->landing);
    free(thread->contexts);
    free(thread);
    ath_cuda_known_thread = NULL;
}

static void make_thread_key(void)
{
    pthread_key_create(&thread_key, free_thread);
}

struct ath_cuda_thread *ath_cuda_this_thread(void)
{
    if (ath_cuda_known_thread)
        return ath_cuda_known_thread;
    pthread_once(&thread_once, make_thread_key);
    struct ath_cuda_thread *thread = calloc(1, sizeof *thread);
    if (!thread || !take_number(&thread->id)) {
        free(thread);
        return NULL;
    }
    thread->builder.max_bytes = MESSAGE_MAX;
    pthread_setspecific(thread_key, thread);
    return ath_cuda_known_thread = thread;
}

void ath_cuda_ask_early(bool yes)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread)
        thread->asks_early = yes;
}

CUcontext ath_cuda_current_context(void)
{
    const struct ath_cuda_thread *thread = ath_cuda_this_thread();
    return thread ? ath_cuda_thread_context(thread) : NULL;
}

unsigned int ath_cuda_thread_count(void)
{
    return number_count;
}

void ath_cuda_thread_numbers_lock(void)
{
    pthread_mutex_lock(&numbers_lock);
}

void ath_cuda_thread_numbers_unlock(void)
{
    pthread_mutex_unlock(&numbers_lock);
}
