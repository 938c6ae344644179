/*
 * How much of a channel may be on its way, and how fast it is sent.
 *
 * The window grows as CUBIC's (RFC 9438), and shrinks to 70 % when the path is congested. A lost
 * datagram alone is no sign of that: damaged and otherwise lost datagrams are why this carrier
 * exists. Losses count as congestion if the round trips of the last round all had a queue before
 * them, or if more than 3 % of the latest datagrams were lost. So on a queue that fills, a channel
 * gives way as a TCP connection does, and on a lossy path without a queue it keeps its window. On
 * paths whose queues hold less than a quarter of a round trip plus QUEUE_NS, it takes more than TCP
 * does, up to 3 % of loss.
 *
 * Pure functions; times are nanoseconds of one clock that never falls.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct ath_congestion {
    uint64_t fixed_rate; /* bytes a second; 0: by the window */
    uint64_t window;     /* bytes */
    uint64_t threshold;  /* below it the window doubles with each round */
    uint64_t segment;    /* bytes of a datagram */
    double top;          /* window before the last reduction */
    double friendly;     /* window that Reno would have since then */
    int64_t reduced_ns;  /* 0: no growth since the last reduction */
    uint64_t recovery;   /* losses of datagrams with lower numbers are of the last reduction */
    uint64_t round_end;  /* the round ends when a datagram with this number has come */
    int64_t
        round_least_ns; /* least round trip of this round and of the last one; INT64_MAX: none */
    int64_t last_least_ns;
    int64_t least_ns[2]; /* least round trip since least_since_ns, and of the span before */
    int64_t least_since_ns;
    uint32_t came, lost; /* latest datagrams */
};

void ath_congestion_begin(struct ath_congestion *congestion, uint64_t segment, uint64_t fixed_rate,
                          int64_t now_ns);

/* The size of datagrams has changed. */
void ath_congestion_resize(struct ath_congestion *congestion, uint64_t segment);

/* A round trip was measured. next: the number of the next datagram; newest: the largest that
 * came. */
void ath_congestion_measured(struct ath_congestion *congestion, int64_t trip_ns, uint64_t newest,
                             uint64_t next, int64_t now_ns);

/* A datagram came. is_used: the window limited the sender. */
void ath_congestion_came(struct ath_congestion *congestion, uint64_t bytes, bool is_used,
                         int64_t trip_ns, int64_t now_ns);

/* The datagram with this number is lost. */
void ath_congestion_lost(struct ath_congestion *congestion, uint64_t number, uint64_t next);

/* The peer has not acknowledged anything for several timeouts. */
void ath_congestion_silent(struct ath_congestion *congestion);

/* Returns the bytes a second with which to send. */
uint64_t ath_congestion_rate(const struct ath_congestion *congestion, int64_t trip_ns);

/* Returns the bytes that may be on their way. */
uint64_t ath_congestion_window(const struct ath_congestion *congestion);
