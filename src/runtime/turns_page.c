/* Reads the turns on the board. */
#include "config.h"

#include "runtime/turns_page.h"

#include "base/unknown.h"

void ath_turns_page_view(const struct ath_turns_page *page, size_t slot, uint64_t session,
                         uint64_t now_ms, struct ath_turn_view *out)
{
    const struct ath_turn_shown *shown = &page->shown[slot];
    uint32_t parts = atomic_load(&shown->share_parts);
    *out = (struct ath_turn_view){ .share_percent = ATH_UNKNOWN, .state_ms = ATH_UNKNOWN };
    uint64_t since_ms = atomic_load(&shown->since_ms);
    if (atomic_load(&shown->session) != session ||
        atomic_load(&page->beat_ms) + ATH_TURNS_STALE_MS < now_ms)
        return;
    out->state = (enum ath_gpu_turn_state)atomic_load(&shown->state);
    out->state_ms = since_ms < now_ms ? (int64_t)(now_ms - since_ms) : 0;
    out->waits_for = atomic_load(&shown->waits_for);
    out->share_percent = parts ? parts / 100.0 : ATH_UNKNOWN;
}

void ath_turns_page_figures(const struct ath_turns_page *page, size_t slot,
                            struct ath_session_figures *session)
{
    const struct ath_turn_grant *grant = &page->grants[slot];
    if (atomic_load(&grant->session) != session->id)
        return;
    session->held_us = atomic_load(&grant->used_us);
    session->turn_waited_us = atomic_load(&grant->waited_us);
    session->lent_us = atomic_load(&grant->lent_us);
    session->turns = (int64_t)atomic_load(&grant->turns);
}
