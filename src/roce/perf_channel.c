/* Sending and receiving frames over sockets; every wait is limited. */
#include "config.h"

#include "roce/perf_channel.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"

enum { SLICE_MS = 100, CONNECT_TIMEOUT_MS = 5000, SAY_TIMEOUT_MS = 5000, FOREVER_MS = -1 };

static int give_away(int *fd)
{
    int given = *fd;
    *fd = -1;
    return given;
}

void ath_perf_channel_free(struct ath_perf_channel *channel)
{
    if (!channel)
        return;
    ath_close_p(&channel->fd);
    channel->fd = -1;
}

int ath_perf_check_stop(const struct ath_perf_stop *stop, struct ath_err *err)
{
    if (!stop->is_stopped || !stop->is_stopped(stop->context))
        return 0;
    return ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("stopped by a signal"));
}

/* Waits for events on fd. Returns 0, -ETIMEDOUT without err, or another negative errno with err. */
static int wait_for(int fd, short events, int timeout_ms, const struct ath_perf_stop *stop,
                    struct ath_err *err)
{
    uint64_t end = ath_now_ms() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms);
    struct pollfd entry = { .fd = fd, .events = events };

    for (;;) {
        uint64_t now = ath_now_ms(), left = end > now ? end - now : 0;
        int ready = poll(&entry, 1, timeout_ms < 0 || left > SLICE_MS ? SLICE_MS : (int)left);
        int status = ath_perf_check_stop(stop, err);
        if (status)
            return status;
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return ath_err_system(err, -errno, _("cannot wait for the other side"));
        if (timeout_ms >= 0 && ath_now_ms() >= end)
            return -ETIMEDOUT;
    }
}

/* Writes the numeric address, without the "::ffff:" that IPv4 has on a dual-stack socket. */
static void name_address(const struct sockaddr *address, socklen_t length,
                         char out[ATH_PERF_ADDRESS_TEXT])
{
    char text[ATH_PERF_ADDRESS_TEXT];

    out[0] = '\0';
    if (getnameinfo(address, length, text, sizeof text, NULL, 0, NI_NUMERICHOST))
        return;
    strcpy(out, text + (ath_starts_with(text, "::ffff:") ? strlen("::ffff:") : 0));
}

static void send_at_once(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Resolves host to all its addresses. The caller frees *out with freeaddrinfo(). */
static int look_up(const char *host, int port, int flags, struct addrinfo **out,
                   struct ath_err *err)
{
    const struct addrinfo wish = { .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV };
    char service[16];

    snprintf(service, sizeof service, "%d", port);
    int fault = getaddrinfo(host, service, &wish, out);
    return fault ? ath_err_set(err, -EHOSTUNREACH, ATH_E_PEER_UNREACHABLE,
                               _("cannot find the host '%s': %s"), host ? host : "*",
                               gai_strerror(fault))
                 : 0;
}

/* Returns 0 with a connected *out_fd, or a negative errno. err is filled only for -EINTR. */
static int connect_to(const struct addrinfo *address, const struct ath_perf_stop *stop, int *out_fd,
                      struct ath_err *err)
{
    ath_auto_close int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int fault = 0;
    socklen_t length = sizeof fault;

    if (fd < 0)
        return -errno;
    if (connect(fd, address->ai_addr, address->ai_addrlen) && errno != EINPROGRESS)
        return -errno;
    int status = wait_for(fd, POLLOUT, CONNECT_TIMEOUT_MS, stop, err);
    if (status)
        return status;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &length) || fault)
        return -(fault ? fault : errno);
    *out_fd = give_away(&fd);
    return 0;
}

static void freeaddrinfo_p(struct addrinfo **list)
{
    if (*list)
        freeaddrinfo(*list);
}

int ath_perf_connect(const char *host, int port, const struct ath_perf_stop *stop,
                     struct ath_perf_channel *out, struct ath_err *err)
{
    __attribute__((cleanup(freeaddrinfo_p))) struct addrinfo *list = NULL;
    int status = look_up(host, port, 0, &list, err);
    if (status)
        return status;

    for (const struct addrinfo *address = list; address; address = address->ai_next) {
        int fd = -1;
        status = connect_to(address, stop, &fd, err);
        if (status == -EINTR)
            return status;
        if (!status) {
            *out = (struct ath_perf_channel){ .fd = fd, .stop = *stop };
            name_address(address->ai_addr, address->ai_addrlen, out->peer);
            send_at_once(fd);
            return 0;
        }
    }
    ath_err_set(err, status, ATH_E_PEER_UNREACHABLE, _("cannot connect to '%s', port %d: %s"), host,
                port, strerror(-status));
    return ath_err_hint(err, status, _("on '%s': aitherion roce test --server --port %d"), host,
                        port);
}

static int listen_on(const struct addrinfo *address, int *out_fd)
{
    ath_auto_close int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1, off = 0;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) /* accept IPv4 on the same socket */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, 8))
        return -errno;
    *out_fd = give_away(&fd);
    return 0;
}

