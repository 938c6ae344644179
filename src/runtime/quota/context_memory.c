/* A table of contexts, and what each of them costs. */
#include "config.h"

#include "runtime/quota/context_memory.h"

#include <pthread.h>

#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"

/* The bytes of a context beside the kernels' stacks: an H200 takes 523.6 MiB in all (driver
 * 580.159), for each context of a process alike. */
enum { BASE_BYTES = 260 << 20 };

/* The limits of a new context (CUDA C++ Programming Guide, "Call Stack", "Heap Memory Allocation",
 * "Formatted Output"). */
enum { FIRST_STACK = 1024, FIRST_HEAP = 8 << 20, FIRST_FIFO = 1 << 20 };

enum setting { STACK, FIFO, HEAP, SETTINGS };

struct counted {
    CUcontext context; /* NULL: the entry is free */
    CUdevice device;
    unsigned int references;
    int64_t own_bytes;
    uint64_t first[SETTINGS], now[SETTINGS]; /* limits, at first and now */
    uint64_t local;                          /* of kernels that belong to this context */
    int64_t counted_bytes;                   /* on the board */
};

static struct {
    pthread_mutex_t lock; /* of what follows */
    struct counted items[ATH_CONTEXTS_MAX];
    uint64_t local; /* of kernels that any context may launch */
    int64_t library_bytes;
} contexts = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The threads that a device can have at once. */
static uint64_t threads_of(CUdevice device)
{
    int processors = 0, threads = 0;
    if (!ath_quota.driver.cuDeviceGetAttribute ||
        ath_quota.driver.cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                              device) ||
        ath_quota.driver.cuDeviceGetAttribute(
            &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device) ||
        processors < 0 || threads < 0)
        return 0;
    return (uint64_t)processors * (uint64_t)threads;
}

int64_t ath_context_memory_expected(CUdevice device)
{
    return BASE_BYTES + (int64_t)(threads_of(device) * FIRST_STACK);
}

/* The caller has the lock in all functions down to "with the lock taken here". */

static struct counted *find(CUcontext context)
{
    struct counted *item = contexts.items;
    while (item < contexts.items + ATH_CONTEXTS_MAX && item->context != context)
        item++;
    return item < contexts.items + ATH_CONTEXTS_MAX ? item : NULL;
}

static struct counted *find_current(void)
{
    CUcontext current = ath_quota_current_context();
    return current ? find(current) : NULL;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Adds up without going beyond what the board can count. */
static int64_t sum(int64_t bytes, uint64_t more)
{
    return more > (uint64_t)(INT64_MAX - bytes) ? INT64_MAX : bytes + (int64_t)more;
}

static int64_t price_of(const struct counted *item)
{
    uint64_t stack = larger(larger(item->now[STACK], item->local), contexts.local), stacks;
    int64_t bytes = sum(item->own_bytes, (uint64_t)contexts.library_bytes);
    if (stack > item->first[STACK]) {
        if (__builtin_mul_overflow(stack - item->first[STACK], threads_of(item->device), &stacks))
            return INT64_MAX;
        bytes = sum(bytes, stacks);
    }
    for (enum setting setting = FIFO; setting < SETTINGS; setting++)
        if (item->now[setting] > item->first[setting])
            bytes = sum(bytes, item->now[setting] - item->first[setting]);
    return bytes;
}

/* Brings the board up to date with what a context costs. Returns false if there is no room. */
static bool reprice(struct counted *item, bool is_there)
{
    int64_t more = price_of(item) - item->counted_bytes;
    size_t device = ath_quota.devices[item->device];
    if (more > 0 && !is_there && !ath_room_make(device, (uint64_t)more))
        return false;
    if (more < 0 || is_there)
        ath_quota.books->give(device, -more);
    item->counted_bytes += more;
    return true;
}

static bool reprice_all(bool is_there)
{
    for (size_t i = 0; i < ATH_CONTEXTS_MAX; i++)
        if (contexts.items[i].context && !reprice(&contexts.items[i], is_there))
            return false;
    return true;
}

static enum setting setting_of(CUlimit limit)
{
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
        return STACK;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        return FIFO;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        return HEAP;
    default:
        return SETTINGS;
    }
}

