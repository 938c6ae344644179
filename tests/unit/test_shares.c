/* Claims that are made of the wishes of sessions and of the rows of identities. */
#include "config.h"

#include "turns/shares.h"
#include "unit.h"

enum { ROWS = 3, NORMAL = ATH_TURNS_NORMAL };

static struct ath_share_row rows[ROWS];
static struct ath_turns_claim claims[ATH_TURNS_PARTIES_MAX];

static void setup(void)
{
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct ath_share_row){ .highest_priority = ATH_TURNS_HIGH };
}

FIXTURE(setup, NULL);

static void make(enum ath_sharing sharing, const struct ath_share_wish *wishes, size_t count)
{
    ck_assert_int_eq(ath_shares_claims(sharing, wishes, count, rows, ROWS, claims), 0);
}

/* The weight of a claim's group, and of the claim in it. */
static void expect_weights(size_t which, uint32_t group, uint32_t own)
{
    ck_assert_uint_eq(claims[which].group_weight, group);
    ck_assert_uint_eq(claims[which].weight, own);
}

TEST(gives_sessions_without_a_share_what_is_left)
{
    const struct ath_share_wish wishes[] = { { .devices = 1, .share_percent = 25 },
                                             { .devices = 1 },
                                             { .devices = 1 } };
    make(ATH_SHARING_AUTO, wishes, 3);
    ck_assert_uint_eq(claims[0].weight, 2500);
    ck_assert_uint_eq(claims[1].weight, 3750);
    ck_assert_uint_eq(claims[2].weight, 3750);
    ck_assert_uint_eq(claims[0].group_weight, 10000);
    ck_assert_uint_eq(claims[0].most_percent, 100);
    ck_assert(!claims[0].is_free && !claims[1].is_free);
}

/* Each session without a share has 1 % at least, and the time is divided in proportion. */
TEST(leaves_something_to_sessions_without_a_share)
{
    const struct ath_share_wish wishes[] = { { .devices = 1, .share_percent = 60 },
                                             { .devices = 1, .share_percent = 39 },
                                             { .devices = 1 },
                                             { .devices = 1 } };
    make(ATH_SHARING_AUTO, wishes, 4);
    ck_assert_uint_eq(claims[0].weight, 6000);
    ck_assert_uint_eq(claims[1].weight, 3900);
    ck_assert_uint_eq(claims[2].weight, 100);
    ck_assert_uint_eq(claims[3].weight, 100);
}

TEST(divides_all_equally_without_shares)
{
    struct ath_share_wish wishes[4] = { 0 };
    for (size_t i = 0; i < 4; i++)
        wishes[i] = (struct ath_share_wish){ .devices = 1, .identity = i == 3 };
    make(ATH_SHARING_TURNS, wishes, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(claims[i].group, i == 3);
        ck_assert_uint_eq(claims[i].group_weight, 5000);
        ck_assert_uint_eq(claims[i].weight, i == 3 ? 5000 : 1666);
        ck_assert(!claims[i].is_free);
    }
}

/* The row's share is for all sessions of the identity together. */
TEST(gives_an_identity_the_share_of_its_row)
{
    const struct ath_share_wish wishes[] = {
        { .devices = 1, .identity = 0, .share_percent = 20 },
        { .devices = 1, .identity = 0 },
        { .devices = 1, .identity = 0 },
        { .devices = 1, .identity = 1, .share_percent = 10 },
        { .devices = 1, .identity = 2 },
    };
    rows[0].share_percent = 50;
    make(ATH_SHARING_AUTO, wishes, 5);
    ck_assert_uint_eq(claims[0].group_weight, 5000);
    ck_assert_uint_eq(claims[2].group_weight, 5000);
    ck_assert_uint_eq(claims[0].weight, 2000);
    ck_assert_uint_eq(claims[1].weight, 1500);
    ck_assert_uint_eq(claims[2].weight, 1500);
    expect_weights(3, 1000, 1000); /* its sessions' shares */
    expect_weights(4, 4000, 4000); /* what is left of all */
}

/* An identity with sessions of both kinds keeps the shares that were asked for. */
TEST(adds_what_is_left_to_the_shares_of_an_identity)
{
    const struct ath_share_wish wishes[] = {
        { .devices = 1, .identity = 0, .share_percent = 30 },
        { .devices = 1, .identity = 0 },
        { .devices = 1, .identity = 1 },
        { .devices = 1, .identity = 1 },
    };
    make(ATH_SHARING_AUTO, wishes, 4);
    expect_weights(0, 3000 + 3500, 3000);
    ck_assert_uint_eq(claims[1].weight, 3500);
    expect_weights(2, 3500, 1750);
}

TEST(keeps_shares_of_more_than_all_in_bounds)
{
    const struct ath_share_wish wishes[] = {
        { .devices = 1, .share_percent = 90 },
        { .devices = 1, .share_percent = 60 },
        { .devices = 1, .identity = 1 },
    };
    make(ATH_SHARING_AUTO, wishes, 3);
    expect_weights(0, 10000, 9000);
    ck_assert_uint_eq(claims[1].weight, 6000);
    expect_weights(2, 100, 100);
}

/* Shares are of each GPU, so those on different GPUs are not added. */
TEST(adds_no_shares_on_different_gpus)
{
    const struct ath_share_wish wishes[] = {
        { .devices = 1, .share_percent = 60 },
        { .devices = 2, .share_percent = 50 },
        { .devices = 3, .identity = 1 },
        { .devices = 4 },
    };
    make(ATH_SHARING_AUTO, wishes, 4);
    ck_assert_uint_eq(claims[0].group_weight, 6000);
    ck_assert_uint_eq(claims[1].group_weight, 6000);
    ck_assert_uint_eq(claims[2].group_weight, 4000);
    expect_weights(3, 10000, 10000);
}

