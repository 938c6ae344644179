/*
 * An event behind each part's copy says when the part is free again. A copy that needs every part
 * only once waits for its stream instead, which spares the events.
 *
 * One processor copies about half as fast as a GPU's link to pageable memory is, so that helpers
 * take a share of each part where there are processors enough.
 */
#include "config.h"

#include "runtime/cuda/by_hand/staging.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "proto/cuda-client.h"
#include "runtime/cuda/by_hand/callback.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/switches.h"
#include "runtime/transport/team.h"

enum {
    PARTS = 4,
    PART = 2 * 1024 * 1024, /* little enough to stay in the processor's cache meanwhile */
    LEAST = 512 * 1024,     /* less than this is not worth the waiting */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *memory; /* of PARTS parts; under the lock */
static atomic_bool is_refused;

/* A copy under way. */
struct flight {
    CUstream stream;
    size_t bytes, count; /* parts altogether */
    CUevent events[PARTS];
    bool has_events;
};

static uint8_t *part_of(size_t i)
{
    return memory + i % PARTS * PART;
}

static size_t length_of(const struct flight *flight, size_t i)
{
    return i + 1 < flight->count ? PART : flight->bytes - i * PART;
}

/* A stream that waits for the program must not have it wait here. */
bool ath_cuda_staging_take(size_t bytes)
{
    void *made = NULL;
    if (bytes < LEAST || is_refused || ath_is_off(ATH_SWITCH_STAGING) || ath_cuda_is_capturing() ||
        ath_cuda_host_may_hold() || pthread_mutex_trylock(&lock))
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

/* ---- helpers ---- */

static struct ath_team *helpers;

static void make_helpers(void)
{
    helpers = ath_team_make_helpers();
}

void ath_cuda_copy_widely(void *to, const void *from, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_helpers);
    ath_team_copy(helpers, to, from, bytes);
}

/* ---- events ---- */

static CUresult begin(struct flight *flight, bool wants_events)
{
    CUresult status = CUDA_SUCCESS;
    flight->has_events = wants_events;
    for (size_t i = 0; wants_events && !status && i < PARTS && i < flight->count; i++)
        status = ath_cuda_do_cuEventCreate(&flight->events[i], CU_EVENT_DISABLE_TIMING);
    return status;
}

/* The parts are somebody else's when nothing copies them any more. */
static CUresult end(struct flight *flight, CUresult status)
{
    CUresult waited = ath_cuda_do_cuStreamSynchronize(flight->stream);
    for (size_t i = 0; i < PARTS; i++)
        if (flight->events[i])
            ath_cuda_do_cuEventDestroy_v2(flight->events[i]);
    pthread_mutex_unlock(&lock);
    return status ? status : waited;
}

static CUresult mark(const struct flight *flight, size_t i)
{
    return flight->has_events ? ath_cuda_do_cuEventRecord(flight->events[i % PARTS], flight->stream)
                              : CUDA_SUCCESS;
}

static CUresult wait_for(const struct flight *flight, size_t i)
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
    CUresult status = begin(&flight, flight.count > PARTS);
    for (size_t i = 0; !status && i < flight.count; i++) {
        size_t offset = i * PART, length = length_of(&flight, i);
        if (i >= PARTS)
            status = wait_for(&flight, i);
        if (status)
            break;
        ath_cuda_copy_widely(part_of(i), (const uint8_t *)src_host + offset, length);
        status = ath_cuda_direct_to(dst_device + offset, part_of(i), length, stream);
        if (!status)
            status = mark(&flight, i);
    }
    return end(&flight, status);
}

static CUresult fetch(const struct flight *flight, CUdeviceptr src_device, size_t i)
{
    if (i >= flight->count)
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_direct_from(part_of(i), src_device + i * PART, length_of(flight, i),
                                           flight->stream);
    return status ? status : mark(flight, i);
}

CUresult ath_cuda_staged_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream)
{
    struct flight flight = flight_of(byte_count, stream);
    CUresult status = begin(&flight, flight.count > 1);
    for (size_t i = 0; !status && i < PARTS; i++)
        status = fetch(&flight, src_device, i);
    for (size_t i = 0; !status && i < flight.count; i++) {
        status = wait_for(&flight, i);
        if (status)
            break;
        ath_cuda_copy_widely((uint8_t *)dst_host + i * PART, part_of(i), length_of(&flight, i));
        status = fetch(&flight, src_device, i + PARTS);
    }
    return end(&flight, status);
}
