/* Decides when a change of a GPU's health is worth a line in the log. */
#include "config.h"

#include "runtime/gpu_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"
#include "gpu/xid.h"
#include "runtime/event_log.h"

enum { NUMBER_BYTES = 24 };

static void write_unhealthy(const struct ath_device *device, size_t number,
                            const struct ath_gpu_health *health)
{
    char device_text[NUMBER_BYTES], score_text[NUMBER_BYTES];
    ATH_AUTO(ath_text) reasons = { 0 };

    for (size_t i = 0; i < health->deduction_count; i++)
        ath_text_add(&reasons, "%s%s", i ? "," : "", ath_gpu_deduction_code(health->deductions[i]));
    snprintf(device_text, sizeof device_text, "%zu", number);
    snprintf(score_text, sizeof score_text, "%d", health->score);
    ath_event_log(health->score < ATH_GPU_SCORE_POOR ? ATH_EVENT_ERROR : ATH_EVENT_WARNING,
                  "gpu-unhealthy", "device", device_text, "pci", device->pci, "score", score_text,
                  "reasons", reasons.data, NULL);
}

static void write_healthy(const struct ath_device *device, size_t number, int score)
{
    char device_text[NUMBER_BYTES], score_text[NUMBER_BYTES];

    snprintf(device_text, sizeof device_text, "%zu", number);
    snprintf(score_text, sizeof score_text, "%d", score);
    ath_event_log(ATH_EVENT_INFO, "gpu-healthy", "device", device_text, "pci", device->pci, "score",
                  score_text, NULL);
}

static bool is_low(const struct ath_gpu_health *health)
{
    return health->score != ATH_UNKNOWN && health->score < ATH_GPU_SCORE_FINE;
}

void ath_gpu_log_score(struct ath_gpu_log *log, const struct ath_device *device, size_t number,
                       const struct ath_gpu_health *health, uint64_t now_ms)
{
    bool is_fine = health->score != ATH_UNKNOWN && !is_low(health);

    if (!is_fine)
        log->fine_since_ms = 0;
    else if (!log->fine_since_ms)
        log->fine_since_ms = now_ms;
    if (is_low(health) && (!log->is_written || health->score < log->worst)) {
        write_unhealthy(device, number, health);
        *log = (struct ath_gpu_log){ .is_written = true, .worst = health->score };
    }
    if (log->is_written && is_fine && now_ms - log->fine_since_ms >= ATH_GPU_LOG_FINE_MS) {
        write_healthy(device, number, health->score);
        log->is_written = false;
    }
}

void ath_gpu_log_xid(const struct ath_device *device, size_t number, int64_t xid)
{
    static const enum ath_event_level levels[] = {
        [ATH_XID_UNLISTED] = ATH_EVENT_WARNING,
        [ATH_XID_APPLICATION] = ATH_EVENT_INFO,
        [ATH_XID_MEMORY] = ATH_EVENT_WARNING,
        [ATH_XID_FATAL] = ATH_EVENT_ERROR,
    };
    char device_text[NUMBER_BYTES], xid_text[NUMBER_BYTES];

    snprintf(device_text, sizeof device_text, "%zu", number);
    snprintf(xid_text, sizeof xid_text, "%" PRId64, xid);
    ath_event_log(levels[ath_xid_kind(xid)], "gpu-xid", "device", device_text, "pci", device->pci,
                  "xid", xid_text, "meaning", ath_xid_meaning(xid), NULL);
}
