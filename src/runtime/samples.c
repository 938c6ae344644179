/* Reads the samples on the board. */
#include "config.h"

#include "runtime/samples.h"

#include <string.h>

#include "base/alloc.h"
#include "base/unknown.h"

_Static_assert(sizeof(struct ath_device_figures) % sizeof(int64_t) == 0, "numbers of 8 bytes");

void ath_samples_init(struct ath_samples *samples)
{
    *samples = (struct ath_samples){ 0 };
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++) {
        for (size_t at = 0; at < ATH_COUNT(samples->devices[i].figures); at++)
            atomic_store(&samples->devices[i].figures[at], ATH_UNKNOWN);
        ath_gpu_facts_init(&samples->devices[i].xids);
    }
}

int64_t ath_samples_age_ms(const struct ath_samples *samples, uint64_t now_ms)
{
    uint64_t sampled_ms = atomic_load(&samples->sampled_ms);
    if (!sampled_ms || sampled_ms + ATH_SAMPLES_STALE_MS < now_ms)
        return ATH_UNKNOWN;
    return sampled_ms < now_ms ? (int64_t)(now_ms - sampled_ms) : 0;
}

void ath_samples_device(const struct ath_samples *samples, size_t device,
                        struct ath_device_figures *out)
{
    int64_t numbers[ATH_COUNT(samples->devices[device].figures)];
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        numbers[i] = atomic_load(&samples->devices[device].figures[i]);
    memcpy(out, numbers, sizeof *out);
}

void ath_samples_session(const struct ath_samples *samples, size_t slot,
                         struct ath_session_figures *session)
{
    const struct ath_session_sample *sample = &samples->sessions[slot];
    if (atomic_load(&sample->id) != session->id)
        return;
    session->gpu_time_us = atomic_load(&sample->gpu_time_us);
    session->busy_percent = atomic_load(&sample->busy_percent);
}
