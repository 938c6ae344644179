/* The client's objects made ahead: each is given out once, however many threads asked. */
#include "config.h"

#include "cuda/client/stream_pool.h"

#include "unit.h"

enum { MANY = 1000, KINDS_MOST = 64 };
#define ONE ((CUcontext)0x10)
#define OTHER ((CUcontext)0x20)

static void keep(uint64_t message, CUcontext context, uint64_t object, uint64_t age)
{
    struct ath_frame answer = { 0 };
    ck_assert(!ath_frame_copy(&answer, (const uint8_t *)&object, sizeof object));
    ath_cuda_stream_pool_keep((const uint8_t *)&message, sizeof message, context, &answer, age);
    ath_frame_free(&answer);
}

/* The object of an unused answer; 0: there is none. */
static uint64_t take(uint64_t message, CUcontext context, size_t *out_count)
{
    struct ath_frame answer = { 0 };
    uint64_t object = 0;
    if (ath_cuda_stream_pool_take((const uint8_t *)&message, sizeof message, context, &answer,
                                  out_count))
        memcpy(&object, answer.bytes, sizeof object);
    ath_frame_free(&answer);
    return object;
}

FIXTURE(ath_cuda_stream_pool_clear, ath_cuda_stream_pool_clear);

TEST(asks_for_more_each_time)
{
    static const size_t wanted[] = { 1, 2, 4, 8, 16, 16 };
    size_t count;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ck_assert_uint_eq(take(1, ONE, &count), 0);
        ck_assert_uint_eq(count, wanted[i]);
    }
}

/* A server would keep what found no room here, and no call would end it. */
TEST(keeps_what_many_threads_asked_for_at_once)
{
    size_t count;
    bool seen[MANY + 1] = { false };
    take(1, ONE, &count);
    for (uint64_t i = 1; i <= MANY; i++)
        keep(1, ONE, i, ath_cuda_stream_pool_age());
    for (uint64_t i = 1; i <= MANY; i++) {
        uint64_t object = take(1, ONE, &count);
        ck_assert(object > 0 && object <= MANY && !seen[object]);
        seen[object] = true;
    }
    ck_assert_uint_eq(take(1, ONE, &count), 0);
}

TEST(a_context_s_end_drops_its_objects_alone)
{
    size_t count;
    keep(1, ONE, 10, ath_cuda_stream_pool_age());
    keep(2, OTHER, 20, ath_cuda_stream_pool_age());
    ath_cuda_stream_pool_end(ONE);
    ck_assert_uint_eq(take(1, ONE, &count), 0);
    ck_assert_uint_eq(take(2, OTHER, &count), 20);
}

TEST(what_was_asked_before_an_end_is_not_kept)
{
    size_t count;
    uint64_t age = ath_cuda_stream_pool_age();
    ath_cuda_stream_pool_end(ONE);
    keep(1, ONE, 10, age);
    ck_assert_uint_eq(take(1, ONE, &count), 0);
}

TEST(a_message_beyond_the_last_place_asks_for_its_own_object)
{
    size_t count;
    for (uint64_t i = 1; i <= KINDS_MOST; i++)
        take(i, ONE, &count);
    take(KINDS_MOST, ONE, &count);
    ck_assert_uint_eq(count, 2);
    for (int i = 0; i < 2; i++) {
        take(KINDS_MOST + 1, ONE, &count);
        ck_assert_uint_eq(count, 1);
    }
}
