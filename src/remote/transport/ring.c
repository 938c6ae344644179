/* Moves bytes through a ring in shared memory. */
#include "config.h"

#include "remote/transport/ring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "remote/transport/poll_briefly.h"

enum { LOOK_MS = 100 /* how often a sleeping side checks whether the other side is gone */ };

static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
    static const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
    syscall(SYS_futex, word, FUTEX_WAIT, value, &look, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    if (atomic_load(word) && atomic_exchange(word, 0))
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ath_ring_wake(struct ath_ring_shared *shared)
{
    wake(&shared->reader_sleeps);
    wake(&shared->writer_sleeps);
}

/* Returns whether the other side's position changes while the patience lasts. */
static bool moves_soon(const struct ath_ring *ring, _Atomic uint64_t *other, uint64_t seen)
{
    enum { ROUNDS = 32 };
    struct ath_brief_poll poll_state = { 0 };
    do {
        if (atomic_load_explicit(other, memory_order_acquire) != seen)
            return true;
    } while (ath_brief_poll_again(&poll_state, ROUNDS, ring->patience_us) && !*ring->is_over);
    return false;
}

/* Waits until the other side's position differs from the one seen. */
static int wait_for_other_side(const struct ath_ring *ring, _Atomic uint64_t *other, uint64_t seen,
                               _Atomic uint32_t *sleeps)
{
    if (moves_soon(ring, other, seen))
        return 0;
    while (atomic_load(other) == seen) {
        if (*ring->is_over)
            return -ESHUTDOWN;
        int status = ring->is_gone ? ring->is_gone(ring->context) : 0;
        if (status && atomic_load(other) == seen)
            return status;
        /* No wake is lost because each side stores before it loads, and all of these are
         * sequentially consistent. */
        atomic_store(sleeps, 1);
        if (atomic_load(other) == seen && !*ring->is_over)
            sleep_while(sleeps, 1);
    }
    return 0;
}

/* The length of the longest piece from a position on that does not wrap around. */
static size_t piece(uint64_t position, size_t wanted, size_t *out_offset)
{
    size_t offset = (size_t)(position % ATH_RING_BYTES);
    size_t left = ATH_RING_BYTES - offset;
    *out_offset = offset;
    return wanted < left ? wanted : left;
}

/* Lets the other side see this side's position. */
static void tell(struct ath_ring *ring, _Atomic uint64_t *own, _Atomic uint32_t *other_sleeps)
{
    if (ring->told == ring->position)
        return;
    ring->told = ring->position;
    atomic_store(own, ring->position);
    wake(other_sleeps);
}

int ath_ring_write(struct ath_ring *ring, const void *bytes, size_t length)
{
    struct ath_ring_shared *shared = ring->shared;
    const uint8_t *from = bytes;

    while (length) {
        size_t offset, room = ATH_RING_BYTES - (size_t)(ring->position - ring->seen);
        if (!room) {
            uint64_t read = atomic_load_explicit(&shared->read, memory_order_acquire);
            if (read - ring->seen > ATH_RING_BYTES)
                return -EBADMSG;
            if (read == ring->seen) {
                int status = wait_for_other_side(ring, &shared->read, read, &shared->writer_sleeps);
                if (status)
                    return status;
            }
            ring->seen = read;
            continue;
        }
        size_t part = piece(ring->position, length < room ? length : room, &offset);
        memcpy(shared->bytes + offset, from, part);
        ring->position += part;
        tell(ring, &shared->written, &shared->reader_sleeps);
        from += part;
        length -= part;
    }
    return *ring->is_over ? -ESHUTDOWN : 0;
}

int ath_ring_read(struct ath_ring *ring, void *bytes, size_t length)
{
    struct ath_ring_shared *shared = ring->shared;
    uint8_t *to = bytes;

    while (length) {
        size_t offset, ready = (size_t)(ring->seen - ring->position);
        if (!ready) {
            uint64_t written = atomic_load_explicit(&shared->written, memory_order_acquire);
            if (written - ring->seen > ATH_RING_BYTES)
                return -EBADMSG;
            if (written == ring->seen) {
                int status =
                    wait_for_other_side(ring, &shared->written, written, &shared->reader_sleeps);
                if (status)
                    return status;
            }
            ring->seen = written;
            continue;
        }
        size_t part = piece(ring->position, length < ready ? length : ready, &offset);
        memcpy(to, shared->bytes + offset, part);
        ring->position += part;
        if (ring->position - ring->told >= ATH_RING_STEP)
            tell(ring, &shared->read, &shared->writer_sleeps);
        to += part;
        length -= part;
    }
    return 0;
}
