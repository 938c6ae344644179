/*
 * Frames on a connected socket: Cap'n Proto's standard framing of one segment, a word that says
 * "one segment (0), so many words" and the words. The length is checked against a limit before any
 * of it is read, and a stranger's first bytes (HTTP, TLS, SSH) say another number of segments.
 *
 * Deadlines are moments of ath_now_ms(), of the whole frame: a peer that trickles meets them too.
 * The descriptor may be blocking or not. No call raises SIGPIPE. One thread at a time for each
 * direction.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { ATH_FRAME_HEAD = 8 };

/* A frame's memory, which is used again for the next one. */
struct ath_frame {
    uint8_t *bytes; /* with its head */
    size_t length, capacity;
};

void ath_frame_free(struct ath_frame *frame);

/* What a frame holds. */
static inline const uint8_t *ath_frame_message(const struct ath_frame *frame)
{
    return frame->bytes + ATH_FRAME_HEAD;
}

static inline size_t ath_frame_message_length(const struct ath_frame *frame)
{
    return frame->length - ATH_FRAME_HEAD;
}

/*
 * Reads one frame of at most max_bytes (its head counted). Returns 0, or with err: -ENODATA where
 * the peer ended the connection between two frames, -ETIMEDOUT, -EBADMSG (no frame, or cut off),
 * -EMSGSIZE (larger than allowed), -ENOMEM, or what the system says (-ECONNRESET).
 */
int ath_frame_read(int fd, size_t max_bytes, uint64_t deadline_ms, struct ath_frame *frame,
                   struct ath_err *err);

/* Writes one whole frame, head included. Returns 0, or with err -ETIMEDOUT or what the system
 * says. */
int ath_frame_write(int fd, const uint8_t *bytes, size_t length, uint64_t deadline_ms,
                    struct ath_err *err);

/* Takes a copy of a frame that was built, for a transcript. Returns 0 or -ENOMEM. */
int ath_frame_copy(struct ath_frame *frame, const uint8_t *bytes, size_t length);
