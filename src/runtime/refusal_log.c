/* Counts lines in each second. */
#include "config.h"

#include "runtime/refusal_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "runtime/event_log.h"

void ath_refusal_log_settle(struct ath_refusal_log *log)
{
    char count[24];
    if (!log->left_out || ath_now_ms() - log->second_ms < 1000)
        return;
    snprintf(count, sizeof count, "%" PRIu64, log->left_out);
    ath_event_log(ATH_EVENT_WARNING, "refusals-left-out", "count", count, NULL);
    log->left_out = 0;
}

void ath_refusal_log(struct ath_refusal_log *log, const char *event, const char *peer,
                     const char *reason, const char *detail)
{
    uint64_t now_ms = ath_now_ms();
    ath_refusal_log_settle(log);
    if (now_ms - log->second_ms >= 1000) {
        log->second_ms = now_ms;
        log->lines = 0;
    }
    if (log->lines == ATH_REFUSAL_LINES) {
        log->left_out++;
        return;
    }
    log->lines++;
    ath_event_log(ATH_EVENT_WARNING, event, "peer", peer, "reason", reason, "detail", detail, NULL);
}
