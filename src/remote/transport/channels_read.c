/* Reading a frame by channels. */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "remote/transport/channels_internal.h"
#include "remote/transport/parts.h"
#include "remote/transport/poll_briefly.h"
#include "remote/transport/team.h"

/* A channel is out if it brings nothing for so long, and another one brings something for a part of
 * that time, or has brought all. */
enum { STALL_NS = 300 * 1000 * 1000, OTHERS_NS = STALL_NS / 2 };

struct reading {
    struct ath_channel_frame frame; /* first */
    uint8_t *bytes;
    _Atomic uint64_t moved_ns; /* when a channel last brought something */
    atomic_uint ended;         /* channels that have brought all of the round */
};

static bool is_stalled(const struct reading *reading, uint64_t own_ns)
{
    return ath_now_ns() - own_ns >= STALL_NS &&
           (reading->ended || reading->moved_ns >= own_ns + OTHERS_NS);
}

/* As recv(2), but polls for a while before it sleeps. */
static ssize_t look_and_wait(const struct ath_channels *channels, struct ath_socket from,
                             void *bytes, size_t length)
{
    enum { ROUNDS = 4 };
    struct ath_brief_poll poll_state = { 0 };
    while (!channels->is_shut) {
        ssize_t got = ath_socket_receive(from, bytes, length, MSG_DONTWAIT);
        if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            return got;
        if (!ath_brief_poll_again(&poll_state, ROUNDS, &channels->stream->patience_us))
            break;
    }
    return ath_socket_receive(from, bytes, length, 0);
}

/* The meaning of a call that brought nothing: 0 to try again, or a negative errno. */
static int judge(const struct reading *reading, const struct ath_channel *channel, int error,
                 uint64_t own_ns)
{
    if (reading->frame.channels->is_shut || channel->is_out)
        return -ESHUTDOWN;
    if (error == EINTR)
        return 0;
    if (error != EAGAIN && error != EWOULDBLOCK)
        return -error;
    return is_stalled(reading, own_ns) || ath_tcp_is_dead(channel->socket.fd) ? -ETIMEDOUT : 0;
}

/* Receives bytes of a channel. *out_got is their number, also after an error. */
static int receive_all(struct reading *reading, const struct ath_channel *channel, uint8_t *bytes,
                       size_t length, uint64_t *own_ns, size_t *out_got)
{
    bool is_first = true;
    for (*out_got = 0; *out_got < length; is_first = false) {
        uint8_t *to = bytes + *out_got;
        size_t left = length - *out_got;
        ssize_t got = is_first ? look_and_wait(reading->frame.channels, channel->socket, to, left)
                               : ath_socket_receive(channel->socket, to, left, 0);
        if (!got)
            return -ECONNRESET;
        int status = got < 0 ? judge(reading, channel, errno, *own_ns) : 0;
        if (status)
            return status;
        if (got < 0)
            continue;
        *out_got += (size_t)got;
        *own_ns = ath_now_ns();
        atomic_store_explicit(&reading->moved_ns, *own_ns, memory_order_relaxed);
    }
    return 0;
}

/* No peer's word makes a part more than the whole. */
static uint32_t part_of(const struct ath_piece *end)
{
    return end->first < ATH_PIECE_PARTS ? end->first : ATH_PIECE_PARTS;
}

/* Reads a piece. *out_is_end: the channel has no more for this round. */
static int read_piece(struct reading *reading, size_t slot, uint64_t *own_ns, bool *out_is_end)
{
    struct ath_channel_frame *frame = &reading->frame;
    const struct ath_channel *channel = frame->used[slot];
    uint8_t head[ATH_PIECE_HEAD];
    struct ath_piece piece;
    size_t got;
    int status = receive_all(reading, channel, head, sizeof head, own_ns, &got);
    if (!status)
        status = ath_pieces_place(&frame->pieces, head, &piece);
    *out_is_end = !status && !piece.count;
    if (*out_is_end)
        frame->loses[slot] = part_of(&piece);
    if (status || *out_is_end)
        return status;
    status = receive_all(reading, channel, reading->bytes + piece.begin, piece.end - piece.begin,
                         own_ns, &got);
    atomic_fetch_add_explicit(&frame->channels->bytes[slot].received, got, memory_order_relaxed);
    bool is_new = ath_pieces_see(&frame->pieces, &piece, got);
    return is_new ? status : -EBADMSG;
}

