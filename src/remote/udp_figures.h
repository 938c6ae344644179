/*
 * Figures of the channels of UDP carriers (remote/udp/carrier.h), for the processes that have the
 * channels' sockets: the bytes that wait, and counts of datagrams. The process of the carrier
 * writes a row for each channel, and others read it. The row has the inode number of the program's
 * socket, so a process that got the socket from another one finds the row by itself.
 *
 * Memory of rows stays until the process ends. Threads: any, except as said.
 */
#pragma once
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The counts of datagrams of a channel, by their names in remote/udp/flow.h. damaged: their sum is
 * wrong, so the channel that they name is likely and not sure. */
#define ATH_UDP_CHANNEL_COUNTS(X)                                                                  \
    X(sent)                                                                                        \
    X(received)                                                                                    \
    X(lost)                                                                                        \
    X(duplicates)                                                                                  \
    X(damaged)
#define ATH_UDP_FIGURES(X) ATH_UDP_CHANNEL_COUNTS(X) X(sent_again)

struct ath_udp_figures {
#define X(name) uint64_t name;
    ATH_UDP_FIGURES(X)
#undef X
    uint64_t trip_ns; /* a round trip; 0: not measured */
};

union ath_udp_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

struct ath_udp_row {
    _Atomic uint64_t socket;  /* the inode number; 0: the row is free */
    _Atomic uint64_t waiting; /* bytes that the peer has not acknowledged */
    _Atomic uint64_t trip_ns;
#define X(name) _Atomic uint64_t name;
    ATH_UDP_FIGURES(X)
#undef X
    union ath_udp_address local, peer; /* the carrier's and the peer's; they do not change */
};

/* Sets the table for this process, and for those that it forks; NULL: the process's own one, as
 * before the first call. Called before there are other threads. */
void ath_udp_rows_use(struct ath_udp_row *rows, size_t count);

/* ---- for the carrier ---- */

/* Frees all rows, which are those of a carrier's process that has ended. */
void ath_udp_rows_clear(void);

/* Takes a row for a socket. Returns NULL if the table is full. */
struct ath_udp_row *ath_udp_row_take(int fd, const struct sockaddr *local,
                                     const struct sockaddr *peer);

/* Frees a row. Accepts NULL, as the next function. */
void ath_udp_row_leave(struct ath_udp_row *row);

void ath_udp_row_write(struct ath_udp_row *row, uint64_t waiting,
                       const struct ath_udp_figures *figures);

/* ---- for the process that has the socket ---- */

/* A socket's row. Zeroed: it has none. */
struct ath_udp_place {
    const struct ath_udp_row *row;
    uint64_t socket;
};

/* Finds the row of a socket. Returns false if the socket is not a UDP channel's. */
bool ath_udp_place_find(int fd, struct ath_udp_place *out);

/* Returns the bytes that wait; 0 if the channel has ended, or without a row. */
uint64_t ath_udp_place_waiting(const struct ath_udp_place *place);

/* Reads the counts. Returns false if the channel has ended, or without a row. */
bool ath_udp_place_read(const struct ath_udp_place *place, struct ath_udp_figures *out);
