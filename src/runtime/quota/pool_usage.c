/* Counts the memory that pools have reserved. */
#include "config.h"

#include "runtime/quota/pool_usage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/quota/ledger.h"

struct ath_pool {
    struct ath_pool *next;
    CUmemoryPool handle;
    size_t device;
    int64_t given;   /* to the program: its allocations, and those in progress */
    int64_t charged; /* to the session; never less than given */
    bool is_destroyed;
};

static struct {
    struct ath_cuda_driver driver;
    ath_pool_usage_charge charge;
    pthread_mutex_t lock; /* of what follows */
    struct ath_pool *all;
    atomic_bool keeps; /* a pool has more than it has given */
} pools = { .lock = PTHREAD_MUTEX_INITIALIZER };

void ath_pool_usage_begin(const struct ath_cuda_driver *driver, ath_pool_usage_charge charge)
{
    pools.driver = *driver;
    pools.charge = charge;
}

/* Asks the driver how much a pool has reserved; 0 if the driver cannot say. */
static int64_t reserved_of(const struct ath_pool *pool)
{
    uint64_t bytes = 0;
    if (pool->is_destroyed || !pools.driver.cuMemPoolGetAttribute ||
        pools.driver.cuMemPoolGetAttribute(pool->handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                           &bytes))
        return 0;
    return ath_ledger_bytes(bytes);
}

/* The caller has the lock. */
static void count_pool(struct ath_pool *pool)
{
    int64_t reserved = reserved_of(pool);
    int64_t now = reserved > pool->given ? reserved : pool->given;
    if (pool->device != SIZE_MAX && now != pool->charged)
        pools.charge(pool->device, now - pool->charged, true);
    pool->charged = now;
    if (now > pool->given)
        pools.keeps = true;
}

static void count_all(void)
{
    pools.keeps = false;
    for (struct ath_pool *pool = pools.all; pool; pool = pool->next)
        count_pool(pool);
}

void ath_pool_usage_count(void)
{
    pthread_mutex_lock(&pools.lock);
    count_all();
    pthread_mutex_unlock(&pools.lock);
}

void ath_pool_usage_settle(void)
{
    if (pools.keeps)
        ath_pool_usage_count();
}

/* The caller has the lock. */
static struct ath_pool *find_pool(CUmemoryPool handle)
{
    struct ath_pool *pool = pools.all;
    while (pool && (pool->is_destroyed || pool->handle != handle))
        pool = pool->next;
    return pool;
}

/* The caller has the lock. */
static struct ath_pool *make_pool(CUmemoryPool handle, size_t device)
{
    struct ath_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        *pool = (struct ath_pool){ .next = pools.all, .handle = handle, .device = device };
        pools.all = pool;
    }
    return pool;
}

void ath_pool_usage_made(CUmemoryPool handle, size_t device)
{
    pthread_mutex_lock(&pools.lock);
    (void)make_pool(handle, device); /* if it fails, the pool is entered at its first use */
    pthread_mutex_unlock(&pools.lock);
}

struct ath_pool *ath_pool_usage_find(CUmemoryPool handle, size_t (*device_of)(CUmemoryPool handle))
{
    pthread_mutex_lock(&pools.lock);
    struct ath_pool *pool = find_pool(handle);
    if (!pool)
        pool = make_pool(handle, device_of(handle));
    pthread_mutex_unlock(&pools.lock);
    return pool;
}

size_t ath_pool_device(const struct ath_pool *pool)
{
    return pool->device;
}

/* Charges the session if the memory that the pool keeps does not suffice. The caller has the
 * lock. */
static bool take(struct ath_pool *pool, int64_t bytes)
{
    int64_t more = pool->given + bytes - pool->charged;
    if (more > 0 && pool->device != SIZE_MAX) {
        if (!pools.charge(pool->device, more, false))
            return false;
        pool->charged += more;
    }
    pool->given += bytes;
    return true;
}

bool ath_pool_usage_keep(void)
{
    return pools.keeps;
}

/* The caller has the lock. */
static bool trim_all(void)
{
    if (!pools.keeps || !pools.driver.cuMemPoolTrimTo)
        return false;
    for (struct ath_pool *pool = pools.all; pool; pool = pool->next)
        if (!pool->is_destroyed)
            pools.driver.cuMemPoolTrimTo(pool->handle, 0);
    count_all();
    return true;
}

bool ath_pool_usage_trim(void)
{
    pthread_mutex_lock(&pools.lock);
    bool is_trimmed = trim_all();
    pthread_mutex_unlock(&pools.lock);
    return is_trimmed;
}

bool ath_pool_take(struct ath_pool *pool, size_t bytes, CUstream stream)
{
    if (bytes > INT64_MAX / 2)
        return false;
    pthread_mutex_lock(&pools.lock);
    bool is_taken = take(pool, (int64_t)bytes);
    if (!is_taken && pools.keeps && pools.driver.cuStreamSynchronize) {
        /* memory that the stream frees before this point is free after it */
        pools.driver.cuStreamSynchronize(stream);
        is_taken = trim_all() && take(pool, (int64_t)bytes);
    }
    pthread_mutex_unlock(&pools.lock);
    return is_taken;
}

void ath_pool_give(struct ath_pool *pool, size_t bytes)
{
    pthread_mutex_lock(&pools.lock);
    pool->given -= (int64_t)bytes;
    count_pool(pool);
    pthread_mutex_unlock(&pools.lock);
}

void ath_pool_usage_destroyed(CUmemoryPool handle)
{
    pthread_mutex_lock(&pools.lock);
    struct ath_pool *pool = find_pool(handle);
    if (pool) {
        pool->is_destroyed = true;
        count_pool(pool);
    }
    pthread_mutex_unlock(&pools.lock);
}
