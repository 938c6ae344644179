/*
 * Counts of datagrams, by the socket that the helper of UDP serves (datagrams.h), and the rows of
 * its channels, in memory of the board. The helper writes the counts each second; one that replaces
 * it goes on with its numbers.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#include "remote/udp_figures.h"

enum {
    /* One thread serves each socket; the kernel spreads peers over those of one address. */
    ATH_DATAGRAMS_SOCKETS_EACH = 4,
    ATH_DATAGRAMS_SOCKETS_MAX = 16,
    /* The limit for each socket; a channel whose client was killed lasts ten seconds. */
    ATH_DATAGRAMS_CHANNELS_MAX = 512,
};

/* foreign: datagrams of no channel, or from another address than the channel's. */
#define ATH_UDP_COUNTS(X) ATH_UDP_FIGURES(X) X(foreign)

struct ath_udp_socket_counts {
    char address[64]; /* to which it is bound; the listening process writes it before the helper */
#define X(name) _Atomic uint64_t name;
    ATH_UDP_COUNTS(X)
#undef X
};

struct ath_udp_counts {
    struct ath_udp_socket_counts sockets[ATH_DATAGRAMS_SOCKETS_MAX]; /* no address: not used */
    struct ath_udp_row rows[ATH_DATAGRAMS_SOCKETS_MAX * ATH_DATAGRAMS_CHANNELS_MAX];
};
