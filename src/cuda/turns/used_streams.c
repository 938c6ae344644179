/* A list of streams with work, which is short: a stream leaves it when it is seen empty. */
#include "config.h"

#include "cuda/turns/used_streams.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/uncancelled.h"

enum { DEVICES_MAX = 64 };

struct used {
    CUstream stream;
    struct ath_turn_place place;
    CUevent event;     /* behind the work; NULL: the stream is asked */
    const void *owner; /* that alone can ask, so there is an event; NULL: all can */
    bool is_ending;    /* a call ends its context: it is not asked */
};

static struct {
    pthread_mutex_t lock; /* of what follows */
    struct used *items;
    size_t count, room;
    size_t prune_at; /* entries */
    CUcontext primary[DEVICES_MAX];
    size_t captures; /* under way */
    int cancel;      /* that the thread which has the lock allowed before */
} used = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct ath_cuda_driver raw;
static atomic_bool has_captures; /* now */
_Atomic uint64_t ath_used_streams_epoch = 1;

void ath_used_streams_begin(const struct ath_cuda_driver *driver)
{
    raw = *driver;
}

/* ---- asking the driver ---- */

/* The mode of a thread while it asks. Captures forbid some questions to all threads that are
 * not in the relaxed mode. */
struct asking {
    CUstreamCaptureMode mode;
    bool has_mode;
};

static struct asking ask_begin(void)
{
    struct asking asking = { .mode = CU_STREAM_CAPTURE_MODE_RELAXED };
    asking.has_mode = raw.cuThreadExchangeStreamCaptureMode &&
                      !raw.cuThreadExchangeStreamCaptureMode(&asking.mode);
    return asking;
}

static void ask_end(struct asking *asking)
{
    if (asking->has_mode)
        raw.cuThreadExchangeStreamCaptureMode(&asking->mode);
}

/* Returns whether the context is current now, and must be taken back. */
static bool push(CUcontext context)
{
    return context && raw.cuCtxPushCurrent_v2 && raw.cuCtxPopCurrent_v2 &&
           !raw.cuCtxPushCurrent_v2(context);
}

static void pop(bool is_pushed)
{
    CUcontext context;
    if (is_pushed)
        raw.cuCtxPopCurrent_v2(&context);
}

/* Returns whether a stream, or for the legacy stream one that it would wait for, captures. The
 * context is current. */
static bool captures(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!raw.cuStreamIsCapturing)
        return false;
    return raw.cuStreamIsCapturing(stream, &status) || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* A stream whose context has a fault has no work. The caller has the lock. */
static bool is_busy(const struct used *one)
{
    if (one->event)
        return raw.cuEventQuery(one->event) == CUDA_ERROR_NOT_READY;
    bool is_pushed = push(one->place.context);
    /* its work from before the capture has an event */
    bool is = !(used.captures && captures(one->stream)) &&
              raw.cuStreamQuery(one->stream) == CUDA_ERROR_NOT_READY;
    pop(is_pushed);
    return is;
}

/* ---- the list; the caller has the lock ---- */

/* Returns the entry of the same stream, if work that it gets now belongs to that. */
static struct used *find(const struct used *work)
{
    for (size_t i = 0; i < used.count; i++) {
        struct used *one = &used.items[i];
        if (one->stream == work->stream && one->place.context == work->place.context &&
            one->place.green == work->place.green && one->owner == work->owner &&
            (work->owner || !one->event))
            return one;
    }
    return NULL;
}

static struct used *add(const struct used *one)
{
    if (used.count == used.room) {
        used.room = used.room ? 2 * used.room : 16;
        used.items = ath_xrealloc(used.items, used.room * sizeof *used.items);
    }
    used.items[used.count] = *one;
    return &used.items[used.count++];
}

static void drop(struct used *one)
{
    if (one->event)
        raw.cuEventDestroy_v2(one->event);
    *one = used.items[--used.count];
}

