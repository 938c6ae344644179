/*
 * Bookkeeping of a session's GPU memory.
 *
 * The functions have CUDA's signatures, so what they work on is one for the process, which has one
 * session. A holding is taken out of the books before the driver frees it: else another thread
 * could get the same address and be mistaken for it.
 */
#include "config.h"

#include "runtime/server/quota.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "runtime/server/pools.h"
#include "runtime/server/record.h"

enum { BUCKETS = 4096 };

enum kind { ADDRESS, HANDLE, ARRAY, MIPMAP, MAPPED, SHARED, OPENED };

struct holding {
    struct holding *next;
    enum kind kind;
    uint64_t value;
    size_t device; /* the server's number */
    int64_t bytes;
    CUcontext context; /* with which it goes; NULL: with nothing */
    uint64_t references;
    uint64_t share;        /* that it is of, as its SHARED counts; 0: of this session alone */
    uint64_t size, handle; /* of what is mapped; size also of what is a pool's */
    struct ath_pool *pool; /* which counts it; NULL: none */
};

struct primary {
    CUcontext context;
    unsigned int retained;
};

static struct {
    const struct ath_server *server;
    struct ath_board_entry *entry;
    struct ath_cuda_session *session;
    struct ath_cuda_driver driver; /* the driver's own functions */
    size_t devices[ATH_DEVICES_MAX];
    size_t count;
    pthread_mutex_t lock; /* of what follows */
    struct holding *buckets[BUCKETS];
    struct primary primaries[ATH_DEVICES_MAX]; /* by CUDA's number */
    int64_t graph_bytes[ATH_DEVICES_MAX];
    _Atomic uint64_t graph_devices; /* where graphs have memory, a bit for each by its number */
} quota = { .lock = PTHREAD_MUTEX_INITIALIZER };

int64_t ath_quota_limit(const struct ath_server *server, size_t device)
{
    int64_t total = device < server->devices.count
                        ? server->devices.items[device].memory_total_bytes
                        : ATH_UNKNOWN;
    if (server->vram_fraction >= 1 || total == ATH_UNKNOWN)
        return ATH_UNKNOWN;
    return (int64_t)((double)total * server->vram_fraction);
}

void ath_quota_of_device(const struct ath_server *server, size_t device, int64_t *out_used_bytes,
                         int64_t *out_limit_bytes)
{
    *out_used_bytes = ath_board_memory(server->board, device, NULL);
    *out_limit_bytes = ath_quota_limit(server, device);
}

/* ---- the books ---- */

static struct holding **bucket_of(enum kind kind, uint64_t value)
{
    return &quota.buckets[(value * UINT64_C(0x9e3779b97f4a7c15) >> 40 ^ kind) % BUCKETS];
}

static struct holding **place_of(enum kind kind, uint64_t value)
{
    struct holding **at = bucket_of(kind, value);
    while (*at && ((*at)->kind != kind || (*at)->value != value))
        at = &(*at)->next;
    return at;
}

static void add(struct holding *holding)
{
    struct holding **at = bucket_of(holding->kind, holding->value);
    holding->next = *at;
    *at = holding;
}

/* The server's number of the current context's device; SIZE_MAX where there is none. */
static size_t device_here(void)
{
    CUdevice device;
    if (!quota.driver.cuCtxGetDevice || quota.driver.cuCtxGetDevice(&device) || device < 0 ||
        (size_t)device >= quota.count)
        return SIZE_MAX;
    return quota.devices[device];
}

/* The server's number of the device that memory is made on; SIZE_MAX where it is none. */
static size_t device_of(const CUmemLocation *location)
{
    bool is_device = location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id >= 0 &&
                     (size_t)location->id < quota.count;
    return is_device ? quota.devices[location->id] : SIZE_MAX;
}

static CUcontext context_here(void)
{
    CUcontext context = NULL;
    return quota.driver.cuCtxGetCurrent && !quota.driver.cuCtxGetCurrent(&context) ? context : NULL;
}

static bool take_on_board(size_t device, int64_t bytes)
{
    return ath_board_take_memory(quota.server->board, quota.entry, device, bytes,
                                 ath_quota_limit(quota.server, device));
}

/* Programs try again and again, so it is said once a session. */
static void say_full(size_t device, uint64_t asked)
{
    static atomic_bool is_said;
    if (atomic_exchange(&is_said, true))
        return;
    const long long numbers[] = { (long long)device, (long long)asked,
                                  (long long)ath_board_memory(quota.server->board, device, NULL),
                                  (long long)ath_quota_limit(quota.server, device) };
    char text[4][24];
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        snprintf(text[i], sizeof text[i], "%lld", numbers[i]);
    ath_record(ATH_RECORD_WARNING, "share-reached", "peer", quota.entry->peer, "device", text[0],
               "asked_bytes", text[1], "allocated_bytes", text[2], "limit_bytes", text[3], NULL);
}

