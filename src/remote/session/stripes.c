/* All connections are begun before the first wait, so that they are made at the same time. */
#include "config.h"

#include "remote/session/stripes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "proto/control.h"
#include "remote/switches.h"
#include "remote/udp/carrier.h"
#include "remote/wire/endpoint.h"

enum {
    CONNECT_MS = 5000,
    UDP_MS = 1000,
    ANSWER_MS = 500, /* for a data address: a server waits for the connections for five seconds */
};

size_t ath_stripes_wanted(bool is_encrypted)
{
    enum { PLAIN = 3 };
    cpu_set_t processors;
    if (!is_encrypted || sched_getaffinity(0, sizeof processors, &processors))
        return PLAIN;
    size_t connections = (size_t)CPU_COUNT(&processors) / 2;
    return connections > ATH_CHANNELS_MAX + 1 ? ATH_CHANNELS_MAX
           : connections > PLAIN              ? connections - 1
                                              : PLAIN;
}

void ath_stripes_free(struct ath_stripes *stripes)
{
    while (stripes->count)
        ath_socket_close(&stripes->sockets[--stripes->count]);
    stripes->has_back = false;
}

/* The number of connections that carry data. */
static size_t data_count(const struct ath_stripes *stripes)
{
    return stripes->count - stripes->has_back;
}

/* The number of connections by so many paths: at least as many as by one, and the same number by
 * each if there is room. */
static size_t count_by(size_t paths, bool is_encrypted)
{
    enum { MOST = ATH_CHANNELS_MAX };
    size_t wanted = ath_stripes_wanted(is_encrypted);
    size_t each = (wanted + paths - 1) / paths;
    return each * paths <= MOST ? each * paths : paths <= MOST ? MOST / paths * paths : MOST;
}

/* The address of the session itself, as a path. Returns false if it is not one of TCP. */
static bool find_own(int fd, struct ath_data_path *out)
{
    socklen_t length = sizeof out->to;
    *out = (struct ath_data_path){ .to.ss_family = AF_UNSPEC };
    if (getpeername(fd, (struct sockaddr *)&out->to, &length))
        return false;
    out->length = length;
    return out->to.ss_family == AF_INET || out->to.ss_family == AF_INET6;
}

/* Begins the connection for verdicts about frames. Returns false if it cannot be begun. */
static bool begin_back(const struct ath_data_path *own, struct ath_stripes *out)
{
    int fd = ath_data_path_connect(own);
    if (fd < 0)
        return false;
    out->sockets[out->count++] = (struct ath_socket){ .fd = fd };
    return out->has_back = true;
}

void ath_stripes_begin(const struct ath_stripes_owner *owner, const char *data_addresses,
                       struct ath_stripes *out)
{
    struct ath_data_path own;
    *out = (struct ath_stripes){ 0 };
    if (ath_is_off(ATH_SWITCH_STRIPES) || !find_own(owner->fd, &own))
        return;
    out->path_count =
        ath_data_paths_find(data_addresses, ath_data_path_is_loopback(&own.to), out->paths);
    out->way = out->path_count ? ATH_STRIPES_PIECES : ATH_STRIPES_EQUAL;
    if (!out->path_count)
        out->paths[out->path_count++] = own;
    const size_t wanted = count_by(out->path_count, owner->is_encrypted);
    for (; out->count < wanted; out->count++) {
        size_t path = out->count % out->path_count;
        int fd = ath_data_path_connect(&out->paths[path]);
        out->path_of[out->count] = path;
        out->sockets[out->count] = (struct ath_socket){ .fd = fd };
        if (fd < 0 && out->way == ATH_STRIPES_EQUAL) {
            ath_stripes_free(out);
            return;
        }
    }
    if (out->way == ATH_STRIPES_PIECES && !begin_back(&own, out))
        ath_stripes_free(out);
}

/* ---- by UDP ---- */

/* A carrier for each connection, so that each has a thread at both ends. It ends by itself with its
 * only channel. */
struct carried {
    struct ath_carrier *carriers[ATH_STRIPES_MAX - 1];
    uint64_t numbers[ATH_STRIPES_MAX - 1];
    size_t count;
};

static int begin_channel(struct carried *carried, const struct ath_peer *peer,
                         struct ath_stripes *out)
{
    const struct ath_carrier_settings settings = { .buffer_bytes = ATH_CARRIER_BUFFER_BYTES };
    struct sockaddr_storage any = { .ss_family = peer->address.ss_family };
    struct ath_carrier *carrier;
    int channel;
    ath_auto_close int fd = socket(peer->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, peer->length))
        return -errno;
    int status = ath_carrier_make(fd, &settings, &carrier);
    if (status)
        return status;
    (void)ath_steal_fd(&fd);
    status = ath_carrier_begin(carrier, peer, &carried->numbers[carried->count], &channel);
    if (status) {
        ath_carrier_free(carrier);
        return status;
    }
    carried->carriers[carried->count++] = carrier;
    out->sockets[out->count++] = (struct ath_socket){ .fd = channel };
    return 0;
}

