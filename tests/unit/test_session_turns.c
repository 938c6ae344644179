/* Turns of sessions on a board: the wishes and claims that count, and the words that come of them.
 * Time is simulated. */
#include "config.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/unknown.h"
#include "runtime/claims.h"
#include "runtime/session_turns.h"
#include "unit.h"

enum { FIRST = 3, SECOND = 7, THIRD = 9, DEVICES = 2, MS = 1000, SECOND_US = 1000000 };

static struct ath_session_board *board;
static struct ath_session_turns *turns;
static int64_t now_us, next_us;
static uint64_t last_session;

static void begin(enum ath_gpu_sharing sharing)
{
    ath_session_turns_free(turns);
    turns = ath_session_turns_make(board, DEVICES, sharing, now_us);
    ck_assert_ptr_nonnull(turns);
}

static void setup(void)
{
    board = ath_session_board_make();
    ck_assert_ptr_nonnull(board);
    now_us = 1000 * (int64_t)SECOND_US;
    turns = NULL;
    begin(ATH_GPU_SHARING_TURNS);
}

static void teardown(void)
{
    ath_session_turns_free(turns);
    ath_session_board_free(board);
}

FIXTURE(setup, teardown);
SECONDS(60);

/* ---- a session, as its process and the listening process write it ---- */

static struct ath_session_board_entry *come(size_t slot, const char *identity)
{
    struct ath_session_board_entry *entry =
        ath_session_board_add(board, slot, ++last_session, "test");
    ath_session_board_note(board, slot, ATH_GPU_PURPOSE_CUDA, identity);
    atomic_store(&board->known[slot].allowed_devices, UINT64_MAX);
    atomic_store(&entry->turn.devices, 1);
    atomic_fetch_add(&board->changes, 1);
    return entry;
}

static void go(size_t slot)
{
    ath_session_board_remove(board, slot);
    atomic_fetch_add(&board->changes, 1);
}

static struct ath_turn_wish *wish(size_t slot)
{
    return &board->slots[slot].entry.turn;
}

static uint32_t word(size_t slot)
{
    return atomic_load(&board->turns.grants[slot].word);
}

static bool passes(size_t slot)
{
    return (word(slot) & (ATH_TURN_GIVEN | ATH_TURN_BACK)) == ATH_TURN_GIVEN;
}

static void look(int64_t later_us)
{
    now_us += later_us;
    next_us = ath_session_turns_look(turns, now_us);
}

static void want(size_t slot)
{
    atomic_store(&wish(slot)->wants, 1);
}

static void give_back(size_t slot, bool wants)
{
    atomic_store(&wish(slot)->wants, wants);
    atomic_store(&wish(slot)->returned, ath_turn_number(word(slot)));
}

/* Lets sessions work for a while: they want turns always, and give them back when asked. */
static void work(const size_t slots[], size_t count, int64_t for_us)
{
    for (int64_t end_us = now_us + for_us; now_us < end_us; look(MS / 4))
        for (size_t i = 0; i < count; i++) {
            if (word(slots[i]) & ATH_TURN_BACK &&
                atomic_load(&wish(slots[i])->returned) != ath_turn_number(word(slots[i])))
                give_back(slots[i], true);
            else
                want(slots[i]);
        }
}

static int64_t used_us(size_t slot)
{
    return atomic_load(&board->turns.grants[slot].used_us);
}

/* The part of the first of two sessions, in percent. */
static double part_of(size_t slot, size_t other)
{
    return 100.0 * (double)used_us(slot) / (double)(used_us(slot) + used_us(other));
}

/* ---- turns ---- */

