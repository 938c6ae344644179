/*
 * Frames on a socket.
 *
 * A peer whose host is gone answers nothing. Where nothing is under way the kernel's keepalive
 * finds that (tcp(7)); while bytes wait to be acknowledged it does not ask, and its patience with
 * those is a quarter of an hour, so that is looked at here, by TCP_INFO. TCP_USER_TIMEOUT would be
 * shorter to write, but also ends a connection whose peer lives and has no room for more.
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
#include <unistd.h>

#include "runtime/transport/look.h"
#include "runtime/transport/stream.h"

enum {
    READ_AHEAD = 64 * 1024,
    PARTS_MAX = 4,
    DEAD_AFTER_MS = 10000,
    PROBES_MAX = 5, /* without an answer, while the peer had no room */
};

struct tcp {
    struct ath_stream stream;
    int fd;
    atomic_bool is_shut;
    size_t begin, end; /* what was read ahead */
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
        { IPPROTO_TCP, TCP_KEEPIDLE, 4 }, { IPPROTO_TCP, TCP_KEEPINTVL, 2 },
        { IPPROTO_TCP, TCP_KEEPCNT, 3 },
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) /* a unix socket has none */
        setsockopt(fd, settings[i].level, settings[i].name, &settings[i].value, sizeof(int));
}

/* What a call that moved nothing means: 0 where it is to be tried again. */
static int judge(const struct tcp *tcp, int error)
{
    if (tcp->is_shut)
        return -ESHUTDOWN;
    if (error == EINTR)
        return 0;
    if (error == EAGAIN || error == EWOULDBLOCK) /* a second has passed */
        return ath_tcp_is_dead(tcp->fd) ? -ETIMEDOUT : 0;
    return error == EPIPE ? -ECONNRESET : -error;
}

/* ---- writing ---- */

/* Takes away what was written. */
static void advance(struct msghdr *message, size_t written)
{
    while (message->msg_iovlen && written >= message->msg_iov->iov_len) {
        written -= message->msg_iov->iov_len;
        message->msg_iov++;
        message->msg_iovlen--;
    }
    if (message->msg_iovlen) {
        message->msg_iov->iov_base = (uint8_t *)message->msg_iov->iov_base + written;
        message->msg_iov->iov_len -= written;
    }
}

static int tcp_write(struct ath_stream *stream, const struct iovec *parts, size_t count)
{
    struct tcp *tcp = (struct tcp *)stream;
    struct iovec left[PARTS_MAX];
    struct msghdr message = { .msg_iov = left, .msg_iovlen = count };

    if (count > PARTS_MAX)
        return -EINVAL;
    memcpy(left, parts, count * sizeof *parts);
    advance(&message, 0);
    while (message.msg_iovlen) {
        ssize_t sent = sendmsg(tcp->fd, &message, MSG_NOSIGNAL);
        int status = sent > 0 ? 0 : judge(tcp, errno);
        if (status)
            return status;
        if (sent > 0)
            advance(&message, (size_t)sent);
    }
    return 0;
}

/* ---- reading ---- */

/* As recv(2), but looks for a while before it sleeps. */
static ssize_t look_and_wait(struct tcp *tcp, void *bytes, size_t length)
{
    enum { ROUNDS = 4 }; /* each is a call of the kernel's */
    struct ath_look look = { 0 };
    while (!tcp->is_shut) {
        ssize_t got = recv(tcp->fd, bytes, length, MSG_DONTWAIT);
        if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            return got;
        if (!ath_look_again(&look, ROUNDS, &tcp->stream.patience_us))
            break;
    }
    return recv(tcp->fd, bytes, length, 0);
}

/* At least one byte. */
static int receive(struct tcp *tcp, void *bytes, size_t length, size_t *out_got)
{
    for (bool is_first = true;; is_first = false) {
        ssize_t got =
            is_first ? look_and_wait(tcp, bytes, length) : recv(tcp->fd, bytes, length, 0);
        if (got > 0) {
            *out_got = (size_t)got;
            return 0;
        }
        int status = got ? judge(tcp, errno) : -ENODATA;
        if (status)
            return tcp->is_shut ? -ESHUTDOWN : status;
    }
}

/* Small things come many at a time; large ones go where they belong at once. */
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
            status = receive(tcp, to, length, &got);
        } else {
            tcp->begin = tcp->end = 0;
            status = receive(tcp, tcp->ahead, sizeof tcp->ahead, &tcp->end);
            got = 0;
        }
        if (status)
            return status == -ENODATA && to != bytes ? -EBADMSG : status;
        to += got;
        length -= got;
    }
    return 0;
}

/* ---- the end ---- */

static void tcp_shut(struct ath_stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    tcp->is_shut = true;
    shutdown(tcp->fd, SHUT_RDWR);
}

static void tcp_abandon(struct ath_stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    tcp->is_shut = true;
    close(tcp->fd);
    tcp->fd = -1;
}

static void tcp_close(struct ath_stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    if (tcp->fd >= 0)
        close(tcp->fd);
    free(tcp);
}

static const struct ath_stream_ops ops = {
    .name = "tcp",
    .wants_batches = true,
    .write = tcp_write,
    .read = tcp_read,
    .shut = tcp_shut,
    .abandon = tcp_abandon,
    .close = tcp_close,
};

struct ath_stream *ath_tcp_stream(int fd)
{
    static const struct timeval second = { .tv_sec = 1 };
    struct tcp *tcp = malloc(sizeof *tcp);
    if (!tcp)
        return NULL;
    tcp->stream.ops = &ops;
    tcp->fd = fd;
    tcp->begin = tcp->end = 0;
    tcp->stream.patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    atomic_init(&tcp->is_shut, false);
    ath_tcp_tune(fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    return &tcp->stream;
}
