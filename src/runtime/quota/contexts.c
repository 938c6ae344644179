/* Contexts: what they take is measured when they are made, and memory ends with its context. */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include <pthread.h>

#include "base/unknown.h"
#include "runtime/quota/context_memory.h"
#include "runtime/quota/ledger.h"
#include "runtime/quota/measure.h"
#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"

struct primary {
    CUcontext context; /* NULL: the context is not counted */
    unsigned int retained;
};

/* One context is made at a time, so that each is measured alone. */
static pthread_mutex_t making_lock = PTHREAD_MUTEX_INITIALIZER;
static struct primary primaries[ATH_DEVICES_MAX]; /* by CUDA's number */
static int64_t last_bytes[ATH_DEVICES_MAX];       /* of the last context that was measured */

/* ---- making ---- */

/*
 * If the GPU has too little left for a context, any call of the program may be the one that fails,
 * so the log reports the cause.
 */
static void log_if_full(CUresult status, CUdevice device)
{
    if (status == CUDA_ERROR_OUT_OF_MEMORY)
        ath_quota.books->log(ATH_BOOKS_NO_MEMORY_FOR_CONTEXT, ath_quota.devices[device], 0);
}

/* The driver's part of one of the functions that make a context. as_context is the context by which
 * the new thing can be current. undo ends it again. */
struct making {
    CUdevice device;
    const void *arguments;
    CUresult (*make)(const struct making *making, CUcontext *out, CUcontext *as_context);
    void (*undo)(const struct making *making, CUcontext context);
};

/* Returns what the new context, which is current, has taken. */
static int64_t bytes_of_new(const struct ath_measure *before, CUdevice device)
{
    int64_t expected = ath_context_memory_expected(device), most = 2 * expected;
    int64_t bytes = ath_measure_end(before);
    if (bytes == ATH_UNKNOWN) {
        most = expected;
        bytes = before->is_known ? last_bytes[device] : ath_measure_uncounted(device);
    }
    if (bytes == ATH_UNKNOWN || bytes > most)
        bytes = most;
    last_bytes[device] = bytes;
    return bytes;
}

/* Counts a new context. Its memory is there for a moment although a limit may refuse it. */
static CUresult count_new(const struct making *making, const struct ath_measure *before,
                          CUcontext context, CUcontext as_context)
{
    bool is_current =
        ath_quota.driver.cuCtxPushCurrent_v2 && !ath_quota.driver.cuCtxPushCurrent_v2(as_context);
    int64_t bytes = bytes_of_new(before, making->device);
    CUresult status = ath_context_memory_begin(context, making->device, bytes);
    if (is_current)
        ath_quota.driver.cuCtxPopCurrent_v2(&as_context);
    if (status)
        making->undo(making, context);
    return status;
}

/* Returns whether there may be room for one more context like the last one. */
static bool may_make(CUdevice device)
{
    size_t number = ath_quota.devices[device];
    if (!ath_context_memory_may_add())
        return false;
    if (!last_bytes[device])
        return true;
    if (!ath_room_make(number, (uint64_t)last_bytes[device]))
        return false;
    ath_quota.books->give(number, last_bytes[device]);
    return true;
}