static void count_graphs(void);

/* What is counted and need not be there any more, before the share is at its end. Pools' memory
 * that streams have still to free is waited for, as a driver does, but not where that would spoil a
 * capture. */
static bool reclaim(void)
{
    bool is_capturing = quota.session->captures.count;
    if (!is_capturing && ath_pools_keep() && quota.driver.cuCtxSynchronize)
        quota.driver.cuCtxSynchronize();
    bool is_trimmed = ath_pools_trim();
    count_graphs();
    return is_trimmed || quota.graph_devices;
}

/* Takes memory on the board. NULL where it is too much, or there is no memory to remember it. */
static struct holding *take(size_t device, uint64_t bytes, CUcontext context)
{
    struct holding *holding = calloc(1, sizeof *holding);
    if (!holding)
        return NULL;
    *holding = (struct holding){ .device = device,
                                 .bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes,
                                 .context = context,
                                 .references = 1 };
    if (device == SIZE_MAX) /* the driver says what is wrong */
        holding->bytes = 0;
    else if (!take_on_board(device, holding->bytes) &&
             (!reclaim() || !take_on_board(device, holding->bytes))) {
        say_full(device, bytes);
        free(holding);
        return NULL;
    }
    return holding;
}

/*
 * A share of the board, which counts its bytes, is a holding with a reference for each handle and
 * each kept descriptor of it that the session has. The caller has the lock, in all of these.
 */
static bool share_out(struct holding *holding)
{
    struct holding *shared = calloc(1, sizeof *shared);
    if (shared)
        holding->share =
            ath_board_share(quota.server->board, quota.entry, holding->device, holding->bytes);
    if (!holding->share) {
        free(shared);
        return false;
    }
    *shared = (struct holding){ .kind = SHARED, .value = holding->share, .references = 1 };
    add(shared);
    return true;
}

static bool hold_share(uint64_t share)
{
    struct holding *shared = *place_of(SHARED, share);
    if (!shared) {
        shared = calloc(1, sizeof *shared);
        if (!shared || !ath_board_share_hold(quota.server->board, quota.entry, share)) {
            free(shared);
            return false;
        }
        *shared = (struct holding){ .kind = SHARED, .value = share };
        add(shared);
    }
    shared->references++;
    return true;
}

/* What another session made: the driver may give the value that this one has already. */
static bool add_shared(enum kind kind, uint64_t value, CUcontext context, uint64_t share)
{
    struct holding *holding = *place_of(kind, value);
    if (holding) {
        holding->references++;
        return true;
    }
    holding = calloc(1, sizeof *holding);
    if (!holding || !hold_share(share)) {
        free(holding);
        return false;
    }
    *holding = (struct holding){
        .kind = kind, .value = value, .context = context, .references = 1, .share = share
    };
    add(holding);
    return true;
}

/* For others to have: false where it cannot be counted as that. NULL counts nowhere. */
static bool may_share(struct holding *holding)
{
    return !holding || !holding->bytes || holding->share || share_out(holding);
}

static void drop_share(uint64_t share)
{
    struct holding **at = place_of(SHARED, share), *shared = *at;
    if (!shared || --shared->references)
        return;
    *at = shared->next;
    ath_board_share_drop(quota.server->board, quota.entry, share);
    free(shared);
}

/* The caller has the lock. Nobody may open what its maker gives back (cuIpcOpenMemHandle()). */
static void give_share(struct holding *holding)
{
    if (holding->kind == ADDRESS)
        ath_board_share_name(quota.server->board, holding->share, 0);
    drop_share(holding->share);
    holding->share = 0;
    holding->bytes = 0;
}

/* The caller has the lock where it may have a share: where it is a handle or an address. */
static void give(struct holding *holding)
{
    if (!holding)
        return;
    if (holding->share)
        give_share(holding);
    else if (holding->bytes)
        ath_board_give_memory(quota.entry, holding->device, holding->bytes);
    if (holding->pool)
        ath_pool_give(holding->pool, holding->size);
    free(holding);
}

/* What the driver said of a holding that was taken for it. */
static CUresult settle(struct holding *holding, enum kind kind, uint64_t value, CUresult status)
{
    if (status) {
        give(holding);
        return status;
    }
    holding->kind = kind;
    holding->value = value;
    pthread_mutex_lock(&quota.lock);
    add(holding);
    pthread_mutex_unlock(&quota.lock);
    return status;
}

/* Out of the books before it is freed, and back into them where that fails. */
static struct holding *withdraw(enum kind kind, uint64_t value)
{
    pthread_mutex_lock(&quota.lock);
    struct holding **at = place_of(kind, value), *holding = *at;
    if (holding)
        *at = holding->next;
    pthread_mutex_unlock(&quota.lock);
    return holding;
}

