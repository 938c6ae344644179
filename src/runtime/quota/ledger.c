/* A hash map of holdings, and its lock. */
#include "config.h"

#include "runtime/quota/ledger.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/quota/pool_usage.h"
#include "runtime/quota/session_quota.h"

static struct {
    pthread_mutex_t lock; /* of what follows */
    struct ath_map holdings;
} ledger = { .lock = PTHREAD_MUTEX_INITIALIZER, .holdings = ATH_MAP(12) };

/* All functions down to "with the lock taken here" expect that the caller has the lock. */

/* The pointer that links a holding in the map; it points to NULL if there is no such holding. */
static struct ath_map_entry **link_to(enum ath_holding_kind kind, uint64_t value)
{
    struct ath_map_entry **at = ath_map_at(&ledger.holdings, value);
    while (*at && ((const struct ath_holding *)*at)->kind != kind)
        at = ath_map_same(&(*at)->next, value);
    return at;
}

static struct ath_holding *find_holding(enum ath_holding_kind kind, uint64_t value)
{
    return (struct ath_holding *)*link_to(kind, value);
}

static void enter(struct ath_holding *holding, uint64_t value)
{
    ath_map_add(&ledger.holdings, &holding->entry, value);
}

static bool share_out(struct ath_holding *holding)
{
    struct ath_holding *shared = calloc(1, sizeof *shared);
    if (shared)
        holding->share = ath_quota.books->share_make(holding->device, holding->bytes);
    if (!holding->share) {
        free(shared);
        return false;
    }
    *shared = (struct ath_holding){ .kind = ATH_HOLDING_SHARED, .references = 1 };
    enter(shared, holding->share);
    return true;
}

static bool hold_share(uint64_t share)
{
    struct ath_holding *shared = find_holding(ATH_HOLDING_SHARED, share);
    if (!shared) {
        shared = calloc(1, sizeof *shared);
        if (!shared || !ath_quota.books->share_hold(share)) {
            free(shared);
            return false;
        }
        *shared = (struct ath_holding){ .kind = ATH_HOLDING_SHARED };
        enter(shared, share);
    }
    shared->references++;
    return true;
}

static void drop_share(uint64_t share)
{
    struct ath_holding *shared = find_holding(ATH_HOLDING_SHARED, share);
    if (!shared || --shared->references)
        return;
    ath_map_take(link_to(ATH_HOLDING_SHARED, share));
    ath_quota.books->share_drop(share);
    free(shared);
}

static bool add_shared(enum ath_holding_kind kind, uint64_t value, CUcontext context,
                       uint64_t share)
{
    struct ath_holding *holding = find_holding(kind, value);
    if (holding) {
        holding->references++;
        return true;
    }
    holding = calloc(1, sizeof *holding);
    if (!holding || !hold_share(share)) {
        free(holding);
        return false;
    }
    *holding =
        (struct ath_holding){ .kind = kind, .context = context, .references = 1, .share = share };
    enter(holding, value);
    return true;
}

/* Shares a holding unless that has been done. Returns false if there are too many shares. Memory
 * that is not counted (NULL, no bytes) is shared without them. */
static bool may_share(struct ath_holding *holding)
{
    return !holding || !holding->bytes || holding->share || share_out(holding);
}

/* Ends the share of a holding. An allocation also loses the name by which other sessions find it:
 * after cuMemFree() no session may open its IPC handle (cuIpcOpenMemHandle()). */
static void give_share(struct ath_holding *holding)
{
    if (holding->kind == ATH_HOLDING_ADDRESS)
        ath_quota.books->share_name(holding->share, 0);
    drop_share(holding->share);
    holding->share = 0;
    holding->bytes = 0;
}

/* Needs the lock only for a holding with a share. */
static void give(struct ath_holding *holding)
{
    if (!holding)
        return;
    if (holding->share)
        give_share(holding);
    else if (holding->bytes)
        ath_quota.books->give(holding->device, holding->bytes);
    if (holding->pool)
        ath_pool_give(holding->pool, holding->size);
    free(holding);
}

static void release_handle(uint64_t handle)
{
    struct ath_holding *holding = find_holding(ATH_HOLDING_HANDLE, handle);
    if (!holding || --holding->references)
        return;
    give(ath_map_take(link_to(ATH_HOLDING_HANDLE, handle)));
}

/* ---- with the lock taken here ---- */

struct ath_holding *ath_holding_make(size_t device, int64_t bytes, CUcontext context)
{
    struct ath_holding *holding = calloc(1, sizeof *holding);
    if (holding)
        *holding = (struct ath_holding){
            .device = device, .bytes = bytes, .context = context, .references = 1
        };
    return holding;
}

void ath_holding_give(struct ath_holding *holding)
{
    give(holding);
}

CUresult ath_ledger_settle(struct ath_holding *holding, enum ath_holding_kind kind, uint64_t value,
                           CUresult status)
{
    if (status) {
        give(holding);
        return status;
    }
    holding->kind = kind;
    pthread_mutex_lock(&ledger.lock);
    enter(holding, value);
    pthread_mutex_unlock(&ledger.lock);
    return status;
}

