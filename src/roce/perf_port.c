/*
 * Ports from sys/class/infiniband, and a link's IPv6 addresses from proc/net/if_inet6. The fifth
 * column there has the flags (net/ipv6/addrconf.c, if6_seq_show): IFA_F_TENTATIVE 0x40,
 * IFA_F_DADFAILED 0x08 of linux/if_addr.h.
 */
#include "config.h"

#include "roce/perf_port.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/gid.h"

void ath_perf_ports_free(struct ath_perf_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(ports[i].device);
        free(ports[i].netdev);
    }
    free(ports);
}

static bool is_active(const struct ath_root *root, const char *device, int port)
{
    ath_auto_free char *state =
        ath_root_read(root, "sys/class/infiniband/%s/ports/%d/state", device, port);
    return state && ath_starts_with(state, "4:"); /* IB_PORT_ACTIVE */
}

static enum ath_link_layer layer_of(const struct ath_root *root, const char *device, int port)
{
    ath_auto_free char *text =
        ath_root_read(root, "sys/class/infiniband/%s/ports/%d/link_layer", device, port);
    if (text && !strcmp(text, "Ethernet"))
        return ATH_LAYER_ETHERNET;
    return text && !strcmp(text, "InfiniBand") ? ATH_LAYER_INFINIBAND : ATH_LAYER_UNKNOWN;
}

/* A soft device names its link in `parent`. The link of a hardware port comes from the list of
 * cards. */
static char *netdev_of(const struct ath_root *root, const struct ath_nic *nics, size_t nic_count,
                       const char *device, int port)
{
    ath_auto_free char *parent = ath_root_read(root, "sys/class/infiniband/%s/parent", device);
    if (parent && *parent)
        return ath_steal(&parent);
    for (size_t i = 0; i < nic_count; i++)
        if (nics[i].rdma_device && !strcmp(nics[i].rdma_device, device) && nics[i].port == port)
            return ath_xstrdup(nics[i].netdev);
    return NULL;
}

static void read_device(const struct ath_root *root, const struct ath_nic *nics, size_t nic_count,
                        const char *device, struct ath_perf_port **ports, size_t *count)
{
    ath_auto_free char *path = ath_xasprintf("sys/class/infiniband/%s/ports", device);
    char **names;
    size_t name_count;

    ath_root_list(root, path, &names, &name_count);
    for (size_t i = 0; i < name_count; i++) {
        int number;
        if (ath_parse_int(names[i], 1, 255, &number))
            continue;
        *(struct ath_perf_port *)ath_push(ports, count, sizeof **ports) = (struct ath_perf_port){
            .device = ath_xstrdup(device),
            .port = number,
            .is_active = is_active(root, device, number),
            .link_layer = layer_of(root, device, number),
            .netdev = netdev_of(root, nics, nic_count, device, number),
        };
    }
    ath_names_free(names, name_count);
}

int ath_perf_ports_read(const struct ath_root *root, struct ath_perf_port **out, size_t *out_count,
                        struct ath_err *err)
{
    ATH_AUTO(ath_nic_others) others = { 0 };
    struct ath_nic *nics;
    size_t nic_count, name_count;
    char **names;
    int status = ath_nic_read(root, &nics, &nic_count, &others, err);
    if (status)
        return status;

    *out = NULL;
    *out_count = 0;
    ath_root_list(root, "sys/class/infiniband", &names, &name_count);
    for (size_t i = 0; i < name_count; i++)
        read_device(root, nics, nic_count, names[i], out, out_count);
    ath_names_free(names, name_count);
    for (size_t i = 0; i < nic_count; i++)
        ath_nic_free(&nics[i]);
    free(nics);
    if (*out_count)
        return 0;
    ath_err_set(err, -ENODEV, ATH_E_NO_RDMA, _("there is no RDMA device on this machine"));
    return ath_err_hint(err, -ENODEV,
                        _("load the card's driver (modprobe mlx5_ib), or make a soft-RoCE device: "
                          "rdma link add rxe0 type rxe netdev IFACE"));
}

/* True if name is "DEVICE", "DEVICE:PORT" or the port's link. */
static bool is_named(const struct ath_perf_port *port, const char *name)
{
    size_t length = strlen(port->device);
    int number;

    if (port->netdev && !strcmp(port->netdev, name))
        return true;
    if (strncmp(port->device, name, length))
        return false;
    return !name[length] ||
           (name[length] == ':' && !ath_parse_int(name + length + 1, 1, 255, &number) &&
            number == port->port);
}

