/* Computes limits from the server's share of GPU memory and from what a session asks for. */
#include "config.h"

#include "runtime/memory_limits.h"

#include "base/unknown.h"
#include "proto/gpu-control.h"

double ath_memory_limits_fraction(const struct ath_server *server)
{
    double set = atomic_load(&server->board->vram_fraction);
    return set > 0 ? set : server->vram_fraction;
}

int64_t ath_memory_limits_all(const struct ath_server *server, size_t device)
{
    int64_t total = device < server->devices.count
                        ? server->devices.items[device].memory_total_bytes
                        : ATH_UNKNOWN;
    double fraction = ath_memory_limits_fraction(server);
    if (fraction >= 1 || total == ATH_UNKNOWN)
        return ATH_UNKNOWN;
    return (int64_t)((double)total * fraction);
}

void ath_memory_limits_of_device(const struct ath_server *server, size_t device,
                                 int64_t *out_used_bytes, int64_t *out_limit_bytes)
{
    *out_used_bytes = ath_session_board_memory(server->board, device, NULL);
    *out_limit_bytes = ath_memory_limits_all(server, device);
}

void ath_memory_limits_begin(const struct ath_server *server, struct ath_session_board_entry *entry,
                             const size_t *devices, size_t count,
                             const struct ath_memory_limit *asked)
{
    for (size_t i = 0; i < count; i++) {
        int64_t bytes =
            ath_memory_limit_bytes(asked, server->devices.items[devices[i]].memory_total_bytes);
        if (bytes != ATH_UNKNOWN)
            ath_session_board_limit(entry, devices[i], bytes, ATH_GPU_LIMIT_SOURCE_ASKED);
    }
}
