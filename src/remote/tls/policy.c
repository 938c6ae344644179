/* Looks at the addresses of connections. */
#include "config.h"

#include "remote/tls/policy.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static const char *const words[] = {
    [ATH_ENCRYPT_AUTO] = "auto",
    [ATH_ENCRYPT_ON] = "on",
    [ATH_ENCRYPT_OFF] = "off",
};

int ath_encrypt_parse(const char *text, enum ath_encrypt *out)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text ? text : "auto", words[i])) {
            *out = (enum ath_encrypt)i;
            return 0;
        }
    return -EINVAL;
}

const char *ath_encrypt_word(enum ath_encrypt policy)
{
    return words[policy];
}

/* An address that no packet from or to another host has (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3). */
static bool is_loopback(const struct sockaddr_storage *address)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    const uint8_t *four = (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr;
    if (address->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(six))
        return IN6_IS_ADDR_LOOPBACK(six);
    if (address->ss_family == AF_INET6)
        four = six->s6_addr + 12;
    return four[0] == 127;
}

static bool find_peer(int fd, struct sockaddr_storage *out)
{
    socklen_t length = sizeof *out;
    *out = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
    return !getpeername(fd, (struct sockaddr *)out, &length) &&
           (out->ss_family == AF_INET || out->ss_family == AF_INET6);
}

bool ath_encrypt_can(int fd)
{
    struct sockaddr_storage peer;
    return find_peer(fd, &peer);
}

bool ath_encrypt_wants(enum ath_encrypt policy, int fd, bool has_key)
{
    struct sockaddr_storage peer;
    if (policy == ATH_ENCRYPT_OFF || !find_peer(fd, &peer))
        return false;
    return policy == ATH_ENCRYPT_ON || (has_key && !is_loopback(&peer));
}