struct ath_holding *ath_ledger_withdraw(enum ath_holding_kind kind, uint64_t value)
{
    pthread_mutex_lock(&ledger.lock);
    struct ath_holding *holding = ath_map_take(link_to(kind, value));
    pthread_mutex_unlock(&ledger.lock);
    return holding;
}

CUresult ath_ledger_conclude(struct ath_holding *holding, CUresult status)
{
    if (!holding)
        return status;
    pthread_mutex_lock(&ledger.lock);
    if (status)
        enter(holding, holding->entry.key);
    else if (holding->share)
        give_share(holding);
    pthread_mutex_unlock(&ledger.lock);
    if (!status) /* without the lock: another thread may hold the pool's, waiting for a stream */
        give(holding);
    return status;
}

void ath_ledger_retain_handle(uint64_t handle)
{
    pthread_mutex_lock(&ledger.lock);
    struct ath_holding *holding = find_holding(ATH_HOLDING_HANDLE, handle);
    if (holding)
        holding->references++;
    pthread_mutex_unlock(&ledger.lock);
}

void ath_ledger_release_handle(uint64_t handle)
{
    pthread_mutex_lock(&ledger.lock);
    release_handle(handle);
    pthread_mutex_unlock(&ledger.lock);
}

/*
 * Ending a holding may take another one out of the map. So the holdings that end are collected
 * first: the chain goes by `entry.next`.
 */
static void end_all(struct ath_map_entry *ended)
{
    for (struct ath_map_entry *next; ended; ended = next) {
        struct ath_holding *holding = (struct ath_holding *)ended;
        bool is_mapping = holding->kind == ATH_HOLDING_MAPPED;
        uint64_t handle = holding->handle;
        next = ended->next;
        give(holding);
        if (is_mapping)
            release_handle(handle);
    }
}

static void collect(struct ath_map_entry **at, struct ath_map_entry **ended)
{
    struct ath_map_entry *taken = ath_map_take(at);
    taken->next = *ended;
    *ended = taken;
}

void ath_ledger_unmap(CUdeviceptr address, size_t size)
{
    struct ath_map_entry *ended = NULL;
    pthread_mutex_lock(&ledger.lock);
    ATH_MAP_EACH(&ledger.holdings, at)
    if (((const struct ath_holding *)*at)->kind == ATH_HOLDING_MAPPED && (*at)->key >= address &&
        (*at)->key - address < size)
        collect(at, &ended);
    end_all(ended);
    pthread_mutex_unlock(&ledger.lock);
}

void ath_ledger_drop_context(CUcontext context)
{
    struct ath_map_entry *ended = NULL;
    if (!context)
        return;
    pthread_mutex_lock(&ledger.lock);
    ATH_MAP_EACH(&ledger.holdings, at)
    if (((const struct ath_holding *)*at)->context == context)
        collect(at, &ended);
    end_all(ended);
    pthread_mutex_unlock(&ledger.lock);
}

bool ath_ledger_share_address(CUdeviceptr address, uint64_t name)
{
    pthread_mutex_lock(&ledger.lock);
    struct ath_holding *holding = find_holding(ATH_HOLDING_ADDRESS, address);
    bool is_counted = may_share(holding);
    if (is_counted && holding && holding->share)
        ath_quota.books->share_name(holding->share, name);
    pthread_mutex_unlock(&ledger.lock);
    return is_counted;
}

bool ath_ledger_share_handle(uint64_t handle, uint64_t *out_share)
{
    pthread_mutex_lock(&ledger.lock);
    struct ath_holding *holding = find_holding(ATH_HOLDING_HANDLE, handle);
    bool is_counted = may_share(holding);
    if (is_counted && holding && holding->share && hold_share(holding->share))
        *out_share = holding->share;
    pthread_mutex_unlock(&ledger.lock);
    return is_counted;
}

bool ath_ledger_hold_share(uint64_t share)
{
    pthread_mutex_lock(&ledger.lock);
    bool is_held = hold_share(share);
    pthread_mutex_unlock(&ledger.lock);
    return is_held;
}

void ath_ledger_drop_share(uint64_t share)
{
    pthread_mutex_lock(&ledger.lock);
    drop_share(share);
    pthread_mutex_unlock(&ledger.lock);
}

bool ath_ledger_add_shared(enum ath_holding_kind kind, uint64_t value, CUcontext context,
                           uint64_t share)
{
    pthread_mutex_lock(&ledger.lock);
    bool is_added = add_shared(kind, value, context, share);
    pthread_mutex_unlock(&ledger.lock);
    return is_added;
}

struct ath_holding *ath_ledger_withdraw_opened(CUdeviceptr address)
{
    pthread_mutex_lock(&ledger.lock);
    struct ath_holding *opened = find_holding(ATH_HOLDING_OPENED, address);
    if (opened && --opened->references)
        opened = NULL;
    else if (opened)
        ath_map_take(link_to(ATH_HOLDING_OPENED, address));
    pthread_mutex_unlock(&ledger.lock);
    return opened;
}

void ath_ledger_restore_opened(CUdeviceptr address, struct ath_holding *withdrawn)
{
    pthread_mutex_lock(&ledger.lock);
    if (withdrawn)
        enter(withdrawn, address);
    else
        withdrawn = find_holding(ATH_HOLDING_OPENED, address);
    if (withdrawn)
        withdrawn->references++;
    pthread_mutex_unlock(&ledger.lock);
}