TEST(gives_turns_one_after_the_other)
{
    come(FIRST, "");
    come(SECOND, "");
    look(0);
    ck_assert(!passes(FIRST) && !passes(SECOND));
    want(FIRST);
    want(SECOND);
    look(10);
    ck_assert_int_eq(passes(FIRST) + passes(SECOND), 1);
    size_t holder = passes(FIRST) ? FIRST : SECOND, other = FIRST + SECOND - holder;
    ck_assert(word(holder) & ATH_TURN_WAITED);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[holder].state), ATH_GPU_TURN_STATE_HOLDS);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[other].state), ATH_GPU_TURN_STATE_WAITS);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[other].waits_for),
                      atomic_load(&board->known[holder].id));
    look(100 * MS);
    look(10);
    ck_assert(word(holder) & ATH_TURN_BACK);
    ck_assert(!passes(holder) && !passes(other)); /* the holder's work goes on */
    give_back(holder, false);
    look(10);
    ck_assert(passes(other) && !(word(holder) & ATH_TURN_GIVEN));
    ck_assert_uint_eq(atomic_load(&board->turns.shown[holder].state), ATH_GPU_TURN_STATE_IDLE);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[other].waits_for), 0);
}

TEST(sleeps_without_sessions)
{
    look(0);
    ck_assert_int_eq(next_us, INT64_MAX);
    come(FIRST, "");
    look(0);
    ck_assert_int_le(next_us, now_us + SECOND_US);
    ck_assert_uint_eq(atomic_load(&board->turns.beat_ms), (uint64_t)now_us / 1000);
    look(SECOND_US);
    ck_assert_uint_eq(atomic_load(&board->turns.beat_ms), (uint64_t)now_us / 1000);
    go(FIRST);
    look(0);
    ck_assert_int_eq(next_us, INT64_MAX);
}

/* Only programs that have proven a key take part. */
TEST(ignores_sessions_of_other_kinds)
{
    come(FIRST, "");
    ath_session_board_note(board, FIRST, ATH_GPU_PURPOSE_CONTROL, "");
    come(SECOND, "");
    atomic_store(&board->known[SECOND].is_proven, false);
    want(FIRST);
    want(SECOND);
    look(0);
    ck_assert_int_eq(next_us, INT64_MAX);
    ck_assert_uint_eq(word(FIRST), 0);
    ck_assert_uint_eq(word(SECOND), 0);
}

TEST(gives_the_turn_of_a_session_that_ends)
{
    come(FIRST, "");
    come(SECOND, "");
    want(FIRST);
    look(0);
    want(SECOND);
    look(MS);
    ck_assert(passes(FIRST) && !passes(SECOND));
    go(FIRST);
    look(10);
    ck_assert(passes(SECOND));
    ck_assert_uint_eq(word(FIRST), 0);
    ck_assert_uint_eq(atomic_load(&board->turns.grants[FIRST].session), 0);
}

/* Another session at the slot has neither the turn nor the figures of the one before. */
TEST(begins_again_at_a_slot)
{
    come(FIRST, "");
    want(FIRST);
    look(0);
    look(SECOND_US);
    ck_assert_int_gt(used_us(FIRST), 0);
    go(FIRST);
    come(FIRST, ""); /* without a look between */
    look(10);
    ck_assert_uint_eq(word(FIRST), 0);
    ck_assert_int_eq(used_us(FIRST), 0);
    ck_assert_uint_eq(atomic_load(&board->turns.grants[FIRST].session), last_session);
}

/* Sessions at different GPUs do not wait for each other. */
TEST(gives_turns_on_each_device)
{
    come(FIRST, "");
    come(SECOND, "");
    atomic_store(&wish(SECOND)->devices, 2);
    want(FIRST);
    want(SECOND);
    look(10);
    ck_assert(passes(FIRST) && passes(SECOND));
}

/* A session that says it uses GPUs which it may not use, or which do not exist, stops no other. */
TEST(believes_no_session_about_other_devices)
{
    come(FIRST, "");
    come(SECOND, "");
    atomic_store(&board->known[SECOND].allowed_devices, 2);
    atomic_store(&wish(SECOND)->devices, UINT64_MAX);
    want(SECOND);
    look(10);
    want(FIRST);
    look(10);
    ck_assert(passes(FIRST) && passes(SECOND));
}

