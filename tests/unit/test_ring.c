/* The ring of shared memory: bytes come out as they went in, and each side wakes the other. */
#include "config.h"

#include "remote/transport/ring.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tree.h"
#include "unit.h"

static struct ath_ring_shared *shared;
static atomic_bool is_over;
static _Atomic uint32_t no_patience;
static struct ath_ring writer, reader;
static uint8_t *bytes;

/* More than the ring holds, in no multiple of its size. */
enum { MANY = 2 * ATH_RING_BYTES + 12345, STEPS = ATH_RING_BYTES - ATH_RING_STEP };

static void setup(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bytes = malloc(MANY);
    ck_assert(shared != MAP_FAILED && bytes);
    for (size_t i = 0; i < MANY; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 257);
    is_over = false;
    writer = reader =
        (struct ath_ring){ .shared = shared, .is_over = &is_over, .patience_us = &no_patience };
}

static void teardown(void)
{
    munmap(shared, sizeof *shared);
    free(bytes);
}

/* Reads what is next, and compares it with the bytes from `at` on. */
static void expect_bytes(size_t at, size_t length)
{
    uint8_t *got = malloc(length + 1);
    ck_assert_ptr_nonnull(got);
    ck_assert_int_eq(ath_ring_read(&reader, got, length), 0);
    ck_assert_int_eq(memcmp(got, bytes + at, length), 0);
    free(got);
}

FIXTURE(setup, teardown);

/* A full ring, to the byte; then around its end. */
TEST(holds_as_much_as_it_has_room_for)
{
    ck_assert_int_eq(ath_ring_write(&writer, bytes, ATH_RING_BYTES), 0);
    ck_assert_uint_eq(atomic_load(&shared->written), ATH_RING_BYTES);
    expect_bytes(0, ATH_RING_STEP);
    ck_assert_int_eq(ath_ring_write(&writer, bytes + ATH_RING_BYTES, ATH_RING_STEP), 0);
    expect_bytes(ATH_RING_STEP, ATH_RING_BYTES - 1);
    ck_assert_int_eq(ath_ring_write(&writer, bytes + ATH_RING_BYTES + ATH_RING_STEP, STEPS), 0);
    expect_bytes(ATH_RING_BYTES + ATH_RING_STEP - 1, STEPS + 1);
    ck_assert_uint_eq(atomic_load(&shared->written), reader.position);
}

/* A look at the other side's position, or telling one's own, is for when it is needed. */
TEST(sides_look_at_each_other_when_they_must)
{
    ck_assert_int_eq(ath_ring_write(&writer, bytes, ATH_RING_STEP), 0);
    expect_bytes(0, ATH_RING_STEP - 1);
    ck_assert_uint_eq(atomic_load(&shared->read), 0);
    expect_bytes(ATH_RING_STEP - 1, 1);
    ck_assert_uint_eq(atomic_load(&shared->read), ATH_RING_STEP);
    ck_assert_int_eq(ath_ring_write(&writer, bytes, STEPS), 0);
    ck_assert_uint_eq(writer.seen, 0);
    ck_assert_int_eq(ath_ring_write(&writer, bytes, 1), 0);
    ck_assert_uint_eq(writer.seen, ATH_RING_STEP);
}

/* The first byte of the writer wakes the reader, and a step of the reader the writer. */
TEST(wakes_a_sleeping_side)
{
    atomic_store(&shared->reader_sleeps, 1);
    ck_assert_int_eq(ath_ring_write(&writer, bytes, 1), 0);
    ck_assert_uint_eq(atomic_load(&shared->reader_sleeps), 0);
    ck_assert_int_eq(ath_ring_write(&writer, bytes + 1, ATH_RING_STEP - 1), 0);
    atomic_store(&shared->writer_sleeps, 1);
    expect_bytes(0, ATH_RING_STEP);
    ck_assert_uint_eq(atomic_load(&shared->writer_sleeps), 0);
    atomic_store(&shared->reader_sleeps, 1);
    atomic_store(&shared->writer_sleeps, 1);
    ath_ring_wake(shared);
    ck_assert_uint_eq(atomic_load(&shared->reader_sleeps), 0);
    ck_assert_uint_eq(atomic_load(&shared->writer_sleeps), 0);
}

