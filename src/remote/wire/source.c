/* Finds the source of a connection. The kernel names the user of a loopback connection
 * (sock_diag(7)). */
#include "config.h"

#include "remote/wire/source.h"

#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_storage storage;
};

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

struct answer {
    struct nlmsghdr head;
    struct inet_diag_msg body;
    char rest[512]; /* attributes, which are not used */
};

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
}

/* Names the peer's socket: its own address is the source there. */
static struct inet_diag_sockid socket_of(const union address *peer, const union address *own)
{
    struct inet_diag_sockid id = { .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } };
    if (peer->any.sa_family == AF_INET) {
        id.idiag_sport = peer->in.sin_port;
        id.idiag_dport = own->in.sin_port;
        memcpy(id.idiag_src, &peer->in.sin_addr, sizeof peer->in.sin_addr);
        memcpy(id.idiag_dst, &own->in.sin_addr, sizeof own->in.sin_addr);
    } else {
        id.idiag_sport = peer->in6.sin6_port;
        id.idiag_dport = own->in6.sin6_port;
        memcpy(id.idiag_src, &peer->in6.sin6_addr, sizeof peer->in6.sin6_addr);
        memcpy(id.idiag_dst, &own->in6.sin6_addr, sizeof own->in6.sin6_addr);
    }
    return id;
}

/* Asks the kernel for the user of a connection's other end on this host. Returns false if the
 * kernel does not say: it lacks the module, or the socket is closed already. */
static bool find_user(int fd, const union address *peer, uid_t *out)
{
    union address own = { .any.sa_family = AF_UNSPEC };
    socklen_t length = sizeof own;
    if (getsockname(fd, &own.any, &length))
        return false;
    struct question question = {
        .head = { .nlmsg_len = sizeof question,
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST },
        .body = { .sdiag_family = (uint8_t)peer->any.sa_family,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_states = ~0u,
                  .id = socket_of(peer, &own) },
    };
    struct answer answer = { .head.nlmsg_len = 0 };
    ath_auto_close int netlink =
        socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (netlink < 0 || send(netlink, &question, sizeof question, 0) != sizeof question)
        return false;
    /* The kernel answers within send(). */
    ssize_t got = recv(netlink, &answer, sizeof answer, 0);
    if (got < (ssize_t)offsetof(struct answer, rest) ||
        answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    *out = answer.body.idiag_uid;
    return true;
}

static bool is_ordinary(uid_t user)
{
    return user != 0 && user != geteuid();
}

static struct ath_source source_of_ipv6(const struct in6_addr *address)
{
    uint64_t high;
    uint32_t low;
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&low, address->s6_addr + 12, sizeof low);
        return (struct ath_source){ ATH_SOURCE_IPV4, ntohl(low) };
    }
    memcpy(&high, address->s6_addr, sizeof high);
    return (struct ath_source){ ATH_SOURCE_IPV6, be64toh(high) };
}

struct ath_source ath_source_of_address(const struct sockaddr_storage *address)
{
    const union address *peer = (const union address *)address;
    if (peer->any.sa_family == AF_INET)
        return (struct ath_source){ ATH_SOURCE_IPV4, ntohl(peer->in.sin_addr.s_addr) };
    if (peer->any.sa_family == AF_INET6)
        return source_of_ipv6(&peer->in6.sin6_addr);
    return (struct ath_source){ ATH_SOURCE_UNKNOWN, 0 };
}

struct ath_source ath_source_of_socket(int fd)
{
    union address peer = { .any.sa_family = AF_UNSPEC };
    socklen_t length = sizeof peer;
    struct ucred user;
    socklen_t user_length = sizeof user;
    uid_t uid;

    if (getpeername(fd, &peer.any, &length))
        return (struct ath_source){ ATH_SOURCE_UNKNOWN, 0 };
    if (peer.any.sa_family == AF_UNIX)
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &user_length)
                   ? (struct ath_source){ ATH_SOURCE_UNKNOWN, 0 }
                   : (struct ath_source){ ATH_SOURCE_USER, user.uid };
    if (is_loopback(&peer) && find_user(fd, &peer, &uid) && is_ordinary(uid))
        return (struct ath_source){ ATH_SOURCE_USER, uid };
    return ath_source_of_address(&peer.storage);
}

const char *ath_source_format(struct ath_source source, char out[ATH_SOURCE_TEXT])
{
    struct in_addr in = { htonl((uint32_t)source.number) };
    struct in6_addr in6 = { 0 };
    uint64_t high = htobe64(source.number);
    switch (source.kind) {
    case ATH_SOURCE_USER:
        snprintf(out, ATH_SOURCE_TEXT, "user %" PRIu64, source.number);
        break;
    case ATH_SOURCE_IPV4:
        inet_ntop(AF_INET, &in, out, ATH_SOURCE_TEXT);
        break;
    case ATH_SOURCE_IPV6:
        memcpy(in6.s6_addr, &high, sizeof high);
        inet_ntop(AF_INET6, &in6, out, ATH_SOURCE_TEXT - 4);
        strcat(out, "/64");
        break;
    default:
        snprintf(out, ATH_SOURCE_TEXT, "?");
    }
    return out;
}