/* Returns false if the socket is not TCP's. */
static bool find_peer(int fd, uint16_t port, struct ath_peer *out)
{
    struct ath_data_path own;
    if (!find_own(fd, &own))
        return false;
    if (own.to.ss_family == AF_INET)
        ((struct sockaddr_in *)&own.to)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)&own.to)->sin6_port = htons(port);
    *out = (struct ath_peer){ .address = own.to, .length = own.length };
    return true;
}

int ath_stripes_begin_udp(const struct ath_stripes_owner *owner, uint16_t port,
                          struct ath_stripes *out)
{
    struct carried carried = { .count = 0 };
    struct ath_peer peer;
    int status = 0;
    *out = (struct ath_stripes){ .is_udp = true, .way = ATH_STRIPES_EQUAL };
    if (ath_is_off(ATH_SWITCH_STRIPES) || !port || !find_peer(owner->fd, port, &peer))
        status = -ENOTSUP;
    const size_t wanted = ath_stripes_wanted(owner->is_encrypted);
    while (!status && out->count < wanted)
        status = begin_channel(&carried, &peer, out);
    const uint64_t deadline_ms = ath_now_ms() + UDP_MS;
    for (size_t i = 0; i < carried.count; i++) {
        int one =
            ath_carrier_await(carried.carriers[i], carried.numbers[i], status ? 0 : deadline_ms);
        status = status ? status : one;
        ath_carrier_release(carried.carriers[i]);
    }
    if (status) {
        ath_stripes_free(out);
        out->is_udp = false;
    }
    return status;
}

/* ---- waiting for the connections ---- */

static int await_stripe(int fd, uint64_t deadline_ms)
{
    int failure = 0;
    socklen_t length = sizeof failure;
    int status = ath_socket_wait(fd, POLLOUT, deadline_ms);
    if (status)
        return status;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) ? -errno : -failure;
}

static void leave_out(const struct ath_data_path *path, const char *reason)
{
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";
    struct ath_endpoint endpoint = { 0 };
    char text[ATH_ENDPOINT_TEXT];
    (void)!getnameinfo((const struct sockaddr *)&path->to, path->length, host, sizeof host, port,
                       sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(endpoint.host, sizeof endpoint.host, "%s", host);
    snprintf(endpoint.port, sizeof endpoint.port, "%s", port);
    ath_endpoint_format(&endpoint, text);
    if (*path->link)
        ath_log(ATH_LOG_VERBOSE, _("the data address %s is left out from the link '%s': %s"), text,
                path->link, reason);
    else
        ath_log(ATH_LOG_VERBOSE, _("the data address %s is left out: %s"), text, reason);
}

/* Whether a plain connection would carry to another host what the session keeps on this one, as by
 * a tunnel. */
static bool would_leak(const struct ath_stripes_owner *owner, int fd)
{
    return owner->must_not_leak && !owner->is_encrypted &&
           ath_encrypt_wants(ATH_ENCRYPT_AUTO, fd, true);
}

/* Looks which paths have answered, and leaves out the others. Returns how many are left. */
static size_t try_paths(const struct ath_stripes *stripes, const struct ath_stripes_owner *owner,
                        bool is_good[ATH_DATA_PATHS_MAX])
{
    uint64_t deadline_ms = ath_now_ms() + ANSWER_MS;
    size_t count = stripes->path_count;
    for (size_t path = 0; path < stripes->path_count; path++)
        is_good[path] = true;
    for (size_t i = 0; i < data_count(stripes); i++) {
        int fd = stripes->sockets[i].fd;
        size_t path = stripes->path_of[i];
        uint64_t now_ms = ath_now_ms(); /* one that has answered counts, however late the look */
        uint64_t until_ms = deadline_ms > now_ms ? deadline_ms : now_ms + 1;
        int status = !is_good[path] ? 0 : fd < 0 ? fd : await_stripe(fd, until_ms);
        bool leaks = is_good[path] && !status && would_leak(owner, fd);
        if (!status && !leaks)
            continue;
        leave_out(&stripes->paths[path],
                  leaks ? _("the session is not encrypted") : strerror(-status));
        is_good[path] = false;
        count--;
    }
    return count;
}

/* Connects again those of paths that are left out: by the others in turn. */
static int replace(struct ath_stripes *stripes, const bool is_good[ATH_DATA_PATHS_MAX])
{
    size_t path = 0;
    for (size_t i = 0; i < data_count(stripes); i++) {
        struct ath_socket *stripe = &stripes->sockets[i];
        if (is_good[stripes->path_of[i]])
            continue;
        do
            path = (path + 1) % stripes->path_count;
        while (!is_good[path]);
        if (stripe->fd >= 0)
            close(stripe->fd);
        stripe->fd = ath_data_path_connect(&stripes->paths[path]);
        stripes->path_of[i] = path;
        if (stripe->fd < 0)
            return stripe->fd;
    }
    return 0;
}

/* Goes by the session's own address, in place of all others. */
static int use_own(struct ath_stripes *stripes, const struct ath_stripes_owner *owner)
{
    static const bool only_first[ATH_DATA_PATHS_MAX] = { true };
    ath_log(ATH_LOG_VERBOSE, "%s",
            _("no data address is of use: copies go where the calls go, to the server's control "
              "address"));
    stripes->has_back = false; /* it has a share like the others: the server knows their number */
    stripes->way = ATH_STRIPES_EQUAL;
    stripes->path_count = 1;
    for (size_t i = 0; i < stripes->count; i++)
        stripes->path_of[i] = 1; /* which is left out */
    return find_own(owner->fd, &stripes->paths[0]) ? replace(stripes, only_first) : -ENOTCONN;
}

static int choose_paths(struct ath_stripes *stripes, const struct ath_stripes_owner *owner)
{
    bool is_good[ATH_DATA_PATHS_MAX] = { false };
    size_t count = try_paths(stripes, owner, is_good);
    if (count == stripes->path_count)
        return 0;
    return count ? replace(stripes, is_good) : use_own(stripes, owner);
}

static int join(int fd, uint64_t session, const struct ath_ticket *ticket, uint32_t number,
                uint64_t deadline_ms)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES };
    uint8_t proof[ATH_PROOF_BYTES];
    size_t length;
    int status;
    struct ath_err err;
    struct ath_control_join_builder told =
        ath_control_message_init_join(ath_control_message_start(&builder));
    ath_ticket_prove(ticket, number, proof);
    ath_control_join_set_session(told, session);
    ath_control_join_set_number(told, number);
    ath_control_join_set_mac(told, (struct ath_wire_bytes){ proof, sizeof proof });
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    return bytes ? ath_frame_write(fd, bytes, length, deadline_ms, &err) : status;
}

