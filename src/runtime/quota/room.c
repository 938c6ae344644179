/* Taking memory on the board, and what is tried when a limit is reached. */
#include "config.h"

#include "runtime/quota/room.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/unknown.h"
#include "runtime/event_log.h"
#include "runtime/quota/graphs.h"
#include "runtime/quota/pool_usage.h"
#include "runtime/quota/quota.h"
#include "runtime/quota/session_quota.h"

/* Memory beyond this is more than any GPU has. The limit keeps the sum of all sessions' bytes small
 * enough to be counted. */
enum { BYTES_MAX_SHIFT = 48 };

static int64_t limit_of_share(size_t device)
{
    return ath_quota_limit(ath_quota.server, device);
}

/* A limit that refuses bytes. */
struct refusing {
    const char *name;
    int64_t used_bytes, limit_bytes;
};

static bool refuses(const struct refusing *limit, int64_t asked_bytes)
{
    return limit->limit_bytes >= 0 && asked_bytes > limit->limit_bytes - limit->used_bytes;
}

/* Returns the limit that refuses bytes, or would refuse them: the narrowest kind first. */
static struct refusing find_refusing(size_t device, int64_t asked_bytes)
{
    const struct ath_session_board *board = ath_quota.server->board;
    struct refusing limit = { "session", ath_session_board_own(board, ath_quota.entry, device),
                              atomic_load(&ath_quota.entry->limit_bytes[device]) };
    if (refuses(&limit, asked_bytes))
        return limit;
    limit.name = "identity";
    ath_session_board_of_identity(board, ath_quota.entry, device, &limit.used_bytes,
                                  &limit.limit_bytes);
    if (refuses(&limit, asked_bytes))
        return limit;
    return (struct refusing){ "share", ath_session_board_memory(board, device, NULL),
                              limit_of_share(device) };
}

static void log_limit(const char *event, size_t device, int64_t asked_bytes)
{
    const struct refusing limit = find_refusing(device, asked_bytes);
    const long long numbers[] = { (long long)device, (long long)asked_bytes,
                                  (long long)limit.used_bytes, (long long)limit.limit_bytes };
    char text[ATH_COUNT(numbers)][24];
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        snprintf(text[i], sizeof text[i], "%lld", numbers[i]);
    ath_event_log(ATH_EVENT_WARNING, event, "peer", ath_quota.entry->peer, "device", text[0],
                  "asked_bytes", text[1], "allocated_bytes", text[2], "limit_bytes", text[3],
                  "limit", limit.name, NULL);
}

/* Takes what the limits refuse, for a server that does not enforce them. */
static bool take_beyond(size_t device, int64_t bytes)
{
    static atomic_bool is_logged;
    if (!ath_quota.server->only_counts || bytes > INT64_C(1) << BYTES_MAX_SHIFT)
        return false;
    if (!atomic_exchange(&is_logged, true))
        log_limit("limit-exceeded", device, bytes);
    ath_session_board_give_memory(ath_quota.entry, device, -bytes);
    atomic_fetch_or(&ath_quota.entry->devices, UINT64_C(1) << device);
    return true;
}

bool ath_room_take_bytes(size_t device, int64_t bytes)
{
    return ath_session_board_take_memory(ath_quota.server->board, ath_quota.entry, device, bytes,
                                         limit_of_share(device)) ||
           take_beyond(device, bytes);
}

bool ath_room_is_beyond(size_t device)
{
    int64_t used, limit;
    if (ath_quota.server->only_counts)
        return false;
    ath_quota_of_device(ath_quota.server, device, &used, &limit);
    return (limit != ATH_UNKNOWN && used > limit) ||
           ath_session_board_is_beyond(ath_quota.server->board, ath_quota.entry, device);
}

void ath_room_log_full(size_t device, uint64_t asked_bytes)
{
    static atomic_bool is_logged;
    if (!atomic_exchange(&is_logged, true))
        log_limit("share-reached", device, ath_ledger_bytes(asked_bytes));
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

bool ath_room_make(size_t device, uint64_t bytes)
{
    int64_t counted = ath_ledger_bytes(bytes);
    if (ath_room_take_bytes(device, counted) || (reclaim() && ath_room_take_bytes(device, counted)))
        return true;
    ath_room_log_full(device, bytes);
    return false;
}

struct ath_holding *ath_room_take(size_t device, uint64_t bytes, CUcontext context)
{
    struct ath_holding *holding = ath_holding_make(device, 0, context);
    if (!holding || device == SIZE_MAX)
        return holding;
    if (!ath_room_make(device, bytes)) {
        ath_holding_give(holding);
        return NULL;
    }
    holding->bytes = ath_ledger_bytes(bytes);
    return holding;
}
