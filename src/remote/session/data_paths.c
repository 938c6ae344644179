/* Reads the server's addresses, finds the links whose networks have them, and makes sockets for the
 * paths. */
#include "config.h"

#include "remote/session/data_paths.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static void free_interfaces(struct ifaddrs **interfaces)
{
    if (*interfaces)
        freeifaddrs(*interfaces);
}

/* The bytes of an address; the number is 0 for other families. */
static const uint8_t *bytes_of(const struct sockaddr *address, size_t *out_count)
{
    *out_count = address->sa_family == AF_INET ? 4 : address->sa_family == AF_INET6 ? 16 : 0;
    return address->sa_family == AF_INET
               ? (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
               : ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
}

bool ath_data_path_is_loopback(const struct sockaddr_storage *address)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    size_t count;
    const uint8_t *bytes = bytes_of((const struct sockaddr *)address, &count);
    return count == 4 ? bytes[0] == 127 : count == 16 && IN6_IS_ADDR_LOOPBACK(six);
}

static bool is_same(const struct sockaddr *one, const struct sockaddr *other)
{
    size_t count, other_count;
    const uint8_t *bytes = bytes_of(one, &count), *others = bytes_of(other, &other_count);
    return count && count == other_count && !memcmp(bytes, others, count);
}

/* Returns whether the network of a link's address has this address. */
static bool is_in_network(const struct ifaddrs *one, const struct sockaddr *address)
{
    size_t count, own_count, mask_count;
    const uint8_t *bytes = bytes_of(address, &count);
    const uint8_t *own = bytes_of(one->ifa_addr, &own_count);
    if (!one->ifa_netmask || count != own_count)
        return false;
    const uint8_t *mask = bytes_of(one->ifa_netmask, &mask_count);
    for (size_t i = 0; i < count; i++)
        if ((bytes[i] ^ own[i]) & mask[i])
            return false;
    return true;
}

static bool is_own(const struct ifaddrs *interfaces, const struct sockaddr *address)
{
    for (const struct ifaddrs *one = interfaces; one; one = one->ifa_next)
        if (one->ifa_addr && is_same(one->ifa_addr, address))
            return true;
    return false;
}

