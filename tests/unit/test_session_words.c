/* Sessions that wait for their turns, in words. */
#include "config.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/output/session_words.h"

#include "unit.h"

/* Session 7 has its turn, and the others wait: 8 for session 7, 9 for one that it may not see, 10
 * for its cap, 11 for no other session. Session 12 is idle. */
static struct ath_runtime_session items[] = {
    { .id = 7,
      .program = "train.py",
      .turn = { .share_percent = ATH_UNKNOWN,
                .state = ATH_GPU_TURN_STATE_HOLDS,
                .claim = { 25, false, ATH_TIME_NORMAL, 0 },
                .share_source = ATH_GPU_LIMIT_SOURCE_ASKED } },
    { .id = 8,
      .program = "infer",
      .turn = { .share_percent = ATH_UNKNOWN,
                .state = ATH_GPU_TURN_STATE_WAITS,
                .waits_for = 7,
                .state_ms = 1234,
                .claim = { 0, false, ATH_TIME_NORMAL, 0 } } },
    { .id = 9,
      .turn = { .share_percent = ATH_UNKNOWN,
                .state = ATH_GPU_TURN_STATE_WAITS,
                .waits_for = 99,
                .state_ms = 20,
                .claim = { 0, false, ATH_TIME_LOW, 0 } } },
    { .id = 10,
      .program = "batch",
      .turn = { .share_percent = ATH_UNKNOWN,
                .state = ATH_GPU_TURN_STATE_WAITS,
                .state_ms = 500,
                .claim = { 10, true, ATH_TIME_HIGH, 0 },
                .share_source = ATH_GPU_LIMIT_SOURCE_IDENTITY } },
    { .id = 11,
      .program = "late",
      .turn = { .share_percent = ATH_UNKNOWN,
                .state = ATH_GPU_TURN_STATE_WAITS,
                .state_ms = ATH_UNKNOWN,
                .claim = { 10, false, ATH_TIME_NORMAL, 0 },
                .share_source = ATH_GPU_LIMIT_SOURCE_SET } },
    { .id = 12,
      .program = "idle",
      .turn = { .share_percent = ATH_UNKNOWN,
                .state = ATH_GPU_TURN_STATE_IDLE,
                .claim = { 0, false, ATH_TIME_NORMAL, 0 } } },
};
static struct ath_runtime_sessions sessions = { items, sizeof items / sizeof *items };

static void find_reasons(void)
{
    for (size_t i = 0; i < sessions.count; i++)
        items[i].turn.reason = ath_wait_reason(&sessions, &items[i].turn);
}

TEST(says_why_a_session_waits)
{
    static const char *const wanted[] = {
        NULL,
        "session 8 (infer) has waited for 1.234 s for session 7 (train.py), which has its turn",
        "session 9 has waited for 0.020 s for session 99, which has its turn",
        "session 10 (batch) has waited for 0.500 s for its own cap: it has had its 10 percent for "
        "now",
        "session 11 (late) waits, for no other session: its turn comes next",
        NULL,
    };
    find_reasons();
    for (size_t i = 0; i < sessions.count; i++) {
        ath_auto_free char *words = ath_session_wait_words(&sessions, &items[i]);
        ck_assert_pstr_eq(words, wanted[i]);
    }
}

TEST(a_higher_priority_is_a_reason_of_its_own)
{
    items[0].turn.claim.priority = ATH_TIME_HIGH;
    find_reasons();
    ath_auto_free char *words = ath_session_wait_words(&sessions, &items[1]);
    ck_assert_str_eq(words, "session 8 (infer) has waited for 1.234 s for session 7 (train.py), "
                            "which has a higher priority");
    items[0].identity = "alice";
    items[1].identity = "team-a";
    items[1].turn.state_ms = 0;
    ath_auto_free char *now = ath_session_wait_words(&sessions, &items[1]);
    ck_assert_str_eq(now, "session 8 (infer, key team-a) just began to wait for session 7 "
                          "(train.py, key alice), which has a higher priority");
    items[0].identity = items[1].identity = NULL;
    items[1].turn.state_ms = 1234;
    items[1].turn.claim.priority = ATH_TIME_HIGH;
    find_reasons();
    ck_assert_int_eq(items[1].turn.reason, ATH_WAIT_TURN);
    items[0].turn.claim.priority = items[1].turn.claim.priority = ATH_TIME_NORMAL;
}

TEST(says_how_much_a_session_has_held)
{
    struct ath_session_figures figures[] = { { .id = 7, .held_us = 2400000 },
                                             { .id = 8, .held_us = ATH_UNKNOWN } };
    const struct ath_session_group group = {
        .sessions = sessions, .figures = { .sessions = figures, .session_count = 2 }
    };
    items[0].age_ms = items[1].age_ms = items[2].age_ms = 10000;
    ck_assert_ptr_null(ath_session_held_words(&group, &items[0])); /* no turns there */
    for (size_t i = 0; i < 3; i++)
        items[i].turn.share_percent = 25;
    ath_auto_free char *words = ath_session_held_words(&group, &items[0]);
    ck_assert_str_eq(words, "session 7 (train.py) has held its GPUs for 24 % of the time since it "
                            "began; its part is 25 %");
    ck_assert_ptr_null(ath_session_held_words(&group, &items[1]));
    ck_assert_ptr_null(ath_session_held_words(&group, &items[2])); /* no figures */
    items[0].age_ms = 0;
    ck_assert_ptr_null(ath_session_held_words(&group, &items[0]));
    for (size_t i = 0; i < 3; i++)
        items[i].turn.share_percent = ATH_UNKNOWN;
}

/* The share of a row is that of all sessions of the key, and wishes may be more than there is. */
TEST(says_what_a_session_is_due_if_that_is_less)
{
    static const struct {
        struct ath_runtime_turn turn;
        const char *wanted;
    } rows[] = {
#define TURN(percent, is_capped, due, source)                                                      \
    { .claim = { percent, is_capped, ATH_TIME_NORMAL, 0 },                                         \
      .share_percent = due,                                                                        \
      .share_source = ATH_GPU_LIMIT_SOURCE_##source }
        { TURN(25, false, 5, IDENTITY), "5 % of its key's 25 %" },
        { TURN(25, true, 0.4, IDENTITY), "0.4 % of its key's 25 % at most" },
        { TURN(25, false, 12.4, IDENTITY), "12 % of its key's 25 %" },
        { TURN(25, false, 25, IDENTITY), "25 % (of its key)" },
        { TURN(25, false, 100, IDENTITY), "25 % (of its key)" },
        { TURN(25, false, ATH_UNKNOWN, IDENTITY), "25 % (of its key)" },
        { TURN(80, false, 20, SET), "80 % (set later), due 20 %" },
        { TURN(80, true, 80, ASKED), "80 % at most (asked for)" },
#undef TURN
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ath_auto_free char *words = ath_session_turn_words(&rows[i].turn);
        ck_assert_str_eq(words, rows[i].wanted);
    }
}

TEST(says_claims_and_states_in_a_table)
{
    static const char *const wanted[] = {
        "25 % (asked for), has its turn",
        "waits for session 7",
        "priority low, waits for session 99",
        "10 % at most (of its key), priority high, waits for its cap",
        "10 % (set later), waits",
        NULL,
    };
    find_reasons();
    for (size_t i = 0; i < sessions.count; i++) {
        ath_auto_free char *words = ath_session_turn_words(&items[i].turn);
        ck_assert_pstr_eq(words, wanted[i]);
    }
}
