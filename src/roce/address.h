/* An IPv4 or IPv6 address and the length of its network prefix. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ath_address {
    int family;        /* AF_INET, AF_INET6 */
    uint8_t bytes[16]; /* network byte order; IPv4 uses the first four bytes, the rest is zero */
    int prefix;
    /* Set by the kernel's reader only; all false after ath_address_parse(): */
    bool is_tentative;  /* IPv6: duplicate address detection runs (RFC 4862) */
    bool is_duplicate;  /* IPv6: another host has the same address */
    bool is_permanent;  /* set by a user or program, not received from a router */
    bool is_link_local; /* scope link (fe80::/64), which the kernel adds by itself */
};

/* Parses "192.168.100.10/24" or "fd00::1/64"; the prefix length is required. Returns 0, or -EINVAL
 * "value-invalid" with err. */
int ath_address_parse(const char *text, struct ath_address *out, struct ath_err *err);

/* Formats an address as ath_address_parse() reads it. The caller frees the text. */
char *ath_address_format(const struct ath_address *address);

/* Compares the host addresses alone, without the prefix lengths. */
bool ath_address_is_same_host(const struct ath_address *a, const struct ath_address *b);

/* Compares the host addresses and the prefix lengths. */
bool ath_address_equals(const struct ath_address *a, const struct ath_address *b);

/* True if the address lies in the network that `network` and its prefix length describe. */
bool ath_address_is_within(const struct ath_address *address, const struct ath_address *network);

/* Returns the reason why no link can have this address, translated ("it is a multicast address"),
 * or NULL if a link can. Any host address of a /31, /32, /127 or /128 is allowed. The special
 * addresses are those of RFC 6890 and RFC 4291. */
const char *ath_address_unfit(const struct ath_address *address);

/* Returns the size in bytes: 4 for IPv4, 16 for IPv6. */
int ath_address_size(const struct ath_address *address);
