/*
 * Frames on a socket, and large frames on several. One connection is copied by one processor at
 * each end, which is slower than networks are. There are two ways (enum ath_stripes_way). With
 * equal shares each connection carries a part of the bytes behind a large frame's head, in order,
 * so both sides know from the length in the head which connection has which bytes. That suits
 * connections of one path, and is for older peers as well. With pieces (channels.h) the connections
 * may be of different speed, each may fail, and the first one carries none, because its path may be
 * a slow one.
 *
 * A peer whose host is gone answers nothing. While nothing is in flight, the kernel's keepalive
 * finds that (tcp(7)). While bytes wait for an acknowledgement, the kernel sends no keepalive and
 * waits a quarter of an hour, so this file looks at TCP_INFO. TCP_USER_TIMEOUT would be shorter to
 * write, but it also ends a connection to a live peer that has no room for more.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "remote/transport/channels.h"
#include "remote/transport/pace.h"
#include "remote/transport/parts.h"
#include "remote/transport/poll_briefly.h"
#include "remote/transport/stream.h"
#include "remote/transport/team.h"

enum {
    READ_AHEAD = 64 * 1024,
    PARTS_MAX = 4,
    /* A look comes each second, so that a loss is known within ten. */
    DEAD_AFTER_MS = 8500,
    PROBES_MAX = 4, /* window probes without an answer, while the peer has no room */
};

struct tcp {
    struct ath_stream stream;
    /* the first has everything except the other shares of large frames */
    struct ath_socket sockets[ATH_STRIPES_MAX];
    struct ath_udp_place udp[ATH_STRIPES_MAX]; /* of these sockets */
    size_t count;
    struct ath_channels *channels; /* NULL: the other shares are equal */
    struct {
        _Atomic uint64_t sent, received;
    } bytes[ATH_STRIPES_MAX];           /* of equal shares, by connection */
    struct ath_team *readers, *writers; /* NULL with one connection */
    atomic_bool is_shut;
    size_t begin, end; /* of the bytes that were read ahead */
    uint8_t ahead[READ_AHEAD];
};

bool ath_tcp_is_dead(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
        return false;
    return (info.tcpi_retransmits && info.tcpi_last_ack_recv > DEAD_AFTER_MS) ||
           info.tcpi_probes > PROBES_MAX;
}

void ath_tcp_tune(int fd)
{
    static const struct {
        int level, name, value;
    } settings[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },  { IPPROTO_TCP, TCP_NODELAY, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, 3 }, { IPPROTO_TCP, TCP_KEEPINTVL, 2 },
        { IPPROTO_TCP, TCP_KEEPCNT, 3 },
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings;
         i++) /* a unix socket has none of these */
        setsockopt(fd, settings[i].level, settings[i].name, &settings[i].value, sizeof(int));
}

/* The meaning of a system call that moved nothing: 0 to try again, or a negative errno. */
static int judge(const struct tcp *tcp, int fd, int error)
{
    if (tcp->is_shut)
        return -ESHUTDOWN;
    if (error == EINTR)
        return 0;
    if (error == EAGAIN || error == EWOULDBLOCK) /* the timeout of a second has passed */
        return ath_tcp_is_dead(fd) ? -ETIMEDOUT : 0;
    return error == EPIPE ? -ECONNRESET : -error;
}

/* ---- writing ---- */

static int send_all(const struct tcp *tcp, struct ath_socket to, struct msghdr *message)
{
    int may_not_wait = tcp->stream.before_wait ? MSG_DONTWAIT : 0;
    ath_parts_skip(message, 0);
    while (message->msg_iovlen) {
        ssize_t sent = ath_socket_send(to, message, may_not_wait);
        if (sent < 0 && may_not_wait && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            tcp->stream.before_wait(tcp->stream.context);
            may_not_wait = 0;
            continue;
        }
        int status = sent > 0 ? 0 : judge(tcp, to.fd, errno);
        if (status)
            return status;
        if (sent > 0)
            ath_parts_skip(message, (size_t)sent);
    }
    return 0;
}

