/*
 * Bytes between a client and its server's session, whatever carries them: the ops table of the
 * transports. Frames (runtime/wire/frame.h) lie on it one behind the other.
 *
 * Threads: one may write and one may read at a time; shut() and share() are for any. A failure is
 * for good.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "runtime/wire/frame.h"

struct ath_stream;

struct ath_stream_ops {
    const char *name;

    /* Each write costs a call of the kernel's: small frames are better written together. */
    bool wants_batches;

    /* Writes all of it, waiting for room. Returns 0 or a negative errno: -ECONNRESET where the peer
     * is gone, -ETIMEDOUT where its host is. */
    int (*write)(struct ath_stream *stream, const struct iovec *parts, size_t count);

    /* Waits for so many bytes. Returns 0 or a negative errno; -ENODATA where the peer has ended the
     * connection. */
    int (*read)(struct ath_stream *stream, void *bytes, size_t length);

    /* The same for what is behind the head of a frame of large_bytes and more: the other side reads
     * (writes) it in the same way. */
    int (*write_large)(struct ath_stream *stream, const struct iovec *parts, size_t count);
    int (*read_large)(struct ath_stream *stream, void *bytes, size_t length);

    /* Whoever waits, and whoever comes, fails at once. */
    void (*shut)(struct ath_stream *stream);

    /*
     * Makes memory that both sides have at the same address, zeroed. wanted: where, or NULL. Until
     * unshare(), or the stream's end. Returns 0 or a negative errno. NULL: the transport cannot.
     */
    int (*share)(struct ath_stream *stream, size_t bytes, void *wanted, void **out_address,
                 uint64_t *out_id);

    /*
     * The same for a file in memory (tmpfs) that the caller has mapped, shared: the peer maps
     * these whole pages of it, at wanted or, where it has something there, elsewhere. fd stays the
     * caller's. -ENOTSUP: the peer takes no such file; -EINVAL: it is too short.
     */
    int (*share_file)(struct ath_stream *stream, int fd, uint64_t offset, size_t bytes,
                      const void *wanted, uint64_t *out_id);
    void (*unshare)(struct ath_stream *stream, uint64_t id); /* leaves the caller's mapping alone */

    /* In a forked child, in which nothing of it may be used: lets go of what would keep the
     * connection open. Only what may be done in a signal handler. */
    void (*abandon)(struct ath_stream *stream);

    /* Frees it; nobody may be in another function. */
    void (*close)(struct ath_stream *stream);
};

struct ath_stream {
    const struct ath_stream_ops *ops;
    _Atomic uint32_t patience_us; /* how long is looked before a wait sleeps; any thread sets it */
    size_t large_bytes; /* of a frame, its head counted, which goes another way; 0: none does */
};

/*
 * What a wait is for: nothing that must come soon; or an answer, or the next call of a program that
 * has just had one. CUDA's own driver never sleeps in the latter.
 */
enum ath_stream_wait { ATH_STREAM_IDLE, ATH_STREAM_BUSY };

/* The patience for that, by how many processors there are to this process. */
uint32_t ath_stream_patience_us(enum ath_stream_wait wait);

/* Reads one frame of at most max_bytes, its head counted. Returns 0, or as read() does, -EBADMSG
 * (no frame), -EMSGSIZE (larger than allowed), -ENOMEM. */
int ath_stream_read_frame(struct ath_stream *stream, size_t max_bytes, struct ath_frame *frame);

/* Writes one frame: parts are its bytes, the first of them has the head. ahead: other frames, none
 * of them large, that go before it. Returns as write() does. */
enum { ATH_FRAME_PARTS = 3 };
int ath_stream_write_frame(struct ath_stream *stream, struct iovec ahead,
                           const struct iovec parts[ATH_FRAME_PARTS]);

/*
 * A stream over a connected socket of the handshake, TCP or unix, which is the stream's from then
 * on. NULL without memory (then the socket is still the caller's).
 */
struct ath_stream *ath_tcp_stream(int fd);

/*
 * Large frames go by more connections from here on, which are the stream's on success: before its
 * first frame, on both sides, in the same order. Returns 0, -EINVAL (too many) or -ENOMEM.
 */
enum { ATH_STRIPES_MAX = 8, ATH_STRIPED_BYTES = 1024 * 1024 };
int ath_tcp_add_stripes(struct ath_stream *stream, const int *fds, size_t count);

/* Whether a TCP connection's peer no longer answers, although it should have for some ten seconds.
 * false for a unix socket. */
bool ath_tcp_is_dead(int fd);

/* Has the kernel ask an idle TCP connection's peer whether it is there, so that one that is gone is
 * noticed after ten seconds; and no delays. */
void ath_tcp_tune(int fd);
