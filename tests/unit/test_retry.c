/* When a connection that was lost is made again. */
#include "config.h"

#include "remote/session/retry.h"
#include "unit.h"

SECONDS(5);

enum { BEGIN_MS = 50000 };

/* A connection that is made again, and lost again so many milliseconds later. */
static uint64_t make_and_lose(struct ath_retry *retry, uint64_t now_ms, uint64_t lasts_ms)
{
    ck_assert(ath_retry_begin(retry, now_ms));
    ck_assert(!retry->is_lost);
    ck_assert(!ath_retry_begin(retry, now_ms)); /* it is made */
    ath_retry_lost(retry, now_ms + lasts_ms);
    return now_ms + lasts_ms;
}

TEST(one_that_was_never_lost_is_left_alone)
{
    struct ath_retry retry = { 0 };
    ck_assert(!ath_retry_begin(&retry, BEGIN_MS));
}

TEST(it_is_made_again_at_once_after_the_first_loss)
{
    struct ath_retry retry = { 0 };
    ath_retry_lost(&retry, BEGIN_MS);
    ck_assert(ath_retry_begin(&retry, BEGIN_MS));
}

TEST(an_attempt_that_fails_is_repeated_each_second)
{
    struct ath_retry retry = { 0 };
    uint64_t now_ms = BEGIN_MS;
    ath_retry_lost(&retry, now_ms);
    for (int i = 0; i < 100; i++) {
        ck_assert(ath_retry_begin(&retry, now_ms));
        ath_retry_failed(&retry, now_ms);
        ck_assert(!ath_retry_begin(&retry, now_ms + ATH_RETRY_PAUSE_MS - 1));
        now_ms += ATH_RETRY_PAUSE_MS;
    }
}

TEST(pauses_double_while_it_is_lost_again_and_again)
{
    static const uint64_t pauses_ms[] = { 1000, 2000, 4000, 8000, 16000, 16000, 16000 };
    struct ath_retry retry = { 0 };
    uint64_t now_ms = BEGIN_MS;
    ath_retry_lost(&retry, now_ms);
    for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++) {
        now_ms = make_and_lose(&retry, now_ms, ATH_RETRY_FIRM_MS - 1);
        ck_assert(!ath_retry_begin(&retry, now_ms + pauses_ms[i] - 1));
        now_ms += pauses_ms[i];
    }
}

TEST(one_that_lasts_has_no_pause_behind_it)
{
    struct ath_retry retry = { 0 };
    uint64_t now_ms = BEGIN_MS;
    ath_retry_lost(&retry, now_ms);
    now_ms = make_and_lose(&retry, now_ms, 1) + 1000;
    now_ms = make_and_lose(&retry, now_ms, 1) + 2000;
    now_ms = make_and_lose(&retry, now_ms, ATH_RETRY_FIRM_MS);
    now_ms = make_and_lose(&retry, now_ms, 1); /* and the next pause is the first one again */
    ck_assert(!ath_retry_begin(&retry, now_ms + 999));
    ck_assert(ath_retry_begin(&retry, now_ms + 1000));
}
