/* An internet address with the length of its network's prefix. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ath_address {
    int family;        /* AF_INET, AF_INET6 */
    uint8_t bytes[16]; /* network order; IPv4 uses the first four, the rest is zero */
    int prefix;
    /* As the kernel has it; false for one that was parsed: */
    bool is_tentative;  /* IPv6: another host may have it, which is being asked (RFC 4862) */
    bool is_duplicate;  /* IPv6: another host has it */
    bool is_permanent;  /* set by somebody, and not learnt from a router */
    bool is_link_local; /* fe80::/64 and the like, which the kernel gives by itself */
};

/* "192.168.100.10/24", "fd00::1/64"; the prefix must be there. Returns 0, or -EINVAL
 * "value-invalid" with err. */
int ath_address_parse(const char *text, struct ath_address *out, struct ath_err *err);

/* The reverse; the caller frees it. */
char *ath_address_format(const struct ath_address *address);

/* The same host address, whatever the prefix. */
bool ath_address_is_same_host(const struct ath_address *a, const struct ath_address *b);

/* The same host address and prefix. */
bool ath_address_equals(const struct ath_address *a, const struct ath_address *b);

/* True where the address belongs to the network that `network` has by its prefix. */
bool ath_address_is_within(const struct ath_address *address, const struct ath_address *network);

/* Why no link can have it as its own, translated ("it is a multicast address"); NULL where one can:
 * then of a /31, /32, /127 or /128 any. The special ones are those of RFC 6890 and RFC 4291. */
const char *ath_address_unfit(const struct ath_address *address);

/* 4 or 16 bytes. */
int ath_address_size(const struct ath_address *address);