static CUresult conclude(struct holding *holding, CUresult status)
{
    if (!holding)
        return status;
    pthread_mutex_lock(&quota.lock);
    if (status)
        add(holding);
    else if (holding->share)
        give_share(holding);
    pthread_mutex_unlock(&quota.lock);
    if (!status)
        give(holding); /* without the lock: its pool may be waiting for a stream */
    return status;
}

/* All that a context had. What is given may take its share out of any list. */
static void drop_context(CUcontext context)
{
    struct holding *dropped = NULL, *next;
    pthread_mutex_lock(&quota.lock);
    for (size_t i = 0; context && i < BUCKETS; i++) {
        for (struct holding **at = &quota.buckets[i]; *at;) {
            struct holding *holding = *at;
            if (holding->context != context) {
                at = &holding->next;
                continue;
            }
            *at = holding->next;
            holding->next = dropped;
            dropped = holding;
        }
    }
    for (; dropped; dropped = next) {
        next = dropped->next;
        give(dropped);
    }
    pthread_mutex_unlock(&quota.lock);
}

/* ---- plain memory ---- */

static CUresult mem_alloc(CUdeviceptr *address, size_t bytes)
{
    struct holding *holding = take(device_here(), bytes, context_here());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMemAlloc_v2(address, bytes);
    return settle(holding, ADDRESS, *address, status);
}

