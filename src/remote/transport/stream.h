/*
 * A stream of bytes between a client and its server's session: the ops table of the transports.
 * Frames (remote/wire/frame.h) lie on it one behind the other.
 *
 * Threads: one thread may write and one may read at a time; shut() and share() are for any thread.
 * After a failure the stream stays failed.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "remote/udp_figures.h"
#include "remote/wire/endpoint.h"
#include "remote/wire/frame.h"

struct ath_stream;

struct ath_stream_ops {
    const char *name;

    /* Each write is a system call, so small frames should be written together. */
    bool wants_batches;

    /* Writes all parts, waiting for room. Returns 0 or a negative errno: -ECONNRESET if the peer
     * is gone, -ETIMEDOUT if its host is. */
    int (*write)(struct ath_stream *stream, const struct iovec *parts, size_t count);

    /* Reads exactly this many bytes, waiting for them. Returns 0 or a negative errno; -ENODATA
     * if the peer has ended the connection. */
    int (*read)(struct ath_stream *stream, void *bytes, size_t length);

    /* The same for the part behind the head of a frame of at least large_bytes. The other side
     * must use the matching function. */
    int (*write_large)(struct ath_stream *stream, const struct iovec *parts, size_t count);
    int (*read_large)(struct ath_stream *stream, void *bytes, size_t length);

    /* The bytes of large frames that have been written and not sent yet. NULL: there are none when
     * write_large() returns. */
    uint64_t (*unsent)(const struct ath_stream *stream);

    /* Makes every wait, and every later call, fail at once. */
    void (*shut)(struct ath_stream *stream);

    /*
     * Makes zeroed memory that both sides have at the same address, until unshare() or the end of
     * the stream. wanted is the address, or NULL for any. Returns 0 or a negative errno. A NULL
     * function: the transport cannot do this.
     */
    int (*share)(struct ath_stream *stream, size_t bytes, void *wanted, void **out_address,
                 uint64_t *out_id);

    /*
     * The same for a file in memory (tmpfs) of which the caller has a shared mapping. The peer maps
     * these whole pages of the file at wanted, or elsewhere if that address is in use. fd stays the
     * caller's. Returns -ENOTSUP if the peer does not take such a file, and -EINVAL if the file is
     * too short.
     */
    int (*share_file)(struct ath_stream *stream, int fd, uint64_t offset, size_t bytes,
                      const void *wanted, uint64_t *out_id);
    void (*unshare)(struct ath_stream *stream, uint64_t id); /* keeps the caller's mapping */

    /* Called in a forked child, which must not use the stream: releases what would keep the
     * connection open. Only async-signal-safe calls. */
    void (*abandon)(struct ath_stream *stream);

    /* Frees the stream. No thread may be in another function. */
    void (*close)(struct ath_stream *stream);
};

/*
 * The cost of a path: its round trip, and the time of the bytes at its speed. The speed is that of
 * the large frames that were written lately; the latest ones count most.
 */
struct ath_path_cost {
    uint64_t latency_ns;          /* 0: not known */
    _Atomic uint64_t bytes_per_s; /* 0: not known. Any thread may read it */
    double moved_bytes, moving_s; /* of the writing thread */
};

/* Counts a large frame, of which so many bytes were sent in a time. */
void ath_path_cost_add(struct ath_path_cost *cost, uint64_t bytes, uint64_t time_ns);

/* Returns the time that bytes take by the path; 0: the speed is not known. */
uint64_t ath_path_cost_ns(const struct ath_path_cost *cost, uint64_t bytes);

struct ath_stream {
    const struct ath_stream_ops *ops;
    struct ath_path_cost cost; /* of large frames that this side writes, whatever their way */
    _Atomic uint32_t
        patience_us;    /* how long a wait polls before it sleeps; any thread may set it */
    size_t large_bytes; /* least size, with the head, of a frame that goes the large way; 0: none
                           does */
    /* Called by a write that has to wait for room, before it waits; also several times, and by
     * threads that help to write. NULL: nothing is called. Set before the first write. */
    void (*before_wait)(void *context);
    void *context; /* for before_wait() */
};

/*
 * The reason for a wait. ATH_STREAM_IDLE: nothing that must come soon. ATH_STREAM_BUSY: an answer,
 * or the next call of a program that has just had an answer. CUDA's own driver never sleeps in the
 * second case.
 */
enum ath_stream_wait { ATH_STREAM_IDLE, ATH_STREAM_BUSY };

/* Returns how long a wait of this kind polls before it sleeps. It depends on the number of
 * processors of this process. */
uint32_t ath_stream_patience_us(enum ath_stream_wait wait);

