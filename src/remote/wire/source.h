/*
 * The source of a connection: what places and failed attempts are counted by. A unix socket's peer
 * is its user. An address is the whole address with IPv4, and the first 64 bits with IPv6, because
 * a host usually has all addresses of its network (RFC 6177). Ordinary users of this host who
 * come by the loopback count as users, because each of them has millions of loopback addresses.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum ath_source_kind {
    ATH_SOURCE_UNKNOWN, /* all of them count as one source */
    ATH_SOURCE_USER,
    ATH_SOURCE_IPV4,
    ATH_SOURCE_IPV6,
};

struct ath_source {
    enum ath_source_kind kind;
    uint64_t number; /* the user, the address, or its first 64 bits */
};

enum { ATH_SOURCE_TEXT = 48 };

/* The source of an accepted connection. Never waits. */
struct ath_source ath_source_of_socket(int fd);

/* The source that an address alone tells: IPv4 or IPv6. */
struct sockaddr_storage;
struct ath_source ath_source_of_address(const struct sockaddr_storage *address);

static inline bool ath_source_is(struct ath_source a, struct ath_source b)
{
    return a.kind == b.kind && a.number == b.number;
}

/* Writes the source for people: "user 1000", "10.0.0.7", "2001:db8:0:1::/64". Returns out. */
const char *ath_source_format(struct ath_source source, char out[ATH_SOURCE_TEXT]);
