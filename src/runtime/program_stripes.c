/* Further connections of a program, for large copies: taking those that the client announced, and
 * their encryption. */
#include "config.h"

#include "runtime/program_stripes.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/tls/policy.h"
#include "runtime/event_log.h"

enum {
    JOIN_MS = 5000,  /* for the announced connections; they come while the driver loads */
    AGAIN_MS = 2000, /* for the encryption of one that comes again */
};

/* Returns whether a plain connection may go to another host. A channel of UDP is a unix socket
 * here, and the port of UDP on a loopback may be another user's, as behind a tunnel. */
static bool may_leave_host(int fd)
{
    return !ath_encrypt_can(fd) || ath_encrypt_wants(ATH_ENCRYPT_AUTO, fd, true);
}

/* Why a connection is refused that has a number that it may have; NULL: it is right. */
static const char *refusal_of(const struct ath_program_stripes_wanted *wanted,
                              const struct ath_joining *joining, int fd, bool is_free)
{
    if (fd < 0)
        return "it came without a socket";
    if (!is_free ||
        !ath_ticket_check(wanted->ticket, joining->number, joining->proof, sizeof joining->proof))
        return "its proof for this session is wrong";
    if (wanted->must_not_leak && !wanted->is_encrypted && may_leave_host(fd))
        return "the session is not encrypted, and this connection must be";
    return NULL;
}

static bool is_free(const struct ath_program_stripes *stripes,
                    const struct ath_program_stripes_wanted *wanted,
                    const struct ath_joining *joining)
{
    return joining->number >= 1 && joining->number <= wanted->announced &&
           stripes->sockets[joining->number - 1].fd < 0;
}

static void refuse(const struct ath_program_stripes_wanted *wanted, int fd, const char *reason)
{
    ath_event_log(ATH_EVENT_WARNING, "connection-refused", "peer", wanted->peer, "reason", reason,
                  NULL);
    if (fd >= 0)
        close(fd);
}

static void log_join(const char *peer, const struct ath_joining *joining, int fd, size_t announced)
{
    const char *by = !ath_encrypt_can(fd) ? "udp" : joining->is_data ? "data" : "tcp";
    char number[16], of[24];
    snprintf(number, sizeof number, "%u", joining->number);
    snprintf(of, sizeof of, "%zu", announced);
    ath_event_log(ATH_EVENT_DEBUG, "connection-joined", "peer", peer, "number", number, "of", of,
                  "by", by, NULL);
}

static void close_all(struct ath_program_stripes *stripes, size_t announced)
{
    for (size_t i = 0; i < announced; i++)
        ath_socket_close(&stripes->sockets[i]);
}

void ath_program_stripes_take(struct ath_program_stripes *stripes,
                              struct ath_fd_passing *fd_passing,
                              const struct ath_program_stripes_wanted *wanted)
{
    uint64_t deadline_ms = ath_now_ms() + JOIN_MS;
    struct ath_joining joining;
    size_t count = 0, by_data = 0;
    bool last_by_data = false;
    int fd;
    for (size_t i = 0; i < wanted->announced; i++)
        stripes->sockets[i] = (struct ath_socket){ .fd = -1 };
    while (count < wanted->announced &&
           !ath_fd_passing_take(fd_passing, deadline_ms, &joining, &fd)) {
        const char *reason = refusal_of(wanted, &joining, fd, is_free(stripes, wanted, &joining));
        if (!reason) {
            stripes->sockets[joining.number - 1].fd = fd;
            count++;
            by_data += joining.is_data != 0;
            if (joining.number == wanted->announced)
                last_by_data = joining.is_data != 0;
            log_join(wanted->peer, &joining, fd, wanted->announced);
            continue;
        }
        refuse(wanted, fd, reason);
    }
    if (count == wanted->announced && (!by_data || (by_data == count - 1 && !last_by_data))) {
        stripes->count = count;
        stripes->way = by_data ? ATH_STRIPES_PIECES : ATH_STRIPES_EQUAL;
        return;
    }
    ath_event_log(ATH_EVENT_WARNING, "connections-missing", "peer", wanted->peer, "reason",
                  "large copies use one connection", NULL);
    close_all(stripes, wanted->announced);
}

/* ---- encrypted connections ---- */