static int tcp_write(struct ath_stream *stream, const struct iovec *parts, size_t count)
{
    const struct tcp *tcp = (const struct tcp *)stream;
    struct iovec left[PARTS_MAX];
    struct msghdr message = { .msg_iov = left, .msg_iovlen = count };

    if (count > PARTS_MAX)
        return -EINVAL;
    memcpy(left, parts, count * sizeof *parts);
    return send_all(tcp, tcp->sockets[0], &message);
}

/* ---- reading ---- */

/* As recv(2), but polls for a while before it sleeps. */
static ssize_t look_and_wait(const struct tcp *tcp, struct ath_socket from, void *bytes,
                             size_t length)
{
    enum { ROUNDS = 4 }; /* each round is a system call */
    struct ath_brief_poll poll_state = { 0 };
    while (!tcp->is_shut) {
        ssize_t got = ath_socket_receive(from, bytes, length, MSG_DONTWAIT);
        if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            return got;
        if (!ath_brief_poll_again(&poll_state, ROUNDS, &tcp->stream.patience_us))
            break;
    }
    return ath_socket_receive(from, bytes, length, 0);
}

/* Receives at least one byte. */
static int receive(const struct tcp *tcp, struct ath_socket from, void *bytes, size_t length,
                   size_t *out_got)
{
    for (bool is_first = true;; is_first = false) {
        ssize_t got = is_first ? look_and_wait(tcp, from, bytes, length)
                               : ath_socket_receive(from, bytes, length, 0);
        if (got > 0) {
            *out_got = (size_t)got;
            return 0;
        }
        int status = got ? judge(tcp, from.fd, errno) : -ENODATA;
        if (status)
            return tcp->is_shut ? -ESHUTDOWN : status;
    }
}

/* Small pieces are read ahead, many at a time; large ones are read straight to their place. */
static int tcp_read(struct ath_stream *stream, void *bytes, size_t length)
{
    struct tcp *tcp = (struct tcp *)stream;
    uint8_t *to = bytes;
    size_t got = 0;

    while (length) {
        int status = 0;
        if (tcp->begin < tcp->end) {
            got = tcp->end - tcp->begin < length ? tcp->end - tcp->begin : length;
            memcpy(to, tcp->ahead + tcp->begin, got);
            tcp->begin += got;
        } else if (length >= sizeof tcp->ahead) {
            status = receive(tcp, tcp->sockets[0], to, length, &got);
        } else {
            tcp->begin = tcp->end = 0;
            status = receive(tcp, tcp->sockets[0], tcp->ahead, sizeof tcp->ahead, &tcp->end);
            got = 0;
        }
        if (status)
            return status == -ENODATA && to != bytes ? -EBADMSG : status;
        to += got;
        length -= got;
    }
    return 0;
}

/* ---- shares of a large frame ---- */

struct shares {
    struct tcp *tcp;
    const struct iovec *parts; /* to send */
    size_t part_count;
    uint8_t *bytes; /* or to receive */
    size_t length;
    atomic_int failure; /* of the first share that failed */
};

/* The offset of a connection's share. For the number behind the last connection this is the end. */
static size_t share_begin(const struct shares *shares, size_t connection)
{
    size_t at = connection * (shares->length / shares->tcp->count + 1);
    return at < shares->length ? at : shares->length;
}

/* Keeps the first failure, and shuts the stream, so that threads that wait on other connections
 * return. */
static void note(struct shares *shares, int status)
{
    int none = 0;
    if (status && atomic_compare_exchange_strong(&shares->failure, &none, status))
        shares->tcp->stream.ops->shut(&shares->tcp->stream);
}

