/*
 * When a connection that was lost is made again: at once; after an attempt that failed each second,
 * so that a link that comes back is soon used; and if it is lost again soon after it was made,
 * after a pause that doubles each time. So a path that seems to fail all the time, as on a machine
 * that is too busy, costs little. Moments are of ath_now_ms().
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
    ATH_RETRY_PAUSE_MS = 1000,
    ATH_RETRY_PAUSE_MOST_MS = 16000,
    ATH_RETRY_FIRM_MS = 10000, /* a connection that lasts so long has no pause behind it */
};

/* {} is that of a connection that was made long ago. */
struct ath_retry {
    uint64_t made_ms, next_ms; /* it was made; it is due, if it is lost */
    uint32_t pause_ms;         /* behind the last loss */
    bool is_lost;
};

void ath_retry_lost(struct ath_retry *retry, uint64_t now_ms);

/* Returns whether it should be made again now. Then it counts as made until it is lost again, or
 * until the attempt has failed. */
bool ath_retry_begin(struct ath_retry *retry, uint64_t now_ms);
void ath_retry_failed(struct ath_retry *retry, uint64_t now_ms);