static CUresult mem_alloc_pitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                unsigned int element)
{
    enum { PITCH = 512 }; /* rows begin at multiples of it, or of less */
    uint64_t row = ((uint64_t)width + PITCH - 1) / PITCH * PITCH, bytes;
    if (__builtin_mul_overflow(row, (uint64_t)height, &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct holding *holding = take(device_here(), bytes, context_here());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMemAllocPitch_v2(address, pitch, width, height, element);
    return settle(holding, ADDRESS, *address, status);
}

static CUresult mem_alloc_managed(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    struct holding *holding = take(device_here(), bytes, context_here());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMemAllocManaged(address, bytes, flags);
    return settle(holding, ADDRESS, *address, status);
}

/* ---- pools ---- */

static bool charge_pool(size_t device, int64_t bytes, bool is_there)
{
    if (!is_there && !take_on_board(device, bytes))
        return false;
    if (is_there)
        ath_board_give_memory(quota.entry, device, -bytes);
    atomic_fetch_or(&quota.entry->devices, UINT64_C(1) << device);
    return true;
}

/* Where a stream captures, what would be done becomes a node of its graph. */
static bool is_captured(CUstream stream)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    return quota.driver.cuStreamIsCapturing && !quota.driver.cuStreamIsCapturing(stream, &state) &&
           state == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult check_room(size_t device, uint64_t bytes);

static bool has_pool(CUdevice device, CUmemoryPool pool)
{
    const struct ath_cuda_driver *driver = &quota.driver;
    CUmemoryPool own = NULL, used = NULL;
    return (driver->cuDeviceGetDefaultMemPool && !driver->cuDeviceGetDefaultMemPool(&own, device) &&
            own == pool) ||
           (driver->cuDeviceGetMemPool && !driver->cuDeviceGetMemPool(&used, device) &&
            used == pool);
}

/* The device whose own a pool is, or that it uses by the program's wish. */
static size_t device_of_pool(CUmemoryPool pool)
{
    for (size_t device = 0; device < quota.count; device++)
        if (has_pool((CUdevice)device, pool))
            return quota.devices[device];
    return device_here();
}

/* Memory of a pool is its device's, and stays when a context goes. */
static struct holding *take_from_pool(CUmemoryPool handle, size_t bytes, CUstream stream)
{
    struct holding *holding = take(SIZE_MAX, 0, NULL);
    struct ath_pool *pool = ath_pools_find(handle, device_of_pool);
    if (holding && pool && ath_pool_take(pool, bytes, stream)) {
        holding->pool = pool;
        holding->size = bytes;
        return holding;
    }
    free(holding);
    if (pool && ath_pool_device(pool) != SIZE_MAX)
        say_full(ath_pool_device(pool), bytes);
    return NULL;
}

static CUresult settle_pool(struct holding *holding, CUdeviceptr address, CUresult status)
{
    struct ath_pool *pool = holding->pool;
    status = settle(holding, ADDRESS, address, status);
    ath_pool_give(pool, 0); /* it is known now how much the driver took for it */
    return status;
}

/* What the driver says where it is not known which pool it would be. */
static CUmemoryPool pool_here(void)
{
    CUdevice device;
    CUmemoryPool pool = NULL;
    if (!quota.driver.cuDeviceGetMemPool || quota.driver.cuCtxGetDevice(&device) ||
        quota.driver.cuDeviceGetMemPool(&pool, device))
        return NULL;
    return pool;
}

static CUresult mem_alloc_async(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    if (is_captured(stream)) {
        CUresult status = check_room(device_here(), bytes);
        return status ? status : quota.driver.cuMemAllocAsync(address, bytes, stream);
    }
    struct holding *holding = take_from_pool(pool_here(), bytes, stream);
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMemAllocAsync(address, bytes, stream);
    return settle_pool(holding, *address, status);
}

static CUresult mem_alloc_from_pool(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                    CUstream stream)
{
    if (is_captured(stream)) {
        const struct ath_pool *known = ath_pools_find(pool, device_of_pool);
        CUresult status = check_room(known ? ath_pool_device(known) : SIZE_MAX, bytes);
        return status ? status : quota.driver.cuMemAllocFromPoolAsync(address, bytes, pool, stream);
    }
    struct holding *holding = take_from_pool(pool, bytes, stream);
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMemAllocFromPoolAsync(address, bytes, pool, stream);
    return settle_pool(holding, *address, status);
}

static CUresult pool_create(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    CUresult status = quota.driver.cuMemPoolCreate(pool, props);
    if (!status)
        ath_pools_made(*pool, device_of(&props->location));
    return status;
}

static CUresult pool_destroy(CUmemoryPool pool)
{
    CUresult status = quota.driver.cuMemPoolDestroy(pool);
    if (!status)
        ath_pools_destroyed(pool);
    return status;
}

static CUresult pool_trim(CUmemoryPool pool, size_t bytes)
{
    CUresult status = quota.driver.cuMemPoolTrimTo(pool, bytes);
    ath_pools_count();
    return status;
}

/* ---- waiting, after which pools keep less ---- */

static CUresult stream_synchronize(CUstream stream)
{
    CUresult status = quota.driver.cuStreamSynchronize(stream);
    ath_pools_settle();
    return status;
}

static CUresult event_synchronize(CUevent event)
{
    CUresult status = quota.driver.cuEventSynchronize(event);
    ath_pools_settle();
    return status;
}

static CUresult context_synchronize(void)
{
    CUresult status = quota.driver.cuCtxSynchronize();
    ath_pools_settle();
    return status;
}

/* ---- freeing ---- */

static CUresult mem_free(CUdeviceptr address)
{
    struct holding *holding = withdraw(ADDRESS, address);
    return conclude(holding, quota.driver.cuMemFree_v2(address));
}

static CUresult mem_free_async(CUdeviceptr address, CUstream stream)
{
    struct holding *holding = withdraw(ADDRESS, address);
    return conclude(holding, quota.driver.cuMemFreeAsync(address, stream));
}

/* ---- memory that other processes open: it is there until the last has let go of it, though its
 * maker has ended (driver 580 on an H200, asked) ---- */

static uint64_t name_of(const CUipcMemHandle *handle)
{
    uint64_t name = 1;
    for (size_t i = 0; i < sizeof handle->reserved; i++)
        name = (name ^ (unsigned char)handle->reserved[i]) * UINT64_C(0x100000001b3);
    return name | 1;
}

/* The allocation that an address is in; its handle is that of all of it. */
static CUdeviceptr base_of(CUdeviceptr address)
{
    CUdeviceptr base;
    size_t bytes;
    return quota.driver.cuMemGetAddressRange_v2 &&
                   !quota.driver.cuMemGetAddressRange_v2(&base, &bytes, address)
               ? base
               : address;
}

static CUresult ipc_get(CUipcMemHandle *handle, CUdeviceptr address)
{
    CUresult status = quota.driver.cuIpcGetMemHandle(handle, address);
    if (status)
        return status;
    CUdeviceptr base = base_of(address);
    pthread_mutex_lock(&quota.lock);
    struct holding *holding = *place_of(ADDRESS, base);
    bool is_counted = may_share(holding);
    if (is_counted && holding && holding->share)
        ath_board_share_name(quota.server->board, holding->share, name_of(handle));
    pthread_mutex_unlock(&quota.lock);
    return is_counted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult ipc_open(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
    uint64_t share = ath_board_share_named(quota.server->board, name_of(&handle));
    pthread_mutex_lock(&quota.lock);
    bool is_held = share && hold_share(share); /* until it is open, though its maker ends */
    pthread_mutex_unlock(&quota.lock);
    CUresult status = quota.driver.cuIpcOpenMemHandle_v2(address, handle, flags);
    CUcontext context = context_here();
    pthread_mutex_lock(&quota.lock);
    bool is_counted = status || !is_held || add_shared(OPENED, *address, context, share);
    if (is_held)
        drop_share(share);
    pthread_mutex_unlock(&quota.lock);
    if (is_counted)
        return status;
    quota.driver.cuIpcCloseMemHandle(*address);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult ipc_close(CUdeviceptr address)
{
    pthread_mutex_lock(&quota.lock);
    struct holding **at = place_of(OPENED, address), *closed = *at;
    if (closed && --closed->references)
        closed = NULL; /* it is open still */
    else if (closed)
        *at = closed->next;
    pthread_mutex_unlock(&quota.lock);
    CUresult status = quota.driver.cuIpcCloseMemHandle(address);
    if (!status)
        return conclude(closed, status);
    pthread_mutex_lock(&quota.lock);
    if (closed)
        add(closed);
    else
        closed = *place_of(OPENED, address);
    if (closed)
        closed->references++;
    pthread_mutex_unlock(&quota.lock);
    return status;
}

/* ---- virtual memory: it is there as long as anybody has a handle or a mapping of it ---- */

static CUresult mem_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                           const CUmemAllocationProp *properties, unsigned long long flags)
{
    struct holding *holding = take(device_of(&properties->location), bytes, NULL);
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMemCreate(handle, bytes, properties, flags);
    return settle(holding, HANDLE, *handle, status);
}

/* The caller has the lock. */
static void refer(uint64_t handle, bool is_more)
{
    struct holding **at = place_of(HANDLE, handle), *holding = *at;
    if (!holding)
        return;
    holding->references += is_more ? 1 : UINT64_MAX;
    if (!holding->references) {
        *at = holding->next;
        give(holding);
    }
}

static void refer_locked(uint64_t handle, bool is_more)
{
    pthread_mutex_lock(&quota.lock);
    refer(handle, is_more);
    pthread_mutex_unlock(&quota.lock);
}

static CUresult mem_release(CUmemGenericAllocationHandle handle)
{
    CUresult status = quota.driver.cuMemRelease(handle);
    if (!status)
        refer_locked(handle, false);
    return status;
}

static CUresult mem_retain(CUmemGenericAllocationHandle *handle, void *address)
{
    CUresult status = quota.driver.cuMemRetainAllocationHandle(handle, address);
    if (!status)
        refer_locked(*handle, true);
    return status;
}

/* The others of the server may have it from now on, and the descriptor keeps it. */
static CUresult mem_exported(CUmemGenericAllocationHandle handle, uint64_t *out_share)
{
    pthread_mutex_lock(&quota.lock);
    struct holding *holding = *place_of(HANDLE, handle);
    bool is_counted = may_share(holding);
    if (is_counted && holding && holding->share && hold_share(holding->share))
        *out_share = holding->share;
    pthread_mutex_unlock(&quota.lock);
    return is_counted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void mem_forgotten(uint64_t share)
{
    pthread_mutex_lock(&quota.lock);
    drop_share(share);
    pthread_mutex_unlock(&quota.lock);
}

static CUresult mem_imported(CUmemGenericAllocationHandle handle, uint64_t share)
{
    pthread_mutex_lock(&quota.lock);
    bool is_added = add_shared(HANDLE, handle, NULL, share);
    pthread_mutex_unlock(&quota.lock);
    if (is_added)
        return CUDA_SUCCESS;
    quota.driver.cuMemRelease(handle); /* its maker has forgotten it meanwhile */
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult mem_map(CUdeviceptr address, size_t size, size_t offset,
                        CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct holding *mapping = take(SIZE_MAX, 0, NULL);
    if (!mapping)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMemMap(address, size, offset, handle, flags);
    mapping->size = size;
    mapping->handle = handle;
    if (!status)
        refer_locked(handle, true);
    return settle(mapping, MAPPED, address, status);
}

/* A range may hold several mappings. */
static void unmapped(CUdeviceptr address, size_t size)
{
    pthread_mutex_lock(&quota.lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct holding **at = &quota.buckets[i]; *at;) {
            struct holding *mapping = *at;
            if (mapping->kind != MAPPED || mapping->value < address ||
                mapping->value - address >= size) {
                at = &mapping->next;
                continue;
            }
            *at = mapping->next;
            uint64_t handle = mapping->handle;
            give(mapping);
            refer(handle, false);
            at = &quota.buckets[i]; /* what it referred to may have been the next one here */
        }
    }
    pthread_mutex_unlock(&quota.lock);
}

static CUresult mem_unmap(CUdeviceptr address, size_t size)
{
    CUresult status = quota.driver.cuMemUnmap(address, size);
    if (!status)
        unmapped(address, size);
    return status;
}

/* ---- arrays ---- */

/* Bits of a channel; of block formats of a texel, in which one channel counts. */
static unsigned int bits_of(CUarray_format format)
{
    switch ((unsigned int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 16;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 32;
    default:
        return 8;
    }
}

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    const size_t factors[] = { descriptor->Width, descriptor->Height ? descriptor->Height : 1,
                               descriptor->Depth ? descriptor->Depth : 1,
                               descriptor->NumChannels ? descriptor->NumChannels : 1 };
    uint64_t bytes = bits_of(descriptor->Format) / 8;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)factors[i], &bytes))
            return UINT64_MAX;
    return descriptor->Flags & CUDA_ARRAY3D_SPARSE ? 0 : bytes; /* sparse ones are mapped memory */
}

static CUresult array_create_3d(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    struct holding *holding = take(device_here(), array_bytes(descriptor), context_here());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuArray3DCreate_v2(array, descriptor);
    return settle(holding, ARRAY, (uintptr_t)*array, status);
}

static CUresult array_create(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
    const CUDA_ARRAY3D_DESCRIPTOR same = { .Width = descriptor->Width,
                                           .Height = descriptor->Height,
                                           .Format = descriptor->Format,
                                           .NumChannels = descriptor->NumChannels };
    struct holding *holding = take(device_here(), array_bytes(&same), context_here());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuArrayCreate_v2(array, descriptor);
    return settle(holding, ARRAY, (uintptr_t)*array, status);
}

static CUresult array_destroy(CUarray array)
{
    struct holding *holding = withdraw(ARRAY, (uintptr_t)array);
    return conclude(holding, quota.driver.cuArrayDestroy(array));
}

/* All levels together are a third more than the first. */
static CUresult mipmap_create(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                              unsigned int levels)
{
    uint64_t bytes = array_bytes(descriptor);
    bytes += levels > 1 && bytes < UINT64_MAX / 2 ? bytes / 3 : 0;
    struct holding *holding = take(device_here(), bytes, context_here());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuMipmappedArrayCreate(array, descriptor, levels);
    return settle(holding, MIPMAP, (uintptr_t)*array, status);
}

static CUresult mipmap_destroy(CUmipmappedArray array)
{
    struct holding *holding = withdraw(MIPMAP, (uintptr_t)array);
    return conclude(holding, quota.driver.cuMipmappedArrayDestroy(array));
}

/* ---- graphs' own memory ---- */

/* Whether so much more could be had; it is taken when a graph is launched. */
static CUresult check_room(size_t device, uint64_t bytes)
{
    struct holding *holding = take(device, bytes, NULL);
    give(holding);
    if (device != SIZE_MAX)
        atomic_fetch_or(&quota.graph_devices, UINT64_C(1) << device);
    return holding ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult graph_add_alloc(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    CUresult status = check_room(device_of(&params->poolProps.location), params->bytesize);
    return status ? status
                  : quota.driver.cuGraphAddMemAllocNode(node, graph, dependencies, count, params);
}

static bool has_graphs(size_t device)
{
    return quota.graph_devices >> quota.devices[device] & 1;
}

/* A graph's allocations need not be on the current device. */
static bool is_beyond(void)
{
    bool is_beyond = false;
    for (size_t i = 0; i < quota.count && !is_beyond; i++) {
        int64_t used, limit;
        if (!has_graphs(i))
            continue;
        ath_quota_of_device(quota.server, quota.devices[i], &used, &limit);
        is_beyond = (limit != ATH_UNKNOWN && used > limit) ||
                    ath_board_is_beyond(quota.entry, quota.devices[i]);
    }
    return is_beyond;
}

/* What the driver keeps for graphs of a device is taken, whatever the limit: it is there. */
static void count_graphs_of(size_t device)
{
    uint64_t reserved = 0;
    if (!quota.driver.cuDeviceGetGraphMemAttribute ||
        quota.driver.cuDeviceGetGraphMemAttribute(
            (CUdevice)device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved))
        return;
    pthread_mutex_lock(&quota.lock);
    int64_t more = (int64_t)reserved - quota.graph_bytes[device];
    quota.graph_bytes[device] = (int64_t)reserved;
    pthread_mutex_unlock(&quota.lock);
    ath_board_give_memory(quota.entry, quota.devices[device], -more);
}

static void count_graphs(void)
{
    for (size_t i = 0; i < quota.count; i++)
        if (has_graphs(i))
            count_graphs_of(i);
}

/* What the launch takes for the graph's own allocations is known only after it; so the one that
 * goes beyond the limit is the last. */
static CUresult graph_launch(CUgraphExec graph, CUstream stream)
{
    if (is_beyond())
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = quota.driver.cuGraphLaunch(graph, stream);
    count_graphs();
    return status;
}

static CUresult graph_upload(CUgraphExec graph, CUstream stream)
{
    CUresult status = quota.driver.cuGraphUpload(graph, stream);
    count_graphs();
    return status;
}

static CUresult graph_destroy(CUgraph graph)
{
    CUresult status = quota.driver.cuGraphDestroy(graph);
    count_graphs();
    return status;
}

static CUresult graph_exec_destroy(CUgraphExec graph)
{
    CUresult status = quota.driver.cuGraphExecDestroy(graph);
    count_graphs();
    return status;
}

static CUresult graph_trim(CUdevice device)
{
    CUresult status = quota.driver.cuDeviceGraphMemTrim(device);
    count_graphs();
    return status;
}

/* ---- contexts ---- */

static bool is_device(CUdevice device)
{
    return device >= 0 && (size_t)device < quota.count;
}

/*
 * A context takes some hundred megabytes of the GPU that are no allocation of the program's, and so
 * no part of the share. Where there is too little left, the program's call that fails may be any
 * one; so the log says it.
 */
static CUresult made_context(CUresult status, CUdevice device)
{
    uint32_t sessions;
    if (status != CUDA_ERROR_OUT_OF_MEMORY || !is_device(device))
        return status;
    size_t number = quota.devices[device];
    int64_t bytes = ath_board_memory(quota.server->board, number, &sessions);
    ath_auto_free char *which = ath_xasprintf("%zu", number);
    ath_auto_free char *count = ath_xasprintf("%u", (unsigned int)sessions);
    ath_auto_free char *used = ath_xasprintf("%lld", (long long)bytes);
    ath_record(ATH_RECORD_WARNING, "no-memory-for-context", "peer", quota.entry->peer, "device",
               which, "sessions", count, "allocated_bytes", used, NULL);
    return status;
}

static CUresult context_create(CUcontext *context, unsigned int flags, CUdevice device)
{
    return made_context(quota.driver.cuCtxCreate_v2(context, flags, device), device);
}

static CUresult context_create_v3(CUcontext *context, CUexecAffinityParam *params, int count,
                                  unsigned int flags, CUdevice device)
{
    return made_context(quota.driver.cuCtxCreate_v3(context, params, count, flags, device), device);
}

static CUresult primary_retain(CUcontext *context, CUdevice device)
{
    CUresult status = made_context(quota.driver.cuDevicePrimaryCtxRetain(context, device), device);
    if (status || !is_device(device))
        return status;
    pthread_mutex_lock(&quota.lock);
    quota.primaries[device].context = *context;
    quota.primaries[device].retained++;
    pthread_mutex_unlock(&quota.lock);
    atomic_fetch_or(&quota.entry->devices, UINT64_C(1) << quota.devices[device]);
    return status;
}

/* Ends the primary context's holdings with its last reference, or (is_reset) at once. */
static void primary_ended(CUdevice device, bool is_reset)
{
    CUcontext gone = NULL;
    if (!is_device(device))
        return;
    pthread_mutex_lock(&quota.lock);
    struct primary *primary = &quota.primaries[device];
    if (!is_reset && primary->retained)
        primary->retained--;
    if (is_reset || !primary->retained)
        gone = primary->context;
    pthread_mutex_unlock(&quota.lock);
    drop_context(gone);
}

static CUresult primary_release(CUdevice device)
{
    CUresult status = quota.driver.cuDevicePrimaryCtxRelease_v2(device);
    if (!status)
        primary_ended(device, false);
    return status;
}

static CUresult primary_reset(CUdevice device)
{
    CUresult status = quota.driver.cuDevicePrimaryCtxReset_v2(device);
    if (!status)
        primary_ended(device, true);
    return status;
}

static CUresult context_destroy(CUcontext context)
{
    CUresult status = quota.driver.cuCtxDestroy_v2(context);
    if (!status)
        drop_context(context);
    return status;
}

/* ---- how much there is ---- */

static void narrow(int64_t used, int64_t limit, size_t *free_bytes, size_t *total_bytes)
{
    if (limit < 0)
        return;
    uint64_t left = used < limit ? (uint64_t)(limit - used) : 0;
    *free_bytes = *free_bytes < left ? *free_bytes : (size_t)left;
    *total_bytes = *total_bytes < (uint64_t)limit ? *total_bytes : (size_t)limit;
}

static CUresult mem_get_info(size_t *free_bytes, size_t *total_bytes)
{
    ath_pools_settle();
    count_graphs();
    CUresult status = quota.driver.cuMemGetInfo_v2(free_bytes, total_bytes);
    size_t device = status ? SIZE_MAX : device_here();
    int64_t used, limit = ATH_UNKNOWN;
    if (device != SIZE_MAX) {
        narrow(atomic_load(&quota.entry->used_bytes[device]),
               atomic_load(&quota.entry->limit_bytes[device]), free_bytes, total_bytes);
        ath_quota_of_device(quota.server, device, &used, &limit);
    }
    if (limit == ATH_UNKNOWN)
        return status;
    narrow(used, limit, free_bytes, total_bytes);
    return status;
}

static CUresult device_total(size_t *bytes, CUdevice device)
{
    CUresult status = quota.driver.cuDeviceTotalMem_v2(bytes, device);
    int64_t limit = status || !is_device(device)
                        ? ATH_UNKNOWN
                        : ath_quota_limit(quota.server, quota.devices[device]);
    if (limit != ATH_UNKNOWN)
        *bytes = (size_t)limit;
    return status;
}

/* ---- the table ---- */

/* What the driver does not have stays missing. */
#define WRAP(function, wrapper)                                                                    \
    do {                                                                                           \
        if (driver->function)                                                                      \
            driver->function = wrapper;                                                            \
    } while (0)

/* The functions of CUDA 2 with addresses of 32 bits would be a way around it, and no program of 64
 * bits can use them: as if the driver did not have them. */
static void leave_out_old(struct ath_cuda_driver *driver)
{
    driver->cuMemAlloc = NULL;
    driver->cuMemAllocPitch = NULL;
    driver->cuMemFree = NULL;
    driver->cuArrayCreate = NULL;
    driver->cuArray3DCreate = NULL;
    driver->cuMemGetInfo = NULL;
    driver->cuDeviceTotalMem = NULL;
}

/* The _ptsz ones are not called: the server names the thread's stream itself. */
static void wrap_all(struct ath_cuda_driver *driver)
{
    WRAP(cuMemAlloc_v2, mem_alloc);
    WRAP(cuMemAllocPitch_v2, mem_alloc_pitch);
    WRAP(cuMemAllocManaged, mem_alloc_managed);
    WRAP(cuMemAllocAsync, mem_alloc_async);
    WRAP(cuMemAllocFromPoolAsync, mem_alloc_from_pool);
    WRAP(cuMemPoolCreate, pool_create);
    WRAP(cuMemPoolDestroy, pool_destroy);
    WRAP(cuMemPoolTrimTo, pool_trim);
    WRAP(cuStreamSynchronize, stream_synchronize);
    WRAP(cuEventSynchronize, event_synchronize);
    WRAP(cuCtxSynchronize, context_synchronize);
    WRAP(cuMemFree_v2, mem_free);
    WRAP(cuMemFreeAsync, mem_free_async);
    WRAP(cuIpcGetMemHandle, ipc_get);
    if (driver->cuIpcOpenMemHandle_v2) {
        WRAP(cuIpcOpenMemHandle, ipc_open);
        WRAP(cuIpcOpenMemHandle_v2, ipc_open);
    }
    WRAP(cuIpcCloseMemHandle, ipc_close);
    WRAP(cuMemCreate, mem_create);
    WRAP(cuMemRelease, mem_release);
    WRAP(cuMemRetainAllocationHandle, mem_retain);
    WRAP(cuMemMap, mem_map);
    WRAP(cuMemUnmap, mem_unmap);
    WRAP(cuArray3DCreate_v2, array_create_3d);
    WRAP(cuArrayCreate_v2, array_create);
    WRAP(cuArrayDestroy, array_destroy);
    WRAP(cuMipmappedArrayCreate, mipmap_create);
    WRAP(cuMipmappedArrayDestroy, mipmap_destroy);
    WRAP(cuGraphAddMemAllocNode, graph_add_alloc);
    WRAP(cuGraphLaunch, graph_launch);
    WRAP(cuGraphUpload, graph_upload);
    WRAP(cuGraphDestroy, graph_destroy);
    WRAP(cuGraphExecDestroy, graph_exec_destroy);
    WRAP(cuDeviceGraphMemTrim, graph_trim);
    WRAP(cuDevicePrimaryCtxRetain, primary_retain);
    WRAP(cuDevicePrimaryCtxRelease, primary_release);
    WRAP(cuDevicePrimaryCtxRelease_v2, primary_release);
    WRAP(cuDevicePrimaryCtxReset, primary_reset);
    WRAP(cuDevicePrimaryCtxReset_v2, primary_reset);
    WRAP(cuCtxCreate_v2, context_create);
    WRAP(cuCtxCreate_v3, context_create_v3);
    WRAP(cuCtxDestroy, context_destroy);
    WRAP(cuCtxDestroy_v2, context_destroy);
    WRAP(cuMemGetInfo_v2, mem_get_info);
    WRAP(cuDeviceTotalMem_v2, device_total);
}

void ath_quota_wrap(const struct ath_server *server, struct ath_board_entry *entry,
                    const size_t *devices, size_t count, struct ath_cuda_session *session,
                    struct ath_cuda_driver *driver)
{
    static const struct ath_cuda_books books = { .exported = mem_exported,
                                                 .forgotten = mem_forgotten,
                                                 .imported = mem_imported };
    quota.session = session;
    session->books = &books;
    quota.server = server;
    quota.entry = entry;
    quota.driver = *driver;
    quota.count = count < ATH_DEVICES_MAX ? count : ATH_DEVICES_MAX;
    memcpy(quota.devices, devices, quota.count * sizeof *devices);
    ath_pools_begin(driver, charge_pool);
    leave_out_old(driver);
    wrap_all(driver);
}