/* Any other number than that of its turn gives nothing back, so nonsense harms its writer only. */
TEST(ignores_numbers_of_other_turns)
{
    come(FIRST, "");
    come(SECOND, "");
    want(FIRST);
    look(0);
    uint32_t held = word(FIRST);
    for (uint32_t number = ath_turn_number(held) + 1; number; number <<= 1) {
        atomic_store(&wish(FIRST)->returned, number);
        look(10);
        ck_assert_uint_eq(ath_turn_number(word(FIRST)), ath_turn_number(held));
        ck_assert(passes(FIRST));
    }
    memset(wish(FIRST), 0xff, sizeof *wish(FIRST));
    atomic_store(&board->slots[FIRST].entry.asked_share, INT_MIN);
    atomic_store(&board->slots[FIRST].entry.asked_priority, 77);
    want(SECOND);
    work((const size_t[]){ SECOND }, 1, SECOND_US / 10);
    look(3 * SECOND_US);
    look(10);
    look(10);
    ck_assert(passes(SECOND)); /* the other one is overdue */
}

/* ---- claims ---- */

TEST(shares_time_by_what_sessions_ask_for)
{
    begin(ATH_GPU_SHARING_AUTO);
    come(FIRST, "");
    come(SECOND, "");
    atomic_store(&board->slots[FIRST].entry.asked_share, 20);
    atomic_store(&board->slots[SECOND].entry.asked_share, 80);
    work((const size_t[]){ FIRST, SECOND }, 2, 10 * (int64_t)SECOND_US);
    ck_assert_double_eq_tol(part_of(FIRST, SECOND), 20, 2);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[FIRST].share_parts), 2000);
    int64_t before = used_us(FIRST), before_other = used_us(SECOND);
    atomic_store(&board->known[FIRST].set_share, 80); /* while it runs */
    atomic_store(&board->known[SECOND].set_share, 20);
    work((const size_t[]){ FIRST, SECOND }, 2, 10 * (int64_t)SECOND_US);
    double part = (double)(used_us(FIRST) - before) /
                  (double)(used_us(FIRST) - before + used_us(SECOND) - before_other);
    ck_assert_double_eq_tol(100 * part, 80, 2);
}

/* Alone with a cap, too. */
TEST(shows_no_more_than_a_cap)
{
    come(FIRST, "");
    atomic_store(&board->slots[FIRST].entry.asked_share, 30);
    look(0);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[FIRST].share_parts), 10000);
    atomic_store(&board->slots[FIRST].entry.asked_cap, 1);
    look(MS);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[FIRST].share_parts), 3000);
    atomic_store(&board->known[FIRST].identity_share, 20);
    atomic_store(&board->known[FIRST].identity_cap, 1);
    look(MS);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[FIRST].share_parts), 2000);
}

/* Two sessions of one identity have its share together. */
TEST(shares_time_among_identities)
{
    const size_t all[] = { FIRST, SECOND, THIRD };
    come(FIRST, "alice");
    come(SECOND, "bob");
    come(THIRD, "bob");
    for (size_t i = 0; i < ATH_COUNT(all); i++)
        atomic_store(&board->known[all[i]].identity_share, i ? 30 : 70);
    work(all, ATH_COUNT(all), 10 * (int64_t)SECOND_US);
    double sum = (double)(used_us(FIRST) + used_us(SECOND) + used_us(THIRD));
    ck_assert_double_eq_tol(100 * (double)used_us(FIRST) / sum, 70, 2);
    ck_assert_double_eq_tol(100 * (double)used_us(SECOND) / sum, 15, 2);
}

TEST(lets_all_work_at_once_without_claims)
{
    begin(ATH_GPU_SHARING_AUTO);
    come(FIRST, "");
    come(SECOND, "");
    want(FIRST);
    want(SECOND);
    look(0);
    ck_assert(passes(FIRST) && passes(SECOND));
    ck_assert_uint_eq(atomic_load(&board->turns.shown[FIRST].state), ATH_GPU_TURN_STATE_FREE);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[FIRST].share_parts), 0);
    atomic_store(&board->known[FIRST].set_priority, ATH_GPU_PRIORITY_HIGH);
    work((const size_t[]){ FIRST, SECOND }, 2, SECOND_US / 10);
    ck_assert(passes(FIRST) && !passes(SECOND)); /* from the first claim on there are turns */
}

static struct ath_session_claim claim(size_t slot)
{
    struct ath_session_claim claim;
    ath_session_claim_read(board, slot, &claim);
    return claim;
}

