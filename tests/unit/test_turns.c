/* Turns on GPUs, in simulated time. */
#include "config.h"

#include <math.h>

#include "turns_world.h"
#include "unit.h"

SECONDS(300);

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
    int seconds;
} shares[] = {
    { { 10, 90 }, { BURST }, 60 },
    { { 25, 75 }, { BURST }, 60 },
    { { 50, 50 }, { BURST }, 60 },
    { { 10, 20, 70 }, { BURST }, 60 },
    { { 1, 99 }, { BURST }, 60 },
    { { 10, 90 }, { 5 }, 5 }, /* a kernel, and its end is awaited */
    { { 10, 20, 70 }, { 5 }, 5 },
    { { 10, 90 }, { 500 * MS, BURST }, 600 },
    { { 50, 50 }, { 500 * MS, BURST }, 600 },
    { { 90, 10 }, { 500 * MS, BURST }, 600 },
    { { 50, 50 }, { 500 * MS, 700 }, 600 },
    { { 10, 20, 70 }, { 100 * MS, 3 * MS, 700 }, 300 },
    { { 5, 6, 7, 8, 9, 15, 20, 30 }, { BURST }, 60 },
    { { 5, 6, 7, 8, 9, 15, 20, 30 }, { 1 * MS, 2 * MS, 30 * MS, 4 * MS, 50 * MS, 6, 7 * MS }, 100 },
};