/* Drops events that are over, if there are many: without turns of others the streams are looked at
 * only when the program rests. */
static void prune(void)
{
    enum { LEAST = 64 };
    if (used.count < LEAST || used.count < used.prune_at)
        return;
    for (size_t i = used.count; i--;)
        if (used.items[i].event && !used.items[i].is_ending && !is_busy(&used.items[i]))
            drop(&used.items[i]);
    used.prune_at = 2 * used.count;
}

static CUcontext primary_of(CUdevice device)
{
    return device >= 0 && device < DEVICES_MAX ? used.primary[device] : NULL;
}

/* Records the event of an entry, which is made if there is none. An event for a green context's
 * work is the primary context's: it stays when the green one ends. Returns whether it is
 * recorded. */
static bool record(struct used *one)
{
    bool is_pushed = push(one->place.green ? primary_of(one->place.device) : one->place.context);
    CUresult status =
        one->event ? CUDA_SUCCESS : raw.cuEventCreate(&one->event, CU_EVENT_DISABLE_TIMING);
    if (one->owner) { /* the stream is that of the caller's own context */
        pop(is_pushed);
        is_pushed = false;
    }
    if (!status)
        status = raw.cuEventRecord(one->event, one->stream);
    pop(is_pushed);
    return !status;
}

/* Puts an event behind the work of a stream that cannot be asked from now on. An entry whose event
 * cannot be recorded goes: there is nothing to wait for any more. */
static void leave_event(struct used *one)
{
    if (!is_busy(one) || !record(one))
        drop(one);
}

static void leave_events(void)
{
    prune();
    for (size_t i = used.count; i--;)
        if (!used.items[i].event && !used.items[i].is_ending)
            leave_event(&used.items[i]);
    ath_used_streams_epoch++;
}

/* ---- work ---- */

uint64_t ath_used_streams_note(CUstream stream, const struct ath_turn_place *place)
{
    const struct used one = { .stream = stream, .place = *place };
    pthread_mutex_lock(&used.lock);
    if (!find(&one))
        add(&one);
    uint64_t epoch = ath_used_streams_epoch;
    pthread_mutex_unlock(&used.lock);
    return epoch;
}

void ath_used_streams_mark(CUstream stream, const struct ath_turn_place *place, const void *owner)
{
    const struct used one = { .stream = stream, .place = *place, .owner = owner };
    ath_uncancelled int cancel = ath_uncancel();
    pthread_mutex_lock(&used.lock);
    struct asking asking = ask_begin();
    prune();
    if (!(used.captures && captures(stream))) {
        struct used *marked = find(&one);
        if (!marked)
            marked = add(&one);
        if (!record(marked))
            drop(marked);
    }
    ask_end(&asking);
    pthread_mutex_unlock(&used.lock);
}

bool ath_used_streams_are_empty(void)
{
    pthread_mutex_lock(&used.lock);
    if (used.count) {
        /* First: who enters after this notes its stream again (gate.c). */
        ath_used_streams_epoch++;
        struct asking asking = ask_begin();
        for (size_t i = used.count; i--;)
            if (!used.items[i].is_ending && !is_busy(&used.items[i]))
                drop(&used.items[i]);
        ask_end(&asking);
    }
    bool are = !used.count;
    pthread_mutex_unlock(&used.lock);
    return are;
}

/* ---- the end of streams and contexts ---- */

void ath_used_streams_end(CUstream stream)
{
    ath_uncancelled int cancel = ath_uncancel();
    pthread_mutex_lock(&used.lock);
    struct asking asking = ask_begin();
    prune();
    for (size_t i = used.count; i--;)
        if (used.items[i].stream == stream && !used.items[i].event)
            leave_event(&used.items[i]);
    ath_used_streams_epoch++;
    ask_end(&asking);
    pthread_mutex_unlock(&used.lock);
}