TEST(knows_who_made_a_claim)
{
    struct ath_session_board_entry *entry = come(FIRST, "alice");
    struct ath_session_board_known *known = &board->known[FIRST];
    ck_assert_uint_eq(claim(FIRST).share_percent, 0);
    ck_assert_int_eq(claim(FIRST).share_source, ATH_GPU_LIMIT_SOURCE_NONE);
    ck_assert_int_eq(claim(FIRST).priority, ATH_GPU_PRIORITY_NORMAL);
    ck_assert_int_eq(claim(FIRST).priority_source, ATH_GPU_LIMIT_SOURCE_NONE);

    atomic_store(&known->identity_share, 30);
    ck_assert_uint_eq(claim(FIRST).identity_share_percent, 30);
    ck_assert_int_eq(claim(FIRST).share_source, ATH_GPU_LIMIT_SOURCE_IDENTITY);

    atomic_store(&entry->asked_share, 100);
    atomic_store(&entry->asked_cap, 5);
    atomic_store(&entry->asked_priority, ATH_GPU_PRIORITY_HIGH);
    ck_assert_uint_eq(claim(FIRST).share_percent, 100);
    ck_assert(claim(FIRST).is_capped);
    ck_assert_int_eq(claim(FIRST).share_source, ATH_GPU_LIMIT_SOURCE_ASKED);
    ck_assert_int_eq(claim(FIRST).priority, ATH_GPU_PRIORITY_HIGH);
    ck_assert_int_eq(claim(FIRST).priority_source, ATH_GPU_LIMIT_SOURCE_ASKED);

    atomic_store(&known->identity_priority, ATH_GPU_PRIORITY_LOW);
    ck_assert_int_eq(claim(FIRST).priority, ATH_GPU_PRIORITY_LOW);
    ck_assert_int_eq(claim(FIRST).priority_source, ATH_GPU_LIMIT_SOURCE_IDENTITY);

    atomic_store(&known->identity_priority, ATH_GPU_PRIORITY_UNSET);
    atomic_store(&known->set_share, 0);
    atomic_store(&known->set_priority, ATH_GPU_PRIORITY_LOW);
    ck_assert_uint_eq(claim(FIRST).share_percent, 0); /* the program's share was taken away */
    ck_assert(claim(FIRST).is_capped);
    ck_assert_int_eq(claim(FIRST).share_source, ATH_GPU_LIMIT_SOURCE_IDENTITY);
    atomic_store(&known->identity_share, 0);
    ck_assert_int_eq(claim(FIRST).share_source, ATH_GPU_LIMIT_SOURCE_SET);
    ck_assert_int_eq(claim(FIRST).priority, ATH_GPU_PRIORITY_LOW);
    ck_assert_int_eq(claim(FIRST).priority_source, ATH_GPU_LIMIT_SOURCE_SET);
    atomic_store(&known->set_cap, 0);
    ck_assert(!claim(FIRST).is_capped);
}

TEST(ignores_claims_that_do_not_exist)
{
    static const int shares[] = { INT_MIN, -1, 101, INT_MAX };
    static const int priorities[] = { INT_MIN, -1, 4, INT_MAX };
    struct ath_session_board_entry *entry = come(FIRST, "");
    for (size_t i = 0; i < ATH_COUNT(shares); i++) {
        atomic_store(&entry->asked_share, shares[i]);
        atomic_store(&entry->asked_priority, priorities[i]);
        ck_assert_uint_eq(claim(FIRST).share_percent, 0);
        ck_assert_int_eq(claim(FIRST).priority, ATH_GPU_PRIORITY_NORMAL);
    }
}

/* ---- another arbiter ---- */