LOOP_TEST(divides_time_by_weights, 0, sizeof shares / sizeof *shares)
{
    uint32_t sum = 0;
    int64_t piece_us = 0;
    for (size_t i = 0; i < 8 && shares[_i].weights[i]; i++) {
        piece_us = shares[_i].pieces[i] ? shares[_i].pieces[i] : piece_us;
        sum += shares[_i].weights[i];
        world_add(&world, busy(shares[_i].weights[i], piece_us));
    }
    world_run(&world, shares[_i].seconds * (int64_t)SECOND);
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

/* Trainings have much work in a step, and a pause between steps. Work that others begin in the
 * pause of the program with the large share ends late, and is more than the small share. */
static const struct {
    int64_t pause_us, short_us;
} steps[] = { { 1 * MS, 700 }, { 2 * MS, 5 * MS }, { 4 * MS, 3 * MS } };

LOOP_TEST(divides_time_between_programs_with_steps, 0, sizeof steps / sizeof *steps)
{
    struct program training = busy(10, BURST);
    training.step_us = 32500;
    training.pause_us = steps[_i].pause_us;
    training.short_us = steps[_i].short_us;
    world_add(&world, training);
    training.claim.weight = 90;
    world_add(&world, training);
    world_run(&world, 60 * SECOND);
    expect_percent(0, 10, 0.5);
    expect_percent(1, 90, 0.5);
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

/* Time that a group used with a high priority is no debt among parties with a normal one. */
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

/* Parties with several GPUs. */

TEST(runs_parties_on_different_gpus_beside_each_other)
{
    const struct {
        uint64_t devices;
        double percent;
    } parties[] = { { 3, 50 }, { 1, 50 }, { 2, 50 }, { 1 << 5, 100 }, { UINT64_C(1) << 63, 100 } };
    for (size_t i = 0; i < 5; i++) {
        struct program program = busy(1, BURST);
        program.claim.devices = parties[i].devices;
        world_add(&world, program);
    }
    world_run(&world, 60 * SECOND);
    for (size_t i = 0; i < 5; i++)
        expect_percent(i, parties[i].percent, 0.1);
    ck_assert_int_le(world.programs[0].longest_wait_us, 50 * MS);
}

/* The parties with one GPU are never idle at the same time, and have long kernels. */
TEST(starves_no_party_with_several_gpus)
{
    struct program program = busy(1, 7 * MS);
    for (uint64_t device = 0; device < 4; device++) {
        program.claim.devices = UINT64_C(1) << device;
        program.piece_us = (7 + 9 * (int64_t)device) * MS;
        world_add(&world, program);
        world_add(&world, program);
    }
    program.claim.devices = 15;
    const size_t gang = world_add(&world, program);
    world_run(&world, 120 * SECOND);
    ck_assert_double_ge(world_percent(&world, gang), 25);
    ck_assert_double_le(world_percent(&world, gang), 34);
    ck_assert_int_le(world.programs[gang].longest_wait_us, 500 * MS);
    for (size_t i = 0; i < gang; i++)
        ck_assert_double_ge(world_percent(&world, i), 28);
}

/* Each GPU has two parties, each party two GPUs: as the philosophers' forks. */
TEST(locks_no_ring_of_parties)
{
    struct program program = busy(1, BURST);
    for (uint64_t i = 0; i < 5; i++) {
        program.claim.devices = UINT64_C(1) << i | UINT64_C(1) << (i + 1) % 5;
        world_add(&world, program);
    }
    world_run(&world, 60 * SECOND);
    for (size_t i = 0; i < 5; i++)
        expect_percent(i, 39, 3); /* at most two of five at once */
}

/* Time that a party could not use because of its other GPU is not owed for long. */
TEST(forgets_what_a_party_could_not_use)
{
    struct program program = busy(1, BURST);
    world_add(&world, program);
    program.claim.devices = 3;
    const size_t gang = world_add(&world, program);
    program.claim.devices = 2;
    for (size_t i = 0; i < 3; i++)
        world_add(&world, program);
    world_run(&world, 60 * SECOND);
    ck_assert_double_ge(world_percent(&world, 0), 70);
    ck_assert_double_ge(world_percent(&world, gang), 20);
    for (size_t i = 2; i < 5; i++)
        world_leave(&world, i);
    world.programs[0].longest_wait_us = 0;
    world_run(&world, 10 * SECOND);
    ck_assert_int_le(world.programs[0].longest_wait_us, 2 * ATH_TURNS_LATE_US + 100 * MS);
}

/* A group with a party on one GPU and one on both, beside another group on each GPU: the first has
 * its weight on both GPUs, and divides it. GPUs are idle while a party waits for its second one. */
static const struct {
    uint32_t weight; /* of the other group on the second GPU */
    double percent[4];
} beside[] = { { 10, { 25, 25, 50, 75 } }, { 90, { 40, 10, 50, 90 } } };

LOOP_TEST(divides_time_with_a_party_on_several_gpus, 0, 2)
{
    struct program program = busy(1, 1 * MS);
    program.claim.group_weight = 10;
    program.claim.group = 1;
    world_add(&world, program);
    program.claim.devices = 3;
    world_add(&world, program);
    program.claim.devices = 1;
    program.claim.group = 2;
    world_add(&world, program);
    program.claim.devices = 2;
    program.claim.group_weight = beside[_i].weight;
    program.claim.group = 3;
    world_add(&world, program);
    world_run(&world, 60 * SECOND);
    for (size_t i = 0; i < 4; i++)
        expect_percent(i, beside[_i].percent[i], 0.7);
}

/* A party that begins to use another GPU gives its turn back. The party there goes on. */
TEST(asks_a_party_back_that_uses_another_gpu)
{
    struct program program = busy(1, BURST);
    world_add(&world, program);
    program.claim.devices = 2;
    world_add(&world, program);
    world_run(&world, 100 * MS + 1);
    ck_assert(ath_turns_state(world.turns, 0).is_given && ath_turns_state(world.turns, 1).is_given);
    world.programs[0].claim.devices = 3;
    world_claim(&world, 0);
    world_run(&world, 0);
    ck_assert(ath_turns_state(world.turns, 0).is_wanted_back);
    ck_assert(!ath_turns_state(world.turns, 1).is_wanted_back);
    for (int i = 0; i < 1000; i++) {
        world_run(&world, 20 * MS);
        ck_assert(!ath_turns_state(world.turns, 0).is_given ||
                  !ath_turns_state(world.turns, 1).is_given);
    }
    const double both = world_percent(&world, 0) + world_percent(&world, 1);
    ck_assert_double_ge(both, 100);
    ck_assert_double_le(both, 101);
}

/* Free GPUs. */

static void set_free(bool is_free)
{
    for (size_t i = 0; i < world.count; i++) {
        world.programs[i].claim.is_free = is_free;
        world_claim(&world, i);
    }
}

static size_t holders(void)
{
    size_t count = 0;
    for (size_t i = 0; i < world.count; i++)
        count += ath_turns_state(world.turns, i).is_given;
    return count;
}

TEST(begins_turns_on_free_gpus_and_ends_them)
{
    for (size_t i = 0; i < 3; i++)
        world_add(&world, busy((uint32_t)i + 1, BURST));
    set_free(true);
    world_run(&world, 9 * SECOND + 1);
    for (size_t i = 0; i < 3; i++) {
        const struct ath_turns_state state = ath_turns_state(world.turns, i);
        ck_assert(state.is_given && !state.is_wanted_back);
        ck_assert(!state.has_others && !state.is_waited_for && !state.has_higher);
        ck_assert_int_eq(ath_turns_used(world.turns, i).waited_us, 0);
        ck_assert_int_eq(ath_turns_used(world.turns, i).used_us, world.now_us);
        ck_assert_int_eq(ath_turns_used(world.turns, i).lent_us, 0);
    }
    set_free(false);
    world_run(&world, 0);
    for (size_t i = 0; i < 3; i++)
        ck_assert(ath_turns_state(world.turns, i).is_wanted_back);
    world_run(&world, BURST);
    const int64_t from_us = world.now_us;
    int64_t used_us[3];
    for (size_t i = 0; i < 3; i++)
        used_us[i] = ath_turns_used(world.turns, i).used_us;
    for (int i = 0; i < 6000; i++) {
        ck_assert_uint_le(holders(), 1);
        world_run(&world, BURST);
    }
    for (size_t i = 0; i < 3; i++) {
        const int64_t us = ath_turns_used(world.turns, i).used_us - used_us[i];
        ck_assert_int_le(llabs(us - (world.now_us - from_us) * ((int64_t)i + 1) / 6), 100 * MS);
    }
    set_free(true);
    world_run(&world, BURST);
    world_run(&world, 0);
    ck_assert_uint_eq(holders(), 3);
}

/* Free parties hold beside each other, not beside one with turns. */
TEST(keeps_free_parties_from_others)
{
    for (size_t i = 0; i < 3; i++) {
        struct program program = busy(1, BURST);
        program.claim.is_free = i != 1;
        world_add(&world, program);
    }
    for (int i = 0; i < 500; i++) {
        world_run(&world, 7 * MS);
        ck_assert(!ath_turns_state(world.turns, 1).is_given ||
                  (!ath_turns_state(world.turns, 0).is_given &&
                   !ath_turns_state(world.turns, 2).is_given));
    }
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_ge(world_percent(&world, i), 20);
}

TEST(excludes_no_party_without_gpus)
{
    for (size_t i = 0; i < 3; i++)
        world_add(&world, busy(1, BURST));
    world.programs[2].claim.devices = 0;
    world_claim(&world, 2);
    world_run(&world, 1 * SECOND);
    ck_assert(ath_turns_state(world.turns, 2).is_given);
    ck_assert(!ath_turns_state(world.turns, 2).has_others);
    expect_percent(2, 100, 3);
    expect_percent(0, 50, 3);
}

/* Holders that are late, gone or taken over. */

/* Claims of the first parties without a program. */
static void claim_alike(size_t count)
{
    const struct ath_turns_claim claim = {
        .devices = 1,
        .weight = 50,
        .group_weight = 1,
        .most_percent = 100,
        .group_most_percent = 100,
    };
    for (size_t i = 0; i < count; i++)
        ath_turns_claim(world.turns, i, &claim, 0);
}

/* A wish is as old as its first notice, however often the arbiter repeats it. */
TEST(gives_equals_their_turns_in_the_order_of_their_wishes)
{
    claim_alike(3);
    ath_turns_want(world.turns, 0, 0);
    ath_turns_decide(world.turns, 0);
    ath_turns_want(world.turns, 2, 10);
    ath_turns_want(world.turns, 1, 20);
    ath_turns_want(world.turns, 2, 30);
    ath_turns_give_back(world.turns, 0, ath_turns_state(world.turns, 0).number, false, 40);
    ath_turns_decide(world.turns, 40);
    ck_assert(ath_turns_state(world.turns, 2).is_given);
    ck_assert(!ath_turns_state(world.turns, 1).is_given);
}

/* Its work may wait for a call of its own, which needs a turn. */
TEST(gives_an_overdue_party_its_next_turn)
{
    claim_alike(2);
    ath_turns_want(world.turns, 0, 0);
    ath_turns_decide(world.turns, 0);
    const uint32_t number = ath_turns_state(world.turns, 0).number;
    ath_turns_want(world.turns, 1, 0);
    ath_turns_decide(world.turns, ATH_TURNS_US);
    ath_turns_want(world.turns, 0, ATH_TURNS_US); /* it holds its turn: ignored */
    ath_turns_decide(world.turns, ATH_TURNS_US + ATH_TURNS_LATE_US);
    ck_assert(ath_turns_state(world.turns, 0).is_overdue);
    ck_assert(ath_turns_state(world.turns, 1).is_given);
    ath_turns_want(world.turns, 0, ATH_TURNS_US + ATH_TURNS_LATE_US);
    int64_t now_us = ATH_TURNS_US + 3 * (int64_t)ATH_TURNS_LATE_US;
    ath_turns_decide(world.turns, now_us);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, number); /* it has had more */
    ath_turns_give_back(world.turns, 1, ath_turns_state(world.turns, 1).number, false, now_us);
    ath_turns_decide(world.turns, now_us);
    const struct ath_turns_state state = ath_turns_state(world.turns, 0);
    ck_assert_uint_eq(state.number, number + 1);
    ck_assert(state.is_given && !state.is_wanted_back && !state.is_overdue);
    ath_turns_give_back(world.turns, 0, number, false, now_us); /* too late: ignored */
    ck_assert(ath_turns_state(world.turns, 0).is_given);
}

/* A cap that is spent asks for the turn of a party alone, too, whose work may wait for its next
 * call. */
TEST(gives_a_late_party_its_next_turn_beyond_its_cap)
{
    const struct ath_turns_claim claim = {
        .devices = 1,
        .weight = 25,
        .group_weight = 1,
        .most_percent = 25,
        .group_most_percent = 100,
    };
    ath_turns_claim(world.turns, 0, &claim, 0);
    ath_turns_want(world.turns, 0, 0);
    ath_turns_decide(world.turns, 0);
    const uint32_t number = ath_turns_state(world.turns, 0).number;
    ath_turns_decide(world.turns, 1 * SECOND);
    ck_assert(ath_turns_state(world.turns, 0).is_wanted_back);
    ath_turns_let_others(world.turns, 0, number, true, 1 * SECOND);
    ath_turns_decide(world.turns, 1 * SECOND + 50 * MS);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, number); /* no way around a cap */
    ath_turns_decide(world.turns, 1 * SECOND + ATH_TURNS_LATE_US);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, number + 1);
    /* Its debt has a bound. */
    ath_turns_decide(world.turns, 500 * SECOND);
    ath_turns_give_back(world.turns, 0, number + 1, true, 500 * SECOND);
    ath_turns_decide(world.turns, 500 * SECOND);
    ck_assert(!ath_turns_state(world.turns, 0).is_given);
    ath_turns_decide(world.turns, 541 * SECOND);
    ck_assert(ath_turns_state(world.turns, 0).is_given);
}

