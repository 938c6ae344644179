/* Queues copies in streams, takes their times by events, and computes medians and the best size. */
#include "config.h"

#include "measure/copies.h"

#include <stdlib.h>

#include "base/alloc.h"

#define MIB ((size_t)1 << 20)

static const size_t sizes[] = { 1 * MIB, 16 * MIB, 64 * MIB, 256 * MIB };

enum {
    WARM_UPS = 2,
    REPEATS = 5,       /* times of which the median counts */
    COPIES = 2,        /* large copies in one time */
    ROUND_TRIPS = 100, /* small ones in one time */
    SMALL_BYTES = 4,
    SHARE_OF_FREE = 4, /* a buffer takes a quarter of the free memory at most */
};

/* One copy to be timed. */
struct copy {
    const struct ath_measure_driver *driver;
    const struct ath_measure_side *from, *to; /* to: NULL for a copy to the host */
    void *host;                               /* NULL for a copy between GPUs */
    size_t bytes;
};

/* Queues a copy in the stream of its source, for the host that of the GPU. */
static CUresult queue(const struct copy *copy, CUstream stream)
{
    const struct ath_measure_driver *driver = copy->driver;

    if (copy->host && copy->to)
        return driver->cuMemcpyHtoDAsync_v2(copy->to->target, copy->host, copy->bytes, stream);
    if (copy->host)
        return driver->cuMemcpyDtoHAsync_v2(copy->host, copy->from->source, copy->bytes, stream);
    return driver->cuMemcpyPeerAsync(copy->to->target, copy->to->context, copy->from->source,
                                     copy->from->context, copy->bytes, stream);
}

/* Times `count` rounds of one copy, or of two in order. side: whose stream and events. */
static CUresult time_rounds(const struct ath_measure_side *side, const struct copy *copies,
                            size_t copy_count, int count, float *out_ms)
{
    const struct ath_measure_driver *driver = copies->driver;
    CUresult status = driver->cuCtxSetCurrent(side->context);

    if (!status)
        status = driver->cuEventRecord(side->begin, side->stream);
    for (int i = 0; !status && i < count; i++)
        for (size_t j = 0; !status && j < copy_count; j++)
            status = queue(&copies[j], side->stream);
    if (!status)
        status = driver->cuEventRecord(side->end, side->stream);
    if (!status)
        status = driver->cuEventSynchronize(side->end);
    return status ? status : driver->cuEventElapsedTime(out_ms, side->begin, side->end);
}

static int compare_times(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The median of several times, after some that do not count. */
static CUresult median(const struct ath_measure_side *side, const struct copy *copies,
                       size_t copy_count, int count, double *out_ms)
{
    float times[REPEATS], time_ms = 0;
    CUresult status = CUDA_SUCCESS;

    for (int i = 0; !status && i < WARM_UPS + REPEATS; i++) {
        status = time_rounds(side, copies, copy_count, count, &time_ms);
        if (i >= WARM_UPS)
            times[i - WARM_UPS] = time_ms;
    }
    if (status)
        return status;
    qsort(times, REPEATS, sizeof *times, compare_times);
    *out_ms = times[REPEATS / 2];
    return CUDA_SUCCESS;
}

/* The best of the sizes up to `bytes`. */
static CUresult best(const struct ath_measure_side *side, struct copy copy, size_t bytes,
                     int64_t *out_bytes_per_s)
{
    double most = 0;

    for (size_t i = 0; i < ATH_COUNT(sizes) && sizes[i] <= bytes; i++) {
        double time_ms = 0;
        copy.bytes = sizes[i];
        CUresult status = median(side, &copy, 1, COPIES, &time_ms);
        if (status)
            return status;
        double speed = time_ms > 0 ? (double)sizes[i] * COPIES * 1e3 / time_ms : 0;
        most = speed > most ? speed : most;
    }
    *out_bytes_per_s = most >= 1 ? (int64_t)most : -1;
    return CUDA_SUCCESS;
}

/* Takes the largest of the sizes that fits, twice. */
static CUresult allocate(const struct ath_measure_driver *driver, struct ath_measure_side *side)
{
    size_t free_bytes = 0, total = 0;
    CUresult status = driver->cuMemGetInfo_v2(&free_bytes, &total);

    for (size_t i = ATH_COUNT(sizes); !status && i-- > 0;) {
        if (sizes[i] > free_bytes / SHARE_OF_FREE)
            continue;
        side->bytes = sizes[i];
        status = driver->cuMemAlloc_v2(&side->source, side->bytes);
        return status ? status : driver->cuMemAlloc_v2(&side->target, side->bytes);
    }
    return status ? status : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ath_measure_open(const struct ath_measure_driver *driver, CUdevice device,
                          struct ath_measure_side *out)
{
    *out = (struct ath_measure_side){ 0 };
    CUresult status = driver->cuDevicePrimaryCtxRetain(&out->context, device);

    if (!status)
        status = driver->cuCtxSetCurrent(out->context);
    if (!status)
        status = allocate(driver, out);
    if (!status)
        status = driver->cuStreamCreate(&out->stream, CU_STREAM_NON_BLOCKING);
    if (!status)
        status = driver->cuEventCreate(&out->begin, CU_EVENT_DEFAULT);
    return status ? status : driver->cuEventCreate(&out->end, CU_EVENT_DEFAULT);
}

CUresult ath_measure_bandwidth(const struct ath_measure_driver *driver,
                               const struct ath_measure_side *from,
                               const struct ath_measure_side *to, int64_t *out_bytes_per_s)
{
    const struct copy copy = { .driver = driver, .from = from, .to = to };
    return best(from, copy, from->bytes < to->bytes ? from->bytes : to->bytes, out_bytes_per_s);
}

CUresult ath_measure_latency(const struct ath_measure_driver *driver,
                             const struct ath_measure_side *from, const struct ath_measure_side *to,
                             int64_t *out_ns)
{
    const struct copy trip[] = {
        { .driver = driver, .from = from, .to = to, .bytes = SMALL_BYTES },
        { .driver = driver, .from = to, .to = from, .bytes = SMALL_BYTES },
    };
    double time_ms = 0;
    CUresult status = median(from, trip, ATH_COUNT(trip), ROUND_TRIPS, &time_ms);

    if (!status)
        *out_ns = (int64_t)(time_ms * 1e6 / (2 * ROUND_TRIPS) + 0.5);
    return status;
}

CUresult ath_measure_host(const struct ath_measure_driver *driver,
                          const struct ath_measure_side *side, int64_t *out_to_bytes_per_s,
                          int64_t *out_from_bytes_per_s)
{
    struct copy copy = { .driver = driver, .to = side };
    size_t bytes = side->bytes < 64 * MIB ? side->bytes : 64 * MIB;
    CUresult status = driver->cuCtxSetCurrent(side->context);

    if (!status)
        status = driver->cuMemHostAlloc(&copy.host, bytes, 0);
    if (status)
        return status;
    status = best(side, copy, bytes, out_to_bytes_per_s);
    copy.to = NULL;
    copy.from = side;
    if (!status)
        status = best(side, copy, bytes, out_from_bytes_per_s);
    driver->cuMemFreeHost(copy.host);
    return status;
}
