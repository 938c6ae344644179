/* Notes the making, attaching and ending of contexts, for the gate. */
#include "config.h"

#include "cuda/turns/contexts.h"

#include <pthread.h>
#include <stdint.h>

#include "base/alloc.h"

struct green {
    CUgreenCtx green;
    CUcontext context; /* that stands for it; NULL: none does */
    CUdevice device;
};

struct attached {
    CUcontext context;
    size_t references;
};

static struct {
    pthread_mutex_t lock; /* of what follows; leaf */
    size_t made;          /* so far */
    uint64_t primaries;   /* a bit for each device: its primary context is among them */
    struct green *greens;
    size_t green_count;
    struct attached *attached; /* contexts with more than one reference */
    size_t attached_count;
} contexts = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct ath_cuda_driver raw;
static atomic_bool has_green; /* now */
atomic_bool ath_turn_contexts_are_several;

/* The caller has the lock. */
static void count(void)
{
    if (++contexts.made > 1)
        atomic_store(&ath_turn_contexts_are_several, true);
}

void ath_turn_contexts_begin(const struct ath_cuda_driver *driver, size_t unseen)
{
    raw = *driver;
    contexts.made = 0;
    contexts.primaries = 0;
    ath_turn_contexts_are_several = false;
    for (size_t i = 0; i < unseen; i++)
        ath_turn_contexts_retained((CUdevice)i);
}

/* ---- references ---- */

void ath_turn_contexts_made(void)
{
    pthread_mutex_lock(&contexts.lock);
    count();
    pthread_mutex_unlock(&contexts.lock);
}

void ath_turn_contexts_retained(CUdevice device)
{
    uint64_t bit = device >= 0 && device < 64 ? UINT64_C(1) << device : 0;
    pthread_mutex_lock(&contexts.lock);
    if (!bit || !(contexts.primaries & bit))
        count();
    contexts.primaries |= bit;
    pthread_mutex_unlock(&contexts.lock);
}

/* The caller has the lock. */
static struct attached *find_attached(CUcontext context)
{
    for (size_t i = 0; i < contexts.attached_count; i++)
        if (contexts.attached[i].context == context)
            return &contexts.attached[i];
    return NULL;
}

void ath_turn_contexts_attached(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    struct attached *one = find_attached(context);
    if (!one) {
        contexts.attached = ath_xrealloc(contexts.attached,
                                         (contexts.attached_count + 1) * sizeof *contexts.attached);
        one = &contexts.attached[contexts.attached_count++];
        *one = (struct attached){ .context = context, .references = 1 };
    }
    one->references++;
    pthread_mutex_unlock(&contexts.lock);
}

bool ath_turn_contexts_detached(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    struct attached *one = find_attached(context);
    if (one && !--one->references)
        *one = contexts.attached[--contexts.attached_count];
    else if (one)
        context = NULL;
    pthread_mutex_unlock(&contexts.lock);
    return context;
}

void ath_turn_contexts_ended(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    struct attached *one = find_attached(context);
    if (one)
        *one = contexts.attached[--contexts.attached_count];
    pthread_mutex_unlock(&contexts.lock);
}

/* ---- green contexts ---- */

void ath_turn_contexts_made_green(CUgreenCtx green, CUdevice device)
{
    pthread_mutex_lock(&contexts.lock);
    contexts.greens =
        ath_xrealloc(contexts.greens, (contexts.green_count + 1) * sizeof *contexts.greens);
    contexts.greens[contexts.green_count++] = (struct green){ .green = green, .device = device };
    atomic_store(&has_green, true);
    pthread_mutex_unlock(&contexts.lock);
}

/* Returns NULL if it is not known. The caller has the lock. */
static struct green *find_green(CUgreenCtx green, CUcontext context)
{
    for (size_t i = 0; i < contexts.green_count; i++) {
        struct green *one = &contexts.greens[i];
        if (green ? one->green == green : context && one->context == context)
            return one;
    }
    return NULL;
}

void ath_turn_contexts_named_green(CUgreenCtx green, CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    struct green *one = find_green(green, NULL);
    if (one && !one->context)
        count();
    if (one)
        one->context = context;
    pthread_mutex_unlock(&contexts.lock);
}

CUdevice ath_turn_contexts_ended_green(CUgreenCtx green)
{
    pthread_mutex_lock(&contexts.lock);
    struct green *one = find_green(green, NULL);
    CUdevice device = one ? one->device : -1;
    if (one)
        *one = contexts.greens[--contexts.green_count];
    atomic_store(&has_green, contexts.green_count > 0);
    pthread_mutex_unlock(&contexts.lock);
    return device;
}

void ath_turn_contexts_ended_primary(CUdevice device)
{
    pthread_mutex_lock(&contexts.lock);
    for (size_t i = contexts.green_count; i--;)
        if (contexts.greens[i].device == device)
            contexts.greens[i] = contexts.greens[--contexts.green_count];
    atomic_store(&has_green, contexts.green_count > 0);
    pthread_mutex_unlock(&contexts.lock);
}

/* ---- places ---- */

/* Finds the green context of a stream, or of the current context. Returns false if there is
 * none. */
static bool find_green_place(CUstream stream, CUcontext current, struct ath_turn_place *out)
{
    CUgreenCtx green = NULL;
    bool is_named = stream > CU_STREAM_PER_THREAD;
    bool is_asked = is_named && raw.cuStreamGetGreenCtx && !raw.cuStreamGetGreenCtx(stream, &green);
    if (is_asked && !green)
        return false;
    pthread_mutex_lock(&contexts.lock);
    const struct green *one = find_green(green, current);
    if (one)
        *out = (struct ath_turn_place){ .green = one->green, .device = one->device };
    pthread_mutex_unlock(&contexts.lock);
    return one;
}

static CUdevice current_device(void)
{
    CUdevice device;
    return raw.cuCtxGetDevice && !raw.cuCtxGetDevice(&device) ? device : -1;
}

static CUdevice device_of(CUcontext context)
{
    CUcontext popped;
    if (!raw.cuCtxPushCurrent_v2 || !raw.cuCtxPopCurrent_v2 || raw.cuCtxPushCurrent_v2(context))
        return -1;
    CUdevice device = current_device();
    raw.cuCtxPopCurrent_v2(&popped);
    return device;
}

struct ath_turn_place ath_turn_contexts_place(CUstream stream, CUcontext current)
{
    struct ath_turn_place place = { .context = current, .device = -1 };
    CUcontext own;
    if (atomic_load(&has_green) && find_green_place(stream, current, &place))
        return place;
    if (stream > CU_STREAM_PER_THREAD && raw.cuStreamGetCtx && !raw.cuStreamGetCtx(stream, &own))
        place.context = own;
    place.device = place.context == current ? current_device() : device_of(place.context);
    return place;
}