static const struct ath_perf_port *find_named(const struct ath_perf_port *ports, size_t count,
                                              const char *name, struct ath_err *err)
{
    ATH_AUTO(ath_text) list = { 0 };

    for (size_t i = 0; i < count; i++)
        if (is_named(&ports[i], name))
            return &ports[i];
    for (size_t i = 0; i < count; i++)
        if (!i || strcmp(ports[i].device, ports[i - 1].device))
            ath_text_add(&list, "%s%s", i ? ", " : "", ports[i].device);
    ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND, _("there is no RDMA device '%s'"), name);
    ath_err_hint(err, -ENODEV, _("RDMA devices: %s"), list.data ? list.data : "");
    return NULL;
}

static const struct ath_perf_port *find_active(const struct ath_perf_port *ports, size_t count,
                                               enum ath_link_layer layer,
                                               const struct ath_perf_port *other)
{
    for (size_t i = 0; i < count; i++)
        if (ports[i].is_active && ports[i].link_layer == layer && &ports[i] != other)
            return &ports[i];
    return NULL;
}

const struct ath_perf_port *ath_perf_port_choose(const struct ath_perf_port *ports, size_t count,
                                                 const char *name,
                                                 const struct ath_perf_port *other,
                                                 struct ath_err *err)
{
    const struct ath_perf_port *port = NULL;

    if (name)
        return find_named(ports, count, name, err);
    if (other)
        port = find_active(ports, count, other->link_layer, other);
    else {
        port = find_active(ports, count, ATH_LAYER_ETHERNET, NULL);
        port = port ? port : find_active(ports, count, ATH_LAYER_INFINIBAND, NULL);
    }
    if (port)
        return port;
    if (other) {
        ath_err_set(err, -ENODEV, ATH_E_NO_RDMA, _("there is no active RDMA port besides '%s'"),
                    other->device);
        ath_err_hint(err, -ENODEV,
                     _("test against another host (--server there, --peer HOST here), or name a "
                       "port with --peer-device"));
    } else {
        ath_err_set(err, -ENODEV, ATH_E_RDMA_NOT_READY,
                    _("no RDMA port of this machine is active"));
        ath_err_hint(err, -ENODEV, "ip link set IFACE up; aitherion discover");
    }
    return NULL;
}

/* Returns the flags in one line of if_inet6, or 0 if the line is about another link. The columns
 * are: address, link number, prefix length, scope, flags (hexadecimal without 0x), link name. */
static unsigned line_flags(char *line, const char *netdev)
{
    enum { FLAGS = 4, NAME = 5, COLUMNS = 6 };
    char *columns[COLUMNS] = { NULL }, *place = NULL;
    uint64_t flags;

    columns[0] = strtok_r(line, " ", &place);
    for (size_t i = 1; i < COLUMNS && columns[i - 1]; i++)
        columns[i] = strtok_r(NULL, " ", &place);
    bool is_right = columns[NAME] && !strcmp(columns[NAME], netdev) &&
                    !ath_parse_u64(columns[FLAGS], 16, &flags);
    return is_right ? (unsigned)flags : 0;
}

/* Returns the flags of all tentative addresses of the link, or'ed together. */
static unsigned tentative_flags(const struct ath_root *root, const char *netdev)
{
    ath_auto_free char *text = ath_root_read(root, "proc/net/if_inet6");
    unsigned all = 0;

    for (char *rest = text, *line; rest && (line = strsep(&rest, "\n"));) {
        unsigned flags = line_flags(line, netdev);
        if (flags & IFA_F_TENTATIVE)
            all |= flags;
    }
    return all;
}

static int not_active(const struct ath_perf_port *port, struct ath_err *err)
{
    ath_err_set(err, -EAGAIN, ATH_E_RDMA_NOT_READY, _("port %d of '%s' is not active"), port->port,
                port->device);
    if (port->netdev)
        return ath_err_hint(
            err, -EAGAIN,
            _("ip link set %s up; then check the cable and the port at its other end"),
            port->netdev);
    return ath_err_hint(err, -EAGAIN,
                        _("check the cable, the port at its other end and the subnet manager"));
}

