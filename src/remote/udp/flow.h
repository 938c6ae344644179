/*
 * One channel of the UDP carrier: a reliable stream of bytes in each direction, on datagrams that
 * are lost, damaged, copied and reordered. A state machine without clock and socket, so that
 * every rule is tested in simulated time. Memory is taken when the flow is made, never later.
 *
 * The sender keeps bytes until the peer has acknowledged them. A datagram is lost if three later
 * ones have come (more on a path that reorders), or if a later one has come and 9/8 of a round trip
 * have passed (RFC 9002). If nothing comes, the oldest datagram is sent again after a timeout,
 * which doubles up to a quarter of a second, so that a link that comes back is used at once. A peer
 * that is silent for ten seconds, although something waits for it, is dead.
 *
 * All times are nanoseconds of one clock that never falls. Threads: the caller excludes others.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "remote/udp/datagram.h"

struct ath_flow;

struct ath_flow_settings {
    uint64_t channel;
    size_t buffer_bytes; /* in each direction; a power of two, the same at both ends */
    size_t most_bytes;   /* of a datagram on the first hop */
    size_t unsent_most;  /* bytes that wait to be sent for the first time; 0: all that have room */
    uint64_t fixed_rate; /* bytes a second; 0: fair to TCP (congestion.h) */
};

/* Returns NULL if memory runs out. Free it with ath_flow_free(), which accepts NULL. */
struct ath_flow *ath_flow_make(const struct ath_flow_settings *settings, int64_t now_ns);
void ath_flow_free(struct ath_flow *flow);

/* ---- the program's side ---- */

/* Returns the number of bytes that the flow takes from the program now, and where to write the
 * first `parts[0].iov_len` of them and the rest. Then ath_flow_written() says how many were
 * written. */
size_t ath_flow_room(const struct ath_flow *flow, struct iovec parts[2]);
void ath_flow_written(struct ath_flow *flow, size_t bytes);

/* Returns the bytes that were written, and that the peer has not acknowledged. */
uint64_t ath_flow_waiting(const struct ath_flow *flow);

/* The program writes no more. */
void ath_flow_finish(struct ath_flow *flow);

/* Returns the number of bytes that have come for the program, and where they are. Then
 * ath_flow_taken() says how many the program took. */
size_t ath_flow_ready(const struct ath_flow *flow, struct iovec parts[2]);
void ath_flow_taken(struct ath_flow *flow, size_t bytes);

/* Whether the program has taken all bytes that the peer will ever send. */
bool ath_flow_has_ended(const struct ath_flow *flow);

/* Whether the peer has everything that was written, and its end. */
bool ath_flow_is_delivered(const struct ath_flow *flow);

/* Returns 0, -ECONNRESET if the peer has dropped the channel, or -ETIMEDOUT if it is dead. */
int ath_flow_failure(const struct ath_flow *flow);

/* ---- the network's side ---- */

/* Takes a decoded datagram of this channel. Datagrams that came before, or that the peer cannot
 * have sent, are counted and ignored. */
void ath_flow_receive(struct ath_flow *flow, const struct ath_datagram *datagram, int64_t now_ns);

/* Makes the next datagram that may be sent now. Its payload stays until the next call of
 * ath_flow_receive(), or until the next acknowledgement is made. Returns false if there is none. */
bool ath_flow_next(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns);

/* Asks the peer for an acknowledgement with the next datagram. */
void ath_flow_ask(struct ath_flow *flow);

/* Makes a datagram that tells the peer that the channel is dropped. */
void ath_flow_close(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns);

/* Returns the time of the next call of ath_flow_next() if nothing else happens; INT64_MAX: never.
 */
int64_t ath_flow_when(const struct ath_flow *flow, int64_t now_ns);

struct ath_flow_counters {
    uint64_t sent;          /* datagrams */
    uint64_t retransmitted; /* of these: bytes that were sent before */
    uint64_t lost;          /* datagrams, as the sender believes */
    uint64_t mistaken;      /* of these: came all the same */
    uint64_t received, duplicates;
    uint64_t refused;      /* right sums, but no peer that keeps the rules sends them */
    int64_t trip_ns;       /* a round trip, smoothed */
    size_t datagram_bytes; /* that the path carries */
};

struct ath_flow_counters ath_flow_counters(const struct ath_flow *flow);