/* Work that may wait for others does not exclude them, and is charged until it is over. */
TEST(charges_for_work_that_lets_others_go_on)
{
    claim_alike(2);
    ath_turns_want(world.turns, 0, 0);
    ath_turns_decide(world.turns, 0);
    const uint32_t number = ath_turns_state(world.turns, 0).number;
    ath_turns_want(world.turns, 1, 0);
    ath_turns_let_others(world.turns, 0, number + 1, true, 1 * MS); /* another turn: ignored */
    ath_turns_decide(world.turns, 1 * MS);
    ck_assert(!ath_turns_state(world.turns, 1).is_given);
    ath_turns_let_others(world.turns, 0, number, true, 2 * MS);
    ath_turns_decide(world.turns, 2 * MS);
    ck_assert(ath_turns_state(world.turns, 1).is_given);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, number);
    ath_turns_give_back(world.turns, 0, number, true, 80 * MS);
    ath_turns_decide(world.turns, 80 * MS);
    ck_assert_int_eq(ath_turns_used(world.turns, 0).used_us, 80 * MS);
    ck_assert(!ath_turns_state(world.turns, 0).is_given);
    ck_assert(ath_turns_state(world.turns, 1).is_given);
    /* The other one has paid an eighth of 78 ms. */
    ath_turns_decide(world.turns, 145 * MS);
    ck_assert(!ath_turns_state(world.turns, 1).is_wanted_back);
    ath_turns_decide(world.turns, 155 * MS);
    ck_assert(ath_turns_state(world.turns, 1).is_wanted_back);
}

