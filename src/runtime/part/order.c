/* Keeps the streams of a part, and lets them and the null stream wait for each other by events. */
#include "config.h"

#include "runtime/part/order.h"

#include <stdlib.h>

/* A stream in the order. */
struct ath_part_stream {
    struct ath_part_stream *next; /* of its part */
    CUstream stream;
    CUevent event;
    bool has_work;      /* that the null stream has not waited for */
    uint64_t null_work; /* of the null stream, for which it has waited */
};

static atomic_uint count; /* of all parts: a process without such streams looks for none */

bool ath_part_order_add(struct ath_part *part, CUstream stream)
{
    struct ath_part_stream *made = calloc(1, sizeof *made);
    if (!made)
        return false;
    *made = (struct ath_part_stream){ .next = part->streams, .stream = stream };
    part->streams = made;
    atomic_fetch_add(&count, 1);
    return true;
}

static void end(struct ath_part_stream *one, bool has_context)
{
    if (one->event && has_context)
        ath_parts.raw.cuEventDestroy_v2(one->event);
    free(one);
    atomic_fetch_sub(&count, 1);
}

void ath_part_order_drop(struct ath_part *part, CUstream stream)
{
    struct ath_part_stream **at = &part->streams;
    while (*at && (*at)->stream != stream)
        at = &(*at)->next;
    struct ath_part_stream *one = *at;
    if (!one)
        return;
    *at = one->next;
    end(one, true);
}

void ath_part_order_clear(struct ath_part *part)
{
    for (struct ath_part_stream *one = part->streams, *next; one; one = next) {
        next = one->next;
        end(one, false);
    }
    part->streams = NULL;
    part->null_event = NULL;
    part->null_work = 0;
}

static bool is_captured(CUstream stream)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    return ath_parts.raw.cuStreamIsCapturing(stream, &state) ||
           state != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult make_event(CUevent *event)
{
    return *event ? CUDA_SUCCESS : ath_parts.raw.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
}

/* Inside, where the null stream is the green context's. */
static CUresult await_null(struct ath_part *part, struct ath_part_stream *one)
{
    CUresult status = make_event(&part->null_event);
    if (!status)
        status = ath_parts.raw.cuEventRecord(part->null_event, NULL);
    if (!status)
        status = ath_parts.raw.cuStreamWaitEvent(one->stream, part->null_event, 0);
    if (!status)
        one->null_work = part->null_work;
    return status;
}

static CUresult enter(struct ath_part *part, CUstream stream)
{
    struct ath_part_stream *one = part->streams;
    while (one && one->stream != stream)
        one = one->next;
    if (!one)
        return CUDA_SUCCESS;
    one->has_work = true;
    if (one->null_work == part->null_work || is_captured(stream))
        return CUDA_SUCCESS;
    CUresult status = ath_part_push(part);
    if (status)
        return status;
    status = await_null(part, one);
    ath_part_pop();
    return status;
}

CUresult ath_part_order_enter(CUstream stream)
{
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; atomic_load(&count) && i < ath_parts.setup.device_count && !status; i++) {
        struct ath_part *part = &ath_parts.items[i];
        pthread_mutex_lock(&part->lock);
        if (part->context)
            status = enter(part, stream);
        pthread_mutex_unlock(&part->lock);
    }
    return status;
}

static CUresult await_stream(struct ath_part_stream *one)
{
    CUresult status = make_event(&one->event);
    if (!status)
        status = ath_parts.raw.cuEventRecord(one->event, one->stream);
    if (!status)
        status = ath_parts.raw.cuStreamWaitEvent(NULL, one->event, 0);
    one->has_work = status != CUDA_SUCCESS;
    return status;
}

CUresult ath_part_order_enter_null(struct ath_part *part, bool gives_work)
{
    for (struct ath_part_stream *one = part->streams; one; one = one->next) {
        CUresult status =
            one->has_work && !is_captured(one->stream) ? await_stream(one) : CUDA_SUCCESS;
        if (status)
            return status;
    }
    part->null_work += gives_work;
    return CUDA_SUCCESS;
}
