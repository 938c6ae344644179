/*
 * Connected IPv4 subnets from proc/net/route.
 *
 * A line is: link, destination, gateway, flags, references, uses, metric, mask... Addresses are
 * hexadecimal words in the machine's own byte order (net/ipv4/fib_trie.c, fib_route_seq_show). A
 * route without a gateway is a connected route.
 */
#include "config.h"

#include "roce/route.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

enum { FLAG_UP = 0x1, FLAG_REJECT = 0x200 }; /* RTF_UP, RTF_REJECT of linux/route.h */

struct route {
    const char *link;
    struct in_addr destination;
    int prefix;
};

/* Splits a line at spaces and tabs. Returns the number of fields, at most max. */
static size_t split(char *line, char **fields, size_t max)
{
    size_t count = 0;
    char *rest = line;
    for (char *field; count < max && (field = strsep(&rest, " \t"));)
        if (*field)
            fields[count++] = field;
    return count;
}

/* Returns false unless the line is a route to a connected subnet. */
static bool parse_route(char *line, struct route *out)
{
    enum { LINK, DESTINATION, GATEWAY, FLAGS, MASK = 7, FIELDS };
    char *fields[FIELDS];
    uint64_t destination, gateway, flags, mask;

    if (split(line, fields, FIELDS) < FIELDS ||
        ath_parse_u64(fields[DESTINATION], 16, &destination) ||
        ath_parse_u64(fields[GATEWAY], 16, &gateway) || ath_parse_u64(fields[FLAGS], 16, &flags) ||
        ath_parse_u64(fields[MASK], 16, &mask))
        return false;
    if (gateway || !(flags & FLAG_UP) || (flags & FLAG_REJECT) || !mask || mask >= UINT32_MAX ||
        destination > UINT32_MAX)
        return false;
    out->link = fields[LINK];
    out->destination.s_addr = (in_addr_t)destination;
    out->prefix = __builtin_popcount((unsigned)mask);
    return true;
}

/* The subnets of a bond or bridge count for each of its parts. */
static bool is_behind(const struct ath_nic *nic, const char *link)
{
    return (nic->netdev && !strcmp(nic->netdev, link)) ||
           (nic->master && !strcmp(nic->master, link));
}

static void add_subnet(struct ath_nic *nic, const struct route *route)
{
    char address[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &route->destination, address, sizeof address);
    char *text = ath_xasprintf("%s/%d", address, route->prefix);

    for (size_t i = 0; i < nic->subnet_count; i++)
        if (!strcmp(nic->subnets[i], text)) { /* the same route with another metric */
            free(text);
            return;
        }
    *(char **)ath_push(&nic->subnets, &nic->subnet_count, sizeof *nic->subnets) = text;
}

void ath_subnets_read(const struct ath_root *root, struct ath_ports *ports)
{
    /* proc/net is a symbolic link to self/net; in a capture, self may point nowhere. */
    ath_auto_free char *text = ath_root_read(root, "proc/net/route");
    if (!text)
        text = ath_root_read(root, "proc/self/net/route");
    char *rest = text;

    for (char *line; text && (line = strsep(&rest, "\n"));) {
        struct route route;
        if (!parse_route(line, &route))
            continue;
        for (size_t i = 0; i < ports->count; i++)
            if (is_behind(&ports->items[i].nic, route.link))
                add_subnet(&ports->items[i].nic, &route);
    }
}