TEST(lets_others_go_on_beside_an_overdue_party)
{
    world_add(&world, busy(50, BURST));
    world_add(&world, busy(50, BURST));
    world.programs[0].is_deaf = true;
    world_run(&world, ATH_TURNS_US);
    ck_assert(ath_turns_state(world.turns, 0).is_wanted_back);
    world_run(&world, ATH_TURNS_LATE_US - 1);
    ck_assert(!ath_turns_state(world.turns, 0).is_overdue);
    ck_assert(!ath_turns_state(world.turns, 1).is_given);
    world_run(&world, 1);
    ck_assert(ath_turns_state(world.turns, 0).is_overdue);
    ck_assert(ath_turns_state(world.turns, 0).is_given);
    ck_assert(ath_turns_state(world.turns, 1).is_given);
    world_run(&world, 5 * SECOND);
    ck_assert(ath_turns_state(world.turns, 1).is_given);
    ck_assert(!ath_turns_state(world.turns, 1).is_wanted_back);
    ck_assert_int_eq(ath_turns_used(world.turns, 0).used_us, world.now_us);
    /* It pays, and gets its turn in order. */
    world.programs[0].is_deaf = false;
    world_run(&world, 1 * SECOND);
    ck_assert(!ath_turns_state(world.turns, 0).is_overdue);
    ck_assert(!ath_turns_state(world.turns, 0).is_given);
    world_run(&world, 20 * SECOND);
    ck_assert_int_le(world.programs[1].longest_wait_us, ATH_TURNS_LATE_US + ATH_TURNS_US + WAKE_US);
    ck_assert_uint_ge(ath_turns_used(world.turns, 0).turns, 100);
}

