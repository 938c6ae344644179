/* Free memory before and after. */
#include "config.h"

#include "runtime/quota/measure.h"

#include "base/unknown.h"
#include "runtime/quota/session_quota.h"

static bool ask(size_t device, size_t *out_free, size_t *out_total)
{
    return ath_quota.driver.cuMemGetInfo_v2 && ath_quota_current_device() == device &&
           !ath_quota.driver.cuMemGetInfo_v2(out_free, out_total);
}

static int64_t counted(size_t device)
{
    struct ath_books_page page;
    ath_quota.books->look(device, &page);
    return page.of[ATH_BOOKS_ALL].used_bytes;
}

void ath_measure_begin(CUdevice device, struct ath_measure *out)
{
    size_t total;
    *out = (struct ath_measure){ .device = SIZE_MAX };
    if (!ath_quota_has_device(device))
        return;
    out->device = ath_quota.devices[device];
    out->counted_bytes = counted(out->device);
    out->is_known = ask(out->device, &out->free_bytes, &total);
}

int64_t ath_measure_end(const struct ath_measure *measure)
{
    size_t free_bytes, total;
    if (!measure->is_known || !ask(measure->device, &free_bytes, &total) ||
        counted(measure->device) != measure->counted_bytes)
        return ATH_UNKNOWN;
    return free_bytes < measure->free_bytes ? (int64_t)(measure->free_bytes - free_bytes) : 0;
}

int64_t ath_measure_uncounted(CUdevice device)
{
    size_t free_bytes, total;
    if (!ath_quota_has_device(device) || !ask(ath_quota.devices[device], &free_bytes, &total))
        return ATH_UNKNOWN;
    int64_t bytes = (int64_t)(total - free_bytes) - counted(ath_quota.devices[device]);
    return bytes > 0 ? bytes : 0;
}