/* The caller has the lock. */
static CUresult make_counted(const struct making *making, CUcontext *out)
{
    struct ath_measure before;
    CUcontext as_context = NULL;
    if (!may_make(making->device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    ath_measure_begin(making->device, &before);
    CUresult status = making->make(making, out, &as_context);
    log_if_full(status, making->device);
    return status ? status : count_new(making, &before, *out, as_context);
}

static CUresult make(const struct making *making, CUcontext *out)
{
    CUcontext as_context;
    if (!ath_quota_has_device(making->device))
        return making->make(making, out, &as_context); /* the driver reports the mistake */
    pthread_mutex_lock(&making_lock);
    CUresult status = make_counted(making, out);
    pthread_mutex_unlock(&making_lock);
    return status;
}

/* ---- contexts that the program makes ---- */

struct creating {
    struct making making; /* first */
    unsigned int flags;
    CUctxCreateParams *params;
    CUexecAffinityParam *affinities;
    int affinity_count;
};

static CUresult create_v2(const struct making *making, CUcontext *out, CUcontext *as_context)
{
    const struct creating *creating = (const struct creating *)making;
    CUresult status = ath_quota.driver.cuCtxCreate_v2(out, creating->flags, making->device);
    *as_context = *out;
    return status;
}

static CUresult create_v3(const struct making *making, CUcontext *out, CUcontext *as_context)
{
    const struct creating *creating = (const struct creating *)making;
    CUresult status = ath_quota.driver.cuCtxCreate_v3(
        out, creating->affinities, creating->affinity_count, creating->flags, making->device);
    *as_context = *out;
    return status;
}

static CUresult create_v4(const struct making *making, CUcontext *out, CUcontext *as_context)
{
    const struct creating *creating = (const struct creating *)making;
    CUresult status =
        ath_quota.driver.cuCtxCreate_v4(out, creating->params, creating->flags, making->device);
    *as_context = *out;
    return status;
}

static void destroy(const struct making *making, CUcontext context)
{
    (void)making;
    if (ath_quota.driver.cuCtxDestroy_v2)
        ath_quota.driver.cuCtxDestroy_v2(context);
}

CUresult ath_quota_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    const struct creating creating = {
        .making = { .device = device, .make = create_v2, .undo = destroy }, .flags = flags
    };
    return make(&creating.making, context);
}

CUresult ath_quota_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count,
                                  unsigned int flags, CUdevice device)
{
    const struct creating creating = {
        .making = { .device = device, .make = create_v3, .undo = destroy },
        .flags = flags,
        .affinities = params,
        .affinity_count = count
    };
    return make(&creating.making, context);
}

CUresult ath_quota_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
                                  CUdevice device)
{
    const struct creating creating = {
        .making = { .device = device, .make = create_v4, .undo = destroy },
        .flags = flags,
        .params = params
    };
    return make(&creating.making, context);
}

/* The first version makes contexts for addresses of 32 bits, if the driver has it still. */
CUresult ath_quota_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
    return ath_quota_cuCtxCreate_v2(context, flags, device);
}

static void end_context(CUcontext context)
{
    ath_ledger_drop_context(context);
    ath_context_memory_end(context);
}

CUresult ath_quota_cuCtxDestroy_v2(CUcontext context)
{
    CUresult status = ath_quota.driver.cuCtxDestroy_v2(context);
    if (!status)
        end_context(context);
    return status;
}

CUresult ath_quota_cuCtxDestroy(CUcontext context)
{
    return ath_quota_cuCtxDestroy_v2(context);
}

CUresult ath_quota_cuCtxAttach(CUcontext *context, unsigned int flags)
{
    CUresult status = ath_quota.driver.cuCtxAttach(context, flags);
    if (!status)
        ath_context_memory_retain(*context);
    return status;
}

CUresult ath_quota_cuCtxDetach(CUcontext context)
{
    CUresult status = ath_quota.driver.cuCtxDetach(context);
    if (!status && ath_context_memory_release(context))
        end_context(context);
    return status;
}

/* ---- green contexts ---- */

struct creating_green {
    struct making making; /* first */
    CUdevResourceDesc descriptor;
    unsigned int flags;
};

static CUresult create_green(const struct making *making, CUcontext *out, CUcontext *as_context)
{
    const struct creating_green *creating = (const struct creating_green *)making;
    CUgreenCtx green = NULL;
    CUresult status = ath_quota.driver.cuGreenCtxCreate(&green, creating->descriptor,
                                                        making->device, creating->flags);
    *out = (CUcontext)green;
    if (!status && ath_quota.driver.cuCtxFromGreenCtx)
        ath_quota.driver.cuCtxFromGreenCtx(as_context, green);
    return status;
}

static void destroy_green(const struct making *making, CUcontext context)
{
    (void)making;
    if (ath_quota.driver.cuGreenCtxDestroy)
        ath_quota.driver.cuGreenCtxDestroy((CUgreenCtx)context);
}

CUresult ath_quota_cuGreenCtxCreate(CUgreenCtx *context, CUdevResourceDesc descriptor,
                                    CUdevice device, unsigned int flags)
{
    const struct creating_green creating = {
        .making = { .device = device, .make = create_green, .undo = destroy_green },
        .descriptor = descriptor,
        .flags = flags
    };
    CUcontext made = NULL;
    CUresult status = make(&creating.making, &made);
    *context = (CUgreenCtx)made;
    return status;
}

CUresult ath_quota_cuGreenCtxDestroy(CUgreenCtx context)
{
    CUcontext same = NULL;
    if (ath_quota.driver.cuCtxFromGreenCtx)
        ath_quota.driver.cuCtxFromGreenCtx(&same, context);
    CUresult status = ath_quota.driver.cuGreenCtxDestroy(context);
    if (status)
        return status;
    ath_ledger_drop_context(same);
    ath_context_memory_end((CUcontext)context);
    return status;
}