/* A party with kernels of minutes does not wait for hours afterwards. */
TEST(bounds_debts)
{
    world_add(&world, busy(50, 600 * (int64_t)SECOND));
    world_add(&world, busy(50, ATH_TURNS_US));
    world_add(&world, busy(50, ATH_TURNS_US));
    world_run(&world, 601 * (int64_t)SECOND);
    for (size_t i = 0; i < 3; i++)
        world.programs[i].piece_us = BURST;
    world.programs[0].longest_wait_us = 0;
    world_run(&world, 60 * SECOND);
    ck_assert_int_ge(world.programs[0].longest_wait_us, 3 * ATH_TURNS_DEBT_US - SECOND);
    ck_assert_int_le(world.programs[0].longest_wait_us, 3 * ATH_TURNS_DEBT_US + 100 * MS);
}

enum death { WANTING, HOLDING, WANTED_BACK, OVERDUE, RESERVING, DEATHS };

LOOP_TEST(goes_on_without_a_party_that_is_gone, 0, DEATHS)
{
    world_add(&world, busy(50, BURST));
    world_add(&world, busy(50, BURST));
    struct program both = busy(50, BURST);
    both.claim.devices = 3;
    if (_i == RESERVING)
        world_add(&world, both);
    size_t victim = _i == WANTING ? 1 : 0;
    world.programs[0].is_deaf = true;
    world_run(&world, _i == WANTING || _i == HOLDING ? MS : ATH_TURNS_US + 5 * MS);
    if (_i == OVERDUE)
        world_run(&world, 3 * SECOND);
    if (_i == RESERVING)
        victim = ath_turns_waits_for(world.turns, 1) == 2 ? 2 : 1;
    const struct ath_turns_state state = ath_turns_state(world.turns, victim);
    ck_assert(state.is_given == (_i == HOLDING || _i == WANTED_BACK || _i == OVERDUE));
    ck_assert(state.is_wanted_back == (_i == WANTED_BACK || _i == OVERDUE));
    ck_assert(state.is_overdue == (_i == OVERDUE));
    world_leave(&world, victim);
    world_run(&world, 0);
    const struct ath_turns_state gone = ath_turns_state(world.turns, victim);
    ck_assert(!gone.is_given && !gone.is_wanted_back && gone.number == 0);
    world.programs[0].is_deaf = false;
    world_run(&world, _i == WANTING || _i == RESERVING ? BURST : 0);
    ck_assert_uint_eq(holders(), 1);
    world_run(&world, 1 * SECOND);
    for (size_t i = 0; i < world.count; i++)
        if (i != victim)
            ck_assert_int_ge(ath_turns_used(world.turns, i).used_us,
                             1 * SECOND / (int64_t)world.count);
    ath_turns_leave(world.turns, victim, world.now_us);
    world_add(&world, busy(50, BURST));
    world_run(&world, 1 * SECOND);
}

TEST(takes_over_turns)
{
    world_add(&world, busy(1, BURST));
    world_add(&world, busy(1, BURST));
    struct program *first = &world.programs[0];
    first->number = ATH_TURNS_NUMBER_MAX;
    ath_turns_adopt(world.turns, 0, first->number, 0);
    first->state = RUNS;
    first->next_us = BURST;
    ath_turns_number(world.turns, 1, 5);
    world_run(&world, 0);
    ck_assert(ath_turns_state(world.turns, 0).is_given);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, ATH_TURNS_NUMBER_MAX);
    ck_assert(!ath_turns_state(world.turns, 1).is_given);
    world_run(&world, 90 * MS);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, 2);
    ck_assert_uint_eq(ath_turns_state(world.turns, 1).number, 7);
}

