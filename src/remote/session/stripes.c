/* All connections are begun before the first wait, so that they are made at the same time. */
#include "config.h"

#include "remote/session/stripes.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proto/control.h"
#include "remote/switches.h"

enum { CONNECT_MS = 5000 };

size_t ath_stripes_wanted(bool is_encrypted)
{
    enum { PLAIN = 3 };
    cpu_set_t processors;
    if (!is_encrypted || sched_getaffinity(0, sizeof processors, &processors))
        return PLAIN;
    size_t connections = (size_t)CPU_COUNT(&processors) / 2;
    return connections > ATH_STRIPES_MAX ? ATH_STRIPES_MAX - 1
           : connections > PLAIN         ? connections - 1
                                         : PLAIN;
}

void ath_stripes_free(struct ath_stripes *stripes)
{
    while (stripes->count)
        ath_socket_close(&stripes->sockets[--stripes->count]);
}

void ath_stripes_begin(int fd, bool is_encrypted, struct ath_stripes *out)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof address;
    *out = (struct ath_stripes){ 0 };
    if (ath_is_off(ATH_SWITCH_STRIPES) || getpeername(fd, (struct sockaddr *)&address, &length) ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return;
    const size_t wanted = ath_stripes_wanted(is_encrypted);
    while (out->count < wanted) {
        ath_auto_close int one =
            socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (one < 0 ||
            (connect(one, (struct sockaddr *)&address, length) && errno != EINPROGRESS)) {
            ath_stripes_free(out);
            return;
        }
        out->sockets[out->count++] = (struct ath_socket){ .fd = ath_steal_fd(&one) };
    }
}

static int await_stripe(int fd, uint64_t deadline_ms)
{
    int failure = 0;
    socklen_t length = sizeof failure;
    int status = ath_socket_wait(fd, POLLOUT, deadline_ms);
    if (status)
        return status;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) ? -errno : -failure;
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

int ath_stripes_join(struct ath_stripes *stripes, uint64_t session, const struct ath_ticket *ticket,
                     bool is_encrypted)
{
    uint64_t deadline_ms = ath_now_ms() + CONNECT_MS;
    int status = 0;
    for (size_t i = 0; i < stripes->count && !status; i++) {
        struct ath_socket *stripe = &stripes->sockets[i];
        uint32_t number = (uint32_t)i + 1;
        status = await_stripe(stripe->fd, deadline_ms);
        if (!status)
            status = join(stripe->fd, session, ticket, number, deadline_ms);
        if (!status && is_encrypted)
            status = begin_tls(stripe, ticket, number);
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
