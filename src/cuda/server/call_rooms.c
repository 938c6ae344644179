/* Hands out the pinned rooms of large calls and answers, and takes them back. */
#include "config.h"

#include "cuda/server/call_rooms.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "cuda/server/call_answer.h"
#include "cuda/server/call_head.h"

enum {
    /* One part of a copy (cuda/client/copy.c) and the rest of its message. */
    CAPACITY = 8 * 1024 * 1024 + 4000,
    /* The parts of a copy that are received, wait (AHEAD_BYTES in call_threads.c), and are read by
     * the GPU. */
    ROOMS = 8,
    /* A message up to its data. A client's kernel can write a registered room, so the message
     * itself is read from memory that the GPU does not reach. */
    SHIELD_BYTES = 4096,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct call_room {
    struct ath_pinned_room room; /* first; without memory: not made yet */
    /* As large as the room. It has the first bytes of a message whose data lie in the room, or all
     * of another one; else it is zero and takes no memory. NULL: not made yet. */
    uint8_t *shield;
    bool is_filled; /* more than the first bytes of the shield */
    bool is_taken, was_used;
} rooms[ROOMS];

/* Makes what the room lacks. The caller has the lock. */
static bool make(struct call_room *one)
{
    if (!one->shield) {
        void *shield = mmap(NULL, CAPACITY, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        one->shield = shield == MAP_FAILED ? NULL : shield;
    }
    return one->shield && ath_pinned_room_make(&one->room, CAPACITY);
}

/* Returns whether the room can be taken. The caller has the lock. */
static bool is_free(struct call_room *one)
{
    return !one->is_taken && (one->room.memory ? *one->room.is_done : make(one));
}

static bool lies_in(const void *address, const uint8_t *memory)
{
    return (uintptr_t)address - (uintptr_t)memory < CAPACITY;
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
    struct call_room *one = (struct call_room *)room;
    if (!room)
        return;
    if (one->is_filled) {
        madvise(one->shield, CAPACITY, MADV_DONTNEED);
        one->is_filled = false;
    }
    pthread_mutex_lock(&lock);
    one->is_taken = false;
    pthread_mutex_unlock(&lock);
}

struct ath_pinned_room *ath_call_room_of(const void *address)
{
    struct ath_pinned_room *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROOMS && !found; i++)
        if (rooms[i].is_taken &&
            (lies_in(address, rooms[i].room.memory) || lies_in(address, rooms[i].shield)))
            found = &rooms[i].room;
    pthread_mutex_unlock(&lock);
    return found;
}

const void *ath_call_room_data(const struct ath_pinned_room *room, const void *address)
{
    const struct call_room *one = (const struct call_room *)room;
    return lies_in(address, one->shield) ? room->memory + ((const uint8_t *)address - one->shield)
                                         : address;
}

/* Returns whether a call's data are taken from the room by ath_copy_source_take(). */
static bool brings_source(const struct ath_frame *call)
{
    static const int methods[] = { ATH_CUDA_METHOD_cuMemcpyHtoDAsync_v2,
                                   ATH_CUDA_METHOD_cuMemcpyHtoAAsync_v2,
                                   ATH_CUDA_METHOD_athHostCopy };
    struct ath_call_head head;
    bool brings = false;
    if (ath_call_head_read(call, &head))
        for (size_t i = 0; i < ATH_COUNT(methods); i++)
            brings = brings || head.method == methods[i];
    return brings;
}

void ath_call_room_shield(struct ath_frame *frame)
{
    struct call_room *one =
        frame->capacity == CAPACITY ? (struct call_room *)ath_call_room_of(frame->bytes) : NULL;
    if (!one || !one->room.is_registered || frame->length < SHIELD_BYTES)
        return;
    memcpy(one->shield, frame->bytes, SHIELD_BYTES);
    frame->bytes = one->shield;
    if (brings_source(frame))
        return;
    one->is_filled = true;
    memcpy(one->shield + SHIELD_BYTES, one->room.memory + SHIELD_BYTES,
           frame->length - SHIELD_BYTES);
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
