/* Taking memory on the board, and what is tried when the share is full. */
#include "config.h"

#include "runtime/quota/room.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "runtime/event_log.h"
#include "runtime/quota/graphs.h"
#include "runtime/quota/pool_usage.h"
#include "runtime/quota/quota.h"
#include "runtime/quota/session_quota.h"

bool ath_room_take_bytes(size_t device, int64_t bytes)
{
    return ath_session_board_take_memory(ath_quota.server->board, ath_quota.entry, device, bytes,
                                         ath_quota_limit(ath_quota.server, device));
}

void ath_room_log_full(size_t device, uint64_t asked_bytes)
{
    static atomic_bool is_logged;
    if (atomic_exchange(&is_logged, true))
        return;
    const long long numbers[] = { (long long)device, (long long)asked_bytes,
                                  (long long)ath_session_board_memory(ath_quota.server->board,
                                                                      device, NULL),
                                  (long long)ath_quota_limit(ath_quota.server, device) };
    char text[4][24];
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        snprintf(text[i], sizeof text[i], "%lld", numbers[i]);
    ath_event_log(ATH_EVENT_WARNING, "share-reached", "peer", ath_quota.entry->peer, "device",
                  text[0], "asked_bytes", text[1], "allocated_bytes", text[2], "limit_bytes",
                  text[3], NULL);
}

/*
 * Frees memory that is counted and that no allocation uses: pools' and graphs'. Like a driver, it
 * first waits for streams that have still to free their pools' memory, but not during a capture,
 * which waiting would invalidate. Returns whether there may be more room now.
 */
static bool reclaim(void)
{
    bool is_capturing = ath_quota.session->captures.count;
    if (!is_capturing && ath_pool_usage_keep() && ath_quota.driver.cuCtxSynchronize)
        ath_quota.driver.cuCtxSynchronize();
    bool is_trimmed = ath_pool_usage_trim();
    ath_graphs_count();
    return is_trimmed || ath_graphs_have_memory();
}

struct ath_holding *ath_room_take(size_t device, uint64_t bytes, CUcontext context)
{
    struct ath_holding *holding = ath_holding_make(device, 0, context);
    if (!holding || device == SIZE_MAX)
        return holding;
    int64_t counted = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    if (!ath_room_take_bytes(device, counted) &&
        (!reclaim() || !ath_room_take_bytes(device, counted))) {
        ath_room_log_full(device, bytes);
        ath_holding_give(holding);
        return NULL;
    }
    holding->bytes = counted;
    return holding;
}
