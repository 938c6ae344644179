/* Writing a frame by channels. */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "remote/transport/channels_internal.h"
#include "remote/transport/parts.h"
#include "remote/transport/poll_briefly.h"
#include "remote/transport/team.h"

enum { PARTS_MAX = 4, LINES_MS = 100 /* how often the lines are looked at */ };

struct written {
    struct ath_channel_frame frame; /* first */
    const struct iovec *parts;
    size_t part_count;
    pthread_mutex_t verdict_lock; /* guards the next three fields, during a round */
    struct ath_channel_verdict verdict;
    uint64_t bits[ATH_PIECES_UNITS_MAX / 64];
    size_t verdict_got; /* bytes of both */
};

/* ---- the verdict ---- */

static size_t verdict_bytes(const struct written *written)
{
    bool has_head = written->verdict_got >= sizeof written->verdict;
    return sizeof written->verdict +
           (has_head && written->verdict.missing ? ath_channel_frame_bits(&written->frame) : 0);
}

static bool has_verdict(const struct written *written)
{
    return written->verdict_got == verdict_bytes(written);
}

/* Receives more of the verdict. Returns 0, -EAGAIN, or another negative errno. */
static int receive_verdict(struct written *written, int flags)
{
    const size_t head = sizeof written->verdict, got = written->verdict_got;
    uint8_t *to =
        got < head ? (uint8_t *)&written->verdict + got : (uint8_t *)written->bits + (got - head);
    size_t length = (got < head ? head : verdict_bytes(written)) - got;
    ssize_t received = ath_socket_receive(written->frame.channels->back, to, length, flags);
    if (received > 0)
        written->verdict_got += (size_t)received;
    return received > 0                             ? 0
           : !received                              ? -ECONNRESET
           : errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN
                                                    : -errno;
}

/* Takes out what the verdict says is out, so that threads that wait to send there return. */
static void heed_verdict(struct written *written)
{
    for (size_t i = 0; i < ATH_CHANNELS_MAX; i++)
        if (le32toh(written->verdict.out) >> i & 1u && written->frame.used[i])
            ath_channel_frame_put_out(&written->frame, i);
}

/* A thread that has waited for a while to send looks whether its channel is out. */
static void look_for_verdict(struct written *written)
{
    if (pthread_mutex_trylock(&written->verdict_lock))
        return;
    int status = 0;
    while (!status && !has_verdict(written))
        status = receive_verdict(written, MSG_DONTWAIT);
    if (!status)
        heed_verdict(written);
    pthread_mutex_unlock(&written->verdict_lock);
    if (status && status != -EAGAIN)
        ath_channel_frame_note(&written->frame, status);
}

static int await_verdict(struct written *written)
{
    enum { ROUNDS = 4 };
    struct ath_channels *channels = written->frame.channels;
    struct ath_brief_poll poll_state = { 0 };
    bool is_patient = true;
    while (!has_verdict(written)) {
        int status = receive_verdict(written, is_patient ? MSG_DONTWAIT : 0);
        if (channels->is_shut)
            return -ESHUTDOWN;
        if (status && status != -EAGAIN)
            return status;
        if (status && !is_patient && ath_tcp_is_dead(channels->back.fd))
            return -ETIMEDOUT;
        if (status && is_patient)
            is_patient = ath_brief_poll_again(&poll_state, ROUNDS, &channels->stream->patience_us);
    }
    heed_verdict(written);
    return 0;
}

/* Goes on as the verdict says. A peer whose verdict cannot be right is refused. */
static int apply_verdict(struct written *written, uint32_t *out_missing)
{
    struct ath_channel_frame *frame = &written->frame;
    const uint32_t out = le32toh(written->verdict.out) & frame->named;
    *out_missing = le32toh(written->verdict.missing);
    if (le32toh(written->verdict.number) != frame->number)
        return -EBADMSG;
    ath_channel_frame_drop(frame, out);
    frame->named &= ~out;
    written->verdict_got = 0;
    if (!*out_missing)
        return 0;
    return out && ath_pieces_take_seen(&frame->pieces, written->bits) == *out_missing ? 0
                                                                                      : -EBADMSG;
}

/* ---- pieces ---- */

static int send_all(struct written *written, struct ath_channel *channel, struct msghdr *message)
{
    struct ath_channels *channels = written->frame.channels;
    ath_parts_skip(message, 0);
    while (message->msg_iovlen) {
        ssize_t sent = ath_socket_send(channel->socket, message, 0);
        if (sent > 0) {
            ath_parts_skip(message, (size_t)sent);
            continue;
        }
        int error = errno;
        if (channels->is_shut || channel->is_out)
            return -ESHUTDOWN;
        if (error == EINTR)
            continue;
        if (error != EAGAIN && error != EWOULDBLOCK)
            return -error;
        if (ath_tcp_is_dead(channel->socket.fd))
            return -ETIMEDOUT;
        look_for_verdict(written);
    }
    return 0;
}

