/*
 * Measures GPU memory that the driver takes for itself, by the device's free memory before and
 * after a call. The board must not change meanwhile: another session's memory would be measured,
 * too. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-server.h"

struct ath_measure {
    bool is_known; /* the current context is one of the device */
    size_t device; /* the server's number */
    size_t free_bytes;
    int64_t counted_bytes; /* on the board, for all sessions */
};

/* Begins to measure a device (CUDA's number). */
void ath_measure_begin(CUdevice device, struct ath_measure *out);

/* Returns the bytes that the device has less since the beginning, at least 0. Returns ATH_UNKNOWN
 * if that is not known. */
int64_t ath_measure_end(const struct ath_measure *measure);

/* Returns the bytes of a device that are taken and not on the board, at least 0. The current
 * context must be one of the device; returns ATH_UNKNOWN if the driver does not say. */
int64_t ath_measure_uncounted(CUdevice device);
