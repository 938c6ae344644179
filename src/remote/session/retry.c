/* Computes the next attempt of a lost connection. */
#include "config.h"

#include "remote/session/retry.h"

void ath_retry_lost(struct ath_retry *retry, uint64_t now_ms)
{
    uint32_t doubled = retry->pause_ms < ATH_RETRY_PAUSE_MS        ? ATH_RETRY_PAUSE_MS
                       : retry->pause_ms < ATH_RETRY_PAUSE_MOST_MS ? 2 * retry->pause_ms
                                                                   : ATH_RETRY_PAUSE_MOST_MS;
    bool was_firm = !retry->made_ms || now_ms - retry->made_ms >= ATH_RETRY_FIRM_MS;
    retry->pause_ms = was_firm ? 0 : doubled;
    retry->next_ms = now_ms + retry->pause_ms;
    retry->is_lost = true;
}

bool ath_retry_begin(struct ath_retry *retry, uint64_t now_ms)
{
    if (!retry->is_lost || now_ms < retry->next_ms)
        return false;
    retry->is_lost = false;
    retry->made_ms = now_ms;
    return true;
}

void ath_retry_failed(struct ath_retry *retry, uint64_t now_ms)
{
    retry->next_ms = now_ms + ATH_RETRY_PAUSE_MS;
    retry->is_lost = true;
}