static bool find_stripe_key(void *context, const char *identity, uint8_t out[ATH_TLS_KEY_BYTES])
{
    const struct ath_tls_key *key = context;
    memcpy(out, key->bytes, sizeof key->bytes);
    return !strcmp(identity, key->identity);
}

static int begin_tls(struct ath_socket *stripe, const struct ath_ticket *ticket, uint32_t number,
                     struct ath_tls_key *key, uint64_t deadline_ms)
{
    struct ath_err err;
    ath_ticket_tls_key(ticket, number, key);
    int status =
        ath_tls_make_server(stripe->fd, ATH_TLS_QUICK, find_stripe_key, key, &stripe->tls, &err);
    return status ? status : ath_tls_handshake(stripe->tls, deadline_ms, &err);
}

int ath_program_stripes_begin_tls(struct ath_program_stripes *stripes,
                                  const struct ath_ticket *ticket)
{
    for (size_t i = 0; i < stripes->count; i++) {
        int status = begin_tls(&stripes->sockets[i], ticket, (uint32_t)i + 1, &stripes->keys[i], 0);
        if (status && status != -EAGAIN)
            return status;
    }
    return 0;
}

int ath_program_stripes_finish_tls(struct ath_program_stripes *stripes, uint64_t deadline_ms)
{
    struct ath_err err;
    for (size_t i = 0; i < stripes->count; i++) {
        int status = ath_tls_handshake(stripes->sockets[i].tls, deadline_ms, &err);
        if (status)
            return status;
    }
    explicit_bzero(stripes->keys, sizeof stripes->keys);
    return 0;
}

int ath_program_stripes_look(const struct ath_program_stripes *stripes)
{
    for (size_t i = 0; i < stripes->count; i++) {
        struct pollfd one = { .fd = stripes->sockets[i].fd, .events = POLLRDHUP };
        if (poll(&one, 1, 0) > 0)
            return -ECONNRESET;
        if (ath_tcp_is_dead(stripes->sockets[i].fd))
            return -ETIMEDOUT;
    }
    return 0;
}

/* ---- channels that come again ---- */

/* Makes the connection ready, and tells the client that it is. */
static int prepare_again(struct ath_socket *stripe, const struct ath_program_stripes_wanted *wanted,
                         uint32_t number)
{
    struct iovec byte = { "", 1 };
    const struct msghdr word = { .msg_iov = &byte, .msg_iovlen = 1 };
    struct ath_tls_key key;
    int status = 0;
    if (wanted->is_encrypted)
        status = begin_tls(stripe, wanted->ticket, number, &key, ath_now_ms() + AGAIN_MS);
    explicit_bzero(&key, sizeof key);
    if (!status && ath_socket_send(*stripe, &word, MSG_DONTWAIT) != 1)
        status = -ECONNRESET;
    return status;
}

/* The numbers of a channel are its first one, and each time the number of connections more. */
static int offer_again(const struct ath_joining *joining, int fd,
                       const struct ath_program_stripes_wanted *wanted,
                       struct ath_channels *channels)
{
    struct ath_socket stripe = { .fd = fd };
    const size_t slot = (joining->number - 1) % wanted->announced;
    const uint32_t generation = (joining->number - 1) / (uint32_t)wanted->announced + 1;
    int status = prepare_again(&stripe, wanted, joining->number);
    if (!status)
        status = ath_channels_offer(channels, slot, generation, stripe);
    if (status)
        ath_tls_free(stripe.tls);
    return status;
}

void ath_program_stripes_take_again(const struct ath_program_stripes *stripes,
                                    const struct ath_fd_passing *fd_passing,
                                    const struct ath_program_stripes_wanted *wanted,
                                    struct ath_channels *channels)
{
    struct ath_joining joining;
    int fd;
    if (ath_fd_passing_take(fd_passing, ath_now_ms() + 1, &joining, &fd))
        return;
    const char *reason =
        refusal_of(wanted, &joining, fd, joining.is_data && joining.number > wanted->announced);
    int status = reason ? 0 : offer_again(&joining, fd, wanted, channels);
    if (reason || status)
        refuse(wanted, fd, reason ? reason : strerror(-status));
    else
        log_join(wanted->peer, &joining, fd, stripes->count);
}
