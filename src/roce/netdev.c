/*
 * Network links from sys/class/net (Documentation/ABI/testing/sysfs-class-net).
 *
 * A hardware link has a `device`, and is not below devices/virtual. Its PCI function is the last
 * PCI address in the path of the device. A virtio link has a virtioN folder in between. A USB link
 * lies below the USB controller's function, which is not the link's own function.
 */
#include "config.h"

#include "roce/netdev.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "roce/kinship.h"

/* ARPHRD_ETHER and ARPHRD_INFINIBAND of linux/if_arp.h, as in the file `type`; IFF_UP. */
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

/* The link of an InfiniBand partition (ib0.8001) is a child of another link. */
static bool is_child(const struct ath_root *root, const char *name)
{
    int index = read_number(root, name, "ifindex"), parent = read_number(root, name, "iflink");
    return index != ATH_UNKNOWN && parent != ATH_UNKNOWN && parent && index != parent;
}

/* Returns the path of the link's device: the target of the link's own folder, or of `device` if
 * a capture has plain folders. Returns NULL for a link without hardware. The caller frees the
 * path. */
static char *device_path(const struct ath_root *root, const char *name)
{
    ath_auto_free char *own = ath_root_link(root, "sys/class/net/%s", name);
    if (own && strstr(own, "/devices/virtual/"))
        return NULL;
    if (own && strstr(own, "/devices/"))
        return ath_steal(&own); /* a capture may lack `device` */
    if (!ath_root_exists(root, "sys/class/net/%s/device", name))
        return NULL;
    char *device = ath_root_link(root, "sys/class/net/%s/device", name);
    return device ? device : ath_xstrdup("");
}

static enum ath_link_state read_state(const struct ath_root *root, const char *name)
{
    ath_auto_free char *state = read_attribute(root, name, "operstate");
    if (state && !strcmp(state, "up"))
        return ATH_LINK_UP;
    if (state && strcmp(state, "unknown"))
        return ATH_LINK_DOWN; /* also lowerlayerdown, dormant, notpresent, testing */
    int carrier = read_number(root, name, "carrier"), flags = read_number(root, name, "flags");
    if (carrier != ATH_UNKNOWN)
        return carrier ? ATH_LINK_UP : ATH_LINK_DOWN;
    return flags != ATH_UNKNOWN && !(flags & FLAG_UP) ? ATH_LINK_DOWN : ATH_LINK_UNKNOWN;
}

/* Returns the last component of a symbolic link's target, or NULL. The caller frees the name. */
static char *link_name(const struct ath_root *root, const char *name, const char *attribute)
{
    ath_auto_free char *link = ath_root_link(root, "sys/class/net/%s/%s", name, attribute);
    const char *slash = link ? strrchr(link, '/') : NULL;
    return link ? ath_xstrdup(slash ? slash + 1 : link) : NULL;
}

static void add_port(const struct ath_root *root, const char *name, const char *path, int type,
                     const char *port_name, struct ath_ports *ports)
{
    struct ath_port *port = ath_ports_add(ports);
    struct ath_nic *nic = &port->nic;

    nic->netdev = ath_xstrdup(name);
    nic->has_pci = !strstr(path, "/usb") && ath_pci_of_path(path, &nic->pci);
    nic->driver = link_name(root, name, "device/driver");
    nic->mac = read_attribute(root, name, "address");
    nic->mtu = read_number(root, name, "mtu");
    nic->link = read_state(root, name);
    int speed = read_number(root, name, "speed"); /* reads EINVAL or -1 while the link is down */
    nic->speed_mbps = speed > 0 ? speed : ATH_UNKNOWN;
    nic->link_layer = type == TYPE_INFINIBAND ? ATH_LAYER_INFINIBAND : ATH_LAYER_ETHERNET;
    nic->numa_node = read_number(root, name, "device/numa_node");
    port->dev_port = read_number(root, name, "dev_port");
    nic->master = ath_link_master(root, name);
    port->subfunction = ath_subfunction_of_path(path);
    port->is_uplink = ath_port_name_is_uplink(port_name);
}

/* Returns false if the link is not a port of a network card. */
static bool read_netdev(const struct ath_root *root, const char *name, struct ath_ports *ports)
{
    ath_auto_free char *path = device_path(root, name);
    ath_auto_free char *port_name = path ? read_attribute(root, name, "phys_port_name") : NULL;

    if (!path || ath_port_name_is_representor(port_name))
        return false;
    int type = read_number(root, name, "type");
    if (type == ATH_UNKNOWN)
        type = TYPE_ETHERNET;
    if (type != TYPE_ETHERNET && (type != TYPE_INFINIBAND || is_child(root, name)))
        return false;
    add_port(root, name, path, type, port_name, ports);
    return true;
}

int ath_netdevs_read(const struct ath_root *root, struct ath_ports *ports)
{
    char **names;
    size_t count;
    int status = ath_root_list(root, "sys/class/net", &names, &count);

    for (size_t i = 0; i < count; i++)
        if (!read_netdev(root, names[i], ports))
            ath_log(ATH_LOG_DEBUG, _("sys/class/net/%s is not a port of a network card"), names[i]);
    ath_names_free(names, count);
    return status == -ENOENT || status == -ENOTDIR ? 0 : status;
}
