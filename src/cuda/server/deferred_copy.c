/* Rooms of deferred copies, which the driver copies to without waiting since they are pinned. */
#include "config.h"

#include "cuda/server/deferred_copy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cuda/common/deferred_limits.h"
#include "cuda/server/pinned_room.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-wire.h"

/* Rooms together: twice the client's limit, since a room may be nearly twice as large as its copy,
 * and as much again for unused rooms of other sizes. */
enum { ROOMS_MOST = 4 * ATH_CUDA_DEFERRED_MOST };

struct ath_cuda_deferred {
    struct ath_cuda_deferred *next;
    struct ath_pinned_room room;
    size_t bytes;
    uint64_t address; /* the client's */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_cuda_deferred *unused;
static struct ath_cuda_deferred *due, **last_due = &due; /* in the order of the calls */
static atomic_int due_count;
static size_t held_bytes; /* of all rooms */

static struct ath_cuda_deferred *take_unused(size_t bytes)
{
    struct ath_cuda_deferred **best = NULL;
    pthread_mutex_lock(&lock);
    for (struct ath_cuda_deferred **at = &unused; *at; at = &(*at)->next)
        if ((*at)->room.capacity >= bytes &&
            (!best || (*at)->room.capacity < (*best)->room.capacity))
            best = at;
    struct ath_cuda_deferred *copy = best ? *best : NULL;
    if (copy)
        *best = copy->next;
    pthread_mutex_unlock(&lock);
    return copy;
}

static void put_unused(struct ath_cuda_deferred *copy)
{
    pthread_mutex_lock(&lock);
    copy->next = unused;
    unused = copy;
    pthread_mutex_unlock(&lock);
}

/* Frees unused rooms until there may be a new one. Returns false if too many are in use. */
static bool has_space(const struct ath_cuda_driver *driver, size_t capacity)
{
    struct ath_cuda_deferred *freed = NULL;
    pthread_mutex_lock(&lock);
    while (unused && held_bytes + capacity > ROOMS_MOST) {
        struct ath_cuda_deferred *copy = unused;
        unused = copy->next;
        held_bytes -= copy->room.capacity;
        copy->next = freed;
        freed = copy;
    }
    bool has = held_bytes + capacity <= ROOMS_MOST;
    held_bytes += has ? capacity : 0;
    pthread_mutex_unlock(&lock);
    for (struct ath_cuda_deferred *next; freed; freed = next) {
        next = freed->next;
        ath_pinned_room_end(&freed->room, driver);
        free(freed);
    }
    return has;
}

static struct ath_cuda_deferred *make(const struct ath_cuda_driver *driver, size_t bytes)
{
    size_t capacity = ATH_CUDA_DEFERRED_LEAST;
    while (capacity < bytes)
        capacity *= 2;
    if (!has_space(driver, capacity))
        return NULL;
    struct ath_cuda_deferred *copy = calloc(1, sizeof *copy);
    if (copy && ath_pinned_room_make(&copy->room, capacity))
        return copy;
    free(copy);
    pthread_mutex_lock(&lock);
    held_bytes -= capacity;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void add_due(struct ath_cuda_deferred *copy)
{
    pthread_mutex_lock(&lock);
    copy->next = NULL;
    *last_due = copy;
    last_due = &copy->next;
    due_count++;
    pthread_mutex_unlock(&lock);
}

void ath_cuda_defer_copy(struct ath_cuda_served *served, uint64_t address, CUdeviceptr source,
                         uint64_t bytes, CUstream stream)
{
    const struct ath_cuda_driver *driver = served->driver, *ungated = served->session->ungated;
    if (bytes > ATH_CUDA_DEFERRED_MOST) {
        served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    struct ath_cuda_deferred *copy = take_unused((size_t)bytes);
    if (!copy)
        copy = make(driver, (size_t)bytes);
    if (!copy) {
        served->status = CUDA_ERROR_OUT_OF_MEMORY;
        return;
    }
    struct ath_pinned_room *room = &copy->room;
    ath_pinned_room_register(room, driver, served->session->epoch);
    served->status = driver->cuMemcpyDtoHAsync_v2(room->memory, source, (size_t)bytes, stream);
    if (served->status) {
        put_unused(copy);
        return;
    }
    copy->address = address;
    copy->bytes = (size_t)bytes;
    if (!ath_pinned_room_mark(room, ungated, stream))
        served->status = driver->cuStreamSynchronize(stream);
    add_due(copy);
}

static struct ath_cuda_deferred *take_done(void)
{
    pthread_mutex_lock(&lock);
    struct ath_cuda_deferred **at = &due;
    while (*at && !*(*at)->room.is_done)
        at = &(*at)->next;
    struct ath_cuda_deferred *copy = *at;
    if (copy) {
        *at = copy->next;
        if (!copy->next)
            last_due = at;
        due_count--;
    }
    pthread_mutex_unlock(&lock);
    return copy;
}

struct ath_cuda_deferred *ath_cuda_deferred_tell(struct ath_wire_builder *answer)
{
    struct ath_cuda_deferred *copy = due_count ? take_done() : NULL;
    if (!copy)
        return NULL;
    struct ath_cuda_wire_answer_builder start = ath_cuda_wire_answer_start(answer);
    ath_wire_lend(answer, 1);
    struct ath_cuda_wire_memory_part_builder to = { ath_wire_array_struct(
        ath_cuda_wire_answer_init_changes(start, 1), 0) };
    ath_cuda_wire_memory_part_set_address(to, copy->address);
    ath_cuda_wire_memory_part_set_is_copied(to, true);
    ath_cuda_wire_memory_part_set_data(to,
                                       (struct ath_wire_bytes){ copy->room.memory, copy->bytes });
    return copy;
}

void ath_cuda_deferred_told(struct ath_cuda_deferred *copy)
{
    put_unused(copy);
}
