/* A list of the messages (programs use few), each with a stack of unused answers. */
#include "config.h"

#include "cuda/client/stream_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 64, MOST = ATH_CUDA_STREAM_POOL_MOST };

struct kind {
    struct kind *next;
    CUcontext context;
    struct ath_frame message, *spares;
    size_t count, room, wanted;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kind *kinds;
static size_t kind_count;
static uint64_t age;

static struct kind *kind_of(const uint8_t *message, size_t length)
{
    struct kind *kind = kinds;
    while (kind &&
           (kind->message.length != length || memcmp(kind->message.bytes, message, length) != 0))
        kind = kind->next;
    return kind;
}

static void kind_free(struct kind *kind)
{
    ath_frame_free(&kind->message);
    while (kind->count)
        ath_frame_free(&kind->spares[--kind->count]);
    free(kind->spares);
    free(kind);
}

/* Returns NULL if memory runs out, or if there are too many messages. */
static struct kind *make_kind(const uint8_t *message, size_t length, CUcontext context)
{
    struct kind *kind = kind_count < KINDS_MAX ? calloc(1, sizeof *kind) : NULL;
    if (!kind)
        return NULL;
    if (ath_frame_copy(&kind->message, message, length)) {
        free(kind);
        return NULL;
    }
    kind->context = context;
    kind->next = kinds;
    kinds = kind;
    kind_count++;
    return kind;
}

bool ath_cuda_stream_pool_take(const uint8_t *message, size_t length, CUcontext context,
                               struct ath_frame *answer, size_t *out_count)
{
    pthread_mutex_lock(&lock);
    struct kind *kind = kind_of(message, length);
    bool is_found = kind && kind->count;
    if (is_found) {
        ath_frame_free(answer);
        *answer = kind->spares[--kind->count];
    } else if (kind || (kind = make_kind(message, length, context))) {
        kind->wanted = !kind->wanted ? 1 : kind->wanted < MOST ? 2 * kind->wanted : MOST;
    }
    *out_count = kind ? kind->wanted : 1;
    pthread_mutex_unlock(&lock);
    return is_found;
}

/* Threads that ask at the same moment bring more than any of them asked for. An answer that found
 * no room would be an object at the server that no call ends. */
static bool make_room(struct kind *kind)
{
    size_t room = kind->room ? 2 * kind->room : MOST;
    if (kind->count < kind->room)
        return true;
    struct ath_frame *spares = reallocarray(kind->spares, room, sizeof *spares);
    if (!spares)
        return false;
    kind->spares = spares;
    kind->room = room;
    return true;
}

void ath_cuda_stream_pool_keep(const uint8_t *message, size_t length, CUcontext context,
                               struct ath_frame *answer, uint64_t asked_at)
{
    pthread_mutex_lock(&lock);
    struct kind *kind = asked_at == age ? kind_of(message, length) : NULL;
    if (asked_at == age && !kind)
        kind = make_kind(message, length, context);
    if (kind && make_room(kind)) {
        kind->spares[kind->count++] = *answer;
        *answer = (struct ath_frame){ 0 };
    }
    pthread_mutex_unlock(&lock);
}

uint64_t ath_cuda_stream_pool_age(void)
{
    pthread_mutex_lock(&lock);
    uint64_t now = age;
    pthread_mutex_unlock(&lock);
    return now;
}

/* Drops the objects of a context; NULL: all. Objects that are being asked for now are not kept
 * either. */
static void drop_kinds(CUcontext context)
{
    pthread_mutex_lock(&lock);
    age++;
    for (struct kind **at = &kinds, *kind; (kind = *at);) {
        if (context && kind->context != context) {
            at = &kind->next;
            continue;
        }
        *at = kind->next;
        kind_free(kind);
        kind_count--;
    }
    pthread_mutex_unlock(&lock);
}

void ath_cuda_stream_pool_end(CUcontext context)
{
    if (context)
        drop_kinds(context);
}

void ath_cuda_stream_pool_clear(void)
{
    drop_kinds(NULL);
}
