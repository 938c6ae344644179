/* Turns on GPUs, in simulated time. */
#include "config.h"

#include <math.h>

#include "turns_world.h"
#include "unit.h"

SECONDS(60);

enum { MS = 1000, SECOND = 1000 * MS, BURST = 10 * MS };

static struct world world;

static void setup(void)
{
    world_make(&world);
    ck_assert_ptr_nonnull(world.turns);
}

static void teardown(void)
{
    world_free(&world);
}

FIXTURE(setup, teardown);

/* A program with this weight that always has work. */
static struct program busy(uint32_t weight, int64_t piece_us)
{
    return (struct program){ .claim = { .weight = weight }, .piece_us = piece_us };
}

static void expect_percent(size_t which, double percent, double tolerance)
{
    const double got = world_percent(&world, which);
    ck_assert_msg(fabs(got - percent) <= tolerance, "program %zu has %.3f %%, not %.3f %%", which,
                  got, percent);
}

static const struct {
    uint32_t weights[8];
    int64_t pieces[8]; /* the last one is that of all others, too */
} shares[] = {
    { { 10, 90 }, { BURST } },
    { { 25, 75 }, { BURST } },
    { { 50, 50 }, { BURST } },
    { { 10, 20, 70 }, { BURST } },
    { { 1, 99 }, { BURST } },
    { { 10, 90 }, { 5 } }, /* a kernel, and its end is awaited */
    { { 10, 20, 70 }, { 5 } },
    { { 10, 90 }, { 500 * MS, BURST } },
    { { 50, 50 }, { 500 * MS, BURST } },
    { { 90, 10 }, { 500 * MS, BURST } },
    { { 50, 50 }, { 500 * MS, 5 } },
    { { 10, 20, 70 }, { 100 * MS, 3 * MS, 700 } },
    { { 5, 6, 7, 8, 9, 15, 20, 30 }, { BURST } },
    { { 5, 6, 7, 8, 9, 15, 20, 30 }, { 1 * MS, 2 * MS, 30 * MS, 4 * MS, 50 * MS, 600, 7 * MS } },
};

LOOP_TEST(divides_time_by_weights, 0, sizeof shares / sizeof *shares)
{
    uint32_t sum = 0;
    int64_t piece_us = 0, longest_us = 0;
    for (size_t i = 0; i < 8 && shares[_i].weights[i]; i++) {
        piece_us = shares[_i].pieces[i] ? shares[_i].pieces[i] : piece_us;
        longest_us = piece_us > longest_us ? piece_us : longest_us;
        sum += shares[_i].weights[i];
        world_add(&world, busy(shares[_i].weights[i], piece_us));
    }
    world_run(&world, longest_us > 50 * MS ? 600 * (int64_t)SECOND : 60 * SECOND);
    for (size_t i = 0; i < world.count; i++)
        expect_percent(i, 100.0 * shares[_i].weights[i] / sum, 0.1);
}

/* A program that pauses between its pieces gets its share if its pauses are shorter than the time
 * after which it gives its turn back. */
TEST(divides_time_with_a_program_that_waits_for_its_kernels)
{
    struct program pausing = busy(30, 50);
    pausing.pause_us = 30;
    world_add(&world, pausing);
    world_add(&world, busy(70, BURST));
    world_run(&world, 60 * SECOND);
    expect_percent(0, 30, 0.1);
    expect_percent(1, 70, 0.1);
}

/* With long pauses it gets what it wants, if that is less than its share. */
TEST(gives_a_pausing_program_what_it_wants)
{
    struct program pausing = busy(50, 20 * MS);
    pausing.pause_us = 80 * MS;
    world_add(&world, pausing);
    world_add(&world, busy(50, BURST));
    world_run(&world, 60 * SECOND);
    ck_assert_int_le(world.programs[0].longest_wait_us, BURST + 2 * WAKE_US);
    ck_assert_int_ge(world.programs[0].ran_us, 60 * SECOND * 17 / 100);
    expect_percent(1, 100 - world_percent(&world, 0), 0.1);
}

