/* The part of a connection's state that its socket tells: by TCP the kernel, by UDP the carrier. */
#include "config.h"

#include <linux/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "remote/transport/stream.h"
#include "remote/udp_figures.h"

static void take_address(const union ath_udp_address *address, char out[ATH_ENDPOINT_TEXT])
{
    ath_endpoint_of_address(
        &address->any, address->any.sa_family == AF_INET ? sizeof address->in : sizeof address->in6,
        out);
}

/* Kernels before Linux 4.6 tell no segments and no least round trip. */
static void take_tcp(int fd, struct ath_stripe_state *out)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    out->sent_again = ath_tcp_sent_again(fd);
    out->latency_ns = ath_tcp_latency_ns(fd);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) ||
        length < offsetof(struct tcp_info, tcpi_data_segs_out) + sizeof info.tcpi_data_segs_out)
        return;
    out->segments = info.tcpi_data_segs_out;
    out->needless = info.tcpi_dsack_dups; /* 0 if the kernel has written less */
    out->least_latency_ns = info.tcpi_min_rtt * INT64_C(1000);
}

void ath_stripe_state_of_socket(int fd, struct ath_stripe_state *out)
{
    struct ath_udp_place place;
    out->is_udp = ath_udp_place_find(fd, &place);
    out->segments = out->least_latency_ns = -1;
    out->needless = 0;
    if (!out->is_udp) {
        take_tcp(fd, out);
        ath_endpoint_of_socket(fd, false, out->local);
        ath_endpoint_of_socket(fd, true, out->peer);
        return;
    }
    (void)ath_udp_place_read(&place, &out->datagrams);
    out->sent_again = (int64_t)out->datagrams.sent_again;
    out->latency_ns = out->datagrams.trip_ns ? (int64_t)out->datagrams.trip_ns : -1;
    take_address(&place.row->local, out->local);
    take_address(&place.row->peer, out->peer);
}

int64_t ath_stripe_sent_again(int fd)
{
    struct ath_stripe_state state = { 0 };
    ath_stripe_state_of_socket(fd, &state);
    return state.sent_again;
}
