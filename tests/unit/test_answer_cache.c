/* The client's cache of answers: methods that make the answers of others stale, many of them. */
#include "config.h"

#include "cuda/client/answer_cache.h"

#include "cuda/client/kernel_attribute.h"
#include "cuda/client/launch_fit.h"
#include "cuda/client/thread_cache.h"

#include "unit.h"

/* Methods made up for this test: what ONE_ENDS and ALL_END forget. */
#define ONE ((enum ath_cuda_method)0)
#define OTHER ((enum ath_cuda_method)1)
#define ONE_ENDS ((enum ath_cuda_method)2)
#define ALL_END ((enum ath_cuda_method)3)
enum { MANY = 5000, ROUNDS = 3000 };

static const short forgotten[] = { ONE, -1 };
const struct ath_cuda_method_facts ath_cuda_methods[ATH_CUDA_METHOD_COUNT] = {
    [ONE_ENDS] = { .forgets = forgotten },
    [ALL_END] = { .forgets_all = true },
};

void ath_cuda_thread_cache_forget(void)
{
}

void ath_cuda_attributes_forget(bool with_names)
{
    (void)with_names;
}

static int forgotten_fits;

void ath_cuda_launch_fit_forget(void)
{
    forgotten_fits++;
}

static void add(enum ath_cuda_method method, uint64_t message, uint64_t answer)
{
    const struct ath_frame frame = { .bytes = (uint8_t *)&answer, .length = sizeof answer };
    ath_cuda_answer_cache_add(method, (const uint8_t *)&message, sizeof message, &frame,
                              ath_cuda_answer_cache_age());
}

/* The answer to a message; 0: there is none. */
static uint64_t find(uint64_t message)
{
    struct ath_frame frame = { 0 };
    uint64_t answer = 0;
    if (ath_cuda_answer_cache_find((const uint8_t *)&message, sizeof message, &frame))
        memcpy(&answer, frame.bytes, sizeof answer);
    ath_frame_free(&frame);
    return answer;
}

FIXTURE(ath_cuda_answer_cache_clear, ath_cuda_answer_cache_clear);

TEST(finds_the_answer_to_each_message)
{
    for (uint64_t i = 1; i <= MANY; i++)
        add((i % 2 ? ONE : OTHER), i, 10 * i);
    for (uint64_t i = 1; i <= MANY; i++)
        ck_assert_uint_eq(find(i), 10 * i);
    ck_assert_uint_eq(find(MANY + 1), 0);
}

TEST(the_first_answer_stays)
{
    add(ONE, 1, 10);
    add(ONE, 1, 20);
    ck_assert_uint_eq(find(1), 10);
}

TEST(forgets_the_answers_of_one_method)
{
    for (uint64_t i = 1; i <= MANY; i++)
        add((i % 2 ? ONE : OTHER), i, 10 * i);
    ck_assert(!ath_cuda_answer_cache_forget(ONE_ENDS));
    for (uint64_t i = 1; i <= MANY; i++)
        ck_assert_uint_eq(find(i), i % 2 ? 0 : 10 * i);
    add(ONE, 1, 11);
    ck_assert_uint_eq(find(1), 11);
}

TEST(a_message_is_asked_and_forgotten_again_and_again)
{
    add(OTHER, MANY, 1);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        add(ONE, 1, i);
        add(ONE, MANY + i, i); /* of an object that ends */
        ck_assert_uint_eq(find(1), i);
        ath_cuda_answer_cache_forget(ONE_ENDS);
        ck_assert_uint_eq(find(1), 0);
        ck_assert_uint_eq(find(MANY + i), 0);
    }
    ck_assert_uint_eq(find(MANY), 1);
}

TEST(forgets_all)
{
    add(ONE, 1, 10);
    add(OTHER, 2, 20);
    forgotten_fits = 0;
    ck_assert(!ath_cuda_answer_cache_forget(ONE_ENDS));
    ck_assert_int_eq(forgotten_fits, 0);
    ck_assert(ath_cuda_answer_cache_forget(ALL_END));
    ck_assert_int_eq(forgotten_fits, 1);
    ck_assert_uint_eq(find(1), 0);
    ck_assert_uint_eq(find(2), 0);
    add(OTHER, 2, 21);
    ck_assert_uint_eq(find(2), 21);
}

TEST(an_answer_that_was_asked_before_is_not_added)
{
    const uint64_t message = 1, answer = 10;
    const struct ath_frame frame = { .bytes = (uint8_t *)(uintptr_t)&answer,
                                     .length = sizeof answer };
    uint64_t age = ath_cuda_answer_cache_age();
    ath_cuda_answer_cache_forget(ONE_ENDS);
    ath_cuda_answer_cache_add(ONE, (const uint8_t *)&message, sizeof message, &frame, age);
    ck_assert_uint_eq(find(1), 0);
}