/* Listens on the first usable address of a family. Returns -EADDRNOTAVAIL if there is none. */
static int listen_family(const struct addrinfo *list, int family, int *out_fd)
{
    int status = -EADDRNOTAVAIL;
    for (const struct addrinfo *at = list; at && status && status != -EADDRINUSE; at = at->ai_next)
        if (at->ai_family == family)
            status = listen_on(at, out_fd);
    return status;
}

int ath_perf_listen(const char *address, int port, int *out_fd, struct ath_err *err)
{
    __attribute__((cleanup(freeaddrinfo_p))) struct addrinfo *list = NULL;
    int status = look_up(address, port, AI_PASSIVE, &list, err);

    if (status)
        return status;
    status = listen_family(list, AF_INET6, out_fd);
    if (status && status != -EADDRINUSE)
        status = listen_family(list, AF_INET, out_fd);
    if (!status)
        return 0;
    ath_err_system(err, status, _("cannot listen on port %d"), port);
    return ath_err_hint(err, status, _("choose another port with --port, on both sides"));
}

int ath_perf_accept(int listen_fd, const struct ath_perf_stop *stop, struct ath_perf_channel *out,
                    struct ath_err *err)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;

    for (;;) {
        int status = wait_for(listen_fd, POLLIN, FOREVER_MS, stop, err);
        if (status)
            return status;
        int fd =
            accept4(listen_fd, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            *out = (struct ath_perf_channel){ .fd = fd, .stop = *stop };
            name_address((const struct sockaddr *)&address, length, out->peer);
            send_at_once(fd);
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return ath_err_system(err, -errno, _("cannot accept a connection"));
    }
}

int ath_perf_pair(const struct ath_perf_stop *stop, struct ath_perf_channel out[2],
                  struct ath_err *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
        return ath_err_system(err, -errno, _("cannot make a pair of sockets"));
    for (int i = 0; i < 2; i++)
        out[i] = (struct ath_perf_channel){ .fd = fds[i], .stop = *stop };
    return 0;
}

static int lost(struct ath_err *err, int status, const char *why)
{
    return ath_err_set(err, status, ATH_E_PEER_UNREACHABLE, _("lost the other side: %s"), why);
}

int ath_perf_say(const struct ath_perf_channel *channel, enum ath_perf_message type,
                 const union ath_perf_body *body, struct ath_err *err)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    size_t length = ath_perf_encode(type, body, frame), done = 0;

    while (done < length) {
        ssize_t sent = send(channel->fd, frame + done, length - done, MSG_NOSIGNAL);
        if (sent >= 0) {
            done += (size_t)sent;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return lost(err, -errno, strerror(errno));
        int status = wait_for(channel->fd, POLLOUT, SAY_TIMEOUT_MS, &channel->stop, err);
        if (status)
            return status == -ETIMEDOUT ? lost(err, status, _("it does not read")) : status;
    }
    return 0;
}

/* Receives exactly length bytes. */
static int take(const struct ath_perf_channel *channel, uint8_t *out, size_t length,
                uint64_t end_ms, struct ath_err *err)
{
    for (size_t done = 0; done < length;) {
        uint64_t now = ath_now_ms();
        int status = wait_for(channel->fd, POLLIN, end_ms > now ? (int)(end_ms - now) : 0,
                              &channel->stop, err);
        if (status)
            return status == -ETIMEDOUT ? lost(err, status, _("it sends nothing")) : status;
        ssize_t got = recv(channel->fd, out + done, length - done, 0);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0)
            return lost(err, -EPIPE, _("it closed the connection"));
        else if (errno != EAGAIN && errno != EINTR)
            return lost(err, -errno, strerror(errno));
    }
    return 0;
}

int ath_perf_hear(const struct ath_perf_channel *channel, enum ath_perf_message type,
                  int timeout_ms, union ath_perf_body *out, struct ath_err *err)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    uint64_t end_ms = ath_now_ms() + (uint64_t)timeout_ms;
    struct ath_perf_header header = { 0 };
    union ath_perf_body body;

    int status = take(channel, frame, ATH_PERF_HEADER, end_ms, err);
    if (!status)
        status = ath_perf_decode_header(frame, &header, err);
    if (!status)
        status = take(channel, frame, header.length, end_ms, err);
    if (!status)
        status = ath_perf_decode_body(&header, frame, &body, err);
    if (status)
        return status;
    if (header.type == ATH_PERF_FAILURE)
        return ath_err_set(err, -ECONNABORTED, ATH_E_PEER_FAILED, _("the other side gave up: %s"),
                           body.failure.text);
    if (header.type != type)
        return ath_err_set(err, -EPROTO, ATH_E_PEER_PROTOCOL,
                           _("the other side sent message %d instead of message %d"),
                           (int)header.type, (int)type);
    if (out)
        *out = body;
    return 0;
}

bool ath_perf_has_news(const struct ath_perf_channel *channel)
{
    struct pollfd entry = { .fd = channel->fd, .events = POLLIN };
    return poll(&entry, 1, 0) > 0;
}