TEST(caps_at_the_share)
{
    const struct ath_share_wish wishes[] = {
        { .devices = 1, .share_percent = 20, .is_capped = true },
        { .devices = 1, .is_capped = true },
        { .devices = 1, .identity = 1, .is_capped = true },
        { .devices = 1, .identity = 2, .share_percent = 20 },
    };
    rows[1].share_percent = 40;
    rows[1].is_capped = true;
    rows[2].is_capped = true;
    make(ATH_SHARING_AUTO, wishes, 4);
    ck_assert_uint_eq(claims[0].most_percent, 20);
    ck_assert_uint_eq(claims[0].group_most_percent, 100);
    ck_assert_uint_eq(claims[1].most_percent, 100);
    ck_assert_uint_eq(claims[2].most_percent, 40);
    ck_assert_uint_eq(claims[2].group_most_percent, 40);
    ck_assert_uint_eq(claims[3].most_percent, 100);
    ck_assert_uint_eq(claims[3].group_most_percent, 100);
}

TEST(bounds_the_priority)
{
    const struct ath_share_wish wishes[] = {
        { .devices = 1, .priority = ATH_TURNS_HIGH },
        { .devices = 1, .identity = 1, .priority = ATH_TURNS_HIGH },
        { .devices = 1, .identity = 1, .priority = ATH_TURNS_LOW },
        { .devices = 1, .identity = 2, .priority = NORMAL },
    };
    rows[1].highest_priority = NORMAL;
    rows[2].highest_priority = ATH_TURNS_LOW;
    make(ATH_SHARING_AUTO, wishes, 4);
    ck_assert_int_eq(claims[0].priority, ATH_TURNS_HIGH);
    ck_assert_int_eq(claims[1].priority, NORMAL);
    ck_assert_int_eq(claims[2].priority, ATH_TURNS_LOW);
    ck_assert_int_eq(claims[3].priority, ATH_TURNS_LOW);
}

/* The sets of GPUs {0, 1, 3} and {2}; {4} has a session that uses no other one. */
TEST(frees_gpus_without_a_claim)
{
    struct ath_share_wish wishes[] = { { .devices = 1 },
                                       { .devices = 2 },
                                       { .devices = 3 },
                                       { .devices = 4 },
                                       { .devices = 8 },
                                       { .devices = 9 },
                                       { .devices = 16, .identity = 2 } };
    const size_t count = sizeof wishes / sizeof *wishes;
    make(ATH_SHARING_AUTO, wishes, count);
    for (size_t i = 0; i < count; i++)
        ck_assert(claims[i].is_free);
    for (int change = 0; change < 3; change++) {
        wishes[1].share_percent = change == 0 ? 5 : 0;
        wishes[1].priority = change == 1 ? ATH_TURNS_LOW : NORMAL;
        wishes[1].identity = change == 2;
        rows[1].share_percent = change == 2 ? 7 : 0;
        make(ATH_SHARING_AUTO, wishes, count);
        for (size_t i = 0; i < count; i++)
            ck_assert(claims[i].is_free == (i == 3 || i == 6));
    }
    /* A row without a session there is no claim. */
    wishes[1].identity = 0;
    make(ATH_SHARING_AUTO, wishes, count);
    ck_assert(claims[0].is_free);
}

TEST(frees_no_gpu_if_a_user_says_so)
{
    const struct ath_share_wish wishes[] = {
        { .devices = 1, .share_percent = 20, .is_capped = true, .priority = ATH_TURNS_HIGH },
        { .devices = 2 },
        { .devices = 0 },
    };
    make(ATH_SHARING_TURNS, wishes, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(!claims[i].is_free);
    ck_assert_uint_eq(claims[0].most_percent, 20);
}

/* A session that has used no GPU yet is no claim on those of others. */
TEST(claims_no_gpu_before_it_is_used)
{
    const struct ath_share_wish wishes[] = { { .share_percent = 20 }, { .devices = 1 } };
    make(ATH_SHARING_AUTO, wishes, 2);
    ck_assert(claims[0].is_free && claims[1].is_free);
    ck_assert_uint_eq(claims[0].devices, 0);
    ck_assert_uint_eq(claims[1].weight, 10000);
    ck_assert_int_eq(ath_shares_claims(ATH_SHARING_AUTO, NULL, 0, NULL, 0, NULL), 0);
}

/* All sessions that a server takes, on all GPUs. */
TEST(makes_claims_of_many_sessions)
{
    static struct ath_share_wish wishes[ATH_TURNS_PARTIES_MAX];
    for (size_t i = 0; i < ATH_TURNS_PARTIES_MAX; i++)
        wishes[i] = (struct ath_share_wish){ .devices = UINT64_MAX,
                                             .identity = (uint32_t)i % ROWS,
                                             .share_percent = i % 2 ? 100 : 0 };
    make(ATH_SHARING_AUTO, wishes, ATH_TURNS_PARTIES_MAX);
    for (size_t i = 0; i < ATH_TURNS_PARTIES_MAX; i++) {
        ck_assert_uint_eq(claims[i].weight, i % 2 ? 10000 : 100);
        ck_assert_uint_eq(claims[i].group_weight, 10000);
    }
}
