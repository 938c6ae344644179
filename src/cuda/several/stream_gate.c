/* A lane holds the switch's own objects in a context: words of memory, a stream that writes them,
 * and streams to lend. A word's value only grows, so a word can be reused as soon as it has been
 * written: a stream that waits for an earlier value goes on too. */
#include "config.h"

#include "cuda/several/stream_gate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/several/copies.h"
#include "remote/session/open.h"

enum { SLOTS = 1024, LENT = 32 };

struct lane {
    struct lane *next;
    CUcontext context; /* NULL: it has ended */
    CUstream writer;
    CUdeviceptr words;
    uint32_t values[SLOTS];
    uint16_t free_slots[SLOTS];
    size_t free_count;
    CUstream streams[LENT]; /* not lent */
    size_t stream_count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slot_is_free = PTHREAD_COND_INITIALIZER;
static struct lane *lanes; /* never freed: a gate may point to one whose context has ended */

static struct lane *find_lane(CUcontext context)
{
    struct lane *lane = lanes;
    while (lane && lane->context != context)
        lane = lane->next;
    return lane;
}

/* Returns a lane that has ended and has no gates, or a new one. It is in the list. */
static struct lane *unused_lane(void)
{
    struct lane *lane = lanes;
    while (lane && (lane->context || lane->free_count < SLOTS))
        lane = lane->next;
    struct lane *next = lane ? lane->next : lanes;
    bool is_new = !lane;
    if (is_new && !(lane = malloc(sizeof *lane)))
        return NULL;
    *lane = (struct lane){ .next = next, .free_count = SLOTS };
    lanes = is_new ? lane : lanes;
    return lane;
}

/* Makes the lane's objects in the current context, without breaking other threads' captures. */
static CUresult fill_lane(struct ath_several *to, struct lane *lane)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    to->calls.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult status = to->calls.cuStreamCreate(&lane->writer, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = to->calls.cuMemAlloc_v2(&lane->words, SLOTS * sizeof(uint32_t));
    if (!status)
        status = to->calls.cuMemsetD32Async(lane->words, 0, SLOTS, lane->writer);
    if (!status)
        status = to->calls.cuStreamSynchronize(lane->writer);
    to->calls.cuThreadExchangeStreamCaptureMode(&mode);
    for (unsigned int i = 0; i < SLOTS; i++)
        lane->free_slots[i] = (uint16_t)i;
    return status;
}

/* The caller holds the lock and has entered the context. */
static CUresult lane_of(struct ath_several *to, CUcontext context, struct lane **out)
{
    if (!context) /* a server may say so */
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = find_lane(context);
    if (*out)
        return CUDA_SUCCESS;
    struct lane *made = unused_lane();
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = fill_lane(to, made);
    if (status)
        return status;
    made->context = context;
    *out = made;
    return CUDA_SUCCESS;
}

bool ath_several_captures(const struct ath_several *to, CUstream stream)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    return !to->calls.cuStreamIsCapturing(stream, &state) && state != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult ath_several_gate_take(struct ath_several *to, CUstream stream,
                               struct ath_several_gate *out)
{
    CUcontext context = NULL;
    struct ath_several *same;
    CUresult status = to->calls.cuStreamGetCtx(stream, &context);
    if (!status)
        status = ath_several_enter_in(context, &same);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    status = lane_of(to, context, &out->lane);
    while (!status && !out->lane->free_count)
        pthread_cond_wait(&slot_is_free, &lock);
    if (!status) {
        out->slot = out->lane->free_slots[--out->lane->free_count];
        out->value = ++out->lane->values[out->slot];
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static CUdeviceptr word_of(const struct ath_several_gate *gate)
{
    return gate->lane->words + gate->slot * sizeof(uint32_t);
}

CUresult ath_several_gate_close(struct ath_several *to, CUstream stream,
                                const struct ath_several_gate *gate)
{
    return to->calls.cuStreamWaitValue32_v2(stream, word_of(gate), gate->value,
                                            CU_STREAM_WAIT_VALUE_GEQ);
}

void ath_several_gate_open(const struct ath_several_gate *gate)
{
    struct ath_several *to;
    struct lane *lane = gate->lane;
    pthread_mutex_lock(&lock);
    CUcontext context = lane->context;
    pthread_mutex_unlock(&lock);
    if (context && !ath_several_enter_in(context, &to))
        to->calls.cuStreamWriteValue32_v2(lane->writer, word_of(gate), gate->value, 0);
    pthread_mutex_lock(&lock);
    lane->free_slots[lane->free_count++] = (uint16_t)gate->slot;
    pthread_cond_signal(&slot_is_free);
    pthread_mutex_unlock(&lock);
}

CUresult ath_several_take_stream(struct ath_several *to, CUcontext context, CUstream *out)
{
    struct lane *lane;
    struct ath_several *same;
    CUresult status = ath_several_enter_in(context, &same);
    if (status)
        return status;
    *out = NULL;
    pthread_mutex_lock(&lock);
    status = lane_of(to, context, &lane);
    if (!status && lane->stream_count)
        *out = lane->streams[--lane->stream_count];
    pthread_mutex_unlock(&lock);
    return status || *out ? status : to->calls.cuStreamCreate(out, CU_STREAM_NON_BLOCKING);
}

void ath_several_return_stream(CUcontext context, CUstream stream)
{
    struct ath_several *to;
    pthread_mutex_lock(&lock);
    struct lane *lane = context ? find_lane(context) : NULL;
    bool is_kept = lane && lane->stream_count < LENT;
    if (is_kept)
        lane->streams[lane->stream_count++] = stream;
    pthread_mutex_unlock(&lock);
    if (!is_kept && lane && !ath_several_enter_in(context, &to))
        to->calls.cuStreamDestroy_v2(stream);
}

void ath_several_lanes_end(CUcontext context)
{
    pthread_mutex_lock(&lock);
    struct lane *lane = find_lane(context);
    if (lane)
        lane->context = NULL;
    pthread_mutex_unlock(&lock);
}

CUresult ath_several_spoil_capture(struct ath_several *near, CUstream stream)
{
    CUresult status = near->calls.cuStreamSynchronize(stream);
    return status ? status : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void ath_several_job_failed(struct ath_several *near, CUresult status)
{
    ath_several_failed(near, status);
    if (ath_client_logs_calls())
        fprintf(stderr, "aitherion: what a stream had of another server failed: error %d\n",
                (int)status);
}
