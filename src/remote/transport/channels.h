/*
 * The data channels of a stream: connections that carry its large frames in pieces (pieces.h), of
 * different speed perhaps, and each of which may fail. The others then carry its part; if there is
 * none, the connection of the calls does. A channel that was lost can be replaced.
 *
 * A frame. Behind its head, on the connection of the calls, the writer names the channels that it
 * uses: a byte for each, which stands for the channel's generation (1 to 255, and 1 again), or 0.
 * It sends pieces by each, and the end of the round. The reader takes out a channel that fails,
 * ends, or brings nothing for 300 ms while another one does. When all that are left are at the end,
 * the reader sends its verdict: the channels that are out, and which units have come. If units are
 * missing, the writer sends those by the channels that are left: the next round. With the verdict
 * that none is missing the writer is done, so the frame's memory is the writer's own until then.
 *
 * Verdicts go by a connection of their own, where the calls go: each way has the verdicts about the
 * frames of the other way. So neither side waits for one that reads only its own frames.
 *
 * Threads: one may write and one may read at a time; the other functions are for any thread.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/transport/stream.h"

struct ath_channels;

/* Makes the channels of a stream. sockets are their connections, at most ATH_CHANNELS_MAX; the last
 * one is that of the verdicts and no channel. On success they belong to the channels. Returns NULL
 * if memory runs out. */
struct ath_channels *ath_channels_make(struct ath_stream *stream, const struct ath_socket *sockets,
                                       size_t count);

/* Writes or reads the part of a frame behind its head. Returns 0 or a negative errno, after which
 * the stream must be shut: -EBADMSG (nonsense of the peer), -ESHUTDOWN, or that of the connection
 * of the calls or of the verdicts. */
int ath_channels_write(struct ath_channels *channels, const struct iovec *parts, size_t count);
int ath_channels_read(struct ath_channels *channels, void *bytes, size_t length);

/* As the functions of a stream (struct ath_stream_ops). */
void ath_channels_shut(struct ath_channels *channels);
void ath_channels_abandon(struct ath_channels *channels);
void ath_channels_free(struct ath_channels *channels);

enum ath_channels_way { ATH_CHANNELS_WRITTEN, ATH_CHANNELS_READ };

/*
 * lost() is called when a channel is taken out, by any thread of a read or a write, and once for a
 * connection. loses() and moved() are called behind each frame, by the thread that has written or
 * read it: loses() for each channel whose line loses a part of TCP's segments on that way
 * (line_loss.h), as the kernel of the side that writes counts them. end() is called before the
 * channels are freed. NULL: nothing is. Set before the first frame.
 */
struct ath_channels_watcher {
    void (*lost)(void *context, size_t slot);
    void (*loses)(void *context, enum ath_channels_way way, size_t slot, double part);
    void (*moved)(void *context, enum ath_channels_way way);
    void (*end)(void *context);
    void *context;
};
void ath_channels_watch(struct ath_channels *channels, const struct ath_channels_watcher *watcher);

/*
 * Puts a new connection in a channel's place, which the channels own on success; later frames use
 * it. generation is that of the place: the first connection has 1, and each later one has more.
 * Both sides do this at about the same time. Returns 0, -EINVAL (there is no such place, the
 * generation is old, or the stream is shut) or -ENOMEM.
 */
int ath_channels_offer(struct ath_channels *channels, size_t slot, uint32_t generation,
                       struct ath_socket socket);

/* Returns the speed of the latest large frames that were written or read; 0: not known. */
uint64_t ath_channels_bytes_per_s(const struct ath_channels *channels, enum ath_channels_way way);

/* Returns whether the stream is shut, so that no channel will be used again. */
bool ath_channels_are_shut(const struct ath_channels *channels);

/* Tells the state of a place; its counts go on with each connection. Returns false if there is no
 * such place. */
bool ath_channels_state(struct ath_channels *channels, size_t slot, struct ath_stripe_state *out);
