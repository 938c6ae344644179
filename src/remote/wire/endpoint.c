/* Server addresses as text and as sockets. */
#include "config.h"

#include "remote/wire/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"

static void free_addresses(struct addrinfo **addresses)
{
    if (*addresses)
        freeaddrinfo(*addresses);
}

static int refuse_address(const char *text, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no address with a port"), text);
    return ath_err_hint(err, -EINVAL, "%s",
                        _("write 127.0.0.1:50051, [::1]:50051 or unix:/path/of/a/socket"));
}

int ath_endpoint_of_path(const char *path, struct ath_endpoint *out, struct ath_err *err)
{
    size_t room = sizeof((struct sockaddr_un *)NULL)->sun_path;
    size_t length = strlen(path);
    if (!length || length >= room)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("the path of the socket '%s' is empty or has more than %zu bytes"),
                           path, room - 1);
    *out = (struct ath_endpoint){ .is_unix = true };
    memcpy(out->host, path, length + 1);
    return 0;
}

int ath_endpoint_parse(const char *text, struct ath_endpoint *out, struct ath_err *err)
{
    if (ath_starts_with(text, "unix:"))
        return ath_endpoint_of_path(text + strlen("unix:"), out, err);
    const char *colon = strrchr(text, ':');
    const char *host = text, *end = colon;
    int port;
    if (!colon || ath_parse_int(colon + 1, 0, 65535, &port))
        return refuse_address(text, err);
    if (*host == '[') {
        host++;
        end = strchr(host, ']');
        if (!end || end + 1 != colon)
            return refuse_address(text, err);
    } else if (memchr(host, ':', (size_t)(colon - host))) {
        return refuse_address(text, err); /* an IPv6 address needs brackets */
    }
    size_t length = (size_t)(end - host);
    if (!length || length >= sizeof out->host)
        return refuse_address(text, err);
    *out = (struct ath_endpoint){ 0 };
    memcpy(out->host, host, length);
    snprintf(out->port, sizeof out->port, "%d", port);
    return 0;
}

const char *ath_endpoint_format(const struct ath_endpoint *endpoint, char out[ATH_ENDPOINT_TEXT])
{
    const char *form = endpoint->is_unix             ? "unix:%s%s"
                       : strchr(endpoint->host, ':') ? "[%s]:%s"
                                                     : "%s:%s";
    _Static_assert(ATH_ENDPOINT_TEXT > sizeof endpoint->host + sizeof endpoint->port + 4, "room");
    snprintf(out, ATH_ENDPOINT_TEXT, form, endpoint->host, endpoint->port);
    return out;
}

/* ---- connecting ---- */

/* Waits until a connect() ends. Returns 0 or a negative errno. */
static int await_connected(int fd, uint64_t deadline_ms)
{
    for (;;) {
        uint64_t now = ath_now_ms();
        struct pollfd one = { .fd = fd, .events = POLLOUT };
        int ready = now < deadline_ms ? poll(&one, 1, (int)(deadline_ms - now)) : 0;
        if (!ready)
            return -ETIMEDOUT;
        if (ready > 0)
            break;
        if (errno != EINTR)
            return -errno;
    }
    int status = 0;
    socklen_t length = sizeof status;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &status, &length);
    return -status;
}

static int connect_to(const struct sockaddr *address, socklen_t length, uint64_t deadline_ms,
                      int *out_fd)
{
    ath_auto_close int fd =
        socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int status = connect(fd, address, length) ? -errno : 0;
    if (status == -EINPROGRESS || status == -EINTR)
        status = await_connected(fd, deadline_ms);
    if (status)
        return status;
    if (address->sa_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    *out_fd = ath_steal_fd(&fd);
    return 0;
}

static struct sockaddr_un unix_address(const struct ath_endpoint *endpoint)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%.107s", endpoint->host);
    return address;
}

/* flags  of getaddrinfo(). Returns 0 with addresses that the caller frees, or -EINVAL with err. */
static int resolve(const struct ath_endpoint *endpoint, int flags, struct addrinfo **out,
                   struct ath_err *err)
{
    struct addrinfo wanted = { .ai_family = AF_UNSPEC,
                               .ai_socktype = SOCK_STREAM,
                               .ai_flags = flags | AI_NUMERICSERV };
    int status = getaddrinfo(endpoint->host, endpoint->port, &wanted, out);
    if (status)
        return ath_err_set(err, -EINVAL, ATH_E_PEER_UNREACHABLE,
                           _("the address '%s' is unknown here: %s"), endpoint->host,
                           gai_strerror(status));
    return 0;
}

static int connect_tcp(const struct ath_endpoint *endpoint, uint64_t deadline_ms, int *out_fd,
                       struct ath_err *err)
{
    __attribute__((cleanup(free_addresses))) struct addrinfo *addresses = NULL;
    int status = resolve(endpoint, 0, &addresses, err);
    if (status)
        return status;
    status = -EADDRNOTAVAIL;
    for (const struct addrinfo *one = addresses; one && status; one = one->ai_next)
        status = connect_to(one->ai_addr, one->ai_addrlen, deadline_ms, out_fd);
    if (!status)
        return 0;
    char text[ATH_ENDPOINT_TEXT];
    return ath_err_set(err, status, ATH_E_PEER_UNREACHABLE, _("cannot connect to '%s': %s"),
                       ath_endpoint_format(endpoint, text), strerror(-status));
}