/* The address of this host that the kernel uses for a path. No packet is sent. */
static bool source_by_kernel(const struct ath_data_path *path, struct sockaddr_storage *out)
{
    socklen_t length = sizeof *out;
    ath_auto_close int fd = socket(path->to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && !connect(fd, (const struct sockaddr *)&path->to, path->length) &&
           !getsockname(fd, (struct sockaddr *)out, &length);
}

/* The link that the kernel uses for an address; NULL: none. */
static const char *link_by_kernel(const struct ifaddrs *interfaces,
                                  const struct ath_data_path *path)
{
    struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
    if (!source_by_kernel(path, &from))
        return NULL;
    for (const struct ifaddrs *one = interfaces; one; one = one->ifa_next)
        if (one->ifa_addr && is_same(one->ifa_addr, (const struct sockaddr *)&from))
            return one->ifa_name;
    return NULL;
}

static bool has_link(const struct ath_data_path *paths, size_t begin, size_t end, const char *link)
{
    for (size_t i = begin; i < end; i++)
        if (!strcmp(paths[i].link, link))
            return true;
    return false;
}

/* Adds the paths from further links to an address. A link has one path, whatever number of
 * addresses it has. */
static size_t add_links(const struct ifaddrs *interfaces, const struct ath_data_path *path,
                        struct ath_data_path out[ATH_DATA_PATHS_MAX], size_t count)
{
    const struct sockaddr *to = (const struct sockaddr *)&path->to;
    const char *used = link_by_kernel(interfaces, path);
    const size_t begin = count;
    if (!used || is_own(interfaces, to))
        return count;
    for (const struct ifaddrs *one = interfaces; one && count < ATH_DATA_PATHS_MAX;
         one = one->ifa_next) {
        if (!one->ifa_addr || !(one->ifa_flags & IFF_RUNNING) || one->ifa_flags & IFF_LOOPBACK ||
            !strcmp(one->ifa_name, used) || !is_in_network(one, to) ||
            has_link(out, begin, count, one->ifa_name))
            continue;
        struct ath_data_path *added = &out[count++];
        *added = *path;
        memcpy(&added->from, one->ifa_addr, path->length);
        snprintf(added->link, sizeof added->link, "%s", one->ifa_name);
    }
    return count;
}

static bool read_address(const char *text, size_t length, struct ath_data_path *out)
{
    char one[ATH_ENDPOINT_TEXT];
    struct ath_endpoint endpoint;
    struct ath_err err;
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
                                     .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    snprintf(one, sizeof one, "%.*s", (int)length, text);
    if (length >= sizeof one || ath_endpoint_parse(one, &endpoint, &err) || endpoint.is_unix ||
        getaddrinfo(endpoint.host, endpoint.port, &wanted, &found))
        return false;
    *out = (struct ath_data_path){ .length = found->ai_addrlen };
    memcpy(&out->to, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

size_t ath_data_paths_find(const char *addresses, bool is_near,
                           struct ath_data_path out[ATH_DATA_PATHS_MAX])
{
    __attribute__((cleanup(free_interfaces))) struct ifaddrs *interfaces = NULL;
    size_t count = 0;
    for (const char *at = addresses; *at && count < ATH_DATA_PATHS_MAX;) {
        size_t length = strcspn(at, ",");
        if (read_address(at, length, &out[count]) &&
            (is_near || !ath_data_path_is_loopback(&out[count].to)))
            count++;
        at += length + (at[length] == ',');
    }
    if (!count || getifaddrs(&interfaces))
        return count;
    for (size_t i = 0, firsts = count; i < firsts; i++)
        count = add_links(interfaces, &out[i], out, count);
    return count;
}

const char *ath_data_path_text(const struct ath_data_path *path, char out[ATH_ENDPOINT_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";
    struct ath_endpoint endpoint = { 0 };
    (void)!getnameinfo((const struct sockaddr *)&path->to, path->length, host, sizeof host, port,
                       sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(endpoint.host, sizeof endpoint.host, "%s", host);
    snprintf(endpoint.port, sizeof endpoint.port, "%s", port);
    return ath_endpoint_format(&endpoint, out);
}

const char *ath_data_path_source(const struct ath_data_path *path, char out[ATH_ENDPOINT_TEXT])
{
    struct sockaddr_storage from = path->from;
    *out = '\0';
    if (from.ss_family == AF_UNSPEC && !source_by_kernel(path, &from))
        return out;
    (void)!getnameinfo((const struct sockaddr *)&from, path->length, out, ATH_ENDPOINT_TEXT, NULL,
                       0, NI_NUMERICHOST);
    return out;
}

/* Makes a socket send from the path's link. */
static int bind_to_link(int fd, const struct ath_data_path *path)
{
    /* Without this the kernel sends by its first route, whatever the address; older kernels want a
     * right for it, and the routes may be right without. */
    (void)!setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, path->link, (socklen_t)strlen(path->link));
    return bind(fd, (const struct sockaddr *)&path->from, path->length) ? -errno : 0;
}

int ath_data_path_bind(const struct ath_data_path *path)
{
    const struct sockaddr_storage any = { .ss_family = path->to.ss_family };
    ath_auto_close int fd = socket(path->to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int status = *path->link                                             ? bind_to_link(fd, path)
                 : bind(fd, (const struct sockaddr *)&any, path->length) ? -errno
                                                                         : 0;
    return status ? status : ath_steal_fd(&fd);
}

int ath_data_path_connect(const struct ath_data_path *path)
{
    ath_auto_close int fd =
        socket(path->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int status = *path->link ? bind_to_link(fd, path) : 0;
    if (status)
        return status;
    if (connect(fd, (const struct sockaddr *)&path->to, path->length) && errno != EINPROGRESS)
        return -errno;
    return ath_steal_fd(&fd);
}
