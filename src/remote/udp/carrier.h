/*
 * The UDP carrier: many channels on one datagram socket, served by a thread of its own. The program
 * has a connected unix socket for each channel and uses it as a TCP connection.
 *
 * A channel begins with a datagram of its client and a cookie of the server, so that a server keeps
 * nothing for an address that does not receive. When the program has closed its socket, the peer
 * has ten seconds to take what is left and to end the channel. Channels have random numbers.
 * Datagrams of other addresses, with unknown numbers or wrong sums, and copies are counted and
 * ignored.
 *
 * A carrier does not encrypt and proves no peer: a session's join and its TLS run through the
 * socket, as on TCP.
 *
 * Threads: all functions may be called by any thread, except as said.
 */
#pragma once
#include "base/err.h"
#include "remote/udp/batch.h"
#include "remote/udp/flow.h"

struct ath_carrier;

struct ath_carrier_settings {
    size_t buffer_bytes; /* of each channel and direction; a power of two, as at the peer */
    size_t unsent_most;  /* bytes of each channel that wait to be sent for the first time; 0: all
                          * that have room */
    uint64_t fixed_rate; /* bytes a second of each channel; 0: fair to TCP */
    size_t channels_max; /* that peers may open, and one source half of them; 0: none */
    /* Returns whether two peers count as one source; NULL: they never do. */
    bool (*is_same_source)(const struct ath_peer *one, const struct ath_peer *other);
    /* The carrier's thread calls this for a channel that a peer has opened. fd belongs to the
     * callee. */
    void (*accept)(void *context, int fd, const struct ath_peer *peer);
    void *context;
};

enum { ATH_CARRIER_BUFFER_BYTES = 4 << 20, ATH_CARRIER_UNSENT_BYTES = 256 << 10 };

/* Starts a carrier on a bound datagram socket, which it owns on success. Returns 0, or a negative
 * errno. */
int ath_carrier_make(int fd, const struct ath_carrier_settings *settings,
                     struct ath_carrier **out_carrier);

/* Opens a channel and waits until the peer has answered. Returns 0, -ETIMEDOUT if nothing came
 * until deadline_ms (of ath_now_ms()), as on a network that filters UDP, -ECONNREFUSED if the peer
 * takes no more channels, or another negative errno. */
int ath_carrier_open(struct ath_carrier *carrier, const struct ath_peer *to, uint64_t deadline_ms,
                     int *out_fd);

/* The two halves of ath_carrier_open(): the first one does not wait, and the channel's descriptor
 * is the caller's from then on. The second one must follow. */
int ath_carrier_begin(struct ath_carrier *carrier, const struct ath_peer *to, uint64_t *out_number,
                      int *out_fd);
int ath_carrier_await(struct ath_carrier *carrier, uint64_t number, uint64_t deadline_ms);

/* Between the two: waits as the second one does, and the channel goes on opening after a timeout.
 */
int ath_carrier_look(struct ath_carrier *carrier, uint64_t number, uint64_t deadline_ms);

struct ath_carrier_counters {
    size_t channels;  /* open now */
    uint64_t foreign; /* datagrams that are no channel's, or come from another address */
    uint64_t damaged; /* wrong sums */
    struct ath_flow_counters flows; /* sums over all channels so far; of the last two members the
                                     * largest of the open ones */
};

struct ath_carrier_counters ath_carrier_counters(struct ath_carrier *carrier);

/* Lets the carrier end by itself, and free itself, when its last channel has ended. No other
 * function may be called afterwards. */
void ath_carrier_release(struct ath_carrier *carrier);

/* Ends all channels at once and waits for the thread. Not from accept(). */
void ath_carrier_free(struct ath_carrier *carrier);
