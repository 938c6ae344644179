/* Taking memory, and what is tried when a limit is reached. */
#include "config.h"

#include "runtime/quota/room.h"

#include <stdatomic.h>

#include "runtime/quota/graphs.h"
#include "runtime/quota/pool_usage.h"
#include "runtime/quota/session_quota.h"

bool ath_room_take_bytes(size_t device, int64_t bytes)
{
    return ath_quota.books->take(device, bytes);
}

bool ath_room_is_beyond(size_t device)
{
    struct ath_books_page page;
    if (ath_quota.books->only_counts)
        return false;
    ath_quota.books->look(device, &page);
    for (size_t i = 0; i < ATH_BOOKS_OWNERS; i++)
        if (page.of[i].limit_bytes >= 0 && page.of[i].used_bytes > page.of[i].limit_bytes)
            return true;
    return false;
}

void ath_room_log_full(size_t device, uint64_t asked_bytes)
{
    static atomic_bool is_logged;
    if (!atomic_exchange(&is_logged, true))
        ath_quota.books->log(ATH_BOOKS_SHARE_REACHED, device, ath_ledger_bytes(asked_bytes));
}

/*
 * Frees memory that is counted and that no allocation uses: pools' and graphs'. Like a driver, it
 * first waits for streams that have still to free their pools' memory, but not during a capture,
 * which waiting would invalidate. Returns whether there may be more room now.
 */
static bool reclaim(void)
{
    bool is_capturing = atomic_load(ath_quota.captures);
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
    ath_quota_find_primary();
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
