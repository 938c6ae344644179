/* Hands out the pinned rooms of large calls and answers, and takes them back. */
#include "config.h"

#include "cuda/server/call_rooms.h"

#include <pthread.h>

#include "cuda/server/call_answer.h"

enum {
    /* One part of a copy (cuda/client/copy.c) and the rest of its message. */
    CAPACITY = 8 * 1024 * 1024 + 4000,
    /* The parts of a copy that are received, wait (AHEAD_BYTES in call_threads.c), and are read by
     * the GPU. */
    ROOMS = 8,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct call_room {
    struct ath_pinned_room room; /* first; without memory: not made yet */
    bool is_taken, was_used;
} rooms[ROOMS];

/* Returns whether the room can be taken. The caller has the lock. */
static bool is_free(struct call_room *one)
{
    return !one->is_taken &&
           (one->room.memory ? *one->room.is_done : ath_pinned_room_make(&one->room, CAPACITY));
}

struct ath_pinned_room *ath_call_room_take(size_t bytes)
{
    struct call_room *found = NULL;
    if (!ath_call_is_large(bytes) || bytes > CAPACITY)
        return NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROOMS && !found; i++)
        if (is_free(&rooms[i]))
            found = &rooms[i];
    if (found)
        found->is_taken = true;
    pthread_mutex_unlock(&lock);
    return found ? &found->room : NULL;
}

void ath_call_room_put(struct ath_pinned_room *room)
{
    if (!room)
        return;
    pthread_mutex_lock(&lock);
    ((struct call_room *)room)->is_taken = false;
    pthread_mutex_unlock(&lock);
}

struct ath_pinned_room *ath_call_room_of(const void *address)
{
    struct ath_pinned_room *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROOMS && !found; i++)
        if (rooms[i].is_taken && (uintptr_t)address - (uintptr_t)rooms[i].room.memory < CAPACITY)
            found = &rooms[i].room;
    pthread_mutex_unlock(&lock);
    return found;
}

void ath_call_room_leave(const void *address, const struct ath_cuda_served *served, CUstream stream)
{
    struct ath_pinned_room *room = ath_call_room_of(address);
    if (room && !ath_pinned_room_mark(room, served->session->ungated, stream))
        *room->is_done = false; /* for good */
}

bool ath_call_room_pin(struct ath_pinned_room *room, const struct ath_cuda_served *served)
{
    struct call_room *one = (struct call_room *)room;
    const uint64_t epoch = served->session->epoch;
    if (one->was_used && !served->session->captures.count)
        ath_pinned_room_register(room, served->driver, epoch);
    else if (room->epoch != epoch)
        room->flag = 0; /* the address may have ended with a context */
    one->was_used = true;
    return room->is_registered;
}

void ath_call_room_lay(struct ath_frame *frame, size_t bytes)
{
    if (frame->capacity == CAPACITY)
        ath_call_room_free_frame(frame); /* the GPU may still read it */
    struct ath_pinned_room *room = ath_call_room_take(bytes);
    if (!room)
        return;
    ath_frame_free(frame);
    *frame = (struct ath_frame){ .bytes = room->memory, .capacity = room->capacity };
}

void ath_call_room_free_frame(struct ath_frame *frame)
{
    struct ath_pinned_room *room =
        frame->capacity == CAPACITY ? ath_call_room_of(frame->bytes) : NULL;
    if (!room) {
        ath_frame_free(frame);
        return;
    }
    *frame = (struct ath_frame){ 0 };
    ath_call_room_put(room);
}
