/*
 * Network links from sys/class/net (Documentation/ABI/testing/sysfs-class-net).
 *
 * A link with hardware has a `device`. The PCI function is the last address in its path; a virtio
 * link has its virtioN folder in between, a USB link stands below the USB controller's function,
 * which is not its own. Links of an mlx5 subfunction lie below mlx5_core.sf.N, and representors say
 * pf0vf3 or the like in phys_port_name (Documentation/networking/devlink/devlink-port.rst).
 */
#include "config.h"

#include "roce/netdev.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* ARPHRD_ETHER and ARPHRD_INFINIBAND of linux/if_arp.h: what `type` says. */
enum { TYPE_ETHERNET = 1, TYPE_INFINIBAND = 32, FLAG_UP = 1 };

static char *read_attribute(const struct ath_root *root, const char *name, const char *attribute)
{
    return ath_root_read(root, "sys/class/net/%s/%s", name, attribute);
}

static int read_number(const struct ath_root *root, const char *name, const char *attribute)
{
    int64_t number =
        ath_root_read_number(root, ATH_UNKNOWN, "sys/class/net/%s/%s", name, attribute);
    return number < 0 || number > INT_MAX ? ATH_UNKNOWN : (int)number;
}

/* pf0vf3, c1pf0sf88, pf0hpf: what a function of somebody else looks like on the card's switch. */
static bool is_representor(const struct ath_root *root, const char *name)
{
    ath_auto_free char *port = read_attribute(root, name, "phys_port_name");
    const char *text = port;

    if (!text)
        return false;
    if (*text == 'c')
        text += 1 + strspn(text + 1, "0123456789");
    if (strncmp(text, "pf", 2) || !isdigit((unsigned char)text[2]))
        return false;
    text += 2 + strspn(text + 2, "0123456789");
    return !strncmp(text, "vf", 2) || !strncmp(text, "sf", 2) || !strcmp(text, "hpf");
}

/* A partition's link (ib0.8001) is a child of another one. */
static bool is_child(const struct ath_root *root, const char *name)
{
    int index = read_number(root, name, "ifindex"), parent = read_number(root, name, "iflink");
    return index != ATH_UNKNOWN && parent != ATH_UNKNOWN && parent && index != parent;
}

/* The path of the link's device: of the link's own folder, or of `device` in a capture that has
 * plain folders; NULL for a link without hardware. The caller frees it. */
static char *device_path(const struct ath_root *root, const char *name)
{
    ath_auto_free char *own = ath_root_link(root, "sys/class/net/%s", name);
    if (own && strstr(own, "/devices/virtual/"))
        return NULL;
    if (!ath_root_exists(root, "sys/class/net/%s/device", name))
        return NULL;
    if (own && strstr(own, "/devices/"))
        return ath_steal(&own);
    char *device = ath_root_link(root, "sys/class/net/%s/device", name);
    return device ? device : ath_xstrdup("");
}

static enum ath_link_state read_state(const struct ath_root *root, const char *name)
{
    ath_auto_free char *state = read_attribute(root, name, "operstate");
    if (state && !strcmp(state, "up"))
        return ATH_LINK_UP;
    if (state && strcmp(state, "unknown"))
        return ATH_LINK_DOWN; /* down, lowerlayerdown, dormant, notpresent, testing */
    int carrier = read_number(root, name, "carrier"), flags = read_number(root, name, "flags");
    if (carrier != ATH_UNKNOWN)
        return carrier ? ATH_LINK_UP : ATH_LINK_DOWN;
    return flags != ATH_UNKNOWN && !(flags & FLAG_UP) ? ATH_LINK_DOWN : ATH_LINK_UNKNOWN;
}

/* The last part of a link's text, or NULL; the caller frees it. */
static char *link_name(const struct ath_root *root, const char *name, const char *attribute)
{
    ath_auto_free char *link = ath_root_link(root, "sys/class/net/%s/%s", name, attribute);
    const char *slash = link ? strrchr(link, '/') : NULL;
    return link ? ath_xstrdup(slash ? slash + 1 : link) : NULL;
}

static void add_port(const struct ath_root *root, const char *name, const char *path, int type,
                     struct ath_ports *ports)
{
    struct ath_port *port = ath_ports_add(ports);
    struct ath_nic *nic = &port->nic;

    nic->netdev = ath_xstrdup(name);
    nic->has_pci = !strstr(path, "/usb") && ath_pci_of_path(path, &nic->pci);
    nic->driver = link_name(root, name, "device/driver");
    nic->mac = read_attribute(root, name, "address");
    nic->mtu = read_number(root, name, "mtu");
    nic->link = read_state(root, name);
    int speed = read_number(root, name, "speed"); /* EINVAL or -1 while the link is down */
    nic->speed_mbps = speed > 0 ? speed : ATH_UNKNOWN;
    nic->link_layer = type == TYPE_INFINIBAND ? ATH_LAYER_INFINIBAND : ATH_LAYER_ETHERNET;
    nic->numa_node = read_number(root, name, "device/numa_node");
    port->dev_port = read_number(root, name, "dev_port");
    port->master = link_name(root, name, "master");
}

static void read_netdev(const struct ath_root *root, const char *name, struct ath_ports *ports)
{
    ath_auto_free char *path = device_path(root, name);
    if (!path || strstr(path, ".sf.") || is_representor(root, name))
        return;
    int type = read_number(root, name, "type");
    if (type == ATH_UNKNOWN)
        type = TYPE_ETHERNET;
    if (type == TYPE_ETHERNET || (type == TYPE_INFINIBAND && !is_child(root, name)))
        add_port(root, name, path, type, ports);
}

int ath_netdevs_read(const struct ath_root *root, struct ath_ports *ports)
{
    char **names;
    size_t count;
    int status = ath_root_list(root, "sys/class/net", &names, &count);

    for (size_t i = 0; i < count; i++)
        read_netdev(root, names[i], ports);
    ath_names_free(names, count);
    return status == -ENOENT || status == -ENOTDIR ? 0 : status;
}