/* Its short pauses make others' bursts very short. */
TEST(asks_for_very_short_bursts_beside_a_program_that_is_owed_time)
{
    struct program pausing = busy(50, 1 * MS);
    pausing.pause_us = 2 * MS;
    world_add(&world, pausing);
    world_add(&world, busy(50, BURST));
    ck_assert(!ath_turns_state(world.turns, 1).has_higher);
    world_run(&world, 2 * SECOND);
    while (world.programs[0].state != PAUSES)
        world_run(&world, 100);
    ck_assert(ath_turns_state(world.turns, 1).has_higher);
    world.programs[0].next_us = NEVER;
    world_run(&world, 100 * MS);
    ck_assert(!ath_turns_state(world.turns, 1).has_higher);
    ck_assert(ath_turns_state(world.turns, 1).has_others);
}

TEST(gives_no_more_to_a_program_that_flips)
{
    struct program flipping = busy(50, 300);
    flipping.flips = true;
    world_add(&world, flipping);
    world_add(&world, busy(50, BURST));
    world_run(&world, 60 * SECOND);
    expect_percent(0, 50, 0.1);
    expect_percent(1, 50, 0.1);
}

TEST(gives_a_newcomer_neither_credit_nor_debt)
{
    world_add(&world, busy(1, 300 * MS));
    world_add(&world, busy(2, BURST));
    world_run(&world, 100 * SECOND);
    const size_t newcomer = world_add(&world, busy(3, BURST));
    world_run(&world, 12 * SECOND);
    const int64_t used_us = ath_turns_used(world.turns, newcomer).used_us;
    ck_assert_int_ge(used_us, 6 * SECOND - 400 * MS);
    ck_assert_int_le(used_us, 6 * SECOND + 400 * MS);
    ck_assert_int_le(world.programs[newcomer].longest_wait_us, 500 * MS);
}

/* A program that was idle for long is owed half a second of the GPU, no more. */
TEST(owes_an_idle_program_a_bounded_time)
{
    struct program idle = busy(50, BURST);
    world_add(&world, busy(50, BURST));
    idle.pause_us = 100 * SECOND;
    world_add(&world, idle);
    world_run(&world, 99 * SECOND);
    world.programs[1].pause_us = 0;
    world_run(&world, 2 * SECOND);
    const int64_t used_us = ath_turns_used(world.turns, 1).used_us;
    world_run(&world, 6 * SECOND);
    const int64_t more_us = ath_turns_used(world.turns, 1).used_us - used_us;
    ck_assert_int_ge(used_us + more_us, 7 * SECOND / 2 + 220 * MS);
    ck_assert_int_le(used_us + more_us, 7 * SECOND / 2 + 280 * MS);
    ck_assert_int_le(world.programs[0].longest_wait_us, ATH_TURNS_LENT_US + 50 * MS);
}

/* No program of the same priority waits longer than others need to use what they are owed. */
TEST(starves_no_program_of_the_same_priority)
{
    world_add(&world, busy(1, BURST));
    for (size_t i = 0; i < 10; i++)
        world_add(&world, busy(100, i % 2 ? BURST : 100 * MS));
    world_run(&world, 200 * SECOND);
    expect_percent(0, 100.0 / 1001, 0.02);
    ck_assert_int_le(world.programs[0].longest_wait_us, 12 * SECOND);
}

/* Priorities. */

TEST(lets_a_higher_priority_go_first)
{
    struct program high = busy(1, 3 * MS);
    high.claim.priority = ATH_TURNS_HIGH;
    high.pause_us = 12 * MS;
    world_add(&world, busy(1000, BURST));
    world_add(&world, high);
    world_run(&world, 20 * SECOND);
    ck_assert_int_le(world.programs[1].longest_wait_us, BURST + 2 * WAKE_US);
    ck_assert_int_ge(world.programs[1].longest_wait_us, BURST / 2);
    ck_assert(ath_turns_state(world.turns, 0).has_higher);
    ck_assert(!ath_turns_state(world.turns, 1).has_higher);
    ck_assert_int_ge(world.programs[1].ran_us, 20 * SECOND / 10);
}