TEST(goes_on_with_the_turns_of_the_arbiter_before)
{
    come(FIRST, "");
    come(SECOND, "");
    work((const size_t[]){ FIRST, SECOND }, 2, SECOND_US);
    while (!passes(FIRST))
        work((const size_t[]){ FIRST, SECOND }, 2, 1);
    uint32_t held = word(FIRST), other = word(SECOND);
    int64_t used = used_us(FIRST);
    uint64_t count = atomic_load(&board->turns.grants[FIRST].turns);
    ck_assert_int_gt(used, 0);
    begin(ATH_GPU_SHARING_TURNS);
    look(10);
    ck_assert_uint_eq(ath_turn_number(word(FIRST)), ath_turn_number(held));
    ck_assert(word(FIRST) & ATH_TURN_GIVEN && !(word(SECOND) & ATH_TURN_GIVEN));
    ck_assert_int_ge(used_us(FIRST), used);
    ck_assert_uint_ge(atomic_load(&board->turns.grants[FIRST].turns), count);
    work((const size_t[]){ FIRST, SECOND }, 2, SECOND_US);
    ck_assert_int_gt(ath_turn_number(word(SECOND)), ath_turn_number(other));
    ck_assert_double_eq_tol(part_of(FIRST, SECOND), 50, 3);
}

/* A turn that was given back while there was no arbiter is over, and its number is not used again:
 * the session would seem to have given the next turn back already. */
TEST(knows_what_was_given_back_without_an_arbiter)
{
    come(FIRST, "");
    work((const size_t[]){ FIRST }, 1, 10 * MS);
    uint32_t held = word(FIRST);
    ck_assert(held & ATH_TURN_GIVEN);
    give_back(FIRST, false);
    begin(ATH_GPU_SHARING_TURNS);
    look(10);
    ck_assert(!(word(FIRST) & ATH_TURN_GIVEN));
    want(FIRST);
    look(10);
    ck_assert(passes(FIRST));
    ck_assert_uint_ne(ath_turn_number(word(FIRST)), ath_turn_number(held));
}

/* A session may have ended, and another one begun at its slot. */
TEST(does_not_give_the_turns_of_others)
{
    come(FIRST, "");
    work((const size_t[]){ FIRST }, 1, 10 * MS);
    go(FIRST);
    come(FIRST, "");
    begin(ATH_GPU_SHARING_TURNS);
    look(10);
    ck_assert_uint_eq(word(FIRST), 0);
    ck_assert_int_eq(used_us(FIRST), 0);
}

/* ---- figures ---- */

TEST(shows_sessions_and_their_figures)
{
    struct ath_turn_view view;
    struct ath_session_figures figures;
    come(FIRST, "");
    come(SECOND, "");
    work((const size_t[]){ FIRST, SECOND }, 2, SECOND_US);
    size_t waiter = word(FIRST) & ATH_TURN_GIVEN ? SECOND : FIRST;
    uint64_t id = atomic_load(&board->known[waiter].id);
    uint64_t now_ms = (uint64_t)now_us / 1000;
    ath_turns_page_view(&board->turns, waiter, id, now_ms, &view);
    ck_assert_int_eq(view.state, ATH_GPU_TURN_STATE_WAITS);
    ck_assert_uint_eq(view.waits_for, atomic_load(&board->known[FIRST + SECOND - waiter].id));
    ck_assert_double_eq_tol(view.share_percent, 50, 0.01);
    ath_turns_page_view(&board->turns, waiter, id + 77, now_ms, &view);
    ck_assert_int_eq(view.state, ATH_GPU_TURN_STATE_UNKNOWN);
    ck_assert_double_eq(view.share_percent, ATH_UNKNOWN);
    ath_turns_page_view(&board->turns, waiter, id, now_ms + ATH_TURNS_STALE_MS + 1, &view);
    ck_assert_int_eq(view.state, ATH_GPU_TURN_STATE_UNKNOWN);

    ath_session_figures_init(&figures);
    figures.id = id;
    ath_turns_page_figures(&board->turns, waiter, &figures);
    ck_assert_int_gt(figures.held_us, SECOND_US / 3);
    ck_assert_int_gt(figures.turn_waited_us, SECOND_US / 3);
    ck_assert_int_gt(figures.turns, 10);
    ck_assert_int_eq(figures.gpu_time_us, ATH_UNKNOWN); /* it is another thing */
    ath_session_figures_init(&figures);
    figures.id = id + 77;
    ath_turns_page_figures(&board->turns, waiter, &figures);
    ck_assert_int_eq(figures.held_us, ATH_UNKNOWN);
}