/* Returns whether a stream ends with a green context, a context, or a primary context. */
static bool belongs(const struct used *one, const struct ath_turn_place *ends)
{
    if (ends->green)
        return one->place.green == ends->green;
    if (ends->context)
        return one->place.context == ends->context;
    if (one->place.green)
        return one->place.device == ends->device;
    return one->place.context && one->place.context == primary_of(ends->device);
}

/* Before a green context ends: its work goes on (driver 580.159, H200), at most until the primary
 * context ends. */
static void outlive(struct used *one)
{
    if (!one->event && (!is_busy(one) || !record(one))) {
        drop(one);
        return;
    }
    one->place.context = primary_of(one->place.device);
    one->place.green = NULL;
    one->owner = NULL;
}

void ath_used_streams_note_primary(CUdevice device, CUcontext context)
{
    pthread_mutex_lock(&used.lock);
    if (device >= 0 && device < DEVICES_MAX)
        used.primary[device] = context;
    pthread_mutex_unlock(&used.lock);
}

void ath_used_streams_contexts_end(const struct ath_turn_place *ends)
{
    ath_uncancelled int cancel = ath_uncancel();
    pthread_mutex_lock(&used.lock);
    struct asking asking = ask_begin();
    for (size_t i = used.count; i--;) {
        struct used *one = &used.items[i];
        if (belongs(one, ends) && ends->green)
            outlive(one);
        else if (belongs(one, ends))
            one->is_ending = true;
    }
    ask_end(&asking);
    pthread_mutex_unlock(&used.lock);
}

void ath_used_streams_contexts_ended(const struct ath_turn_place *ends, bool is_over)
{
    pthread_mutex_lock(&used.lock);
    for (size_t i = used.count; i--;) {
        struct used *one = &used.items[i];
        if (!one->is_ending || !belongs(one, ends))
            continue;
        one->is_ending = false;
        if (is_over)
            *one = used.items[--used.count]; /* its event ended with the context */
    }
    ath_used_streams_epoch++;
    pthread_mutex_unlock(&used.lock);
}

/* ---- captures ---- */

static void unlock_and_recancel(void)
{
    int cancel = used.cancel;
    pthread_mutex_unlock(&used.lock);
    ath_recancel(&cancel);
}

/* A stream that captures cannot be asked, nor can the legacy stream while one that it waits for
 * captures, and any other may join. So all get events first. */
void ath_used_streams_capture_begins(void)
{
    int cancel = ath_uncancel();
    pthread_mutex_lock(&used.lock);
    used.cancel = cancel;
    struct asking asking = ask_begin();
    leave_events();
    ask_end(&asking);
}

void ath_used_streams_capture_began(CUresult status)
{
    used.captures += !status;
    has_captures = used.captures;
    unlock_and_recancel();
}

bool ath_used_streams_capture_ends(CUstream stream)
{
    return has_captures && captures(stream);
}

void ath_used_streams_capture_ended(void)
{
    pthread_mutex_lock(&used.lock);
    used.captures -= used.captures > 0;
    has_captures = used.captures;
    pthread_mutex_unlock(&used.lock);
}

bool ath_used_streams_joins(CUstream stream)
{
    if (!has_captures)
        return false;
    int cancel = ath_uncancel();
    pthread_mutex_lock(&used.lock);
    used.cancel = cancel;
    struct asking asking = ask_begin();
    for (size_t i = used.count; i--;)
        if (used.items[i].stream == stream && !used.items[i].event)
            leave_event(&used.items[i]);
    ath_used_streams_epoch++;
    ask_end(&asking);
    return true;
}

void ath_used_streams_joined(bool is_held)
{
    if (is_held)
        unlock_and_recancel();
}

bool ath_used_streams_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return has_captures && stream && stream != CU_STREAM_LEGACY && raw.cuStreamIsCapturing &&
           !raw.cuStreamIsCapturing(stream, &status) && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