int ath_perf_port_ready(const struct ath_root *root, const struct ath_perf_port *port,
                        struct ath_err *err)
{
    if (!is_active(root, port->device, port->port))
        return not_active(port, err);
    unsigned flags = port->netdev ? tentative_flags(root, port->netdev) : 0;
    if (!flags)
        return 0;
    ath_err_set(err, -EAGAIN, ATH_E_RDMA_NOT_READY,
                flags & IFA_F_DADFAILED
                    ? _("another host has an IPv6 address of '%s', so RDMA cannot connect")
                    : _("duplicate address detection still runs on '%s', and RDMA cannot connect "
                        "before it ends"),
                port->netdev);
    return ath_err_hint(err, -EAGAIN, "ip -6 address show dev %s", port->netdev);
}

static bool is_link_local(const struct ath_gid *gid)
{
    return ath_starts_with(gid->address, "fe80:");
}

static const struct ath_gid *find_link_local(const struct ath_gid *gids, size_t count,
                                             const char *netdev)
{
    for (size_t i = 0; i < count; i++)
        if (gids[i].is_usable && gids[i].type == ATH_GID_ROCE_V2 && is_link_local(&gids[i]) &&
            (!netdev || !strcmp(gids[i].netdev, netdev)))
            return &gids[i];
    return NULL;
}

static const struct ath_gid *find_index(const struct ath_gid *gids, size_t count, int index)
{
    for (size_t i = 0; i < count; i++)
        if (gids[i].index == index)
            return &gids[i];
    return NULL;
}

/* Accepts the GID of any link: in a network namespace, only GIDs of links there are usable. */
static const struct ath_gid *find_any(const struct ath_root *root, const struct ath_gid *gids,
                                      size_t count, enum ath_link_layer layer)
{
    const struct ath_gid *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct ath_gid *gid = ath_gid_best(root, gids, count, layer, gids[i].netdev);
        if (gid && (!best || (gid->is_ipv4_mapped && !best->is_ipv4_mapped)))
            best = gid;
    }
    return best;
}

static void list_indexes(const struct ath_gid *gids, size_t count, struct ath_text *out)
{
    for (size_t i = 0; i < count; i++)
        if (gids[i].is_usable)
            ath_text_add(out, "%s%d", out->length ? ", " : "", gids[i].index);
}

static int no_gid(const struct ath_perf_port *port, int index, const struct ath_gid *gids,
                  size_t count, struct ath_err *err)
{
    ATH_AUTO(ath_text) usable = { 0 };

    list_indexes(gids, count, &usable);
    if (index == ATH_UNKNOWN)
        ath_err_set(err, -EADDRNOTAVAIL, ATH_E_GID_UNUSABLE, _("port %d of '%s' has no usable GID"),
                    port->port, port->device);
    else
        ath_err_set(err, -EADDRNOTAVAIL, ATH_E_GID_UNUSABLE,
                    _("port %d of '%s' has no usable GID with index %d"), port->port, port->device,
                    index);
    if (usable.length)
        return ath_err_hint(err, -EADDRNOTAVAIL, _("usable indexes: %s"), usable.data);
    return ath_err_hint(err, -EADDRNOTAVAIL,
                        _("GIDs are made of the link's addresses; add one: ip address add "
                          "ADDRESS/PREFIX dev %s"),
                        port->netdev ? port->netdev : "IFACE");
}

int ath_perf_gid_choose(const struct ath_root *root, const struct ath_perf_port *port,
                        const struct ath_gid_wish *wish, struct ath_gid *out, struct ath_err *err)
{
    ath_auto_free struct ath_gid *gids = NULL;
    const struct ath_gid *gid = NULL;
    size_t count;

    if (port->link_layer == ATH_LAYER_INFINIBAND && wish->index == ATH_UNKNOWN) {
        *out = (struct ath_gid){ .index = ATH_UNKNOWN };
        return 0;
    }
    ath_gids_read(root, port->device, port->port, port->link_layer, &gids, &count);
    if (wish->index != ATH_UNKNOWN)
        gid = find_index(gids, count, wish->index);
    else if (wish->is_link_local)
        gid = find_link_local(gids, count, port->netdev);
    if (!gid && wish->index == ATH_UNKNOWN)
        gid = ath_gid_best(root, gids, count, port->link_layer, port->netdev);
    if (!gid && wish->index == ATH_UNKNOWN)
        gid = find_any(root, gids, count, port->link_layer);
    if (!gid || !gid->is_usable)
        return no_gid(port, wish->index, gids, count, err);
    *out = *gid;
    return 0;
}
