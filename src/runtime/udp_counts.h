/*
 * Counts of datagrams, by the socket that the helper of UDP serves (datagrams.h), in memory of the
 * board. The helper writes them each second; one that replaces it goes on with its numbers.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

/* One thread serves each socket; the kernel spreads peers over those of one address. */
enum { ATH_DATAGRAMS_SOCKETS_EACH = 4, ATH_DATAGRAMS_SOCKETS_MAX = 16 };

/* The counts, by their names in remote/udp/carrier.h and flow.h. */
#define ATH_UDP_COUNTS(X)                                                                          \
    X(sent)                                                                                        \
    X(received)                                                                                    \
    X(sent_again)                                                                                  \
    X(lost)                                                                                        \
    X(duplicates)                                                                                  \
    X(damaged)                                                                                     \
    X(foreign)

struct ath_udp_socket_counts {
    char address[64]; /* to which it is bound; the listening process writes it before the helper */
#define X(name) _Atomic uint64_t name;
    ATH_UDP_COUNTS(X)
#undef X
};

struct ath_udp_counts {
    struct ath_udp_socket_counts sockets[ATH_DATAGRAMS_SOCKETS_MAX]; /* no address: not used */
};
