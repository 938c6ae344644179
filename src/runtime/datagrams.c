/* Opens the sockets before the helper starts, so that a replaced helper has the same ones. */
#include "config.h"

#include "runtime/datagrams.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/process_name.h"
#include "base/text.h"
#include "remote/transport/shm.h"
#include "remote/udp/carrier.h"
#include "remote/wire/endpoint.h"
#include "remote/wire/source.h"
#include "runtime/clients.h"
#include "runtime/event_log.h"
#include "runtime/listener.h"

enum { COUNT_S = 1 }; /* how often the counts are written */

/* ---- in the helper ---- */

static void hand_over(void *context, int fd, const struct ath_peer *peer)
{
    const struct ath_datagrams *datagrams = context;
    const struct ath_channel_origin origin = { .peer = *peer, .is_data = datagrams->is_data };
    (void)!ath_shm_send(datagrams->channel_fd, &origin, sizeof origin, fd);
    close(fd);
}

static bool is_same_source(const struct ath_peer *one, const struct ath_peer *other)
{
    return ath_source_is(ath_source_of_address(&one->address),
                         ath_source_of_address(&other->address));
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

static int start_carriers(struct ath_datagrams *datagrams,
                          struct ath_carrier *carriers[ATH_DATAGRAMS_SOCKETS_MAX])
{
    const struct ath_carrier_settings settings = { .buffer_bytes = ATH_CARRIER_BUFFER_BYTES,
                                                   .unsent_most = ATH_CARRIER_UNSENT_BYTES,
                                                   .channels_max = ATH_DATAGRAMS_CHANNELS_MAX,
                                                   .is_same_source = is_same_source,
                                                   .accept = hand_over,
                                                   .context = datagrams };
    int status = 0;
    for (size_t i = 0; i < datagrams->socket_count && !status; i++)
        status = ath_carrier_make(datagrams->sockets[i], &settings, &carriers[i]);
    return status;
}

/* The counts of a carrier, behind those of the helpers before this one. */
static void write_counts(struct ath_carrier *carrier, const struct ath_udp_socket_counts *before,
                         struct ath_udp_socket_counts *out)
{
    const struct ath_carrier_counters now = ath_carrier_counters(carrier);
    atomic_store(&out->sent, before->sent + now.flows.sent);
    atomic_store(&out->received, before->received + now.flows.received);
    atomic_store(&out->sent_again, before->sent_again + now.flows.retransmitted);
    atomic_store(&out->lost, before->lost + now.flows.lost);
    atomic_store(&out->duplicates, before->duplicates + now.flows.duplicates);
    atomic_store(&out->damaged, before->damaged + now.damaged);
    atomic_store(&out->foreign, before->foreign + now.foreign);
}

__attribute__((noreturn)) static void serve(
    const struct ath_datagrams *datagrams,
    struct ath_carrier *const carriers[ATH_DATAGRAMS_SOCKETS_MAX], struct ath_udp_counts *counts)
{
    struct ath_udp_socket_counts before[ATH_DATAGRAMS_SOCKETS_MAX];
    memcpy(before, counts->sockets, sizeof before);
    for (;;) {
        for (size_t i = 0; i < datagrams->socket_count; i++)
            write_counts(carriers[i], &before[i], &counts->sockets[i]);
        sleep(COUNT_S);
    }
}

static void run(struct ath_listener *listener, pid_t parent)
{
    struct ath_carrier *carriers[ATH_DATAGRAMS_SOCKETS_MAX];
    static _Atomic uint64_t missing_lines; /* those of this process are not counted on the board */
    struct ath_err err;
    ath_clients_leave(listener, parent);
    ath_secret_free(&listener->server.secret);
    ath_event_log_count_in(&missing_lines);
    int status = ath_session_board_confine_udp(listener->server.board);
    if (!status)
        status = lock_in(listener, &err);
    ath_udp_rows_clear();
    if (!status)
        status = start_carriers(&listener->datagrams, carriers);
    if (status) {
        ath_event_log(ATH_EVENT_ERROR, "no-udp", "reason", strerror(-status), NULL);
        _exit(EXIT_FAILURE);
    }
    serve(&listener->datagrams, carriers, &listener->server.board->udp);
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

/* Opens sockets at the address of a listening socket, up to so many; port: theirs, instead of that
 * of the listening socket; -1: the same. Returns their port, or a negative errno. */
static int open_sockets(struct ath_datagrams *datagrams, int listening_fd, int port, size_t most)
{
    union address address = { .any.sa_family = AF_UNSPEC };
    socklen_t length = sizeof address;
    if (getsockname(listening_fd, &address.any, &length))
        return -errno;
    if (port >= 0)
        set_port(&address, (uint16_t)port);
    int status = open_socket(datagrams, &address, length, false);
    for (size_t i = 0; i < most && !status; i++)
        status = open_socket(datagrams, &address, length, true);
    return status ? status : port_of(&address);
}

static size_t count_data_addresses(const struct ath_listener *listener)
{
    size_t count = 0;
    for (size_t i = ATH_POLL_DATA; i < ATH_POLL_COUNT; i++)
        count += listener->polls[i].fd >= 0;
    return count;
}

/* One for two processors, at least one for each address. */
static size_t sockets_of_each(size_t addresses)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t all = processors > 2 ? ((size_t)processors + 1) / 2 : 1;
    size_t each = all / addresses, most = ATH_DATAGRAMS_SOCKETS_MAX / addresses;
    most = most < ATH_DATAGRAMS_SOCKETS_EACH ? most : ATH_DATAGRAMS_SOCKETS_EACH;
    return !each ? 1 : each < most ? each : most;
}

static int open_data_sockets(struct ath_listener *listener, size_t addresses)
{
    int status = 0;
    listener->datagrams.is_data = true;
    for (size_t i = ATH_POLL_DATA; i < ATH_POLL_COUNT && status >= 0; i++)
        if (listener->polls[i].fd >= 0)
            status = open_sockets(&listener->datagrams, listener->polls[i].fd, -1,
                                  sockets_of_each(addresses));
    return status < 0 ? status : 0;
}

static int open_control_sockets(struct ath_listener *listener, int port)
{
    struct ath_datagrams *datagrams = &listener->datagrams;
    int opened =
        open_sockets(datagrams, listener->polls[ATH_POLL_TCP].fd, port, sockets_of_each(1));
    datagrams->port = opened < 0 ? 0 : (uint16_t)opened;
    return opened < 0 ? opened : 0;
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

static void note_address(int fd, struct ath_udp_socket_counts *out)
{
    char text[ATH_ENDPOINT_TEXT];
    snprintf(out->address, sizeof out->address, "%.*s", (int)sizeof out->address - 1,
             ath_endpoint_of_socket(fd, false, text));
}

int ath_datagrams_open(struct ath_listener *listener, const struct ath_runtime_options *options,
                       struct ath_err *err)
{
    struct ath_datagrams *datagrams = &listener->datagrams;
    const size_t addresses = count_data_addresses(listener);
    int port = -1, status;
    datagrams->helper.is_useless = true;
    if (!options->udp || !strcmp(options->udp, "off"))
        return 0;
    if (strcmp(options->udp, "on") && ath_parse_int(options->udp, 0, 65535, &port))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no port"), options->udp);
    if (listener->polls[ATH_POLL_TCP].fd < 0)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                           _("--udp needs an address to listen on, not '--listen none'"));
    status =
        addresses ? open_data_sockets(listener, addresses) : open_control_sockets(listener, port);
    if (!status)
        status = open_channel_socket(listener);
    if (status && addresses)
        return ath_err_system(err, status, "%s", _("cannot take datagrams at the data addresses"));
    if (status && port < 0)
        return ath_err_system(err, status, "%s",
                              _("cannot take datagrams at the port of --listen"));
    if (status)
        return ath_err_system(err, status, _("cannot take datagrams on port %d"), port);
    for (size_t i = 0; i < datagrams->socket_count; i++)
        note_address(datagrams->sockets[i], &listener->server.board->udp.sockets[i]);
    ath_udp_rows_use(listener->server.board->udp.rows, ATH_COUNT(listener->server.board->udp.rows));
    datagrams->user = ath_sandbox_users_find(&listener->users, ".datagrams");
    datagrams->helper.is_useless = false;
    listener->server.udp_port = datagrams->port;
    listener->server.has_data_udp = datagrams->is_data;
    return 0;
}

void ath_datagrams_close(struct ath_datagrams *datagrams)
{
    if (!datagrams->socket_count)
        return;
    for (size_t i = 0; i < datagrams->socket_count; i++)
        close(datagrams->sockets[i]);
    close(datagrams->channel_fd);
}

int ath_datagrams_take(int fd, struct ath_channel_origin *out)
{
    struct iovec part = { out, sizeof *out };
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
    if (channel >= 0 && got != sizeof *out) {
        close(channel);
        return -1;
    }
    return channel;
}
