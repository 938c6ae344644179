/* Claims on the time of GPUs as people write them, and their bounds. */
#include "config.h"

#include "base/time_claim.h"

#include <stdlib.h>

#include "unit.h"

TEST(reads_shares)
{
    static const struct {
        const char *text;
        int percent;
        bool is_capped;
    } right[] = {
        { "1", 1, false },    { "25", 25, false },      { "100", 100, false },
        { "25%", 25, false }, { "25%,cap", 25, true },  { "25,cap", 25, true },
        { "1,cap", 1, true }, { "100,cap", 100, true }, { "none", 0, false },
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct ath_time_claim claim = { 7, !right[i].is_capped, ATH_TIME_LOW, 0 };
        ck_assert_int_eq(ath_time_share_parse(right[i].text, &claim), 0);
        ck_assert_int_eq(claim.share_percent, right[i].percent);
        ck_assert(claim.is_capped == right[i].is_capped);
        ck_assert_int_eq(claim.priority, ATH_TIME_LOW);
    }
}

TEST(refuses_what_is_no_share)
{
    static const char *const wrong[] = { "",        "0",    "101",         "-1",      "25%%",
                                         "25,",     ",cap", "25,cat",      "25,cap,", "none,cap",
                                         "cap",     "2.5",  " 25",         "25 ",     "0,cap",
                                         "101,cap", "+5",   "00000000025", "25,CAP" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ath_time_claim claim = { 7, true, ATH_TIME_HIGH, 0 };
        ck_assert_msg(ath_time_share_parse(wrong[i], &claim) < 0, "'%s' was accepted", wrong[i]);
        ck_assert_int_eq(claim.share_percent, 7);
        ck_assert(claim.is_capped);
    }
}

TEST(reads_priorities)
{
    static const char *const wrong[] = { "", "High", "highest", "unset", "1" };
    enum ath_time_priority priority = ATH_TIME_UNSET;

    for (int i = ATH_TIME_LOW; i <= ATH_TIME_HIGH; i++) {
        ck_assert_int_eq(ath_time_priority_parse(ath_time_priority_word(i), &priority), 0);
        ck_assert_int_eq(priority, i);
    }
    ck_assert_str_eq(ath_time_priority_word(ATH_TIME_NORMAL), "normal");
    ck_assert_ptr_null(ath_time_priority_word(ATH_TIME_UNSET));
    ck_assert_ptr_null(ath_time_priority_word(-1));
    ck_assert_ptr_null(ath_time_priority_word(ATH_TIME_HIGH + 1));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_lt(ath_time_priority_parse(wrong[i], &priority), 0);
    ck_assert_int_eq(priority, ATH_TIME_HIGH);
}

TEST(an_identity_bounds_its_programs)
{
    static const struct {
        struct ath_time_claim asked, most, got;
    } cases[] = {
        { { 50, true, ATH_TIME_HIGH, 0 }, { 0 }, { 50, true, ATH_TIME_HIGH, 0 } },
        { { 50, false, 0, 0 }, { 20, false, 0, 0 }, { 20, false, 0, 0 } },
        { { 20, true, 0, 0 }, { 20, false, 0, 0 }, { 20, true, 0, 0 } },
        { { 10, false, 0, 0 }, { 20, true, 0, 0 }, { 10, false, 0, 0 } },
        { { 0, false, 0, 0 }, { 20, false, 0, 0 }, { 0, false, 0, 0 } },
        { { 0, false, ATH_TIME_HIGH, 0 },
          { 0, false, ATH_TIME_NORMAL, 0 },
          { 0, false, ATH_TIME_NORMAL, 0 } },
        { { 0, false, ATH_TIME_HIGH, 0 },
          { 0, false, ATH_TIME_LOW, 0 },
          { 0, false, ATH_TIME_LOW, 0 } },
        { { 0, false, ATH_TIME_LOW, 0 },
          { 0, false, ATH_TIME_NORMAL, 0 },
          { 0, false, ATH_TIME_LOW, 0 } },
        /* A program that asks for none has normal, which may be too high. */
        { { 0, false, 0, 0 }, { 0, false, ATH_TIME_LOW, 0 }, { 0, false, ATH_TIME_LOW, 0 } },
        { { 0, false, 0, 0 }, { 0, false, ATH_TIME_HIGH, 0 }, { 0, false, 0, 0 } },
        { { 0, false, 0, 50 }, { 0, false, 0, 25 }, { 0, false, 0, 25 } },
        { { 0, false, 0, 25 }, { 0, false, 0, 50 }, { 0, false, 0, 25 } },
        { { 0, false, 0, 0 }, { 0, false, 0, 50 }, { 0, false, 0, 50 } },
        { { 0, false, 0, 50 }, { 0, false, 0, 0 }, { 0, false, 0, 50 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ath_time_claim claim = cases[i].asked;
        bool is_less = claim.share_percent != cases[i].got.share_percent ||
                       claim.priority != cases[i].got.priority ||
                       claim.sm_percent != cases[i].got.sm_percent;
        ck_assert_msg(ath_time_claim_bound(&claim, &cases[i].most) == is_less, "case %zu", i);
        ck_assert_int_eq(claim.share_percent, cases[i].got.share_percent);
        ck_assert(claim.is_capped == cases[i].got.is_capped);
        ck_assert_int_eq(claim.priority, cases[i].got.priority);
        ck_assert_int_eq(claim.sm_percent, cases[i].got.sm_percent);
    }
}

TEST(reads_parts_of_multiprocessors)
{
    static const char *const wrong[] = { "", "0", "101", "25,cap", "none", "25%%", "2.5", "-1" };
    int percent = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(ath_sm_share_parse(wrong[i], &percent) < 0, "'%s' was accepted", wrong[i]);
    ck_assert_int_eq(percent, 7);
    ck_assert(!ath_sm_share_parse("25", &percent) && percent == 25);
    ck_assert(!ath_sm_share_parse("100%", &percent) && percent == 100);
}