/* Sends a piece behind its head; of the end only the head. */
static int write_piece(struct written *written, size_t slot, const struct ath_piece *piece)
{
    struct ath_channels *channels = written->frame.channels;
    struct iovec left[1 + PARTS_MAX];
    struct msghdr message = { .msg_iov = left };
    uint8_t head[ATH_PIECE_HEAD];
    ath_piece_write_head(piece, head);
    left[0] = (struct iovec){ head, sizeof head };
    message.msg_iovlen =
        1 + ath_parts_cut(written->parts, written->part_count, piece->begin, piece->end, left + 1);
    size_t bytes = sizeof head + piece->end - piece->begin;
    ath_pace_begin_piece(&channels->paces[slot], bytes);
    int status = send_all(written, written->frame.used[slot], &message);
    ath_pace_end_piece(&channels->paces[slot], bytes);
    if (!status)
        atomic_fetch_add_explicit(&channels->bytes[slot].sent, piece->end - piece->begin,
                                  memory_order_relaxed);
    return status;
}

/* Waits until a channel should take a piece. Returns the most bytes of it; 0: none is left. A
 * channel that could have sent a unit while it waited takes one: the others are slower than they
 * were. The bytes of a channel that the reader has given up may stay in its socket forever, so this
 * looks for the verdict, too. */
static size_t await_room(struct written *written, size_t slot)
{
    enum { PAUSE_NS = 200 * 1000, PAUSES_MAX = ATH_CHANNEL_LOOK_MS * 1000 * 1000 / PAUSE_NS };
    struct ath_channels *channels = written->frame.channels;
    const struct ath_channel *channel = written->frame.used[slot];
    const size_t unit = written->frame.pieces.unit;
    const uint64_t until_ns = ath_now_ns() + ath_pace_ns(&channels->paces[slot], unit);
    unsigned int pauses = 0;
    for (size_t left; (left = ath_pieces_left(&written->frame.pieces)) && !channels->is_shut &&
                      !channel->is_out;) {
        size_t room = ath_pace_room(channels->paces, channels->count, slot, left, unit);
        if (room || ath_now_ns() >= until_ns)
            return room ? room : unit;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        if (++pauses % PAUSES_MAX == 0)
            look_for_verdict(written);
    }
    return 0;
}

static void write_channel(void *job, size_t slot)
{
    struct written *written = job;
    struct ath_channel_frame *frame = &written->frame;
    const size_t count = (size_t)__builtin_popcount(frame->named);
    struct ath_piece piece;
    size_t room;
    int status = 0;
    if (!frame->used[slot])
        return;
    ath_pace_begin_frame(&frame->channels->paces[slot]);
    while (!status && (room = await_room(written, slot)) &&
           ath_pieces_take(&frame->pieces, count, room, &piece))
        status = write_piece(written, slot, &piece);
    if (!status)
        status = write_piece(written, slot, &(struct ath_piece){ .first = frame->loses[slot] });
    if (status)
        ath_channel_frame_put_out(frame, slot);
}

/* Without a channel, the rest goes by the connection of the calls, in order. */
static int write_beside_calls(struct written *written)
{
    struct ath_channel_frame *frame = &written->frame;
    struct ath_stream *stream = frame->channels->stream;
    struct ath_piece piece;
    int status = 0;
    while (!status && ath_pieces_take(&frame->pieces, 1, SIZE_MAX, &piece)) {
        struct iovec left[PARTS_MAX];
        size_t count =
            ath_parts_cut(written->parts, written->part_count, piece.begin, piece.end, left);
        status = stream->ops->write(stream, left, count);
    }
    return status;
}

static int write_round(struct written *written, uint32_t *out_missing)
{
    struct ath_channels *channels = written->frame.channels;
    int status = 0;
    if (written->frame.named)
        ath_team_do(channels->writers, channels->count, write_channel, written);
    else
        status = write_beside_calls(written);
    if (!status)
        status = written->frame.failure;
    if (!status)
        status = await_verdict(written);
    return status ? status : apply_verdict(written, out_missing);
}

/* Looks whether the lines have lost segments of the frames before this one. */
static void look_at_lines(struct ath_channel_frame *frame)
{
    struct ath_channels *channels = frame->channels;
    struct ath_stripe_state state;
    double part;
    if (ath_now_ms() < channels->look_ms)
        return;
    channels->look_ms = ath_now_ms() + LINES_MS;
    for (size_t i = 0; ath_channels_state(channels, i, &state); i++)
        if (ath_line_loss_look(&channels->losses[i], &state, &part))
            frame->loses[i] = (uint32_t)(part * ATH_PIECE_PARTS);
}

int ath_channels_write(struct ath_channels *channels, const struct iovec *parts, size_t count)
{
    struct written written = { .frame = { .channels = channels, .number = ++channels->written },
                               .parts = parts,
                               .part_count = count };
    struct ath_stream *stream = channels->stream;
    size_t length = 0;
    uint32_t missing = 1;
    if (count > PARTS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        length += parts[i].iov_len;
    ath_pieces_init(&written.frame.pieces, length);
    look_at_lines(&written.frame);
    pthread_mutex_init(&written.verdict_lock, NULL);
    uint64_t generations = htole64(ath_channel_frame_choose(&written.frame));
    int status = stream->ops->write(stream, &(struct iovec){ &generations, sizeof generations }, 1);
    if (stream->before_wait) /* for the verdict */
        stream->before_wait(stream->context);
    while (!status && missing)
        status = write_round(&written, &missing);
    ath_channel_frame_drop(&written.frame, ~0u);
    pthread_mutex_destroy(&written.verdict_lock);
    if (!status)
        ath_channel_frame_tell(&written.frame, ATH_CHANNELS_WRITTEN);
    return channels->is_shut && status ? -ESHUTDOWN : status;
}