/* Turns that were given while others had the GPU, too. */
TEST(asks_all_back_that_were_taken_over_together)
{
    for (size_t i = 0; i < 2; i++) {
        const size_t which = world_add(&world, busy(1, BURST));
        ath_turns_adopt(world.turns, which, 9, 0);
    }
    ath_turns_decide(world.turns, 0);
    ck_assert(ath_turns_state(world.turns, 0).is_wanted_back);
    ck_assert(ath_turns_state(world.turns, 1).is_wanted_back);
    ath_turns_give_back(world.turns, 0, 9, true, 10);
    ath_turns_decide(world.turns, 10);
    ck_assert(!ath_turns_state(world.turns, 0).is_given);
    ath_turns_give_back(world.turns, 1, 9, false, 20);
    ath_turns_decide(world.turns, 20);
    ck_assert(ath_turns_state(world.turns, 0).is_given);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, 10);
}

TEST(takes_only_the_turn_that_was_given)
{
    world_add(&world, busy(1, BURST));
    ath_turns_decide(world.turns, 0);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).number, 1);
    ath_turns_give_back(world.turns, 0, 0, true, 1);
    ath_turns_give_back(world.turns, 0, 2, true, 1);
    ck_assert(ath_turns_state(world.turns, 0).is_given);
    ath_turns_number(world.turns, 0, 77); /* it has a turn: no other number */
    ath_turns_want(world.turns, 0, 1);
    ath_turns_give_back(world.turns, 0, 1, false, 2);
    ath_turns_give_back(world.turns, 0, 1, true, 2);
    ath_turns_decide(world.turns, 3);
    ck_assert(!ath_turns_state(world.turns, 0).is_given);
    ath_turns_want(world.turns, 5, 3); /* not there */
    ath_turns_adopt(world.turns, 5, 3, 3);
    ath_turns_decide(world.turns, 3);
    ck_assert(!ath_turns_state(world.turns, 5).is_given);
}

/* States and figures. */

TEST(tells_of_others_that_used_the_gpu_lately)
{
    struct program program = busy(1, BURST);
    world_add(&world, busy(1, BURST));
    program.claim.priority = ATH_TURNS_HIGH;
    program.pause_us = NEVER / 2;
    world_run(&world, 1 * SECOND);
    ck_assert(!ath_turns_state(world.turns, 0).has_others);
    world_add(&world, program);
    world_run(&world, 1 * SECOND);
    const int64_t over_us = ath_turns_used(world.turns, 1).used_us;
    ck_assert(world.programs[1].state == PAUSES);
    const int64_t end_us = 1 * SECOND + world.programs[1].longest_wait_us + over_us;
    ck_assert(ath_turns_state(world.turns, 0).has_others);
    ck_assert(ath_turns_state(world.turns, 0).has_higher);
    world_run(&world, end_us + ATH_TURNS_RECENT_US - world.now_us);
    ck_assert(ath_turns_state(world.turns, 0).has_others);
    world_run(&world, 1 * MS);
    ck_assert(!ath_turns_state(world.turns, 0).has_others);
    ck_assert(!ath_turns_state(world.turns, 0).has_higher);
}

TEST(says_who_waits_for_whom)
{
    struct program program = busy(1, BURST);
    for (size_t i = 0; i < 4; i++) {
        program.is_deaf = i < 2;
        program.claim.devices = i < 2 ? i + 1 : 3;
        world_add(&world, program);
        world_run(&world, 1 * MS);
    }
    ck_assert_uint_eq(ath_turns_waits_for(world.turns, 0), ATH_TURNS_PARTIES_MAX);
    ck_assert_uint_eq(ath_turns_waits_for(world.turns, 2), 0);
    ck_assert_uint_eq(ath_turns_waits_for(world.turns, 3), 0);
    ck_assert(ath_turns_state(world.turns, 0).is_waited_for);
    world_run(&world, 100 * MS);
    world_leave(&world, 0);
    world_run(&world, 0);
    ck_assert_uint_eq(ath_turns_waits_for(world.turns, 2), 1);
    /* Its GPU is reserved for another party. */
    program.is_deaf = false;
    program.claim.devices = 1;
    const size_t last = world_add(&world, program);
    world_run(&world, 0);
    ck_assert_uint_ge(ath_turns_waits_for(world.turns, last), 2);
    ck_assert_uint_le(ath_turns_waits_for(world.turns, last), 3);
    ck_assert_uint_eq(ath_turns_waits_for(world.turns, 400), ATH_TURNS_PARTIES_MAX);
}

