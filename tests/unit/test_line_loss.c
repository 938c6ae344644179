/* The judgement whether the line of a connection loses segments. */
#include "config.h"

#include "remote/transport/line_loss.h"
#include "unit.h"

enum { MS = 1000000 };

static struct ath_line_loss loss;
static double part;

/* A look at a connection with these sums and this round trip; the least one is 1 ms. */
static bool look_at(int64_t segments, int64_t sent_again, int64_t needless, int64_t latency_ns)
{
    const struct ath_stripe_state state = { .segments = segments,
                                            .sent_again = sent_again,
                                            .needless = needless,
                                            .latency_ns = latency_ns,
                                            .least_latency_ns = MS };
    return ath_line_loss_look(&loss, &state, &part);
}

static bool look(int64_t segments, int64_t sent_again, int64_t latency_ns)
{
    return look_at(segments, sent_again, 0, latency_ns);
}

static void setup(void)
{
    loss = (struct ath_line_loss){ 0 };
    part = -1;
}

FIXTURE(setup, NULL);

TEST(more_than_one_in_200_is_a_loss)
{
    ck_assert(!look(1000000, 500000, MS)); /* before the first look */
    ck_assert(!look(1002000, 500010, MS));
    ck_assert_double_eq(part, 0.005);
    ck_assert(look(1004000, 500021, MS));
    ck_assert_double_eq(part, 11.0 / 2000);
    ck_assert(!look(1006000, 500021, MS));
}

TEST(few_segments_are_not_judged)
{
    ck_assert(!look(0, 0, MS));
    ck_assert(!look(1999, 1999, MS));
    ck_assert_double_eq(part, -1);
    ck_assert(look(2000, 1999, MS)); /* all since the first look */
}

TEST(losses_with_a_queue_are_TCPs_own)
{
    ck_assert(!look(0, 0, 9 * MS));
    ck_assert(!look(2000, 200, 2 * MS + MS / 4 + 1));
    ck_assert(look(4000, 400, 2 * MS + MS / 4));
    ck_assert(look(6000, 600, 9 * MS)); /* its window began without a queue */
    ck_assert(!look(8000, 800, 9 * MS));
}

TEST(one_look_without_a_queue_is_enough)
{
    ck_assert(!look(0, 0, 9 * MS));
    ck_assert(!look(1000, 200, 2 * MS));
    ck_assert(!look(1500, 200, 9 * MS));
    ck_assert(look(2000, 200, 9 * MS));
    ck_assert(!look(4000, 400, 9 * MS));
}

TEST(another_connection_begins_again)
{
    ck_assert(!look(50000, 0, MS));
    ck_assert(!look(3000, 3000, MS));
    ck_assert(look(5000, 3100, MS));
    ck_assert(!look(9000, 0, MS)); /* fewer were sent again */
    ck_assert(!look(10000, 1000, MS));
    ck_assert(look(11000, 1000, MS));
}

TEST(segments_that_the_peer_had_are_not_lost)
{
    ck_assert(!look_at(0, 300, 300, MS));
    ck_assert(!look_at(2000, 400, 390, MS));
    ck_assert_double_eq(part, 10.0 / 2000);
    ck_assert(look_at(4000, 500, 479, MS));
    ck_assert_double_eq(part, 11.0 / 2000);
    ck_assert(!look_at(6000, 500, 500, MS)); /* the word came after the judgement */
    ck_assert_double_eq(part, 0);
    ck_assert(look_at(8000, 520, 500, MS));
}

TEST(what_the_kernel_does_not_tell_is_no_loss)
{
    const struct ath_stripe_state states[] = {
        { .segments = -1, .sent_again = 9000, .latency_ns = MS, .least_latency_ns = MS },
        { .segments = 9000, .sent_again = -1, .latency_ns = MS, .least_latency_ns = MS },
        { .segments = 9000, .sent_again = 9000, .latency_ns = -1, .least_latency_ns = -1 },
        { .segments = 9000,
          .sent_again = 9000,
          .latency_ns = MS,
          .least_latency_ns = MS,
          .is_udp = true },
        { .segments = 9000,
          .sent_again = 9000,
          .latency_ns = MS,
          .least_latency_ns = MS,
          .is_lost = true },
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        ck_assert(!look(0, 0, MS));
        ck_assert(!ath_line_loss_look(&loss, &states[i], &part));
        ck_assert(!loss.has_begun);
    }
}
