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
#include "runtime/event_log.h"

enum { JOIN_MS = 5000 }; /* for the announced connections; they come while the driver loads */

/* Whether the joining connection was announced and its number is free. */
static bool is_welcome(const struct ath_program_stripes *stripes, const struct ath_joining *joining,
                       size_t announced, const struct ath_ticket *ticket)
{
    return joining->number >= 1 && joining->number <= announced &&
           stripes->sockets[joining->number - 1].fd < 0 &&
           ath_ticket_check(ticket, joining->number, joining->proof, sizeof joining->proof);
}

static void log_join(const char *peer, uint32_t which, size_t announced)
{
    char number[16], of[24];
    snprintf(number, sizeof number, "%u", which);
    snprintf(of, sizeof of, "%zu", announced);
    ath_event_log(ATH_EVENT_DEBUG, "connection-joined", "peer", peer, "number", number, "of", of,
                  NULL);
}

void ath_program_stripes_take(struct ath_program_stripes *stripes, size_t announced,
                              struct ath_fd_passing *fd_passing, const struct ath_ticket *ticket,
                              const char *peer)
{
    uint64_t deadline_ms = ath_now_ms() + JOIN_MS;
    struct ath_joining joining;
    size_t count = 0;
    int fd;
    for (size_t i = 0; i < announced; i++)
        stripes->sockets[i] = (struct ath_socket){ .fd = -1 };
    while (count < announced && !ath_fd_passing_take(fd_passing, deadline_ms, &joining, &fd)) {
        if (fd >= 0 && is_welcome(stripes, &joining, announced, ticket)) {
            stripes->sockets[joining.number - 1].fd = fd;
            count++;
            log_join(peer, joining.number, announced);
            continue;
        }
        ath_event_log(ATH_EVENT_WARNING, "connection-refused", "peer", peer, "reason",
                      "its proof for this session is wrong", NULL);
        if (fd >= 0)
            close(fd);
    }
    if (count == announced) {
        stripes->count = count;
        return;
    }
    ath_event_log(ATH_EVENT_WARNING, "connections-missing", "peer", peer, "reason",
                  "large copies use one connection", NULL);
    for (size_t i = 0; i < announced; i++)
        ath_socket_close(&stripes->sockets[i]);
}

/* ---- encrypted connections ---- */

static bool find_stripe_key(void *context, const char *identity, uint8_t out[ATH_TLS_KEY_BYTES])
{
    const struct ath_tls_key *key = context;
    memcpy(out, key->bytes, sizeof key->bytes);
    return !strcmp(identity, key->identity);
}

int ath_program_stripes_begin_tls(struct ath_program_stripes *stripes,
                                  const struct ath_ticket *ticket)
{
    struct ath_err err;
    for (size_t i = 0; i < stripes->count; i++) {
        struct ath_socket *stripe = &stripes->sockets[i];
        struct ath_tls_key *key = &stripes->keys[i];
        ath_ticket_tls_key(ticket, (uint32_t)i + 1, key);
        int status = ath_tls_make_server(stripe->fd, ATH_TLS_QUICK, find_stripe_key, key,
                                         &stripe->tls, &err);
        if (!status)
            status = ath_tls_handshake(stripe->tls, 0, &err);
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
