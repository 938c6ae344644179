/* Finding a link's GID among those of all RDMA devices. */
#include "config.h"

#include "roce/link_gid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "roce/gid.h"
#include "roce/rdma_netlink.h"

enum { GID_TEXT = 40 };

/* Formats a GID as the kernel prints it; IPv4 is mapped (::ffff:a.b.c.d). */
static void format_gid(const struct ath_address *address, char out[GID_TEXT])
{
    uint8_t bytes[16] = { [10] = 0xff, [11] = 0xff };
    if (address->family == AF_INET)
        memcpy(bytes + 12, address->bytes, 4);
    else
        memcpy(bytes, address->bytes, sizeof bytes);
    for (size_t i = 0; i < 8; i++)
        snprintf(out + 5 * i, 6, "%02x%02x%s", bytes[2 * i], bytes[2 * i + 1], i < 7 ? ":" : "");
}

/* A higher rank is better. 0 means that the GID does not match. */
static int rank(const struct ath_gid *gid, const char *link, const char *wanted)
{
    if (strcmp(gid->netdev, link) || (wanted && strcmp(gid->address, wanted)))
        return 0;
    return 1 + 4 * (gid->type == ATH_GID_ROCE_V2) + 2 * !ath_starts_with(gid->address, "fe80:") +
           gid->is_ipv4_mapped;
}

static bool find_in_port(const struct ath_root *root, const char *device, int port,
                         const char *link, const char *wanted, struct ath_gid *out)
{
    ath_auto_free struct ath_gid *gids = NULL;
    size_t count;
    int best = 0;

    ath_gids_read(root, device, port, ATH_LAYER_ETHERNET, &gids, &count);
    for (size_t i = 0; i < count; i++)
        if (rank(&gids[i], link, wanted) > best) {
            best = rank(&gids[i], link, wanted);
            *out = gids[i];
        }
    return best > 0;
}

enum ath_link_gid_state ath_link_gid_find(const struct ath_root *root, const char *link,
                                          const char *parent, const struct ath_address *address,
                                          struct ath_link_gid *out)
{
    ATH_AUTO(ath_nldevs) devices = { 0 };
    enum ath_link_gid_state state = ATH_LINK_GID_NO_DEVICE;
    char wanted[GID_TEXT];
    struct ath_gid gid;

    if (address)
        format_gid(address, wanted);
    ath_nldevs_read(root, &devices, NULL);
    for (size_t i = 0; i < devices.count; i++)
        for (size_t j = 0; j < devices.items[i].port_count; j++) {
            const struct ath_nldev_port *port = &devices.items[i].ports[j];
            bool is_parents = !strcmp(port->netdev, parent);
            bool is_found = find_in_port(root, devices.items[i].name, port->number, link,
                                         address ? wanted : NULL, &gid);
            if (!is_found && (!is_parents || state != ATH_LINK_GID_NO_DEVICE))
                continue;
            *out = (struct ath_link_gid){ .port = port->number };
            snprintf(out->device, sizeof out->device, "%s", devices.items[i].name);
            if (is_found)
                out->gid = gid;
            state = is_found ? ATH_LINK_GID_FOUND : ATH_LINK_GID_MISSING;
            if (is_found && is_parents)
                return state;
        }
    return state;
}
