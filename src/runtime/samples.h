/*
 * The figures that the sampler (gpu_sampler.h) finds, in memory of the board. The
 * sampler writes it, and all other processes of the server read it. Each number is whole; numbers
 * that were written at the same time may be of two samples.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#include "gpu/health.h"
#include "remote/session/device_list.h"
#include "remote/session/figures.h"

enum {
    ATH_SAMPLED_SESSIONS = 512, /* slots of the board */
    ATH_SAMPLES_STALE_MS = 40000,
};

struct ath_device_sample {
    /* As struct ath_device_figures has them; ATH_UNKNOWN for those of the server. */
    _Atomic int64_t figures[sizeof(struct ath_device_figures) / sizeof(int64_t)];
    struct ath_gpu_facts xids; /* for the sampler that replaces this one; no other process reads */
};

struct ath_session_sample {
    _Atomic uint64_t id; /* of the session; 0: none */
    _Atomic int64_t gpu_time_us, busy_percent;
};

struct ath_samples {
    _Atomic uint64_t beat_ms;    /* ath_now_ms() when the sampler was last seen alive */
    _Atomic uint64_t sampled_ms; /* of the last whole sample; 0: none */
    struct ath_device_sample devices[ATH_DEVICES_MAX];
    struct ath_session_sample sessions[ATH_SAMPLED_SESSIONS]; /* by slot of the board */
};

/* Sets all to unknown. */
void ath_samples_init(struct ath_samples *samples);

/* Returns the age of the last sample in milliseconds; ATH_UNKNOWN if there is none, or none that is
 * young enough to be believed. */
int64_t ath_samples_age_ms(const struct ath_samples *samples, uint64_t now_ms);

/* Copies what was sampled of a device. */
void ath_samples_device(const struct ath_samples *samples, size_t device,
                        struct ath_device_figures *out);

/* Fills in what was sampled of the session at a slot of the board. */
void ath_samples_session(const struct ath_samples *samples, size_t slot,
                         struct ath_session_figures *session);