/* Sleeps like a side of the ring, but without a time limit: only a wake ends the sleep. */
static void *sleep_at(void *argument)
{
    _Atomic uint32_t *sleeps = argument;
    atomic_store(sleeps, 1);
    while (atomic_load(sleeps))
        syscall(SYS_futex, sleeps, FUTEX_WAIT, 1, NULL, NULL, 0);
    return NULL;
}

TEST(a_wake_reaches_the_kernel)
{
    _Atomic uint32_t *sleeps[] = { &shared->reader_sleeps, &shared->writer_sleeps };
    for (size_t i = 0; i < 2; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, sleep_at, sleeps[i]), 0);
        while (!atomic_load(sleeps[i]))
            sched_yield();
        if (i)
            expect_bytes(0, ATH_RING_STEP);
        else
            ck_assert_int_eq(ath_ring_write(&writer, bytes, ATH_RING_STEP), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
}

static void *write_all(void *argument)
{
    (void)argument;
    ck_assert_int_eq(ath_ring_write(&writer, bytes, MANY), 0);
    return NULL;
}

static atomic_uint looks; /* a side asks each time before it sleeps whether the other is gone */

static int count_looks(void *context)
{
    (void)context;
    looks++;
    return 0;
}

/* The writer has to wait for the reader, again and again. */
TEST(more_than_it_holds_goes_through)
{
    enum { PART = 65537 };
    pthread_t thread;
    writer.is_gone = count_looks;
    ck_assert_int_eq(pthread_create(&thread, NULL, write_all, NULL), 0);
    while (!looks) /* it is full, and the writer about to sleep */
        sched_yield();
    for (size_t at = 0; at < MANY; at += PART)
        expect_bytes(at, MANY - at < PART ? MANY - at : PART);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(atomic_load(&shared->read), reader.told);
    ck_assert_uint_gt(atomic_load(&shared->read), MANY - ATH_RING_STEP);
}

static int gone(void *context)
{
    return *(const int *)context;
}

TEST(waits_end)
{
    static int why = -ECONNRESET;
    uint8_t byte;
    reader.is_gone = writer.is_gone = gone;
    reader.context = writer.context = &why;
    ck_assert_int_eq(ath_ring_read(&reader, &byte, 1), -ECONNRESET);
    ck_assert_int_eq(ath_ring_write(&writer, bytes, ATH_RING_BYTES), 0);
    ck_assert_int_eq(ath_ring_write(&writer, bytes, 1), -ECONNRESET);
    is_over = true;
    ck_assert_int_eq(ath_ring_write(&writer, bytes, 1), -ESHUTDOWN);
    expect_bytes(0, ATH_RING_BYTES); /* the reader still gets all bytes of the ring */
    ck_assert_int_eq(ath_ring_read(&reader, &byte, 1), -ESHUTDOWN);
    ck_assert_int_eq(ath_ring_write(&writer, bytes, 1), -ESHUTDOWN);
}

/* The other side claims positions that it cannot have, up to one byte beyond the limit. */
TEST(refuses_impossible_positions_of_the_writer)
{
    uint8_t byte;
    atomic_store(&shared->written, ATH_RING_BYTES + 1);
    ck_assert_int_eq(ath_ring_read(&reader, &byte, 1), -EBADMSG);
    atomic_store(&shared->written, 1);
    ck_assert_int_eq(ath_ring_read(&reader, &byte, 1), 0);
    atomic_store(&shared->written, 0); /* before the position of the reader */
    ck_assert_int_eq(ath_ring_read(&reader, &byte, 1), -EBADMSG);
}

TEST(refuses_impossible_positions_of_the_reader)
{
    ck_assert_int_eq(ath_ring_write(&writer, bytes, ATH_RING_BYTES), 0);
    atomic_store(&shared->read, ATH_RING_BYTES + 1); /* behind the position of the writer */
    ck_assert_int_eq(ath_ring_write(&writer, bytes, 1), -EBADMSG);
    atomic_store(&shared->read, ATH_RING_BYTES);
    ck_assert_int_eq(ath_ring_write(&writer, bytes, ATH_RING_BYTES), 0);
    atomic_store(&shared->read, 1); /* before where it was */
    ck_assert_int_eq(ath_ring_write(&writer, bytes, 1), -EBADMSG);
}
