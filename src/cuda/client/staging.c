/*
 * An event behind each part's copy tells when the part is free again. A copy that uses each part
 * only once waits for its stream instead and needs no events.
 *
 * One processor copies about half as fast as a GPU's link to pageable memory. So helper threads
 * copy a share of each part if there are enough processors.
 */
#include "config.h"

#include "cuda/client/staging.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cuda/client/capture_state.h"
#include "cuda/client/host_callback.h"
#include "cuda/client/mirror.h"
#include "proto/cuda-client.h"
#include "remote/switches.h"
#include "remote/transport/team.h"

enum {
    PARTS = 4,
    PART = 2 * 1024 * 1024, /* small enough to stay in the processor's cache */
    LEAST = 512 * 1024,     /* smaller copies do not gain by it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *memory; /* PARTS parts, guarded by the lock */
static atomic_bool is_refused;

/* A copy under way. */
struct flight {
    CUstream stream;
    size_t bytes, count; /* count: all parts */
    CUevent events[PARTS];
    bool has_events;
};

static uint8_t *staging_part(size_t i)
{
    return memory + i % PARTS * PART;
}

static size_t length_of(const struct flight *flight, size_t i)
{
    return i + 1 < flight->count ? PART : flight->bytes - i * PART;
}

/* Not for a stream that waits for the program: the program would wait here for the stream. */
bool ath_cuda_staging_take(size_t bytes)
{
    void *made = NULL;
    if (bytes < LEAST || is_refused || ath_is_off(ATH_SWITCH_STAGING) ||
        ath_cuda_is_any_capturing() || ath_cuda_host_may_hold() || pthread_mutex_trylock(&lock))
        return false;
    if (!memory) {
        is_refused =
            ath_cuda_host_alloc_shared((size_t)PARTS * PART, &made) == CUDA_ERROR_NOT_SUPPORTED;
        memory = made;
    }
    if (!memory)
        pthread_mutex_unlock(&lock);
    return memory;
}

void ath_cuda_staging_clear(void)
{
    pthread_mutex_lock(&lock);
    memory = NULL;
    is_refused = false;
    pthread_mutex_unlock(&lock);
}

/* ---- helper threads ---- */

static struct ath_team *helpers;

static void make_helpers(void)
{
    helpers = ath_team_make_helpers();
}

struct ath_team *ath_cuda_helpers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_helpers);
    return helpers;
}

void ath_cuda_copy_widely(void *to, const void *from, size_t bytes)
{
    ath_team_copy(ath_cuda_helpers(), to, from, bytes);
}

/* ---- events ---- */

static CUresult begin_flight(struct flight *flight, bool wants_events)
{
    CUresult status = CUDA_SUCCESS;
    flight->has_events = wants_events;
    for (size_t i = 0; wants_events && !status && i < PARTS && i < flight->count; i++)
        status = ath_cuda_do_cuEventCreate(&flight->events[i], CU_EVENT_DISABLE_TIMING);
    return status;
}

/* The parts are free for other copies when the stream has copied them. */
static CUresult end_flight(struct flight *flight, CUresult status)
{
    CUresult waited = ath_cuda_do_cuStreamSynchronize(flight->stream);
    for (size_t i = 0; i < PARTS; i++)
        if (flight->events[i])
            ath_cuda_do_cuEventDestroy_v2(flight->events[i]);
    pthread_mutex_unlock(&lock);
    return status ? status : waited;
}

static CUresult mark_part(const struct flight *flight, size_t i)
{
    return flight->has_events ? ath_cuda_do_cuEventRecord(flight->events[i % PARTS], flight->stream)
                              : CUDA_SUCCESS;
}

static CUresult wait_for_part(const struct flight *flight, size_t i)
{
    return flight->has_events ? ath_cuda_do_cuEventSynchronize(flight->events[i % PARTS])
                              : ath_cuda_do_cuStreamSynchronize(flight->stream);
}

/* ---- copies ---- */

static struct flight flight_of(size_t bytes, CUstream stream)
{
    return (struct flight){ .stream = stream, .bytes = bytes, .count = (bytes + PART - 1) / PART };
}

CUresult ath_cuda_staged_to(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                            CUstream stream)
{
    struct flight flight = flight_of(byte_count, stream);
    CUresult status = begin_flight(&flight, flight.count > PARTS);
    for (size_t i = 0; !status && i < flight.count; i++) {
        size_t offset = i * PART, length = length_of(&flight, i);
        if (i >= PARTS)
            status = wait_for_part(&flight, i);
        if (status)
            break;
        ath_cuda_copy_widely(staging_part(i), (const uint8_t *)src_host + offset, length);
        status = ath_cuda_direct_to(dst_device + offset, staging_part(i), length, stream);
        if (!status)
            status = mark_part(&flight, i);
    }
    return end_flight(&flight, status);
}

static CUresult fetch_part(const struct flight *flight, CUdeviceptr src_device, size_t i)
{
    if (i >= flight->count)
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_direct_from(staging_part(i), src_device + i * PART,
                                           length_of(flight, i), flight->stream);
    return status ? status : mark_part(flight, i);
}

CUresult ath_cuda_staged_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream)
{
    struct flight flight = flight_of(byte_count, stream);
    CUresult status = begin_flight(&flight, flight.count > 1);
    for (size_t i = 0; !status && i < PARTS; i++)
        status = fetch_part(&flight, src_device, i);
    for (size_t i = 0; !status && i < flight.count; i++) {
        status = wait_for_part(&flight, i);
        if (status)
            break;
        ath_cuda_copy_widely((uint8_t *)dst_host + i * PART, staging_part(i),
                             length_of(&flight, i));
        status = fetch_part(&flight, src_device, i + PARTS);
    }
    return end_flight(&flight, status);
}
