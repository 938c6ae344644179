/* Questions about shares. */
#include "config.h"

#include "runtime/quota/share_request.h"

#include "runtime/quota/session_quota.h"
#include "runtime/session_report.h"

/* Returns the answer; 0 if none comes. */
static uint64_t ask(const struct ath_session_report *question)
{
    uint64_t answer;
    return ath_session_report_ask(ath_quota.server->report_fd, question, &answer) ? 0 : answer;
}

uint64_t ath_share_request_make(size_t device, int64_t bytes)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE,
                                                 .device = (uint32_t)device,
                                                 .bytes = bytes };
    uint64_t share = ask(&question);
    if (share)
        ath_session_board_give_memory(ath_quota.entry, device, bytes);
    return share;
}

void ath_share_request_name(uint64_t share, uint64_t name)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_NAME,
                                                 .object = share,
                                                 .name = name };
    ask(&question);
}

uint64_t ath_share_request_find(uint64_t name)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_FIND, .name = name };
    return ask(&question);
}

bool ath_share_request_hold(uint64_t share)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_HOLD, .object = share };
    return ask(&question);
}

void ath_share_request_drop(uint64_t share)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_DROP, .object = share };
    ask(&question);
}