static void write_share(void *job, size_t connection)
{
    struct shares *shares = job;
    struct iovec left[PARTS_MAX];
    struct msghdr message = { .msg_iov = left };
    size_t begin = share_begin(shares, connection), end = share_begin(shares, connection + 1);
    message.msg_iovlen = ath_parts_cut(shares->parts, shares->part_count, begin, end, left);
    atomic_fetch_add_explicit(&shares->tcp->bytes[connection].sent, end - begin,
                              memory_order_relaxed);
    note(shares, send_all(shares->tcp, shares->tcp->sockets[connection], &message));
}

static int tcp_write_large(struct ath_stream *stream, const struct iovec *parts, size_t count)
{
    struct tcp *tcp = (struct tcp *)stream;
    struct shares shares = { .tcp = tcp, .parts = parts, .part_count = count };
    if (count > PARTS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        shares.length += parts[i].iov_len;
    ath_team_do(tcp->writers, tcp->count, write_share, &shares);
    return shares.failure;
}

/* Each connection's bytes that the peer has not confirmed. */
static uint64_t tcp_unsent(const struct ath_stream *stream)
{
    const struct tcp *tcp = (const struct tcp *)stream;
    uint64_t all = 0;
    for (size_t i = 0; i < tcp->count; i++)
        all += ath_pace_waiting(tcp->sockets[i].fd, &tcp->udp[i]);
    return all;
}

static int tcp_write_pieces(struct ath_stream *stream, const struct iovec *parts, size_t count)
{
    return ath_channels_write(((struct tcp *)stream)->channels, parts, count);
}

static void read_share(void *job, size_t connection)
{
    struct shares *shares = job;
    struct tcp *tcp = shares->tcp;
    size_t at = share_begin(shares, connection), end = share_begin(shares, connection + 1), got = 0;
    int status = 0;
    atomic_fetch_add_explicit(&tcp->bytes[connection].received, end - at, memory_order_relaxed);
    if (!connection)
        status = tcp_read(&tcp->stream, shares->bytes + at, end - at);
    for (; connection && !status && at < end; at += got)
        status = receive(tcp, tcp->sockets[connection], shares->bytes + at, end - at, &got);
    note(shares, status);
}

static int tcp_read_large(struct ath_stream *stream, void *bytes, size_t length)
{
    struct tcp *tcp = (struct tcp *)stream;
    struct shares shares = { .tcp = tcp, .bytes = bytes, .length = length };
    ath_team_do(tcp->readers, tcp->count, read_share, &shares);
    return shares.failure;
}

static int tcp_read_pieces(struct ath_stream *stream, void *bytes, size_t length)
{
    return ath_channels_read(((struct tcp *)stream)->channels, bytes, length);
}

/* ---- the end ---- */

static void tcp_shut(struct ath_stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    tcp->is_shut = true;
    for (size_t i = 0; i < tcp->count; i++)
        shutdown(tcp->sockets[i].fd, SHUT_RDWR);
    if (tcp->channels)
        ath_channels_shut(tcp->channels);
}

static void tcp_abandon(struct ath_stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    tcp->is_shut = true;
    for (size_t i = 0; i < tcp->count; i++)
        close(tcp->sockets[i].fd);
    tcp->count = 0;
    if (tcp->channels)
        ath_channels_abandon(tcp->channels);
}

static void tcp_close(struct ath_stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    ath_team_free(tcp->readers);
    ath_team_free(tcp->writers);
    if (tcp->channels)
        ath_channels_free(tcp->channels);
    for (size_t i = 0; i < tcp->count; i++)
        ath_socket_close(&tcp->sockets[i]);
    free(tcp);
}

/* The functions for large frames, by enum ath_stripes_way. */
#define OPS(write_frame, read_frame, unsent_bytes)                                                 \
    {                                                                                              \
        .name = "tcp", .wants_batches = true, .write = tcp_write, .read = tcp_read,                \
        .write_large = write_frame, .read_large = read_frame, .unsent = unsent_bytes,              \
        .shut = tcp_shut, .abandon = tcp_abandon, .close = tcp_close                               \
    }
static const struct ath_stream_ops ops[] = {
    [ATH_STRIPES_EQUAL] = OPS(tcp_write_large, tcp_read_large, tcp_unsent),
    [ATH_STRIPES_PIECES] = OPS(tcp_write_pieces, tcp_read_pieces, NULL),
};

static void prepare(int fd)
{
    static const struct timeval second = { .tv_sec = 1 };
    ath_tcp_tune(fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
}

struct ath_stream *ath_tcp_stream(struct ath_socket socket)
{
    struct tcp *tcp = malloc(sizeof *tcp);
    if (!tcp)
        return NULL;
    tcp->stream.ops = &ops[ATH_STRIPES_EQUAL];
    tcp->stream.cost = (struct ath_path_cost){ 0 };
    tcp->sockets[0] = socket;
    tcp->udp[0] = (struct ath_udp_place){ 0 };
    tcp->count = 1;
    tcp->readers = tcp->writers = NULL;
    tcp->channels = NULL;
    for (size_t i = 0; i < ATH_STRIPES_MAX; i++) {
        atomic_init(&tcp->bytes[i].sent, 0);
        atomic_init(&tcp->bytes[i].received, 0);
    }
    tcp->begin = tcp->end = 0;
    tcp->stream.patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    tcp->stream.large_bytes = 0;
    tcp->stream.before_wait = NULL;
    atomic_init(&tcp->is_shut, false);
    prepare(socket.fd);
    return &tcp->stream;
}

static int add_channels(struct tcp *tcp, const struct ath_socket *sockets, size_t count)
{
    if (count < 2 || count > ATH_CHANNELS_MAX + 1)
        return -EINVAL;
    tcp->channels = ath_channels_make(&tcp->stream, sockets, count);
    return tcp->channels ? 0 : -ENOMEM;
}

static int add_shares(struct tcp *tcp, const struct ath_socket *sockets, size_t count)
{
    if (count >= ATH_STRIPES_MAX)
        return -EINVAL;
    tcp->readers = ath_team_make(1 + count);
    tcp->writers = ath_team_make(1 + count);
    if (!tcp->readers || !tcp->writers)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        prepare(sockets[i].fd);
        (void)ath_udp_place_find(sockets[i].fd, &tcp->udp[tcp->count]);
        tcp->sockets[tcp->count++] = sockets[i];
    }
    return 0;
}

int ath_tcp_add_stripes(struct ath_stream *stream, enum ath_stripes_way way,
                        const struct ath_socket *sockets, size_t count)
{
    struct tcp *tcp = (struct tcp *)stream;
    if (!count)
        return 0;
    int status = way == ATH_STRIPES_PIECES ? add_channels(tcp, sockets, count)
                                           : add_shares(tcp, sockets, count);
    if (status)
        return status;
    stream->ops = &ops[way];
    stream->large_bytes = ATH_STRIPED_BYTES;
    return 0;
}

struct ath_channels *ath_tcp_channels(const struct ath_stream *stream)
{
    return ((const struct tcp *)stream)->channels;
}

int64_t ath_tcp_sent_again(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) ? -1
                                                                 : (int64_t)info.tcpi_total_retrans;
}

int64_t ath_tcp_latency_ns(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) ? -1 : info.tcpi_rtt * 1000LL;
}

bool ath_tcp_stripe_state(const struct ath_stream *stream, size_t index,
                          struct ath_stripe_state *out)
{
    const struct tcp *tcp = (const struct tcp *)stream;
    if (tcp->channels)
        return ath_channels_state(tcp->channels, index, out);
    if (1 + index >= tcp->count)
        return false;
    const int fd = tcp->sockets[1 + index].fd;
    *out = (struct ath_stripe_state){ .sent_bytes = tcp->bytes[1 + index].sent,
                                      .received_bytes = tcp->bytes[1 + index].received };
    ath_stripe_state_of_socket(fd, out);
    return true;
}