TEST(keeps_classes_strict)
{
    const int priorities[] = { ATH_TURNS_LOW, ATH_TURNS_NORMAL, ATH_TURNS_NORMAL };
    for (size_t i = 0; i < 3; i++) {
        struct program program = busy(i == 2 ? 30 : 70, BURST);
        program.claim.priority = priorities[i];
        world_add(&world, program);
    }
    world_run(&world, 20 * SECOND);
    ck_assert_int_eq(ath_turns_used(world.turns, 0).used_us, 0);
    ck_assert_int_eq(ath_turns_used(world.turns, 0).waited_us, 20 * SECOND);
    expect_percent(1, 70, 0.2);
    expect_percent(2, 30, 0.2);
    world_leave(&world, 1);
    world_leave(&world, 2);
    world_run(&world, 0);
    ck_assert(ath_turns_state(world.turns, 0).is_given);
}

/* What a group uses with a high priority is no debt among those with a normal one. */
TEST(divides_what_higher_priorities_leave_by_weights)
{
    struct program high = busy(1, 4 * MS), normal = busy(1, BURST);
    high.claim.priority = ATH_TURNS_HIGH;
    high.pause_us = 6 * MS;
    high.claim.group = normal.claim.group = 1;
    high.claim.group_weight = normal.claim.group_weight = 50;
    world_add(&world, high);
    world_add(&world, normal);
    normal.claim.group = 2;
    world_add(&world, normal);
    world_run(&world, 60 * SECOND);
    const double left = 100 - world_percent(&world, 0);
    ck_assert_double_le(left, 80);
    expect_percent(1, left / 2, 0.2);
    expect_percent(2, left / 2, 0.2);
}

/* A low party on one GPU does not stop a high one that needs this GPU and another one. */
TEST(inverts_no_priorities)
{
    struct program low = busy(100, BURST), high = busy(1, 5 * MS);
    low.claim.priority = ATH_TURNS_LOW;
    low.claim.devices = 1;
    world_add(&world, low);
    low.claim.devices = 2;
    world_add(&world, low);
    low.claim.priority = ATH_TURNS_NORMAL;
    world_add(&world, low);
    high.claim.priority = ATH_TURNS_HIGH;
    high.claim.devices = 3;
    high.pause_us = 23 * MS + 7;
    world_add(&world, high);
    world_run(&world, 20 * SECOND);
    ck_assert_int_le(world.programs[3].longest_wait_us, BURST + 2 * WAKE_US);
}

/* Groups. */

TEST(divides_time_among_groups_first)
{
    struct program program = busy(100, BURST);
    program.claim.group = 7;
    program.claim.group_weight = 100;
    for (size_t i = 0; i < 10; i++)
        world_add(&world, program);
    program.claim.group = 3;
    world_add(&world, program);
    world_run(&world, 60 * SECOND);
    expect_percent(10, 50, 0.1);
    for (size_t i = 0; i < 10; i++)
        expect_percent(i, 5, 0.1);
}

TEST(divides_time_in_a_group_by_weights)
{
    const struct {
        uint32_t group, group_weight, weight;
        double percent;
    } parties[] = { { 1, 30, 10, 7.5 }, { 1, 30, 30, 22.5 }, { 2, 70, 1, 35 }, { 2, 70, 1, 35 } };
    for (size_t i = 0; i < 4; i++) {
        struct program program = busy(parties[i].weight, i % 2 ? BURST : 30 * MS);
        program.claim.group = parties[i].group;
        program.claim.group_weight = parties[i].group_weight;
        world_add(&world, program);
    }
    world_run(&world, 120 * SECOND);
    for (size_t i = 0; i < 4; i++) {
        expect_percent(i, parties[i].percent, 0.1);
        ck_assert_uint_eq(ath_turns_state(world.turns, i).share_parts,
                          (uint32_t)(parties[i].percent * 100));
    }
}

/* Use of one GPU is no debt on another one. */
TEST(keeps_a_groups_gpus_apart)
{
    struct program program = busy(1, BURST);
    program.claim.group = 1;
    program.claim.devices = 1;
    world_add(&world, program);
    program.claim.devices = 2;
    world_add(&world, program);
    program.claim.group = 2;
    world_add(&world, program);
    world_run(&world, 20 * SECOND);
    expect_percent(0, 100, 0.1);
    expect_percent(1, 50, 0.1);
    expect_percent(2, 50, 0.1);
}

