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
