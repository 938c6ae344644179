/* Opens the sockets before the helper starts, so that a replaced helper has the same ones. */
#include "config.h"

#include "runtime/datagrams.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/process_name.h"
#include "base/text.h"
#include "remote/transport/shm.h"
#include "remote/udp/carrier.h"
#include "runtime/clients.h"
#include "runtime/event_log.h"
#include "runtime/listener.h"

enum { CHANNELS_MAX = 512 /* of each socket; one whose client was killed lasts ten seconds */ };

/* ---- in the helper ---- */

static void hand_over(void *context, int fd, const struct ath_peer *peer)
{
    const struct ath_datagrams *datagrams = context;
    (void)!ath_shm_send(datagrams->channel_fd, peer, sizeof *peer, fd);
    close(fd);
}

static int lock_in(const struct ath_listener *listener, struct ath_err *err)
{
    const struct ath_datagrams *datagrams = &listener->datagrams;
    int kept[ATH_DATAGRAMS_SOCKETS_MAX + 1] = { datagrams->channel_fd };
    memcpy(kept + 1, datagrams->sockets, datagrams->socket_count * sizeof *kept);
    const struct ath_sandbox_plan plan = { .sandbox = &listener->sandbox,
                                           .user = datagrams->user,
                                           .identity = ".datagrams",
                                           .kept = kept,
                                           .kept_count = 1 + datagrams->socket_count };
    if (datagrams->user == (uid_t)-1 && listener->sandbox.changes_user)
        return ath_err_system(err, -ENOSPC, "%s", "no user is left for the process of UDP");
    return ath_sandbox_enter(&plan, err);
}

static int start_carriers(struct ath_datagrams *datagrams)
{
    const struct ath_carrier_settings settings = { .buffer_bytes = ATH_CARRIER_BUFFER_BYTES,
                                                   .channels_max = CHANNELS_MAX,
                                                   .accept = hand_over,
                                                   .context = datagrams };
    struct ath_carrier *carrier;
    int status = 0;
    for (size_t i = 0; i < datagrams->socket_count && !status; i++)
        status = ath_carrier_make(datagrams->sockets[i], &settings, &carrier);
    return status;
}

static void run(struct ath_listener *listener, pid_t parent)
{
    static _Atomic uint64_t missing_lines; /* those of this process are not counted on the board */
    struct ath_err err;
    ath_clients_leave(listener, parent);
    ath_secret_free(&listener->server.secret);
    ath_event_log_count_in(&missing_lines);
    int status = ath_session_board_confine(listener->server.board, NULL);
    if (!status)
        status = lock_in(listener, &err);
    if (!status)
        status = start_carriers(&listener->datagrams);
    if (status) {
        ath_event_log(ATH_EVENT_ERROR, "no-udp", "reason", strerror(-status), NULL);
        _exit(EXIT_FAILURE);
    }
    for (;;)
        pause();
}

/* Its threads sleep while no datagram comes, so it gives no sign of life. */
static bool is_busy(const struct ath_listener *listener)
{
    (void)listener;
    return false;
}

static const _Atomic uint64_t *beat_ms(const struct ath_session_board *board)
{
    static const _Atomic uint64_t none;
    (void)board;
    return &none;
}

const struct ath_helper_kind ath_datagrams_kind = {
    .name = "udp",
    .process_name = ATH_DATAGRAMS_NAME,
    .begin_ms = 3000,
    .hangs_ms = 3000,
    .look_ms = 1000,
    .pause_ms = 100,
    .longest_pause_ms = 60000,
    .soon_ms = 60000,
    .returns_at_once = true,
    .is_busy = is_busy,
    .beat_ms = beat_ms,
    .run = run,
};

/* ---- in the listening process ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_storage storage;
};

static void set_port(union address *address, uint16_t port)
{
    if (address->any.sa_family == AF_INET6)
        address->in6.sin6_port = htons(port);
    else
        address->in.sin_port = htons(port);
}

static uint16_t port_of(const union address *address)
{
    return ntohs(address->any.sa_family == AF_INET6 ? address->in6.sin6_port
                                                    : address->in.sin_port);
}

/* Opens one more socket at the address; a port 0 becomes the one that the kernel chose. The first
 * one is bound twice, as sockets that share a port would also share it with another server. */
static int open_socket(struct ath_datagrams *datagrams, union address *address, socklen_t length,
                       bool is_shared)
{
    ath_auto_close int fd = socket(address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (fd < 0)
        return -errno;
    if (address->any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (is_shared)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, &address->any, length) || getsockname(fd, &address->any, &length))
        return -errno;
    if (is_shared)
        datagrams->sockets[datagrams->socket_count++] = ath_steal_fd(&fd);
    return 0;
}

static int open_sockets(struct ath_listener *listener, uint16_t port)
{
    struct ath_datagrams *datagrams = &listener->datagrams;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    union address address = { .any.sa_family = AF_UNSPEC };
    socklen_t length = sizeof address;
    if (getsockname(listener->polls[ATH_POLL_TCP].fd, &address.any, &length))
        return -errno;
    set_port(&address, port);
    int status = open_socket(datagrams, &address, length, false);
    for (size_t i = 0; i < ATH_DATAGRAMS_SOCKETS_MAX && !status; i++)
        if (!i || (long)i * 2 < processors)
            status = open_socket(datagrams, &address, length, true);
    datagrams->port = status ? 0 : port_of(&address);
    return status;
}

static int open_channel_socket(struct ath_listener *listener)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        return -errno;
    listener->datagrams.channel_fd = ends[0];
    listener->polls[ATH_POLL_UDP].fd = ends[1];
    return 0;
}

int ath_datagrams_open(struct ath_listener *listener, const struct ath_runtime_options *options,
                       struct ath_err *err)
{
    struct ath_datagrams *datagrams = &listener->datagrams;
    int port;
    datagrams->helper.is_useless = true;
    if (!options->udp || !strcmp(options->udp, "off"))
        return 0;
    if (ath_parse_int(options->udp, 0, 65535, &port))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no port"), options->udp);
    if (listener->polls[ATH_POLL_TCP].fd < 0)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                           _("--udp needs an address to listen on, not '--listen none'"));
    int status = open_sockets(listener, (uint16_t)port);
    if (!status)
        status = open_channel_socket(listener);
    if (status)
        return ath_err_system(err, status, _("cannot take datagrams on port %d"), port);
    datagrams->user = ath_sandbox_users_find(&listener->users, ".datagrams");
    datagrams->helper.is_useless = false;
    listener->server.udp_port = datagrams->port;
    return 0;
}

void ath_datagrams_close(struct ath_datagrams *datagrams)
{
    if (!datagrams->port)
        return;
    for (size_t i = 0; i < datagrams->socket_count; i++)
        close(datagrams->sockets[i]);
    close(datagrams->channel_fd);
}

int ath_datagrams_take(int fd, struct ath_peer *out_peer)
{
    struct iovec part = { out_peer, sizeof *out_peer };
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { { 0 } };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.room,
                              .msg_controllen = sizeof control.room };
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct cmsghdr *head = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int channel = -1;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof channel))
        memcpy(&channel, CMSG_DATA(head), sizeof channel);
    if (channel >= 0 && got != sizeof *out_peer) {
        close(channel);
        return -1;
    }
    return channel;
}