/* A session that ends and comes again does not leave its group's debt behind. */
TEST(keeps_a_groups_debt_while_it_is_away)
{
    struct program program = busy(1, 400 * MS);
    program.claim.group = 1;
    size_t cheater = world_add(&world, program);
    program = busy(1, BURST);
    program.claim.group = 2;
    const size_t honest = world_add(&world, program);
    while (world.now_us < 60 * SECOND) {
        while (!world.programs[cheater].ran_us)
            world_run(&world, 1 * MS);
        program = world.programs[cheater];
        world_leave(&world, cheater);
        program.ran_us = 0;
        world.programs[cheater] = program;
        world_claim(&world, cheater);
        world_want(&world, cheater);
    }
    expect_percent(honest, 50, 1);
}

/* Caps. */

TEST(keeps_a_cap_alone)
{
    struct program program = busy(1, BURST);
    program.claim.most_percent = 30;
    world_add(&world, program);
    world_run(&world, 60 * SECOND);
    expect_percent(0, 30, 0.05);
    ck_assert(ath_turns_state(world.turns, 0).has_others);
    ck_assert_uint_eq(ath_turns_waits_for(world.turns, 0), ATH_TURNS_PARTIES_MAX);
}

TEST(keeps_a_cap_with_long_kernels)
{
    struct program program = busy(1, 500 * MS);
    program.claim.most_percent = 10;
    world_add(&world, program);
    world_run(&world, 1000 * (int64_t)SECOND);
    expect_percent(0, 10, 0.06);
}

TEST(keeps_a_cap_beside_others)
{
    struct program program = busy(90, BURST);
    program.claim.most_percent = 20;
    world_add(&world, program);
    world_add(&world, busy(10, BURST));
    world_run(&world, 60 * SECOND);
    expect_percent(0, 20, 0.05);
    expect_percent(1, 80, 0.05);
}

/* A pause saves a tenth of a second of the GPU, no more. */
TEST(saves_little_under_a_cap)
{
    struct program program = busy(1, BURST);
    program.claim.most_percent = 10;
    program.pause_us = 100 * SECOND;
    world_add(&world, program);
    world_run(&world, 99 * SECOND);
    world.programs[0].pause_us = 0;
    const int64_t before_us = ath_turns_used(world.turns, 0).used_us;
    world_run(&world, 11 * SECOND);
    const int64_t used_us = ath_turns_used(world.turns, 0).used_us - before_us;
    ck_assert_int_ge(used_us, ATH_TURNS_SAVED_US + 1 * SECOND - 20 * MS);
    ck_assert_int_le(used_us, ATH_TURNS_SAVED_US + 1 * SECOND + 20 * MS);
}

TEST(keeps_a_groups_cap_on_each_gpu)
{
    struct program program = busy(1, BURST);
    program.claim.group_most_percent = 30;
    program.claim.group = 5;
    world_add(&world, program);
    world_add(&world, program);
    program.claim.devices = 2;
    world_add(&world, program);
    program.claim.devices = 8 + 4;
    program.claim.group = 6;
    world_add(&world, program);
    world_run(&world, 60 * SECOND);
    expect_percent(0, 15, 0.1);
    expect_percent(1, 15, 0.1);
    expect_percent(2, 30, 0.05);
    expect_percent(3, 30, 0.05);
}

/* A cap that a user changes holds at once, whatever was used before. */
TEST(forgets_a_cap_that_has_changed)
{
    struct program program = busy(1, 1500 * MS);
    program.claim.most_percent = 1;
    world_add(&world, program);
    world_run(&world, 2 * SECOND);
    ck_assert(!ath_turns_state(world.turns, 0).is_given);
    world.programs[0].claim.most_percent = 50;
    world_claim(&world, 0);
    world_run(&world, 0);
    ck_assert(ath_turns_state(world.turns, 0).is_given);
}
