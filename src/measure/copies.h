/* Times of copies between two GPUs, and between a GPU and the host. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "measure/driver.h"

/* A GPU in use: its context, a stream, two events for the time, and memory. */
struct ath_measure_side {
    CUcontext context;
    CUstream stream;
    CUevent begin, end;
    CUdeviceptr source, target; /* `bytes` each */
    size_t bytes;
};

/* Takes a GPU: makes its stream and events, and allocates as much memory as is there, at most
 * 2 x 256 MiB and a half of what is free. The driver's process ends with them. */
CUresult ath_measure_open(const struct ath_measure_driver *driver, CUdevice device,
                          struct ath_measure_side *out);

/* Bytes per second of copies from one GPU to the other: the largest of several sizes, each the
 * median of several times by events. */
CUresult ath_measure_bandwidth(const struct ath_measure_driver *driver,
                               const struct ath_measure_side *from,
                               const struct ath_measure_side *to, int64_t *out_bytes_per_s);

/* Nanoseconds of the smallest copy: a half of a round trip, one copy there and one back in
 * order. */
CUresult ath_measure_latency(const struct ath_measure_driver *driver,
                             const struct ath_measure_side *from, const struct ath_measure_side *to,
                             int64_t *out_ns);

/* Bytes per second between the host's pinned memory and a GPU. The memory is taken from the NUMA
 * node that the calling thread is bound to. */
CUresult ath_measure_host(const struct ath_measure_driver *driver,
                          const struct ath_measure_side *side, int64_t *out_to_bytes_per_s,
                          int64_t *out_from_bytes_per_s);