static void read_channel(void *job, size_t slot)
{
    struct reading *reading = job;
    uint64_t own_ns = ath_now_ns();
    bool is_end = false;
    int status = 0;
    if (!reading->frame.used[slot])
        return;
    while (!status && !is_end)
        status = read_piece(reading, slot, &own_ns, &is_end);
    if (!status)
        reading->ended++;
    else if (status == -EBADMSG)
        ath_channel_frame_note(&reading->frame, status);
    else
        ath_channel_frame_put_out(&reading->frame, slot);
}

/* The units that are missing, by the connection of the calls. */
static int read_beside_calls(struct reading *reading)
{
    struct ath_channel_frame *frame = &reading->frame;
    struct ath_stream *stream = frame->channels->stream;
    struct ath_piece piece;
    int status = 0;
    ath_pieces_begin_round(&frame->pieces);
    while (!status && ath_pieces_take(&frame->pieces, 1, SIZE_MAX, &piece)) {
        status = stream->ops->read(stream, reading->bytes + piece.begin, piece.end - piece.begin);
        if (!status && !ath_pieces_see(&frame->pieces, &piece, piece.end - piece.begin))
            status = -EBADMSG;
    }
    return status;
}

/* The channels, of those that both sides used, that are out now. */
static uint32_t find_out(const struct ath_channel_frame *frame)
{
    uint32_t out = 0;
    for (size_t i = 0; i < ATH_CHANNELS_MAX; i++)
        if (frame->named >> i & 1u && (!frame->used[i] || frame->used[i]->is_out))
            out |= 1u << i;
    return out;
}

static int send_all(const struct ath_channels *channels, struct iovec *parts, size_t count)
{
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
    ath_parts_skip(&message, 0);
    while (message.msg_iovlen) {
        ssize_t sent = ath_socket_send(channels->back, &message, 0);
        if (channels->is_shut)
            return -ESHUTDOWN;
        if (sent > 0)
            ath_parts_skip(&message, (size_t)sent);
        else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (ath_tcp_is_dead(channels->back.fd))
                return -ETIMEDOUT;
        } else if (errno != EINTR)
            return errno == EPIPE ? -ECONNRESET : -errno;
    }
    return 0;
}

/* Tells the writer what has come. */
static int send_verdict(struct reading *reading, uint32_t out, uint32_t missing)
{
    struct ath_channel_frame *frame = &reading->frame;
    struct ath_channel_verdict verdict = { htole32(frame->number), htole32(out), htole32(missing),
                                           0 };
    uint64_t bits[ATH_PIECES_UNITS_MAX / 64];
    struct iovec parts[] = { { &verdict, sizeof verdict },
                             { bits, missing ? ath_channel_frame_bits(frame) : 0 } };
    if (missing)
        ath_pieces_put_seen(&frame->pieces, bits);
    return send_all(frame->channels, parts, sizeof parts / sizeof *parts);
}

static int read_round(struct reading *reading, uint32_t *out_missing)
{
    struct ath_channel_frame *frame = &reading->frame;
    struct ath_channels *channels = frame->channels;
    int status = 0;
    reading->ended = 0;
    reading->moved_ns = ath_now_ns();
    if (frame->named)
        ath_team_do(channels->readers, channels->count, read_channel, reading);
    else
        status = read_beside_calls(reading);
    if (!status)
        status = frame->failure;
    if (!status && channels->is_shut)
        status = -ESHUTDOWN;
    if (status)
        return status;
    uint32_t out = find_out(frame);
    *out_missing = ath_pieces_missing(&frame->pieces);
    if (*out_missing && !out) /* each channel has said that it is done */
        return -EBADMSG;
    ath_channel_frame_drop(frame, out);
    frame->named &= ~out;
    return send_verdict(reading, out, *out_missing);
}

int ath_channels_read(struct ath_channels *channels, void *bytes, size_t length)
{
    struct reading reading = { .frame = { .channels = channels, .number = ++channels->read },
                               .bytes = bytes };
    struct ath_stream *stream = channels->stream;
    uint64_t generations;
    uint32_t missing = 1;
    ath_pieces_init(&reading.frame.pieces, length);
    int status = stream->ops->read(stream, &generations, sizeof generations);
    if (status)
        return status;
    const uint64_t begin_ns = ath_now_ns();
    ath_channel_frame_take(&reading.frame, le64toh(generations));
    while (!status && missing)
        status = read_round(&reading, &missing);
    ath_channel_frame_drop(&reading.frame, ~0u);
    if (status)
        return status;
    ath_path_cost_add(&channels->read_cost, length, ath_now_ns() - begin_ns);
    ath_channel_frame_tell(&reading.frame, ATH_CHANNELS_READ);
    return 0;
}