/* A party that is there and idle lends its share. */
TEST(counts_lent_time)
{
    struct program program = busy(75, BURST);
    world_add(&world, busy(25, BURST));
    world_run(&world, 4 * SECOND);
    ck_assert_int_eq(ath_turns_used(world.turns, 0).lent_us, 0);
    program.pause_us = 100 * SECOND;
    world_add(&world, program);
    world_run(&world, 40 * SECOND);
    int64_t lent_us = ath_turns_used(world.turns, 0).lent_us;
    ck_assert_int_ge(lent_us, 30 * SECOND - 700 * MS);
    ck_assert_int_le(lent_us, 30 * SECOND);
    world.programs[1].pause_us = 0;
    world_run(&world, 60 * SECOND);
    lent_us = ath_turns_used(world.turns, 0).lent_us;
    world_run(&world, 40 * SECOND); /* both are busy */
    ck_assert_int_le(ath_turns_used(world.turns, 0).lent_us - lent_us, 100 * MS);
    ck_assert_int_eq(ath_turns_used(world.turns, 1).lent_us, 0);
    ck_assert_uint_eq(ath_turns_state(world.turns, 0).share_parts, 2500);
}

/* Long times. */

TEST(does_not_drift_in_a_day)
{
    const int64_t day_us = 86400 * (int64_t)SECOND;
    const uint32_t weights[] = { 7, 13, 29 };
    for (size_t i = 0; i < 3; i++)
        world_add(&world, busy(weights[i], (310 + 77 * (int64_t)i) * MS));
    for (int i = 0; i < 24; i++) {
        world_run(&world, day_us / 24);
        for (size_t k = 0; k < 3; k++) {
            const int64_t want_us = world.now_us / 49 * weights[k];
            ck_assert_int_le(llabs(ath_turns_used(world.turns, k).used_us - want_us), 1 * SECOND);
        }
    }
}

/* Lags stay in their bounds after years with the least weight. */
TEST(overflows_in_no_year)
{
    const int64_t day_us = 86400 * (int64_t)SECOND;
    struct program idle = busy(ATH_TURNS_WEIGHT_MAX, BURST);
    world_add(&world, busy(1, day_us));
    idle.pause_us = 365 * day_us;
    world_add(&world, idle);
    world_run(&world, 3 * 365 * day_us);
    ck_assert_int_ge(ath_turns_used(world.turns, 0).used_us, 3 * 365 * day_us - 100 * SECOND);
    world.programs[0].piece_us = world.programs[1].piece_us = BURST;
    world.programs[1].pause_us = 0;
    world.programs[0].next_us = world.programs[1].next_us = world.now_us;
    const int64_t used_us = ath_turns_used(world.turns, 1).used_us;
    world_run(&world, 10 * SECOND);
    ck_assert_int_ge(ath_turns_used(world.turns, 1).used_us - used_us, 9 * SECOND);
}

/* Random operations. Some parties change their GPUs while they hold them if _i is odd. */

enum { CROWD = 24, OPERATIONS = 1500 };

static int64_t taken_us[ATH_TURNS_PARTIES_MAX]; /* by devices, of parties that are gone */

/* Whether two claims exclude each other. */
static bool conflict(size_t a, size_t b)
{
    const struct ath_turns_claim *x = &world.programs[a].claim, *y = &world.programs[b].claim;
    return x->devices & y->devices && !(x->is_free && y->is_free);
}

static void check_holders(size_t a, size_t b)
{
    const struct ath_turns_state x = ath_turns_state(world.turns, a);
    const struct ath_turns_state y = ath_turns_state(world.turns, b);
    if (!x.is_given || !y.is_given || !conflict(a, b) || x.is_overdue || y.is_overdue)
        return;
    ck_assert_msg(world.programs[a].flips || world.programs[b].flips,
                  "parties %zu and %zu have the same GPU", a, b);
    ck_assert(x.is_wanted_back || y.is_wanted_back);
}

/* A party without a cap that wants its GPUs waits for one that has them, or gets them first. */
static void check_waiting(size_t which)
{
    const size_t other = ath_turns_waits_for(world.turns, which);
    const struct program *program = &world.programs[which];
    if (other == ATH_TURNS_PARTIES_MAX) {
        ck_assert_uint_lt(program->claim.most_percent * program->claim.group_most_percent, 10000);
        return;
    }
    ck_assert(conflict(which, other));
    if (!ath_turns_state(world.turns, other).is_given) {
        ck_assert_int_eq(world.programs[other].state, WAITS);
        const size_t holder = ath_turns_waits_for(world.turns, other);
        ck_assert(ath_turns_state(world.turns, holder).is_given);
        ck_assert(ath_turns_state(world.turns, holder).is_wanted_back);
    }
}

