/* Parsing, formatting and comparing addresses. */
#include "config.h"

#include "roce/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/text.h"

int ath_address_size(const struct ath_address *address)
{
    return address->family == AF_INET6 ? 16 : 4;
}

int ath_address_parse(const char *text, struct ath_address *out, struct ath_err *err)
{
    struct ath_address address = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };
    char host[INET6_ADDRSTRLEN] = "";
    const char *slash = strchr(text, '/');
    int max = 8 * ath_address_size(&address);

    if (slash && (size_t)(slash - text) < sizeof host)
        memcpy(host, text, (size_t)(slash - text));
    if (!slash || inet_pton(address.family, host, address.bytes) != 1 ||
        ath_parse_int(slash + 1, 1, max, &address.prefix)) {
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                    _("'%s' is not an address with a prefix length"), text);
        return ath_err_hint(err, -EINVAL, _("write it like 192.168.100.10/24 or fd00::10/64"));
    }
    *out = address;
    return 0;
}

char *ath_address_format(const struct ath_address *address)
{
    char host[INET6_ADDRSTRLEN] = "?";
    inet_ntop(address->family, address->bytes, host, sizeof host);
    return ath_xasprintf("%s/%d", host, address->prefix);
}

bool ath_address_is_same_host(const struct ath_address *a, const struct ath_address *b)
{
    return a->family == b->family && !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

bool ath_address_is_within(const struct ath_address *address, const struct ath_address *network)
{
    size_t whole = (size_t)network->prefix / 8;
    int rest = network->prefix % 8;
    if (address->family != network->family || memcmp(address->bytes, network->bytes, whole))
        return false;
    return !rest || !((address->bytes[whole] ^ network->bytes[whole]) >> (8 - rest));
}

/* True if all host bits, those after the prefix, are `bit`. */
static bool is_rest(const struct ath_address *address, uint8_t bit)
{
    for (int i = address->prefix; i < 8 * ath_address_size(address); i++)
        if ((address->bytes[i / 8] >> (7 - i % 8) & 1) != bit)
            return false;
    return true;
}

static bool is_all(const struct ath_address *address, uint8_t byte)
{
    for (int i = 0; i < ath_address_size(address); i++)
        if (address->bytes[i] != byte)
            return false;
    return true;
}

static const char *unfit_v4(const struct ath_address *address)
{
    if (address->bytes[0] == 0)
        return _("it is an unspecified address");
    if (address->bytes[0] == 127)
        return _("it is a loopback address");
    if (address->bytes[0] >> 4 == 14)
        return _("it is a multicast address");
    return is_all(address, 255) ? _("it is the broadcast address") : NULL;
}

static const char *unfit_v6(const struct ath_address *address)
{
    struct ath_address loopback = { .family = AF_INET6, .bytes[15] = 1 };

    if (is_all(address, 0))
        return _("it is the unspecified address");
    if (ath_address_is_same_host(address, &loopback))
        return _("it is the loopback address");
    return address->bytes[0] == 0xff ? _("it is a multicast address") : NULL;
}

const char *ath_address_unfit(const struct ath_address *address)
{
    bool is_v6 = address->family == AF_INET6;
    const char *why = is_v6 ? unfit_v6(address) : unfit_v4(address);

    /* Point-to-point networks have no network and broadcast address (RFC 3021, RFC 6164). */
    if (why || address->prefix >= 8 * ath_address_size(address) - 1)
        return why;
    if (is_rest(address, 0))
        return is_v6 ? _("it is the anycast address of its network's routers")
                     : _("it is its network's own address");
    return !is_v6 && is_rest(address, 1) ? _("it is its network's broadcast address") : NULL;
}

bool ath_address_equals(const struct ath_address *a, const struct ath_address *b)
{
    return ath_address_is_same_host(a, b) && a->prefix == b->prefix;
}
