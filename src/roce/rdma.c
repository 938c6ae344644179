/*
 * RDMA devices from sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband).
 *
 * The link of a port is found in this order: the link that the port's GIDs name; the link of the
 * same PCI function with the same port number (dev_port counts from 0, RDMA ports from 1); the
 * function's only link. A soft-RoCE device (rxe) has no hardware but names its link in `parent`.
 * With RoCE LAG, one device of the first function (mlx5_bond_0) serves both links of the bond; this
 * device is tied to the first function's link.
 */
#include "config.h"

#include "roce/rdma.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "roce/gid.h"
#include "roce/kinship.h"

enum { STATE_ACTIVE = 4 }; /* IB_PORT_ACTIVE: "4: ACTIVE" */

/* A device whose ports are being read. */
struct reading {
    const struct ath_root *root;
    const struct ath_rdma_device *device;
    char *parent;         /* soft RoCE only: the device's link */
    char *sys_image_guid; /* NULL if unknown or zero */
    bool may_be_roce;     /* neither iWARP nor usNIC */
    int port_count;
    struct ath_port **links; /* links of the device's function */
    size_t link_count;
};

static void reading_free(struct reading *reading)
{
    free(reading->parent);
    free(reading->sys_image_guid);
    free(reading->links);
}

static char *read_guid(const struct ath_root *root, const char *name)
{
    ath_auto_free char *guid = ath_root_read(root, "sys/class/infiniband/%s/sys_image_guid", name);
    return guid && guid[strspn(guid, "0:")] ? ath_steal(&guid) : NULL;
}

/* Devices with node type "1: CA" speak InfiniBand or RoCE. "4: RNIC" is iWARP, "6: usNIC UDP" is
 * Cisco's usNIC (node_type_show(), drivers/infiniband/core/sysfs.c). All of them may call their
 * link layer Ethernet. */
static bool may_be_roce(const struct ath_root *root, const char *name)
{
    ath_auto_free char *type = ath_root_read(root, "sys/class/infiniband/%s/node_type", name);
    return !type || ath_starts_with(type, "1:");
}

static struct reading begin(const struct ath_root *root, const struct ath_rdma_device *device)
{
    return (struct reading){
        .root = root,
        .device = device,
        .parent = ath_root_read(root, "sys/class/infiniband/%s/parent", device->name),
        .sys_image_guid = read_guid(root, device->name),
        .may_be_roce = may_be_roce(root, device->name),
    };
}

static void list_device(const struct ath_root *root, const char *name,
                        struct ath_rdma_devices *devices)
{
    ath_auto_free char *own = ath_root_link(root, "sys/class/infiniband/%s", name);
    ath_auto_free char *link = ath_root_link(root, "sys/class/infiniband/%s/device", name);
    struct ath_rdma_device *device = ath_push(&devices->items, &devices->count, sizeof *device);

    device->name = ath_xstrdup(name);
    device->has_pci = (own && ath_pci_of_path(own, &device->pci)) ||
                      (link && ath_pci_of_path(link, &device->pci));
    device->subfunction = own ? ath_subfunction_of_path(own) : ATH_UNKNOWN;
    if (device->subfunction == ATH_UNKNOWN && link)
        device->subfunction = ath_subfunction_of_path(link);
}

int ath_rdma_list(const struct ath_root *root, struct ath_rdma_devices *out)
{
    char **names;
    size_t count;
    int status = ath_root_list(root, "sys/class/infiniband", &names, &count);

    for (size_t i = 0; i < count; i++)
        list_device(root, names[i], out);
    ath_names_free(names, count);
    return status == -ENOENT || status == -ENOTDIR ? 0 : status;
}

void ath_rdma_devices_free(struct ath_rdma_devices *devices)
{
    if (!devices)
        return;
    for (size_t i = 0; i < devices->count; i++)
        free(devices->items[i].name);
    free(devices->items);
    *devices = (struct ath_rdma_devices){ 0 };
}

static char *read_attribute(const struct reading *reading, int port, const char *attribute)
{
    return ath_root_read(reading->root, "sys/class/infiniband/%s/ports/%d/%s",
                         reading->device->name, port, attribute);
}

