/* The parts of the GPUs' time that parties have by their weights, while parties come and go. */
#include "config.h"

#include <stdint.h>

#include "turns/turns.h"
#include "unit.h"

enum { MOST = ATH_TURNS_PARTIES_MAX, SECOND_US = 1000000 };

static struct ath_turns *turns;
static int64_t now_us;
static bool is_here[MOST];

static void setup(void)
{
    now_us = 0;
    memset(is_here, 0, sizeof is_here);
    turns = ath_turns_make(now_us);
    ck_assert_ptr_nonnull(turns);
}

static void teardown(void)
{
    ath_turns_free(turns);
}

/* group_weight 0: the same as weight. */
static void claim(size_t party, uint32_t group, uint64_t devices, uint32_t weight,
                  uint32_t group_weight)
{
    const struct ath_turns_claim made = { .devices = devices,
                                          .group = group,
                                          .weight = weight,
                                          .group_weight = group_weight ? group_weight : weight,
                                          .most_percent = 100,
                                          .group_most_percent = 100 };
    ath_turns_claim(turns, party, &made, now_us);
    is_here[party] = true;
}

static void leave(size_t party)
{
    ath_turns_leave(turns, party, now_us);
    is_here[party] = false;
}

static uint32_t part(size_t party)
{
    return ath_turns_state(turns, party).share_parts;
}

static void decide(void)
{
    ath_turns_decide(turns, now_us);
}

FIXTURE(setup, teardown);
SECONDS(60);

TEST(parts_follow_the_weights_of_those_that_are_here)
{
    claim(0, 0, 1, 20, 0);
    decide();
    ck_assert_uint_eq(part(0), 10000);
    claim(1, 1, 1, 20, 0);
    claim(2, 2, 1, 60, 0);
    decide();
    ck_assert_uint_eq(part(0), 2000);
    ck_assert_uint_eq(part(1), 2000);
    ck_assert_uint_eq(part(2), 6000);
    leave(2);
    decide();
    ck_assert_uint_eq(part(0), 5000);
    ck_assert_uint_eq(part(1), 5000);
    ck_assert_uint_eq(part(2), 0);
    claim(1, 1, 1, 60, 0); /* another weight */
    decide();
    ck_assert_uint_eq(part(0), 2500);
    ck_assert_uint_eq(part(1), 7500);
    leave(0);
    decide();
    ck_assert_uint_eq(part(1), 10000);
}

TEST(a_group_divides_its_part)
{
    claim(0, 5, 1, 1, 50);
    claim(1, 5, 1, 3, 50);
    claim(2, 6, 1, 1, 50);
    decide();
    ck_assert_uint_eq(part(0), 1250);
    ck_assert_uint_eq(part(1), 3750);
    ck_assert_uint_eq(part(2), 5000);
    leave(1);
    decide();
    ck_assert_uint_eq(part(0), 5000);
    leave(2);
    decide();
    ck_assert_uint_eq(part(0), 10000);
}

TEST(weights_beyond_their_bounds_count_as_the_bounds)
{
    claim(0, 0, 4, UINT32_MAX, 1);
    claim(1, 0, 4, ATH_TURNS_WEIGHT_MAX, 1);
    claim(2, 2, 1, 1, UINT32_MAX);
    claim(3, 3, 1, 1, ATH_TURNS_WEIGHT_MAX);
    claim(4, 4, 2, 1, 0);
    claim(5, 4, 2, 0, 1);
    decide();
    ck_assert_uint_eq(part(0), 5000);
    ck_assert_uint_eq(part(1), 5000);
    ck_assert_uint_eq(part(2), 5000);
    ck_assert_uint_eq(part(3), 5000);
    ck_assert_uint_eq(part(4), 5000);
    ck_assert_uint_eq(part(5), 5000);
}

/* The part of a party is that of the GPU where it has least. */
TEST(each_gpu_has_its_own_parts)
{
    claim(0, 0, 1 | 2, 10, 0);
    claim(1, 1, 1, 30, 0);
    claim(2, 2, 2, 10, 0);
    claim(3, 3, UINT64_C(1) << 63, 10, 0);
    decide();
    ck_assert_uint_eq(part(0), 2500);
    ck_assert_uint_eq(part(1), 7500);
    ck_assert_uint_eq(part(2), 5000);
    ck_assert_uint_eq(part(3), 10000);
    claim(0, 0, 2, 10, 0);
    decide();
    ck_assert_uint_eq(part(0), 5000);
    ck_assert_uint_eq(part(1), 10000);
}

static void expect_equal_parts(void)
{
    uint32_t count = 0;
    for (size_t i = 0; i < MOST; i++)
        count += is_here[i];
    for (size_t i = 0; i < MOST; i++)
        ck_assert_uint_eq(part(i), is_here[i] ? (10000 + count / 2) / count : 0);
}

/* As many as there may be, which come and leave from both ends and in the middle. The groups stay
 * for a while. */
TEST(all_parties_come_and_leave)
{
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < MOST; i++)
            claim(round == 1 ? MOST - 1 - i : i, (uint32_t)i, 1, 1, 0);
        decide();
        expect_equal_parts();
        const size_t leavers[] = { MOST - 2, 0, MOST / 2, MOST - 1, 1, MOST / 2 + 1 };
        for (size_t i = 0; i < sizeof leavers / sizeof *leavers; i++) {
            leave(leavers[i]);
            leave(leavers[i]); /* it is gone already */
            decide();
            expect_equal_parts();
        }
        for (size_t i = 0; i < MOST; i++)
            if (i != 7 && i != 9)
                leave(i);
        decide();
        expect_equal_parts();
        ath_turns_want(turns, 9, now_us);
        decide();
        ck_assert(ath_turns_state(turns, 9).is_given);
        leave(9);
        leave(7);
        now_us += 2 * (int64_t)ATH_TURNS_RECENT_US + SECOND_US;
        decide();
    }
}