/* How many threads may poll at the same time beside the one that waits for the other side. */
unsigned int ath_stream_more_pollers(void);

/* Reads one frame of at most max_bytes with its head. Returns 0, an error of read(), -EBADMSG
 * (no frame), -EMSGSIZE (larger than max_bytes), or -ENOMEM. */
int ath_stream_read_frame(struct ath_stream *stream, size_t max_bytes, struct ath_frame *frame);

/* The same in two steps, for a caller that has memory for large frames: the first reads the head,
 * and returns how many bytes the frame has with it; the second reads the rest. */
int ath_stream_read_head(struct ath_stream *stream, size_t max_bytes, size_t *out_length);
int ath_stream_read_rest(struct ath_stream *stream, size_t length, struct ath_frame *frame);

/* Writes one frame. parts are its bytes; the first part has the head. ahead has other frames
 * that go before it, none of them large. Returns as write() does. */
enum { ATH_FRAME_PARTS = 3 };
int ath_stream_write_frame(struct ath_stream *stream, struct iovec ahead,
                           const struct iovec parts[ATH_FRAME_PARTS]);

/*
 * A stream over a connected socket, TCP or unix, whose handshake is done. The stream owns the
 * socket and its TLS. Returns NULL if memory runs out; then both stay the caller's.
 */
struct ath_stream *ath_tcp_stream(struct ath_socket socket);

/*
 * How large frames are divided among the connections of a stream. ATH_STRIPES_EQUAL: each
 * connection, the first one too, carries an equal share. ATH_STRIPES_PIECES: the further
 * connections alone carry pieces, and one that is free takes the next, so that a faster one carries
 * more; one that fails is replaced by the others (channels.h).
 */
enum ath_stripes_way { ATH_STRIPES_EQUAL, ATH_STRIPES_PIECES };

/*
 * Spreads large frames over further connections, which the stream owns on success. Both sides call
 * it before the first frame, in the same way and with the connections in the same order. If they
 * carry pieces, the last one carries only the verdicts about frames; it should go by the path
 * of the first one. Returns 0, -EINVAL (too many, or too few) or -ENOMEM.
 */
enum { ATH_STRIPES_MAX = 10, ATH_CHANNELS_MAX = 8, ATH_STRIPED_BYTES = 1024 * 1024 };
int ath_tcp_add_stripes(struct ath_stream *stream, enum ath_stripes_way way,
                        const struct ath_socket *sockets, size_t count);

/* The channels that carry pieces; NULL: none do. */
struct ath_channels *ath_tcp_channels(const struct ath_stream *stream);

/* The state of a further connection, and its traffic. */
struct ath_stripe_state {
    bool is_lost;                        /* and has not come again */
    bool is_udp;                         /* by a channel of UDP (remote/udp/carrier.h) */
    uint64_t sent_bytes, received_bytes; /* of large frames */
    /* Segments, as the kernel counts them, or datagrams, and a round trip; negative: not known. */
    int64_t sent_again, latency_ns;
    /* By TCP: segments with data that this connection has sent, and its least round trip of some
     * minutes; negative: not known. */
    int64_t segments, least_latency_ns;
    /* By TCP: of the segments sent again those that the peer had already, as its acknowledgements
     * say (RFC 2883); 0 before Linux 4.19. */
    int64_t needless;
    struct ath_udp_figures datagrams;                       /* by UDP */
    char local[ATH_ENDPOINT_TEXT], peer[ATH_ENDPOINT_TEXT]; /* of the socket; lost: undefined */
};

/* Fills what a socket tells: all except is_lost and the bytes. */
void ath_stripe_state_of_socket(int fd, struct ath_stripe_state *out);

/* Segments or datagrams that a connection has sent more than once; negative: not known. */
int64_t ath_stripe_sent_again(int fd);

/* Tells the state of a further connection that carries frames, by its index among them. Returns
 * false if there is none. Any thread, before the end of the stream. */
bool ath_tcp_stripe_state(const struct ath_stream *stream, size_t index,
                          struct ath_stripe_state *out);

/* Segments that a socket has sent more than once, and its round trip; negative if it is not of
 * TCP. */
int64_t ath_tcp_sent_again(int fd);
int64_t ath_tcp_latency_ns(int fd);

/* Returns whether a TCP peer has not answered for almost ten seconds although it should have. false
 * for a unix socket. */
bool ath_tcp_is_dead(int fd);

/* Sets TCP keepalive, so that the loss of an idle peer is noticed within ten seconds, and
 * TCP_NODELAY. */
void ath_tcp_tune(int fd);