int ath_endpoint_connect(const struct ath_endpoint *endpoint, uint64_t deadline_ms, int *out_fd,
                         struct ath_err *err)
{
    if (!endpoint->is_unix)
        return connect_tcp(endpoint, deadline_ms, out_fd, err);
    struct sockaddr_un address = unix_address(endpoint);
    int status = connect_to((const struct sockaddr *)&address, sizeof address, deadline_ms, out_fd);
    if (status)
        return ath_err_set(err, status, ATH_E_PEER_UNREACHABLE, _("cannot connect to '%s': %s"),
                           endpoint->host, strerror(-status));
    return 0;
}

/* ---- listening ---- */

static int report_bind(const struct ath_endpoint *endpoint, int status, struct ath_err *err)
{
    char text[ATH_ENDPOINT_TEXT];
    ath_endpoint_format(endpoint, text);
    if (status == -EADDRINUSE) {
        ath_err_set(err, status, ATH_E_BUSY, _("cannot listen on '%s': another process does"),
                    text);
        return endpoint->is_unix
                   ? status
                   : ath_err_hint(err, status, "ss -ltnp 'sport = :%s'", endpoint->port);
    }
    if (status == -EADDRNOTAVAIL) {
        ath_err_set(err, status, ATH_E_NOT_FOUND,
                    _("cannot listen on '%s': no link here has that address"), text);
        return ath_err_hint(err, status, "ip address");
    }
    return ath_err_system(err, status, _("cannot listen on '%s'"), text);
}

static int listen_tcp(const struct ath_endpoint *endpoint, int *out_fd, struct ath_err *err)
{
    __attribute__((cleanup(free_addresses))) struct addrinfo *addresses = NULL;
    int status = resolve(endpoint, AI_NUMERICHOST | AI_PASSIVE, &addresses, err);
    if (status)
        return status;
    ath_auto_close int fd =
        socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return report_bind(endpoint, -errno, err);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    if (addresses->ai_family == AF_INET6) /* so that [::] does not take 0.0.0.0, too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
    if (bind(fd, addresses->ai_addr, addresses->ai_addrlen) || listen(fd, SOMAXCONN))
        return report_bind(endpoint, -errno, err);
    *out_fd = ath_steal_fd(&fd);
    return 0;
}

/* Removes a socket file whose server is gone. Any other file stays. */
static int remove_stale(const struct ath_endpoint *endpoint, struct ath_err *err)
{
    struct sockaddr_un address = unix_address(endpoint);
    struct stat status;
    int fd = -1;

    if (lstat(endpoint->host, &status))
        return 0;
    if (!S_ISSOCK(status.st_mode))
        return ath_err_set(err, -EEXIST, ATH_E_EXISTS,
                           _("cannot listen on '%s': the file is not a socket"), endpoint->host);
    int found =
        connect_to((const struct sockaddr *)&address, sizeof address, ath_now_ms() + 1000, &fd);
    if (!found)
        close(fd);
    if (found != -ECONNREFUSED)
        return report_bind(endpoint, -EADDRINUSE, err);
    if (unlink(endpoint->host))
        return report_bind(endpoint, -errno, err);
    return 0;
}

static int listen_unix(const struct ath_endpoint *endpoint, unsigned int mode, int *out_fd,
                       struct ath_err *err)
{
    struct sockaddr_un address = unix_address(endpoint);
    int status = remove_stale(endpoint, err);
    if (status)
        return status;
    ath_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The file gets these rights less the umask, so that no other user can connect before
     * chmod(). */
    if (fd < 0 || fchmod(fd, mode) || bind(fd, (const struct sockaddr *)&address, sizeof address))
        return report_bind(endpoint, -errno, err);
    if (chmod(endpoint->host, mode) || listen(fd, SOMAXCONN))
        return report_bind(endpoint, -errno, err);
    *out_fd = ath_steal_fd(&fd);
    return 0;
}

int ath_endpoint_listen(const struct ath_endpoint *endpoint, unsigned int mode, int *out_fd,
                        struct ath_err *err)
{
    return endpoint->is_unix ? listen_unix(endpoint, mode, out_fd, err)
                             : listen_tcp(endpoint, out_fd, err);
}

const char *ath_endpoint_of_address(const struct sockaddr *address, unsigned int length,
                                    char out[ATH_ENDPOINT_TEXT])
{
    struct ath_endpoint endpoint = { 0 };
    if (getnameinfo(address, length, endpoint.host, sizeof endpoint.host, endpoint.port,
                    sizeof endpoint.port, NI_NUMERICHOST | NI_NUMERICSERV))
        snprintf(endpoint.host, sizeof endpoint.host, "?");
    return ath_endpoint_format(&endpoint, out);
}

const char *ath_endpoint_of_socket(int fd, bool is_peer, char out[ATH_ENDPOINT_TEXT])
{
    struct sockaddr_storage address = { 0 };
    socklen_t length = sizeof address;
    struct ucred peer = { 0 };
    socklen_t peer_length = sizeof peer;
    int status = is_peer ? getpeername(fd, (struct sockaddr *)&address, &length)
                         : getsockname(fd, (struct sockaddr *)&address, &length);

    if (!status && address.ss_family == AF_UNIX) {
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_length);
        if (is_peer)
            snprintf(out, ATH_ENDPOINT_TEXT, "unix:%d:%u", (int)peer.pid, peer.uid);
        else
            snprintf(out, ATH_ENDPOINT_TEXT, "unix:%.107s",
                     ((const struct sockaddr_un *)&address)->sun_path);
        return out;
    }
    if (status)
        address.ss_family = AF_UNSPEC;
    return ath_endpoint_of_address((const struct sockaddr *)&address, length, out);
}
