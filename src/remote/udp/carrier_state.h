/*
 * The state of a carrier, which the files carrier*.c share. Private to them. The caller of a
 * function holds the carrier's lock, except for ath_carrier_wake() and ath_carrier_make_channel().
 */
#pragma once
#include <poll.h>
#include <pthread.h>

#include "remote/udp/carrier.h"
#include "remote/udp_figures.h"

enum {
    CARRIER_BUCKETS = 256,
    CARRIER_OPEN_BYTES = ATH_DATAGRAM_BYTES_MIN - ATH_DATAGRAM_HEAD_BYTES, /* payload of an OPEN */
    CARRIER_SECRET_BYTES = 32,
};

enum channel_state {
    CHANNEL_OPENING, /* the peer has not answered */
    CHANNEL_OPEN,
    CHANNEL_LINGERS, /* both streams have ended; the peer may ask again for the last answer */
    CHANNEL_OVER
};

struct carrier_channel {
    struct carrier_channel *next, *next_in_bucket;
    enum channel_state state;
    uint64_t number;
    struct ath_peer peer;
    struct ath_flow *flow;
    int pipe; /* the carrier's end */
    int failure;
    bool is_input_over, is_output_over; /* from and to the program */
    bool wants_write;                   /* the program's socket is full */
    bool is_awaited;                    /* ath_carrier_open() looks at it */
    int64_t again_ns, pause_ns;         /* while it opens: the next attempt */
    int64_t until_ns; /* while it lingers, or its program is gone: the end; 0: none */
    uint8_t open_payload[CARRIER_OPEN_BYTES];
    struct ath_udp_row *row; /* NULL: the table is full */
    uint64_t damaged;
};

struct ath_carrier {
    struct ath_carrier_settings settings;
    int fd, wake_fd;
    struct ath_peer local; /* the address of fd */
    pthread_t thread;
    pthread_mutex_t lock; /* held by the thread except while it waits */
    pthread_cond_t changed;
    bool is_released, is_over;
    struct carrier_channel *channels, *buckets[CARRIER_BUCKETS];
    size_t channel_count;
    struct ath_carrier_counters counters; /* of channels that have ended, and of no channel */
    struct ath_outgoing outgoing;
    struct ath_incoming *incoming;
    uint8_t secret[CARRIER_SECRET_BYTES]; /* of cookies */
    struct pollfd *polls;
    size_t poll_room;
    int64_t now_ns;
};

/* ---- carrier.c ---- */

/* Lets the thread look at its channels. */
void ath_carrier_wake(struct ath_carrier *carrier);

/* Adds a datagram to the next system call. Its payload must stay until then. */
void ath_carrier_send(struct ath_carrier *carrier, const struct ath_peer *to,
                      const struct ath_datagram *datagram);

/* ---- carrier_channels.c ---- */

/* Makes a channel. *out_fd is the program's end of it. Returns NULL with errno if there is no
 * memory or descriptor. */
struct carrier_channel *ath_carrier_make_channel(struct ath_carrier *carrier, uint64_t number,
                                                 const struct ath_peer *peer, int *out_fd);

void ath_carrier_add_channel(struct ath_carrier *carrier, struct carrier_channel *channel);

/* Returns NULL if the carrier has no such channel. */
struct carrier_channel *ath_carrier_find_channel(const struct ath_carrier *carrier,
                                                 uint64_t number);

/* Ends a channel with 0 or a negative errno. It is removed in the next round. */
void ath_carrier_end_channel(struct ath_carrier *carrier, struct carrier_channel *channel,
                             int failure);

/* Ends a channel whose program has gone, and tells the peer. */
void ath_carrier_drop_channel(struct ath_carrier *carrier, struct carrier_channel *channel);

/* Takes a channel from the carrier and frees it. */
void ath_carrier_remove_channel(struct ath_carrier *carrier, struct carrier_channel *channel);

void ath_carrier_add_counters(struct ath_flow_counters *sum, const struct ath_flow_counters *more);

/* ---- carrier_open.c ---- */

/* Takes a peer's wish for a new channel. */
void ath_carrier_take_open(struct ath_carrier *carrier, const struct ath_peer *peer,
                           const struct ath_datagram *datagram);

/* Sends a wish for a channel, and sets the time of the next attempt. */
void ath_carrier_send_open(struct ath_carrier *carrier, struct carrier_channel *channel);

/* Takes an answer to a channel that opens. */
void ath_carrier_take_answer(struct ath_carrier *carrier, struct carrier_channel *channel,
                             const struct ath_datagram *datagram);

/* ---- carrier_work.c ---- */

/* Moves the bytes of all channels, and removes those that are over. */
void ath_carrier_work(struct ath_carrier *carrier);
