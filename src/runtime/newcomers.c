/* Accepts connections, and reads first messages without waiting. */
#include "config.h"

#include "runtime/newcomers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/clients.h"
#include "runtime/event_log.h"
#include "runtime/first_message.h"
#include "runtime/joins.h"

enum { ACCEPTS_AT_ONCE = 64 };

/* Returns whether a listening socket takes only further connections of sessions. */
static bool takes_joins_alone(size_t which)
{
    return which == ATH_POLL_UDP || ath_listener_is_data(which);
}

/* A connection that ends without a byte was no session, and costs its peer nothing. */
static void log_unused(int fd)
{
    char peer[ATH_ENDPOINT_TEXT];
    ath_event_log(ATH_EVENT_DEBUG, "connection-unused", "peer",
                  ath_endpoint_of_socket(fd, true, peer), NULL);
}

/* Looks at a connection, whose peer may have hung up. Returns whether it must wait. Otherwise its
 * descriptor is not needed any more. */
static bool attend(struct ath_listener *listener, struct ath_waiting *waiting, bool is_over)
{
    size_t which = (size_t)waiting->way;
    if (waiting->session)
        return !is_over;
    const struct ath_first_message first = which == ATH_POLL_TCP || takes_joins_alone(which)
                                               ? ath_first_message_look(waiting->fd)
                                               : ath_first_message_any(waiting->fd);
    switch (first.kind) {
    case ATH_FIRST_MESSAGE_HELLO:
        if (takes_joins_alone(which)) {
            ath_listener_turn_away(listener, waiting->fd, which, ATH_CONTROL_REASON_NOT_SERVED,
                                   "this address takes further connections of sessions alone");
            return false;
        }
        ath_clients_start(listener, waiting->fd, which, waiting->source, false);
        return false;
    case ATH_FIRST_MESSAGE_JOIN:
        return ath_joins_take(listener, waiting, &first);
    case ATH_FIRST_MESSAGE_WRONG:
        ath_listener_turn_away(listener, waiting->fd, which, ATH_CONTROL_REASON_BAD_MESSAGE,
                               "the message is not valid here");
        return false;
    case ATH_FIRST_MESSAGE_INCOMPLETE:
        if (!is_over)
            return true;
        break;
    case ATH_FIRST_MESSAGE_GONE: /* as a program does that then learns of data addresses */
        log_unused(waiting->fd);
        return false;
    }
    ath_listener_log_broken(listener, waiting->fd, "the peer ended the connection");
    return false;
}

/* Lets a connection wait, or deals with it. Owns its descriptor. */
static void receive(struct ath_listener *listener, struct ath_waiting *waiting, bool is_over)
{
    if (!attend(listener, waiting, is_over))
        close(waiting->fd);
    else if (ath_waiting_room_add(&listener->waiting, waiting, ath_listener_random()))
        atomic_fetch_add(&listener->server.board->broken, 1);
}

/* The polls behind the fixed ones belong to the room's connections. While one is dealt with, others
 * may leave, and then others have their index. */
void ath_newcomers_attend(struct ath_listener *listener, const struct pollfd *polls, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (!polls[i].revents || i >= listener->waiting.count ||
            listener->waiting.items[i].fd != polls[i].fd)
            continue;
        struct ath_waiting waiting = ath_waiting_room_take(&listener->waiting, i);
        receive(listener, &waiting, polls[i].revents & (POLLRDHUP | POLLHUP | POLLERR));
    }
}

void ath_newcomers_end_silent(struct ath_listener *listener)
{
    uint64_t now_ms = ath_now_ms(), most_ms = (uint64_t)listener->server.handshake_ms;
    for (size_t i = listener->waiting.count; i-- > 0;) {
        if (now_ms - listener->waiting.items[i].since_ms < most_ms)
            continue;
        const struct ath_waiting waiting = ath_waiting_room_take(&listener->waiting, i);
        ath_listener_log_broken(listener, waiting.fd, "it was silent for too long");
        close(waiting.fd);
    }
}

static void log_connection(int fd, size_t which)
{
    static const char *const ways[] = {
        [ATH_POLL_TCP] = "tcp",
        [ATH_POLL_UNIX] = "unix",
        [ATH_POLL_METRICS] = "metrics",
        [ATH_POLL_UDP] = "udp",
    };
    char peer[ATH_ENDPOINT_TEXT];
    if (ath_event_log_has(ATH_EVENT_DEBUG))
        ath_event_log(ATH_EVENT_DEBUG, "connection", "peer", ath_endpoint_of_socket(fd, true, peer),
                      "to", ath_listener_is_data(which) ? "data" : ways[which], NULL);
}

/* Owns the descriptor of a new connection. An administrator's never waits. */
static void welcome(struct ath_listener *listener, int fd, size_t which)
{
    struct ath_waiting waiting = { .fd = fd,
                                   .way = (int)which,
                                   .is_data = ath_listener_is_data(which),
                                   .source = ath_source_of_socket(fd),
                                   .since_ms = ath_now_ms() };
    log_connection(fd, which);
    if (which != ATH_POLL_METRICS)
        atomic_fetch_add(&listener->server.board->accepted, 1);
    if (ath_clients_is_trusted(fd, which)) {
        ath_clients_start(listener, fd, which, waiting.source, true);
        close(fd);
        return;
    }
    receive(listener, &waiting, false);
}

/* Lets the channels of UDP wait for their first messages. Their peers are addresses. */
static void accept_channels(struct ath_listener *listener)
{
    struct ath_channel_origin origin;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = ath_datagrams_take(listener->polls[ATH_POLL_UDP].fd, &origin);
        if (fd < 0)
            return;
        struct ath_waiting waiting = { .fd = fd,
                                       .way = ATH_POLL_UDP,
                                       .is_data = origin.is_data,
                                       .source = ath_source_of_address(&origin.peer.address),
                                       .since_ms = ath_now_ms() };
        log_connection(fd, ATH_POLL_UDP);
        atomic_fetch_add(&listener->server.board->accepted, 1);
        receive(listener, &waiting, false);
    }
}

void ath_newcomers_accept(struct ath_listener *listener, size_t which)
{
    if (which == ATH_POLL_UDP) {
        accept_channels(listener);
        return;
    }
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(listener->polls[which].fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            welcome(listener, fd, which);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            ath_event_log(ATH_EVENT_ERROR, "cannot-accept", "reason", strerror(errno), NULL);
            nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
        }
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}
