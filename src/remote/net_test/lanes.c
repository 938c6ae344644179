/* Moves bytes and frames on all connections at once, a thread for each. */
#include "config.h"

#include "remote/net_test/lanes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "remote/transport/poll_briefly.h"

enum {
    SILENCE_MS = 10 * 1000,
    PART_BYTES = 256 * 1024,
    /* The first part is small: what comes behind a lost segment waits in the socket, and would come
     * all at once behind a large one. */
    FIRST_BYTES = 1024,
    FIRST_SHARE = 8, /* of few bytes the first part is this part of them */
    FRAMES_LEAST = 8,
    FRAME_MAX = 16 * 1024 * 1024,
};

/* ---- one connection that has joined ---- */

static bool must_wait(ssize_t moved)
{
    return moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

static int send_by(struct ath_socket to, const uint8_t *bytes, size_t length)
{
    int status = 0;
    while (length && !status) {
        struct iovec part = { (void *)(uintptr_t)bytes, length };
        ssize_t sent = ath_socket_send(to, &(struct msghdr){ .msg_iov = &part, .msg_iovlen = 1 },
                                       MSG_DONTWAIT);
        if (must_wait(sent)) {
            status = ath_socket_wait(to.fd, POLLOUT, ath_now_ms() + SILENCE_MS);
            continue;
        }
        if (sent < 0)
            return -errno;
        bytes += sent;
        length -= (size_t)sent;
    }
    return status;
}

/* Polls for a while before it sleeps, as the connection of the calls does. */
static int receive_by(struct ath_socket from, uint8_t *bytes, size_t length)
{
    enum { ROUNDS = 4 };
    const _Atomic uint32_t patience_us = ath_stream_patience_us(ATH_STREAM_BUSY);
    struct ath_brief_poll look = { 0 };
    int status = 0;
    while (length && !status) {
        ssize_t got = ath_socket_receive(from, bytes, length, MSG_DONTWAIT);
        if (must_wait(got)) {
            if (!ath_brief_poll_again(&look, ROUNDS, &patience_us))
                status = ath_socket_wait(from.fd, POLLIN, ath_now_ms() + SILENCE_MS);
            continue;
        }
        if (got <= 0)
            return got ? -errno : -ECONNRESET;
        look = (struct ath_brief_poll){ 0 };
        bytes += got;
        length -= (size_t)got;
    }
    return status;
}

/* ---- a lane ---- */

static int lane_send(const struct ath_lane *lane, const uint8_t *bytes, size_t length)
{
    return lane->stream ? lane->stream->ops->write(
                              lane->stream, &(struct iovec){ (void *)(uintptr_t)bytes, length }, 1)
                        : send_by(lane->socket, bytes, length);
}

static int lane_receive(const struct ath_lane *lane, uint8_t *bytes, size_t length)
{
    return lane->stream ? lane->stream->ops->read(lane->stream, bytes, length)
                        : receive_by(lane->socket, bytes, length);
}

/* Bytes that nothing on the way can make smaller. */
static void fill(uint8_t *bytes, size_t length)
{
    uint64_t state = 1;
    for (size_t i = 0; i < length; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bytes[i] = (uint8_t)(state >> 56);
    }
}

/* ---- many bytes ---- */

struct move {
    const struct ath_lane *lane;
    bool is_sent;
    uint64_t bytes;
    int status;
    uint64_t first_ns, last_ns; /* when the first part and the last one had come */
    pthread_t thread;
};

static size_t first_bytes(uint64_t bytes)
{
    const uint64_t share = (bytes + FIRST_SHARE - 1) / FIRST_SHARE;
    return share < FIRST_BYTES ? (size_t)share : FIRST_BYTES;
}

static void move_by(struct move *move, uint8_t bytes[PART_BYTES])
{
    size_t most = first_bytes(move->bytes);
    if (move->is_sent)
        fill(bytes, PART_BYTES);
    for (uint64_t left = move->bytes; left && !move->status; most = PART_BYTES) {
        size_t part = left < most ? (size_t)left : most;
        move->status = move->is_sent ? lane_send(move->lane, bytes, part)
                                     : lane_receive(move->lane, bytes, part);
        move->last_ns = ath_now_ns();
        if (left == move->bytes)
            move->first_ns = move->last_ns;
        left -= part;
    }
}

static void *move_lane(void *argument)
{
    struct move *move = argument;
    uint8_t *bytes = malloc(PART_BYTES);
    if (bytes)
        move_by(move, bytes);
    else
        move->status = -ENOMEM;
    free(bytes);
    return NULL;
}

static int move_all(const struct ath_lane *lanes, size_t count, uint64_t bytes_each, bool is_sent,
                    struct move *out)
{
    size_t begun = 0;
    int status = 0;
    while (begun < count && !status) {
        struct move *move = &out[begun];
        *move = (struct move){ .lane = &lanes[begun], .is_sent = is_sent, .bytes = bytes_each };
        status = ath_thread_start(&move->thread, move_lane, move);
        begun += !status;
    }
    for (size_t i = 0; i < begun; i++) {
        pthread_join(out[i].thread, NULL);
        status = status ? status : out[i].status;
    }
    return status;
}

int ath_lanes_send(const struct ath_lane *lanes, size_t count, uint64_t bytes_each)
{
    struct move moves[ATH_STRIPES_MAX];
    if (!count || count > ATH_STRIPES_MAX || !bytes_each)
        return -EINVAL;
    return move_all(lanes, count, bytes_each, true, moves);
}

int ath_lanes_receive(const struct ath_lane *lanes, size_t count, uint64_t bytes_each,
                      struct ath_lane_rate *out)
{
    struct move moves[ATH_STRIPES_MAX];
    if (!count || count > ATH_STRIPES_MAX || !bytes_each)
        return -EINVAL;
    int status = move_all(lanes, count, bytes_each, false, moves);
    if (status)
        return status;
    const struct move *first = &moves[0], *last = &moves[0];
    for (size_t i = 1; i < count; i++) {
        first = moves[i].first_ns < first->first_ns ? &moves[i] : first;
        last = moves[i].last_ns > last->last_ns ? &moves[i] : last;
    }
    *out = (struct ath_lane_rate){ .bytes = bytes_each * count - first_bytes(bytes_each),
                                   .time_ns = last->last_ns - first->first_ns };
    if (!out->time_ns)
        out->bytes = 0;
    return 0;
}

/* ---- round trips ---- */

int ath_lane_ping(const struct ath_lane *lane, size_t bytes, size_t count, uint64_t *out_ns)
{
    uint8_t sent[ATH_LANE_ECHO_MAX], got[ATH_LANE_ECHO_MAX];
    int status = 0;
    if (!bytes || bytes > ATH_LANE_ECHO_MAX)
        return -EINVAL;
    fill(sent, bytes);
    for (size_t i = 0; i < count && !status; i++) {
        uint64_t begin_ns = ath_now_ns();
        memset(got, 0, bytes);
        status = lane_send(lane, sent, bytes);
        if (!status)
            status = lane_receive(lane, got, bytes);
        out_ns[i] = ath_now_ns() - begin_ns;
        if (!status && memcmp(sent, got, bytes))
            status = -EBADMSG;
    }
    return status;
}

int ath_lane_echo(const struct ath_lane *lane, size_t bytes, size_t count)
{
    uint8_t got[ATH_LANE_ECHO_MAX];
    int status = 0;
    if (!bytes || bytes > ATH_LANE_ECHO_MAX)
        return -EINVAL;
    for (size_t i = 0; i < count && !status; i++) {
        status = lane_receive(lane, got, bytes);
        if (!status)
            status = lane_send(lane, got, bytes);
    }
    return status;
}

/* ---- large frames ---- */

/* Both sides divide the bytes in the same way: at least eight frames, each large enough to go the
 * large way, and none larger than copies of programs that do not wait long. */
static size_t frame_bytes(uint64_t bytes)
{
    const uint64_t wanted = bytes / FRAMES_LEAST;
    return wanted < ATH_STRIPED_BYTES ? ATH_STRIPED_BYTES
           : wanted > FRAME_MAX       ? FRAME_MAX
                                      : (size_t)wanted;
}

int ath_lane_send_frames(struct ath_stream *stream, uint64_t bytes)
{
    const size_t most = frame_bytes(bytes);
    uint8_t *frame = malloc(most);
    int status = frame ? 0 : -ENOMEM;
    if (frame)
        fill(frame, most);
    for (size_t length; bytes && !status; bytes -= length) {
        length = bytes < most ? (size_t)bytes : most;
        status = stream->ops->write_large(stream, &(struct iovec){ frame, length }, 1);
    }
    free(frame);
    return status;
}

int ath_lane_receive_frames(struct ath_stream *stream, uint64_t bytes, struct ath_lane_rate *out)
{
    const size_t most = frame_bytes(bytes);
    uint8_t *frame = malloc(most);
    int status = frame ? 0 : -ENOMEM;
    uint64_t first_ns = 0, behind = 0;
    for (size_t length; bytes && !status; bytes -= length) {
        length = bytes < most ? (size_t)bytes : most;
        status = stream->ops->read_large(stream, frame, length);
        if (first_ns)
            behind += length;
        else
            first_ns = ath_now_ns();
    }
    free(frame);
    if (!status)
        *out = (struct ath_lane_rate){ behind, behind ? ath_now_ns() - first_ns : 0 };
    return status;
}

/* ---- segments ---- */

static void add_count(int64_t count, int64_t *sum)
{
    *sum = *sum < 0 || count < 0 ? -1 : *sum + count;
}

int64_t ath_lanes_sent_again(const struct ath_lane *lanes, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        add_count(ath_stripe_sent_again(lanes[i].socket.fd), &sum);
    return sum;
}

int64_t ath_lane_frames_sent_again(const struct ath_lane *calls)
{
    struct ath_stripe_state state;
    int64_t sum = 0;
    if (!ath_tcp_channels(calls->stream)) /* it has a share, too */
        add_count(ath_stripe_sent_again(calls->socket.fd), &sum);
    for (size_t i = 0; ath_tcp_stripe_state(calls->stream, i, &state); i++)
        add_count(state.sent_again, &sum);
    return sum;
}