/* ---- primary contexts ---- */

static CUresult retain(const struct making *making, CUcontext *out, CUcontext *as_context)
{
    CUresult status = ath_quota.driver.cuDevicePrimaryCtxRetain(out, making->device);
    *as_context = *out;
    return status;
}

static void release(const struct making *making, CUcontext context)
{
    (void)context;
    if (ath_quota.driver.cuDevicePrimaryCtxRelease_v2)
        ath_quota.driver.cuDevicePrimaryCtxRelease_v2(making->device);
}

CUresult ath_quota_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    const struct making making = { .device = device, .make = retain, .undo = release };
    if (!ath_quota_has_device(device))
        return ath_quota.driver.cuDevicePrimaryCtxRetain(context, device);
    pthread_mutex_lock(&making_lock);
    struct primary *primary = &primaries[device];
    CUresult status = primary->context ? ath_quota.driver.cuDevicePrimaryCtxRetain(context, device)
                                       : make_counted(&making, context);
    if (!status) {
        primary->context = *context;
        primary->retained++;
    }
    pthread_mutex_unlock(&making_lock);
    if (!status)
        ath_quota.books->note(ath_quota.devices[device]);
    return status;
}

/* Returns the current context if it is a device's primary one; else NULL. */
static CUcontext current_primary(CUdevice device)
{
    CUcontext primary = NULL;
    if (!ath_quota.driver.cuDevicePrimaryCtxRelease_v2 ||
        ath_quota.driver.cuDevicePrimaryCtxRetain(&primary, device))
        return NULL;
    ath_quota.driver.cuDevicePrimaryCtxRelease_v2(device);
    return primary == ath_quota_current_context() ? primary : NULL;
}

/* The bytes of a context that was not measured when it was made. Other programs may have a part of
 * the memory that is not on the board. */
static int64_t bytes_of_found(CUdevice device)
{
    int64_t expected = ath_context_memory_expected(device);
    int64_t bytes = last_bytes[device] ? last_bytes[device] : ath_measure_uncounted(device);
    return bytes == ATH_UNKNOWN || bytes > expected ? expected : bytes;
}

void ath_quota_find_primary(void)
{
    CUdevice device = -1;
    unsigned int flags;
    int is_active = 0;
    if (!ath_quota.books->has_unseen_contexts || !ath_quota.driver.cuDevicePrimaryCtxGetState ||
        !ath_quota.driver.cuCtxGetDevice || ath_quota.driver.cuCtxGetDevice(&device) ||
        !ath_quota_has_device(device))
        return;
    pthread_mutex_lock(&making_lock);
    struct primary *primary = &primaries[device];
    if (!primary->context &&
        !ath_quota.driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active) && is_active)
        primary->context = current_primary(device);
    bool is_found = is_active && primary->context;
    if (is_found) {
        primary->retained++; /* by who made it */
        ath_context_memory_found(primary->context, device, bytes_of_found(device));
    }
    pthread_mutex_unlock(&making_lock);
    if (is_found)
        ath_quota.books->note(ath_quota.devices[device]);
}

/* Drops a reference of the primary context, or all (is_reset). The last one ends its holdings. */
static void drop_primary(CUdevice device, bool is_reset)
{
    CUcontext gone = NULL;
    if (!ath_quota_has_device(device))
        return;
    pthread_mutex_lock(&making_lock);
    struct primary *primary = &primaries[device];
    if (!is_reset && primary->retained)
        primary->retained--;
    if (is_reset || !primary->retained) {
        gone = primary->context;
        primary->context = NULL;
    }
    pthread_mutex_unlock(&making_lock);
    end_context(gone);
}

CUresult ath_quota_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult status = ath_quota.driver.cuDevicePrimaryCtxRelease_v2(device);
    if (!status)
        drop_primary(device, false);
    return status;
}

CUresult ath_quota_cuDevicePrimaryCtxRelease(CUdevice device)
{
    return ath_quota_cuDevicePrimaryCtxRelease_v2(device);
}

CUresult ath_quota_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult status = ath_quota.driver.cuDevicePrimaryCtxReset_v2(device);
    if (!status)
        drop_primary(device, true);
    return status;
}

CUresult ath_quota_cuDevicePrimaryCtxReset(CUdevice device)
{
    return ath_quota_cuDevicePrimaryCtxReset_v2(device);
}
