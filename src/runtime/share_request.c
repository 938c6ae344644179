/* Questions about shares. */
#include "config.h"

#include "runtime/share_request.h"

#include "runtime/session_report.h"

/* Returns the answer; 0 if none comes. */
static uint64_t ask(const struct ath_server *server, const struct ath_session_report *question)
{
    uint64_t answer;
    return ath_session_report_ask(server->report_fd, question, &answer) ? 0 : answer;
}

uint64_t ath_share_request_make(const struct ath_server *server, size_t device, int64_t bytes)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE,
                                                 .device = (uint32_t)device,
                                                 .bytes = bytes };
    uint64_t share = ask(server, &question);
    if (share)
        ath_session_board_give_memory(server->entry, device, bytes);
    return share;
}

void ath_share_request_name(const struct ath_server *server, uint64_t share, uint64_t name)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_NAME,
                                                 .object = share,
                                                 .name = name };
    ask(server, &question);
}

uint64_t ath_share_request_find(const struct ath_server *server, uint64_t name)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_FIND, .name = name };
    return ask(server, &question);
}

bool ath_share_request_hold(const struct ath_server *server, uint64_t share)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_HOLD, .object = share };
    return ask(server, &question);
}

void ath_share_request_drop(const struct ath_server *server, uint64_t share)
{
    const struct ath_session_report question = { .asks = ATH_ASK_SHARE_DROP, .object = share };
    ask(server, &question);
}
