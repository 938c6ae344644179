/* The wrapping functions' places in the driver's table, and the limits. */
#include "config.h"

#include "runtime/quota/quota.h"

#include <string.h>

#include "base/unknown.h"
#include "proto/gpu-control.h"
#include "runtime/quota/pool_usage.h"
#include "runtime/quota/session_quota.h"
#include "runtime/quota/wrappers.h"

double ath_quota_fraction(const struct ath_server *server)
{
    double set = atomic_load(&server->board->vram_fraction);
    return set > 0 ? set : server->vram_fraction;
}

int64_t ath_quota_limit(const struct ath_server *server, size_t device)
{
    int64_t total = device < server->devices.count
                        ? server->devices.items[device].memory_total_bytes
                        : ATH_UNKNOWN;
    double fraction = ath_quota_fraction(server);
    if (fraction >= 1 || total == ATH_UNKNOWN)
        return ATH_UNKNOWN;
    return (int64_t)((double)total * fraction);
}

void ath_quota_of_device(const struct ath_server *server, size_t device, int64_t *out_used_bytes,
                         int64_t *out_limit_bytes)
{
    *out_used_bytes = ath_session_board_memory(server->board, device, NULL);
    *out_limit_bytes = ath_quota_limit(server, device);
}

void ath_quota_begin(const struct ath_server *server, struct ath_session_board_entry *entry,
                     const size_t *devices, size_t count, const struct ath_memory_limit *asked)
{
    for (size_t i = 0; i < count; i++) {
        int64_t bytes =
            ath_memory_limit_bytes(asked, server->devices.items[devices[i]].memory_total_bytes);
        if (bytes != ATH_UNKNOWN)
            ath_session_board_limit(entry, devices[i], bytes, ATH_GPU_LIMIT_SOURCE_ASKED);
    }
}

void ath_quota_wrap(const struct ath_server *server, struct ath_session_board_entry *entry,
                    const size_t *devices, size_t count, struct ath_cuda_session *session,
                    struct ath_cuda_driver *driver)
{
    ath_quota.session = session;
    session->books = &ath_quota_books;
    ath_quota.server = server;
    ath_quota.entry = entry;
    ath_quota.driver = *driver;
    session->uncounted = &ath_quota.driver;
    ath_quota.count = count < ATH_DEVICES_MAX ? count : ATH_DEVICES_MAX;
    memcpy(ath_quota.devices, devices, ath_quota.count * sizeof *devices);
    ath_pool_usage_begin(driver, ath_quota_charge_pool);
    ath_quota_wrap_driver(driver);
}
