/* The green context of a session on each device. */
#include "config.h"

#include "runtime/part/part.h"

#include <stdio.h>

#include "base/i18n.h"
#include "runtime/part/order.h"
#include "runtime/part/state.h"

enum { SENTENCE = 300 };

struct ath_parts ath_parts;

/* ---- begin ---- */

const char *ath_part_lacks(const struct ath_cuda_driver *driver)
{
    return !driver->cuGreenCtxCreate              ? "cuGreenCtxCreate"
           : !driver->cuGreenCtxDestroy           ? "cuGreenCtxDestroy"
           : !driver->cuCtxFromGreenCtx           ? "cuCtxFromGreenCtx"
           : !driver->cuDeviceGetDevResource      ? "cuDeviceGetDevResource"
           : !driver->cuGreenCtxGetDevResource    ? "cuGreenCtxGetDevResource"
           : !driver->cuDevSmResourceSplitByCount ? "cuDevSmResourceSplitByCount"
           : !driver->cuDevResourceGenerateDesc   ? "cuDevResourceGenerateDesc"
                                                  : NULL;
}

void ath_part_begin(const struct ath_part_setup *setup, struct ath_cuda_driver *driver)
{
    ath_parts.setup = *setup;
    ath_parts.raw = *driver;
    if (!setup->percent)
        return;
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++) {
        pthread_mutex_init(&ath_parts.items[i].lock, NULL);
        ath_parts.items[i].device = (CUdevice)i;
    }
    ath_part_wrap(driver);
}

/* ---- how many ---- */

unsigned int ath_part_groups(int percent, unsigned int groups)
{
    unsigned int wanted = percent >= 100 ? groups : groups * (unsigned int)percent / 100;
    return wanted || !groups ? wanted : 1;
}

/* A device's multiprocessors in the smallest groups that the driver makes, always the same ones. An
 * H200 has 15 groups of 8, and 12 multiprocessors that the driver puts into no group: the rest is
 * the last group here if it is as large as another one. */
struct split {
    CUdevResource groups[ATH_PART_GROUPS_MAX], rest;
    unsigned int made, count, total; /* groups that the driver made, and all; multiprocessors */
};

static CUresult split_device(CUdevice device, struct split *out)
{
    CUdevResource all;
    *out = (struct split){ .made = ATH_PART_GROUPS_MAX };
    CUresult status = ath_parts.raw.cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
    if (status)
        return status;
    out->total = all.sm.smCount;
    status =
        ath_parts.raw.cuDevSmResourceSplitByCount(out->groups, &out->made, &all, &out->rest, 0, 0);
    if (!status && !(out->made && out->groups[0].sm.smCount))
        return CUDA_ERROR_NOT_SUPPORTED;
    out->count = out->made;
    if (!status && out->made < ATH_PART_GROUPS_MAX &&
        out->rest.sm.smCount >= out->groups[0].sm.smCount)
        out->count++;
    return status;
}

static void note_split(struct ath_part *part, const struct split *split)
{
    unsigned int each = split->groups[0].sm.smCount;
    unsigned int wanted = ath_part_groups(ath_parts.setup.percent, split->count);
    part->total = split->total;
    part->each = each;
    part->groups = split->count;
    part->mine = ath_parts.setup.percent >= 100 ? split->total : wanted * each;
}

CUresult ath_part_measure(struct ath_part *part)
{
    struct split split;
    if (part->total)
        return CUDA_SUCCESS;
    CUresult status = split_device(part->device, &split);
    if (!status)
        note_split(part, &split);
    return status;
}

/* ---- making ---- */

static void say_none_left(const struct ath_part *part, unsigned int wanted)
{
    char text[SENTENCE];
    snprintf(
        text, sizeof text,
        _("GPU %zu has no %u multiprocessors left for --sm-share %d: other programs have parts of "
          "it; ask for less, or wait until one of them has ended"),
        ath_parts.setup.devices[part->device], wanted * part->each, ath_parts.setup.percent);
    ath_parts.setup.say(text);
}

static void say_unable(const struct ath_part *part, CUresult why)
{
    char text[SENTENCE];
    snprintf(
        text, sizeof text,
        _("GPU %zu cannot give a part of its multiprocessors for --sm-share %d: the driver says "
          "error %d"),
        ath_parts.setup.devices[part->device], ath_parts.setup.percent, (int)why);
    ath_parts.setup.say(text);
}

static void tell_given(const struct ath_part *part)
{
    char text[SENTENCE];
    snprintf(text, sizeof text, _("GPU %zu: %d percent wanted, %u of %u multiprocessors given"),
             ath_parts.setup.devices[part->device], ath_parts.setup.percent, part->mine,
             part->total);
    ath_parts.setup.tell(text);
}

static void give_back(const struct ath_part *part)
{
    const struct ath_books_part none = { .groups = part->groups };
    ath_parts.setup.books->take_part(ath_parts.setup.devices[part->device], &none);
}

/* Makes the green context of the groups whose bits are set. All groups have the rest with them. */
static CUresult make_of(struct ath_part *part, struct split *split, uint64_t bits)
{
    CUdevResource mine[ATH_PART_GROUPS_MAX + 1];
    CUdevResourceDesc description;
    unsigned int count = 0;
    for (unsigned int i = 0; i < split->made; i++)
        if (bits >> i & 1)
            mine[count++] = split->groups[i];
    bool has_rest = split->count > split->made ? bits >> split->made & 1 : count == split->made;
    if (has_rest && split->rest.sm.smCount)
        mine[count++] = split->rest;
    CUresult status = ath_parts.raw.cuDevResourceGenerateDesc(&description, mine, count);
    if (!status)
        status = ath_parts.raw.cuGreenCtxCreate(&part->green, description, part->device,
                                                CU_GREEN_CTX_DEFAULT_STREAM);
    if (status)
        return status;
    status = ath_parts.raw.cuCtxFromGreenCtx(&part->context, part->green);
    if (status)
        ath_parts.raw.cuGreenCtxDestroy(part->green);
    return status;
}