/* Each ck_assert() writes a note to a file, also if it holds. */
#define CHECK_OFTEN(condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("it does not hold: %s", #condition);                                      \
    } while (0)

static void check_all(int64_t look_us)
{
    ck_assert_int_gt(look_us, world.now_us);
    for (size_t i = 0; i < CROWD; i++) {
        struct program *program = &world.programs[i];
        const struct ath_turns_state state = ath_turns_state(world.turns, i);
        if (program->state == WAITS && state.is_given) {
            ck_assert_uint_ne(state.number, program->number);
            program->state = RUNS;
            program->number = state.number;
        }
        CHECK_OFTEN(state.is_given == (program->state == RUNS));
        CHECK_OFTEN(state.is_given || (!state.is_wanted_back && !state.is_overdue));
        if (program->state == WAITS)
            check_waiting(i);
        for (size_t k = 0; k < i; k++)
            check_holders(i, k);
    }
}

/* The time that parties had each GPU is not longer than all time. */
static void check_time(void)
{
    for (uint64_t device = 0; device < 4; device++) {
        int64_t us = taken_us[device];
        for (size_t i = 0; i < CROWD; i++)
            if (world.programs[i].claim.devices >> device & 1)
                us += ath_turns_used(world.turns, i).used_us;
        ck_assert_int_le(us, world.now_us);
    }
}

static struct ath_turns_claim random_claim(bool is_free)
{
    struct ath_turns_claim claim = {
        .devices = (uint64_t)rand() % 15 + 1,
        .group = (uint32_t)rand() % 5,
        .weight = (uint32_t)rand() % 50 + 1,
        .group_weight = (uint32_t)rand() % 50 + 1,
        .priority = rand() % 3 - 1,
        .most_percent = rand() % 4 ? 100 : 40,
        .group_most_percent = 100,
        .is_free = is_free,
    };
    if (claim.group == 4)
        claim.group_most_percent = 60;
    return claim;
}

static void leave(size_t which)
{
    struct program *program = &world.programs[which];
    for (uint64_t device = 0; device < 4; device++)
        if (program->claim.devices >> device & 1)
            taken_us[device] += ath_turns_used(world.turns, which).used_us;
    ath_turns_leave(world.turns, which, world.now_us);
    *program = (struct program){ 0 };
}

static void do_something(size_t which, bool may_change)
{
    struct program *program = &world.programs[which];
    const int what = rand() % 20;
    if (program->state == ABSENT) {
        program->claim = random_claim(false);
        world_claim(&world, which);
        program->state = PAUSES;
    } else if (what == 0) {
        ath_turns_decide(world.turns, world.now_us); /* so that its figures are those of now */
        leave(which);
    } else if (may_change && what == 1) {
        program->claim = random_claim(rand() % 3 == 0);
        program->flips = program->state == RUNS;
        world_claim(&world, which);
    } else if (program->state == PAUSES) {
        world_want(&world, which);
    } else if (program->state == RUNS && what > 6) {
        const bool wants = rand() % 2;
        ath_turns_give_back(world.turns, which, program->number, wants, world.now_us);
        program->state = wants ? WAITS : PAUSES;
        program->flips = false;
    }
}

/* Each party that wants a turn gets one when all others give theirs back. */
static void check_all_get_turns(void)
{
    for (int i = 0; i < 400; i++) {
        world.now_us += 50 * MS;
        check_all(ath_turns_decide(world.turns, world.now_us));
        for (size_t k = 0; k < CROWD; k++)
            if (world.programs[k].state == RUNS) {
                ath_turns_give_back(world.turns, k, world.programs[k].number, false, world.now_us);
                world.programs[k].state = PAUSES;
            }
    }
    for (size_t i = 0; i < CROWD; i++)
        ck_assert_int_ne(world.programs[i].state, WAITS);
}

LOOP_TEST(keeps_its_rules_whatever_happens, 0, 8)
{
    bool is_overdue = false;
    srand((unsigned)_i);
    memset(taken_us, 0, sizeof taken_us);
    for (int i = 0; i < OPERATIONS; i++) {
        for (int k = rand() % 3; k >= 0; k--)
            do_something((size_t)rand() % CROWD, _i % 2);
        check_all(ath_turns_decide(world.turns, world.now_us));
        for (size_t k = 0; k < CROWD; k++)
            is_overdue |= ath_turns_state(world.turns, k).is_overdue;
        if (!is_overdue && _i % 2 == 0)
            check_time();
        world.now_us += rand() % 8 ? rand() % (12 * MS) : rand() % (_i < 4 ? 90 * MS : SECOND);
    }
    check_all_get_turns();
}
