/*
 * Moves the bytes of tests of the network (proto/control.capnp, NetTest) on the connections of a
 * session, each of which carries nothing else meanwhile. Used by both sides.
 *
 * A peer that takes or brings nothing for ten seconds ends a move with -ETIMEDOUT. After a failure
 * the connections are of no more use. One thread.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "remote/transport/stream.h"

/* A connection. */
struct ath_lane {
    struct ath_stream *stream; /* of the calls; NULL: a connection that has joined */
    struct ath_socket socket;
};

/* The receiver's figures: the bytes behind the first part, and the time from that part to the end,
 * so that no waiting for the first byte counts. Both are 0 if there was one part alone. */
struct ath_lane_rate {
    uint64_t bytes, time_ns;
};

/* Sends so many bytes on each lane, or receives them, with a thread for each. Returns 0 or a
 * negative errno. */
int ath_lanes_send(const struct ath_lane *lanes, size_t count, uint64_t bytes_each);
int ath_lanes_receive(const struct ath_lane *lanes, size_t count, uint64_t bytes_each,
                      struct ath_lane_rate *out);

enum { ATH_LANE_ECHO_MAX = 65536 }; /* bytes of an echo */

/* Sends bytes and waits until they have come back, count times. Notes the time of each.
 * Returns 0 or a negative errno: -EBADMSG if others come back. */
int ath_lane_ping(const struct ath_lane *lane, size_t bytes, size_t count, uint64_t *out_ns);

/* Sends back what comes, count times so many bytes. */
int ath_lane_echo(const struct ath_lane *lane, size_t bytes, size_t count);

/* Sends bytes as large frames of the stream (struct ath_stream_ops), or receives them. */
int ath_lane_send_frames(struct ath_stream *stream, uint64_t bytes);
int ath_lane_receive_frames(struct ath_stream *stream, uint64_t bytes, struct ath_lane_rate *out);

/* TCP segments that this side has sent again on the lanes so far, or on all connections of large
 * frames; calls is the lane of the stream. Negative: a connection is not one of TCP. */
int64_t ath_lanes_sent_again(const struct ath_lane *lanes, size_t count);
int64_t ath_lane_frames_sent_again(const struct ath_lane *calls);