/* The text is "100 Gb/sec (4X EDR)" or "2.5 Gb/sec (1X SDR)". */
static int64_t read_rate(const struct reading *reading, int port)
{
    ath_auto_free char *text = read_attribute(reading, port, "rate");
    double gigabits;

    if (!text)
        return ATH_UNKNOWN;
    text[strcspn(text, " ")] = '\0';
    bool is_rate = !ath_parse_double(text, &gigabits) && gigabits > 0 && gigabits < 1e6;
    return is_rate ? (int64_t)(gigabits * 1000 + 0.5) : ATH_UNKNOWN;
}

static enum ath_link_layer read_layer(const struct reading *reading, int port)
{
    ath_auto_free char *text = read_attribute(reading, port, "link_layer");
    if (text && !strcmp(text, "Ethernet"))
        return ATH_LAYER_ETHERNET;
    return text && !strcmp(text, "InfiniBand") ? ATH_LAYER_INFINIBAND : ATH_LAYER_UNKNOWN;
}

static enum ath_link_state read_state(const struct reading *reading, int port)
{
    ath_auto_free char *text = read_attribute(reading, port, "state");
    int state;

    if (!text)
        return ATH_LINK_UNKNOWN;
    text[strcspn(text, ":")] = '\0';
    if (ath_parse_int(text, 0, 99, &state))
        return ATH_LINK_UNKNOWN;
    return state == STATE_ACTIVE ? ATH_LINK_UP : ATH_LINK_DOWN;
}

static bool is_free(const struct ath_port *port)
{
    return port->nic.netdev && !port->nic.rdma_device;
}

/* Finds the links of the device's function among the first `sorted` ports. Must run again after a
 * port was added, which moves the array. */
static void find_links(struct reading *reading, struct ath_ports *ports, size_t sorted)
{
    const struct ath_rdma_device *device = reading->device;
    size_t first = device->has_pci ? ath_ports_find(ports, sorted, &device->pci) : sorted;

    reading->link_count = 0;
    for (size_t i = first; i < sorted; i++) {
        struct ath_port *port = &ports->items[i];
        if (!port->nic.has_pci || !ath_pci_equals(&port->nic.pci, &device->pci))
            break;
        if (port->subfunction == device->subfunction)
            *(struct ath_port **)ath_push(&reading->links, &reading->link_count,
                                          sizeof *reading->links) = port;
    }
}

static struct ath_port *find_by_gids(const struct reading *reading, const struct ath_gid *gids,
                                     size_t gid_count)
{
    for (size_t i = 0; i < gid_count; i++)
        for (size_t j = 0; j < reading->link_count; j++)
            if (is_free(reading->links[j]) &&
                !strcmp(reading->links[j]->nic.netdev, gids[i].netdev))
                return reading->links[j];
    return NULL;
}

static struct ath_port *find_by_number(const struct reading *reading, int number)
{
    struct ath_port *only = NULL;

    for (size_t i = 0; i < reading->link_count; i++) {
        struct ath_port *link = reading->links[i];
        if (is_free(link) && link->dev_port == number - 1)
            return link;
        if (is_free(link))
            only = link;
    }
    return reading->link_count == 1 && reading->port_count == 1 ? only : NULL;
}

static struct ath_port *find_by_name(struct ath_ports *ports, size_t sorted, const char *netdev)
{
    for (size_t i = 0; i < sorted; i++)
        if (is_free(&ports->items[i]) && !strcmp(ports->items[i].nic.netdev, netdev))
            return &ports->items[i];
    return NULL;
}

/*
 * True for the port of a representor. In switchdev mode, the RDMA device of an mlx5 function has
 * its own port first, and then one port for each representor (drivers/infiniband/hw/mlx5/ib_rep.c).
 * Any other further port has a link of its own, or belongs to a function whose link is not an
 * uplink.
 */
