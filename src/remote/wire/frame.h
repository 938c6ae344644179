/*
 * Frames on a connected socket, plain or with TLS, in Cap'n Proto's standard framing of one
 * segment: a head word with the number of segments less one (0) and the number of words, then the
 * words. The length is checked against a limit before the words are read. The first bytes of other
 * protocols (HTTP, TLS, SSH) give another number of segments, so they are refused.
 *
 * Deadlines are moments of ath_now_ms() for the whole frame, so a slow trickle of bytes does not
 * extend them. The descriptor may be blocking or not. No call raises SIGPIPE. One thread at a time
 * for each direction.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "remote/tls/socket.h"

enum { ATH_FRAME_HEAD = 8 };

/* A frame's memory, which the next frame uses again. */
struct ath_frame {
    uint8_t *bytes; /* with its head */
    size_t length, capacity;
};

void ath_frame_free(struct ath_frame *frame);

/* The message in a frame. */
static inline const uint8_t *ath_frame_message(const struct ath_frame *frame)
{
    return frame->bytes + ATH_FRAME_HEAD;
}

static inline size_t ath_frame_message_length(const struct ath_frame *frame)
{
    return frame->length - ATH_FRAME_HEAD;
}

/*
 * Reads one frame of at most max_bytes with its head. Returns 0, or with err: -ENODATA if the peer
 * ended the connection between two frames, -ETIMEDOUT, -EBADMSG (no frame, or cut off), -EMSGSIZE
 * (larger than max_bytes), -EPROTO (changed on the way, by TLS), -ENOMEM, or a system error
 * (-ECONNRESET).
 */
int ath_frame_receive(struct ath_socket from, size_t max_bytes, uint64_t deadline_ms,
                      struct ath_frame *frame, struct ath_err *err);

/* Writes one whole frame with its head. Returns 0, or with err -ETIMEDOUT or a system error. */
int ath_frame_send(struct ath_socket to, const uint8_t *bytes, size_t length, uint64_t deadline_ms,
                   struct ath_err *err);

/* The same on a plain socket. */
static inline int ath_frame_read(int fd, size_t max_bytes, uint64_t deadline_ms,
                                 struct ath_frame *frame, struct ath_err *err)
{
    return ath_frame_receive((struct ath_socket){ .fd = fd }, max_bytes, deadline_ms, frame, err);
}

static inline int ath_frame_write(int fd, const uint8_t *bytes, size_t length, uint64_t deadline_ms,
                                  struct ath_err *err)
{
    return ath_frame_send((struct ath_socket){ .fd = fd }, bytes, length, deadline_ms, err);
}

/* Copies a frame that was built, for a transcript. Returns 0 or -ENOMEM. */
int ath_frame_copy(struct ath_frame *frame, const uint8_t *bytes, size_t length);
