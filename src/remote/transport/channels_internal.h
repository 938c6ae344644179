/* Shared by channels.c (the table of channels), channels_write.c and channels_read.c (frames). */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "remote/transport/channels.h"
#include "remote/transport/line_loss.h"
#include "remote/transport/pace.h"
#include "remote/transport/pieces.h"

enum {
    ATH_CHANNEL_LOOK_MS = 50, /* how often a wait for a channel looks whether it is still used */
};

/* A connection. Its slot has it, and each frame that it is used for. */
struct ath_channel {
    struct ath_socket socket;
    uint32_t generation; /* of the slot, from 1 on */
    unsigned int users;  /* guarded by the lock */
    atomic_bool is_out;
};

struct ath_channels {
    struct ath_stream *stream;
    struct ath_socket back; /* of the verdicts */
    size_t count;
    pthread_mutex_t lock; /* guards now and before */
    struct ath_channel *now[ATH_CHANNELS_MAX];
    struct ath_channel_bytes {
        _Atomic uint64_t sent, received;
    } bytes[ATH_CHANNELS_MAX];                        /* of large frames */
    struct ath_stripe_state before[ATH_CHANNELS_MAX]; /* counts of connections before that of now */
    struct ath_pace paces[ATH_CHANNELS_MAX];          /* of the writer, as the next field */
    uint32_t paced[ATH_CHANNELS_MAX];                 /* the generation that the pace is of */
    struct ath_line_loss losses[ATH_CHANNELS_MAX];
    uint64_t look_ms;               /* when the lines are looked at again */
    struct ath_path_cost read_cost; /* of the reader */
    struct ath_team *readers, *writers;
    uint32_t written, read; /* frames so far */
    atomic_bool is_shut;
    struct ath_channels_watcher watcher;
};

/* A frame that is written or read. */
struct ath_channel_frame {
    struct ath_channels *channels;
    struct ath_channel *used[ATH_CHANNELS_MAX]; /* NULL: not used, or not any more */
    uint32_t loses[ATH_CHANNELS_MAX];           /* the parts that the heads of the end have */
    unsigned int named; /* a bit for each channel that both sides use for the frame */
    uint32_t number;
    struct ath_pieces pieces;
    atomic_int failure; /* of the stream; 0: none */
};

/* The reader's answer to each round. If units are missing, the bits of those that have come
 * follow. */
struct ath_channel_verdict {
    uint32_t number, out, missing, nothing; /* little-endian */
};

/* Fills used with the channels that a frame is written by, and returns their generations. */
uint64_t ath_channel_frame_choose(struct ath_channel_frame *frame);

/* The same for the generations that the peer has named. A connection that is not here stays
 * NULL. */
void ath_channel_frame_take(struct ath_channel_frame *frame, uint64_t generations);

/* Ends the use of channels: those of these bits. */
void ath_channel_frame_drop(struct ath_channel_frame *frame, unsigned int slots);

/* Takes a channel of the frame out, for good: threads that wait for it return. Any thread. */
void ath_channel_frame_put_out(struct ath_channel_frame *frame, size_t slot);

/* Notes a failure of the stream, and shuts it, so that threads that wait return. Any thread. */
void ath_channel_frame_note(struct ath_channel_frame *frame, int status);

/* Tells the watcher that a frame has been written or read. */
void ath_channel_frame_tell(const struct ath_channel_frame *frame, enum ath_channels_way way);

/* The number of bytes of the bits of a frame's units. */
size_t ath_channel_frame_bits(const struct ath_channel_frame *frame);