static bool is_representor(const struct reading *reading, int number, enum ath_link_layer layer,
                           const struct ath_gid *gids, size_t gid_count)
{
    if (number == 1 || layer != ATH_LAYER_ETHERNET)
        return false;
    for (size_t i = 0; i < reading->link_count; i++)
        if (reading->links[i]->is_uplink)
            return true;
    for (size_t i = 0; i < gid_count; i++)
        if (gids[i].netdev[0] && ath_link_is_representor(reading->root, gids[i].netdev))
            return true;
    return false;
}

/* Fills in the RDMA view of a port. An InfiniBand port is up if RDMA may use it, whatever the
 * state of IP over InfiniBand. The rate counts only while the port is up; a port that is down
 * reports an arbitrary rate. */
static void fill_port(const struct reading *reading, int number, struct ath_port *port)
{
    struct ath_nic *nic = &port->nic;
    enum ath_link_state state = read_state(reading, number);

    nic->rdma_device = ath_xstrdup(reading->device->name);
    nic->port = number;
    nic->rdma_state = state;
    if (state != ATH_LINK_UNKNOWN &&
        (nic->link == ATH_LINK_UNKNOWN || nic->link_layer == ATH_LAYER_INFINIBAND))
        nic->link = state;
    if (nic->speed_mbps == ATH_UNKNOWN && state == ATH_LINK_UP)
        nic->speed_mbps = read_rate(reading, number);
    if (reading->sys_image_guid && reading->device->has_pci && !port->sys_image_guid)
        port->sys_image_guid = ath_xstrdup(reading->sys_image_guid);
}

static struct ath_port *add_port(const struct reading *reading, struct ath_ports *ports)
{
    struct ath_port *port = ath_ports_add(ports);

    port->nic.has_pci = true;
    port->nic.pci = reading->device->pci;
    port->subfunction = reading->device->subfunction;
    return port;
}

static void read_port(struct reading *reading, int number, size_t sorted, struct ath_ports *ports)
{
    const struct ath_rdma_device *device = reading->device;
    enum ath_link_layer layer = read_layer(reading, number);
    ath_auto_free struct ath_gid *gids = NULL;
    size_t gid_count = 0;
    bool has_table = (reading->may_be_roce || layer == ATH_LAYER_INFINIBAND) &&
                     ath_gids_read(reading->root, device->name, number, layer, &gids, &gid_count);

    find_links(reading, ports, sorted);
    struct ath_port *port = reading->parent ? find_by_name(ports, sorted, reading->parent)
                                            : find_by_gids(reading, gids, gid_count);
    if (!port && !reading->parent)
        port = find_by_number(reading, number);
    if (!port && (!device->has_pci || is_representor(reading, number, layer, gids, gid_count))) {
        ath_log(ATH_LOG_DEBUG,
                _("sys/class/infiniband/%s/ports/%d is not a port of a network card"), device->name,
                number);
        return;
    }
    if (!port)
        port = add_port(reading, ports);
    if (layer != ATH_LAYER_UNKNOWN)
        port->nic.link_layer = layer;
    port->nic.has_roce = has_table && layer == ATH_LAYER_ETHERNET;
    port->nic.gids = ath_steal(&gids);
    port->nic.gid_count = gid_count;
    fill_port(reading, number, port);
}

static void read_ports(const struct ath_root *root, const struct ath_rdma_device *device,
                       size_t sorted, struct ath_ports *ports)
{
    ath_auto_free char *path = ath_xasprintf("sys/class/infiniband/%s/ports", device->name);
    ATH_AUTO(reading) reading = begin(root, device);
    char **names;
    size_t count;

    ath_root_list(root, path, &names, &count);
    reading.port_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        int number;
        if (!ath_parse_int(names[i], 1, 255, &number))
            read_port(&reading, number, sorted, ports);
    }
    ath_names_free(names, count);
}

void ath_rdma_read(const struct ath_root *root, const struct ath_rdma_devices *devices,
                   struct ath_ports *ports)
{
    size_t sorted = ports->count;

    for (size_t i = 0; i < devices->count; i++)
        if (!devices->items[i].is_folded)
            read_ports(root, &devices->items[i], sorted, ports);
}