/* The client's first message goes at once. The session's process answers when it has all
 * connections. */
static int begin_tls(struct ath_socket *stripe, const struct ath_ticket *ticket, uint32_t number)
{
    struct ath_tls_key key;
    struct ath_err err;
    ath_ticket_tls_key(ticket, number, &key);
    int status = ath_tls_make_client(stripe->fd, ATH_TLS_QUICK, &key, &stripe->tls, &err);
    explicit_bzero(&key, sizeof key);
    if (!status)
        status = ath_tls_handshake(stripe->tls, 0, &err);
    return status == -EAGAIN ? 0 : status;
}

int ath_stripes_join(struct ath_stripes *stripes, const struct ath_stripes_owner *owner)
{
    uint64_t deadline_ms = ath_now_ms() + CONNECT_MS;
    int status =
        stripes->count && stripes->way == ATH_STRIPES_PIECES ? choose_paths(stripes, owner) : 0;
    for (size_t i = 0; i < stripes->count && !status; i++) {
        struct ath_socket *stripe = &stripes->sockets[i];
        uint32_t number = (uint32_t)i + 1;
        status = await_stripe(stripe->fd, deadline_ms);
        if (!status)
            status = join(stripe->fd, owner->session, owner->ticket, number, deadline_ms);
        if (!status && owner->is_encrypted)
            status = begin_tls(stripe, owner->ticket, number);
    }
    return status;
}

int ath_stripes_finish(const struct ath_stripes *stripes, uint64_t deadline_ms, struct ath_err *err)
{
    int status = 0;
    for (size_t i = 0; i < stripes->count && !status; i++)
        if (stripes->sockets[i].tls)
            status = ath_tls_handshake(stripes->sockets[i].tls, deadline_ms, err);
    return status;
}

/* ---- one connection, later ---- */

int ath_stripe_await_path(int fd, const struct ath_stripes_owner *owner, uint64_t deadline_ms)
{
    int status = await_stripe(fd, deadline_ms);
    return !status && would_leak(owner, fd) ? -EPERM : status;
}

/* The server's word that it has the connection: one byte. */
static int await_word(struct ath_socket socket, uint64_t deadline_ms)
{
    uint8_t byte;
    int status = 0;
    while (!status) {
        ssize_t got = ath_socket_receive(socket, &byte, sizeof byte, MSG_DONTWAIT);
        if (got > 0)
            return 0;
        if (!got)
            return -ECONNRESET;
        status = errno == EAGAIN || errno == EINTR ? ath_socket_wait(socket.fd, POLLIN, deadline_ms)
                                                   : -errno;
    }
    return status;
}

int ath_stripe_join_again(int fd, const struct ath_stripes_owner *owner, uint32_t number,
                          uint64_t deadline_ms, struct ath_socket *out)
{
    struct ath_err err;
    *out = (struct ath_socket){ .fd = fd };
    int status = join(fd, owner->session, owner->ticket, number, deadline_ms);
    if (!status && owner->is_encrypted)
        status = begin_tls(out, owner->ticket, number);
    if (!status && out->tls)
        status = ath_tls_handshake(out->tls, deadline_ms, &err);
    if (!status)
        status = await_word(*out, deadline_ms);
    if (status)
        ath_tls_free(out->tls);
    return status;
}
