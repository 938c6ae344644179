/* Writes events of the GPUs' health to the server's log. Used by one thread of the sampler. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/health.h"
#include "remote/session/device_list.h"

/* The score of a device that was last written, so that a GPU whose score goes up and down does not
 * fill the log. A zeroed struct has written nothing. */
struct ath_gpu_log {
    bool is_written;        /* "gpu-unhealthy" was written, and no "gpu-healthy" since */
    int worst;              /* the lowest score that was written since then */
    uint64_t fine_since_ms; /* 0: the score is low or unknown */
};

enum { ATH_GPU_LOG_FINE_MS = 10 * 60 * 1000 };

/*
 * Notes a score. Writes "gpu-unhealthy" with the codes of the deductions if the score is below
 * ATH_GPU_SCORE_FINE and lower than what was written: a warning, below ATH_GPU_SCORE_POOR an error.
 * Writes "gpu-healthy" when the score has not been low for ATH_GPU_LOG_FINE_MS. now_ms is above 0.
 */
void ath_gpu_log_score(struct ath_gpu_log *log, const struct ath_device *device, size_t number,
                       const struct ath_gpu_health *health, uint64_t now_ms);

/* Writes "gpu-xid": an error if the Xid is fatal, a warning if it is not a program's fault. */
void ath_gpu_log_xid(const struct ath_device *device, size_t number, int64_t xid);