static void read_settings(struct counted *item)
{
    static const struct {
        CUlimit limit;
        uint64_t otherwise;
    } settings[SETTINGS] = { [STACK] = { CU_LIMIT_STACK_SIZE, FIRST_STACK },
                             [FIFO] = { CU_LIMIT_PRINTF_FIFO_SIZE, FIRST_FIFO },
                             [HEAP] = { CU_LIMIT_MALLOC_HEAP_SIZE, FIRST_HEAP } };
    for (enum setting setting = 0; setting < SETTINGS; setting++) {
        size_t value;
        bool is_known = ath_quota.driver.cuCtxGetLimit &&
                        !ath_quota.driver.cuCtxGetLimit(&value, settings[setting].limit);
        item->first[setting] = item->now[setting] = is_known ? value : settings[setting].otherwise;
    }
}

/* ---- with the lock taken here ---- */

bool ath_context_memory_may_add(void)
{
    pthread_mutex_lock(&contexts.lock);
    bool has_place = find(NULL);
    pthread_mutex_unlock(&contexts.lock);
    return has_place;
}

/* Counts the current context. Returns false if there is no room, or no place. */
static bool begin(CUcontext context, CUdevice device, int64_t own_bytes, bool is_there)
{
    struct counted made = {
        .context = context, .device = device, .references = 1, .own_bytes = own_bytes
    };
    read_settings(&made);
    pthread_mutex_lock(&contexts.lock);
    struct counted *item = find(NULL);
    bool is_counted = item && reprice(&made, is_there);
    if (is_counted)
        *item = made;
    pthread_mutex_unlock(&contexts.lock);
    return is_counted;
}

CUresult ath_context_memory_begin(CUcontext context, CUdevice device, int64_t own_bytes)
{
    return begin(context, device, own_bytes, false) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void ath_context_memory_found(CUcontext context, CUdevice device, int64_t own_bytes)
{
    begin(context, device, own_bytes, true);
}

void ath_context_memory_retain(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    struct counted *item = context ? find(context) : NULL;
    if (item)
        item->references++;
    pthread_mutex_unlock(&contexts.lock);
}

bool ath_context_memory_release(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    struct counted *item = context ? find(context) : NULL;
    bool is_last = item && !--item->references;
    pthread_mutex_unlock(&contexts.lock);
    return is_last;
}

void ath_context_memory_end(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    struct counted *item = context ? find(context) : NULL;
    if (item) {
        ath_quota.books->give(ath_quota.devices[item->device], item->counted_bytes);
        item->context = NULL;
    }
    pthread_mutex_unlock(&contexts.lock);
}

CUresult ath_context_memory_set_limit(CUlimit limit, uint64_t value, uint64_t *out_old)
{
    enum setting setting = setting_of(limit);
    bool is_counted = true;
    *out_old = value;
    pthread_mutex_lock(&contexts.lock);
    struct counted *item = setting < SETTINGS ? find_current() : NULL;
    if (item) {
        *out_old = item->now[setting];
        item->now[setting] = value;
        is_counted = reprice(item, false);
        if (!is_counted)
            item->now[setting] = *out_old;
    }
    pthread_mutex_unlock(&contexts.lock);
    return is_counted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Raises a number of bytes and counts that. The caller has the lock. */
static bool raise_local(uint64_t *local, uint64_t bytes, struct counted *item)
{
    uint64_t old = *local;
    if (bytes <= old)
        return true;
    *local = bytes;
    if (item ? reprice(item, false) : reprice_all(false))
        return true;
    *local = old;
    reprice_all(false); /* gives back what some contexts had got */
    return false;
}

CUresult ath_context_memory_need_local(uint64_t bytes, bool is_everywhere)
{
    bool is_counted = true;
    pthread_mutex_lock(&contexts.lock);
    struct counted *item = is_everywhere ? NULL : find_current();
    if (item || is_everywhere)
        is_counted = raise_local(item ? &item->local : &contexts.local, bytes, item);
    pthread_mutex_unlock(&contexts.lock);
    return is_counted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ath_context_memory_add_library(int64_t bytes, bool is_there)
{
    pthread_mutex_lock(&contexts.lock);
    bool is_counted =
        bytes < 0 || (uint64_t)bytes <= (uint64_t)(INT64_MAX - contexts.library_bytes);
    if (is_counted) {
        contexts.library_bytes += bytes;
        is_counted = reprice_all(is_there);
        if (!is_counted) {
            contexts.library_bytes -= bytes;
            reprice_all(false);
        }
    }
    pthread_mutex_unlock(&contexts.lock);
    return is_counted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
