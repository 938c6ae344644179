/* Probes for larger datagrams. */
#include "config.h"

#include "remote/udp/path_mtu.h"

#include "remote/udp/datagram.h"

enum {
    LOSSES_MAX = 3,
    LARGE_LOSSES_MAX = 64, /* of the losses of a link that was down, the first probes repair this */
};

static const int64_t silence_ns = INT64_C(1000000000);
static const int64_t pause_ns = INT64_C(600) * 1000000000; /* RFC 8899, PMTU_RAISE_TIMER */

/* UDP payloads: tunnels, Ethernet by IPv6 and by IPv4, jumbo frames, InfiniBand, loopback. */
static const size_t sizes[] = { 1400, 1452, 1472, 4044, 8952, 16384, 32768, 65000 };

void ath_path_mtu_begin(struct ath_path_mtu *path, size_t most)
{
    *path = (struct ath_path_mtu){ .size = ATH_DATAGRAM_BYTES_MIN, .most = most };
}

size_t ath_path_mtu_due(const struct ath_path_mtu *path, int64_t now_ns)
{
    if (path->trying || now_ns < path->again_ns)
        return 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > path->size)
            return sizes[i] <= path->most ? sizes[i] : 0;
    return 0;
}

void ath_path_mtu_sent(struct ath_path_mtu *path, size_t size, uint64_t number)
{
    path->trying = size;
    path->number = number;
}

bool ath_path_mtu_came(struct ath_path_mtu *path, uint64_t number, size_t size)
{
    if (size > ATH_DATAGRAM_BYTES_MIN)
        path->large_losses = 0;
    if (!path->trying || number != path->number)
        return false;
    path->size = path->trying;
    path->trying = 0;
    path->losses = 0;
    return true;
}

bool ath_path_mtu_lost(struct ath_path_mtu *path, uint64_t number, size_t size, int64_t now_ns)
{
    if (!path->trying || number != path->number) {
        path->large_losses += size > ATH_DATAGRAM_BYTES_MIN;
        if (path->large_losses >= LARGE_LOSSES_MAX)
            ath_path_mtu_silent(path, now_ns);
        return false;
    }
    path->trying = 0;
    if (++path->losses >= LOSSES_MAX) {
        path->losses = 0;
        path->again_ns = now_ns + pause_ns;
    }
    return true;
}

void ath_path_mtu_silent(struct ath_path_mtu *path, int64_t now_ns)
{
    if (path->size == ATH_DATAGRAM_BYTES_MIN)
        return;
    path->size = ATH_DATAGRAM_BYTES_MIN;
    path->trying = 0;
    path->losses = path->large_losses = 0;
    path->again_ns = now_ns + silence_ns;
}
