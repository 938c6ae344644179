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
    while (stripes->count) {
        ath_opening_give_up(&stripes->openings[--stripes->count]);
        ath_socket_close(&stripes->sockets[stripes->count]);
    }
    stripes->has_back = false;
    stripes->is_udp = false;
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

/* Begins a connection by one of the paths. */
static int begin_one(struct ath_stripes *stripes, size_t which, size_t path)
{
    struct ath_opening *opening = &stripes->openings[which];
    int status = ath_opening_begin(&stripes->paths[path], opening);
    stripes->path_of[which] = path;
    stripes->sockets[which] = (struct ath_socket){ .fd = status ? status : opening->fd };
    return status;
}

/* Begins connections by all paths in turn. */
static int begin_all(struct ath_stripes *stripes, size_t wanted)
{
    int status = 0;
    for (; stripes->count < wanted; stripes->count++) {
        int one = begin_one(stripes, stripes->count, stripes->count % stripes->path_count);
        status = status ? status : one;
    }
    return status;
}

/* Begins the connection for verdicts about frames. Returns false if it cannot be begun. */
static bool begin_back(const struct ath_data_path *own, struct ath_stripes *out)
{
    struct ath_opening *opening = &out->openings[out->count];
    if (ath_opening_begin(own, opening))
        return false;
    out->sockets[out->count++] = (struct ath_socket){ .fd = opening->fd };
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
    int status = begin_all(out, count_by(out->path_count, owner->is_encrypted));
    if (out->way == ATH_STRIPES_EQUAL ? status != 0 : !begin_back(&own, out))
        ath_stripes_free(out);
}

/* ---- waiting for the connections ---- */

static int await_one(struct ath_stripes *stripes, size_t which, uint64_t deadline_ms)
{
    return ath_opening_await(&stripes->openings[which], deadline_ms);
}

static void leave_out(struct ath_stripes *stripes, const struct ath_data_path *path, int status)
{
    char text[ATH_ENDPOINT_TEXT];
    const char *reason = status == -ENOKEY ? _("the session is not encrypted") : strerror(-status);
    ath_data_path_text(path, text);
    if (*path->link)
        ath_log(ATH_LOG_VERBOSE, _("the data address %s is left out from the link '%s': %s"), text,
                path->link, reason);
    else
        ath_log(ATH_LOG_VERBOSE, _("the data address %s is left out: %s"), text, reason);
    if (stripes->left_out_count < ATH_DATA_PATHS_MAX) {
        stripes->left_out[stripes->left_out_count] = *path;
        stripes->left_out_why[stripes->left_out_count++] = status;
    }
}

/* Returns whether a plain connection would carry to another host what the session keeps on this
 * one, as by a tunnel. */
static bool would_leak(const struct ath_stripes_owner *owner, const struct ath_data_path *path)
{
    return owner->must_not_leak && !owner->is_encrypted && !ath_data_path_is_loopback(&path->to);
}

/* Looks which paths have answered, and leaves out the others. Returns how many are left. */
static size_t try_paths(struct ath_stripes *stripes, const struct ath_stripes_owner *owner,
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
        int status = !is_good[path] ? 0 : fd < 0 ? fd : await_one(stripes, i, until_ms);
        if (is_good[path] && !status && would_leak(owner, &stripes->paths[path]))
            status = -ENOKEY;
        if (!status)
            continue;
        leave_out(stripes, &stripes->paths[path], status);
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
        if (is_good[stripes->path_of[i]])
            continue;
        do
            path = (path + 1) % stripes->path_count;
        while (!is_good[path]);
        ath_opening_give_up(&stripes->openings[i]);
        ath_socket_close(&stripes->sockets[i]);
        int status = begin_one(stripes, i, path);
        if (status)
            return status;
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
    return count             ? replace(stripes, is_good)
           : stripes->is_udp ? -ETIMEDOUT
                             : use_own(stripes, owner);
}

/* ---- by UDP ---- */

/* The paths for UDP. Returns false if there are none. */
static bool find_udp_paths(const struct ath_stripes_owner *owner, const char *data_addresses,
                           uint16_t port, struct ath_stripes *out)
{
    struct ath_data_path own;
    if (ath_is_off(ATH_SWITCH_STRIPES) || !find_own(owner->fd, &own))
        return false;
    out->path_count =
        ath_data_paths_find(data_addresses, ath_data_path_is_loopback(&own.to), out->paths);
    out->way = *data_addresses ? ATH_STRIPES_PIECES : ATH_STRIPES_EQUAL;
    if (out->way == ATH_STRIPES_EQUAL && port) {
        out->paths[out->path_count++] = own;
        if (own.to.ss_family == AF_INET)
            ((struct sockaddr_in *)&out->paths[0].to)->sin_port = htons(port);
        else
            ((struct sockaddr_in6 *)&out->paths[0].to)->sin6_port = htons(port);
    }
    for (size_t i = 0; i < out->path_count; i++)
        out->paths[i].is_udp = true;
    return out->path_count;
}

/* Waits until all are made, so that there is still time to use TCP. */
static int await_udp(struct ath_stripes *stripes, const struct ath_stripes_owner *owner)
{
    const uint64_t deadline_ms = ath_now_ms() + UDP_MS;
    int status = stripes->way == ATH_STRIPES_PIECES ? choose_paths(stripes, owner) : 0;
    for (size_t i = 0; i < data_count(stripes) && !status; i++)
        status = await_one(stripes, i, deadline_ms);
    return status;
}

int ath_stripes_begin_udp(const struct ath_stripes_owner *owner, const char *data_addresses,
                          uint16_t port, struct ath_stripes *out)
{
    struct ath_data_path own;
    *out = (struct ath_stripes){ .is_udp = true };
    if (!find_udp_paths(owner, data_addresses, port, out) || !find_own(owner->fd, &own))
        return -ENOTSUP;
    const bool is_pieces = out->way == ATH_STRIPES_PIECES;
    int status = begin_all(out, is_pieces ? count_by(out->path_count, owner->is_encrypted)
                                          : ath_stripes_wanted(owner->is_encrypted));
    if (is_pieces)
        status = begin_back(&own, out) ? 0 : -ENOTCONN; /* a path that fails is left out */
    if (!status)
        status = await_udp(out, owner);
    if (status)
        ath_stripes_free(out);
    return status;
}

/* ---- joining ---- */

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
    const bool must_choose = stripes->way == ATH_STRIPES_PIECES && !stripes->is_udp;
    int status = stripes->count && must_choose ? choose_paths(stripes, owner) : 0;
    for (size_t i = 0; i < stripes->count && !status; i++) {
        struct ath_socket *stripe = &stripes->sockets[i];
        uint32_t number = (uint32_t)i + 1;
        status = await_one(stripes, i, deadline_ms);
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

int ath_stripe_await_path(struct ath_opening *opening, const struct ath_data_path *path,
                          const struct ath_stripes_owner *owner, uint64_t deadline_ms)
{
    return would_leak(owner, path) ? -EPERM : ath_opening_await(opening, deadline_ms);
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