CUresult ath_part_make(struct ath_part *part)
{
    struct split split;
    if (part->context)
        return CUDA_SUCCESS;
    CUresult status = split_device(part->device, &split);
    if (status) {
        say_unable(part, status);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    note_split(part, &split);
    const struct ath_books_part asked = {
        .groups = split.count,
        .wanted = ath_part_groups(ath_parts.setup.percent, split.count),
        .processors = part->mine,
        .total = split.total,
    };
    uint64_t bits = ath_parts.setup.books->take_part(ath_parts.setup.devices[part->device], &asked);
    if (!bits) {
        say_none_left(part, asked.wanted);
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    status = make_of(part, &split, bits);
    if (status) {
        part->green = NULL;
        part->context = NULL;
        give_back(part);
        say_unable(part, status);
        return status;
    }
    tell_given(part);
    return CUDA_SUCCESS;
}

void ath_part_end(struct ath_part *part)
{
    if (!part->green)
        return;
    ath_part_order_clear(part);
    ath_parts.raw.cuGreenCtxDestroy(part->green);
    part->green = NULL;
    part->context = NULL;
    part->epoch++;
    give_back(part);
}

/* ---- the current context ---- */

struct ath_part *ath_part_of(CUdevice device)
{
    return device >= 0 && (size_t)device < ath_parts.setup.device_count ? &ath_parts.items[device]
                                                                        : NULL;
}

/* A program may have made its primary context by the driver's own tables. */
static bool is_primary(struct ath_part *part, CUcontext context)
{
    CUcontext primary = atomic_load(&part->primary);
    unsigned int flags;
    int is_active = 0;
    if (primary)
        return primary == context;
    if (ath_parts.raw.cuDevicePrimaryCtxGetState(part->device, &flags, &is_active) || !is_active ||
        ath_parts.raw.cuDevicePrimaryCtxRetain(&primary, part->device))
        return false;
    ath_parts.raw.cuDevicePrimaryCtxRelease_v2(part->device);
    atomic_store(&part->primary, primary);
    return primary == context;
}

struct ath_part *ath_part_current(void)
{
    CUcontext context = NULL;
    CUdevice device;
    if (ath_parts.raw.cuCtxGetCurrent(&context) || !context ||
        ath_parts.raw.cuCtxGetDevice(&device))
        return NULL;
    struct ath_part *part = ath_part_of(device);
    return part && is_primary(part, context) ? part : NULL;
}

CUresult ath_part_push(struct ath_part *part)
{
    return ath_parts.raw.cuCtxPushCurrent_v2(part->context);
}

void ath_part_pop(void)
{
    CUcontext unused;
    ath_parts.raw.cuCtxPopCurrent_v2(&unused);
}

/* Takes the lock and makes the green context current. */
static CUresult go_inside(struct ath_part *part)
{
    pthread_mutex_lock(&part->lock);
    CUresult status = ath_part_make(part);
    if (!status)
        status = ath_part_push(part);
    if (status)
        pthread_mutex_unlock(&part->lock);
    return status;
}

/* ---- calls ---- */

CUresult ath_part_enter_inside(struct ath_part **out_held)
{
    *out_held = NULL;
    struct ath_part *part = ath_part_current();
    if (!part)
        return CUDA_SUCCESS;
    CUresult status = go_inside(part);
    if (!status)
        *out_held = part;
    return status;
}

/* The default stream of the calling thread: the driver has none inside a green context. It ends
 * with the thread's context. */
static CUresult find_own_stream(CUstream *stream)
{
    static _Thread_local struct {
        CUstream stream;
        uint64_t epoch;
    } own[ATH_DEVICES_MAX];
    struct ath_part *part = ath_part_current();
    if (!part)
        return CUDA_SUCCESS;
    CUresult status = go_inside(part);
    if (status)
        return status;
    if (!own[part->device].stream || own[part->device].epoch != part->epoch) {
        status = ath_parts.raw.cuStreamCreate(&own[part->device].stream, CU_STREAM_DEFAULT);
        own[part->device].epoch = part->epoch;
        if (!status && !ath_part_order_add(part, own[part->device].stream)) {
            ath_parts.raw.cuStreamDestroy_v2(own[part->device].stream);
            status = CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (status)
            own[part->device].stream = NULL;
    }
    *stream = own[part->device].stream;
    ath_part_leave(part);
    return status;
}

CUresult ath_part_enter(CUstream *stream, bool gives_work, struct ath_part **out_held)
{
    *out_held = NULL;
    if (*stream == CU_STREAM_PER_THREAD) {
        CUresult status = find_own_stream(stream);
        if (status)
            return status;
    }
    if (*stream > CU_STREAM_PER_THREAD)
        return gives_work ? ath_part_order_enter(*stream) : CUDA_SUCCESS;
    CUresult status = ath_part_enter_inside(out_held);
    if (status || !*out_held)
        return status;
    status = ath_part_order_enter_null(*out_held, gives_work);
    if (status)
        ath_part_leave(*out_held);
    return status;
}

void ath_part_leave(struct ath_part *held)
{
    if (!held)
        return;
    ath_part_pop();
    pthread_mutex_unlock(&held->lock);
}

CUcontext ath_part_inside(CUcontext context)
{
    for (size_t i = 0; context && i < ath_parts.setup.device_count; i++) {
        const struct ath_part *part = &ath_parts.items[i];
        if (context == atomic_load(&part->primary) && part->context)
            return part->context;
    }
    return context;
}
