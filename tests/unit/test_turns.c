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
