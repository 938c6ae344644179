/*
 * RDMA devices from sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband).
 *
 * Which netdev a port belongs to: the one its GIDs name, else the one of the same PCI function with
 * the same port number (dev_port counts from 0, RDMA ports from 1), else the function's only one. A
 * soft-RoCE device (rxe) has no hardware but names its link in `parent`.
 */
#include "config.h"

#include "roce/rdma.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pcidev.h"
#include "base/text.h"
#include "roce/gid.h"

enum { STATE_ACTIVE = 4 }; /* IB_PORT_ACTIVE: "4: ACTIVE" */

struct device {
    const char *name;
    bool has_pci;
    struct ath_pci pci;
    char *parent;         /* soft RoCE: its link */
    char *sys_image_guid; /* NULL where it is unknown or zero */
    int port_count;
};

static void device_free(struct device *device)
{
    free(device->parent);
    free(device->sys_image_guid);
}

static char *read_guid(const struct ath_root *root, const char *name)
{
    ath_auto_free char *guid = ath_root_read(root, "sys/class/infiniband/%s/sys_image_guid", name);
    return guid && guid[strspn(guid, "0:")] ? ath_steal(&guid) : NULL;
}

static void read_device(const struct ath_root *root, const char *name, struct device *out)
{
    ath_auto_free char *own = ath_root_link(root, "sys/class/infiniband/%s", name);
    ath_auto_free char *link = ath_root_link(root, "sys/class/infiniband/%s/device", name);

    *out = (struct device){ .name = name };
    out->has_pci =
        (own && ath_pci_of_path(own, &out->pci)) || (link && ath_pci_of_path(link, &out->pci));
    out->parent = ath_root_read(root, "sys/class/infiniband/%s/parent", name);
    out->sys_image_guid = read_guid(root, name);
}

/* "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)". */
static int64_t read_rate(const struct ath_root *root, const struct device *device, int port)
{
    ath_auto_free char *text =
        ath_root_read(root, "sys/class/infiniband/%s/ports/%d/rate", device->name, port);
    double gigabits;

    if (!text)
        return ATH_UNKNOWN;
    text[strcspn(text, " ")] = '\0';
    bool is_rate = !ath_parse_double(text, &gigabits) && gigabits > 0 && gigabits < 1e6;
    return is_rate ? (int64_t)(gigabits * 1000 + 0.5) : ATH_UNKNOWN;
}

static enum ath_link_layer read_layer(const struct ath_root *root, const struct device *device,
                                      int port)
{
    ath_auto_free char *text =
        ath_root_read(root, "sys/class/infiniband/%s/ports/%d/link_layer", device->name, port);
    if (text && !strcmp(text, "Ethernet"))
        return ATH_LAYER_ETHERNET;
    return text && !strcmp(text, "InfiniBand") ? ATH_LAYER_INFINIBAND : ATH_LAYER_UNKNOWN;
}

static enum ath_link_state read_state(const struct ath_root *root, const struct device *device,
                                      int port)
{
    ath_auto_free char *text =
        ath_root_read(root, "sys/class/infiniband/%s/ports/%d/state", device->name, port);
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

/* The link that the port's GIDs are on, among those of the function that start at first. */
static struct ath_port *find_by_gids(struct ath_port *first, size_t count,
                                     const struct ath_gid *gids, size_t gid_count)
{
    for (size_t i = 0; i < gid_count; i++)
        for (size_t j = 0; j < count; j++)
            if (is_free(&first[j]) && !strcmp(first[j].nic.netdev, gids[i].netdev))
                return &first[j];
    return NULL;
}

static struct ath_port *find_by_number(struct ath_port *first, size_t count,
                                       const struct device *device, int number)
{
    struct ath_port *only = NULL;

    for (size_t i = 0; i < count; i++) {
        if (is_free(&first[i]) && first[i].dev_port == number - 1)
            return &first[i];
        if (is_free(&first[i]))
            only = &first[i];
    }
    return count == 1 && device->port_count == 1 ? only : NULL;
}

static struct ath_port *find_by_name(struct ath_ports *ports, size_t sorted, const char *netdev)
{
    for (size_t i = 0; i < sorted; i++)
        if (is_free(&ports->items[i]) && !strcmp(ports->items[i].nic.netdev, netdev))
            return &ports->items[i];
    return NULL;
}

/* The port's link among the first `sorted` ports, or NULL. */
static struct ath_port *find_link(struct ath_ports *ports, size_t sorted,
                                  const struct device *device, int number,
                                  const struct ath_gid *gids, size_t gid_count)
{
    if (device->parent)
        return find_by_name(ports, sorted, device->parent);
    if (!device->has_pci)
        return NULL;

    size_t first = ath_ports_find(ports, sorted, &device->pci), count = 0;
    while (first + count < sorted && ports->items[first + count].nic.has_pci &&
           ath_pci_equals(&ports->items[first + count].nic.pci, &device->pci))
        count++;
    if (!count)
        return NULL;
    struct ath_port *link = find_by_gids(&ports->items[first], count, gids, gid_count);
    return link ? link : find_by_number(&ports->items[first], count, device, number);
}

/* The port as RDMA sees it. An InfiniBand port is up when RDMA may use it, whatever IP over
 * InfiniBand does on it; a rate counts only then, a port that is down tells a fancy one. */
static void fill_port(const struct ath_root *root, const struct device *device, int number,
                      struct ath_port *port)
{
    struct ath_nic *nic = &port->nic;
    enum ath_link_state state = read_state(root, device, number);

    nic->rdma_device = ath_xstrdup(device->name);
    nic->port = number;
    if (state != ATH_LINK_UNKNOWN &&
        (nic->link == ATH_LINK_UNKNOWN || nic->link_layer == ATH_LAYER_INFINIBAND))
        nic->link = state;
    if (nic->speed_mbps == ATH_UNKNOWN && state == ATH_LINK_UP)
        nic->speed_mbps = read_rate(root, device, number);
    if (device->sys_image_guid && device->has_pci && !port->sys_image_guid)
        port->sys_image_guid = ath_xstrdup(device->sys_image_guid);
}

static void read_port(const struct ath_root *root, const struct device *device, int number,
                      size_t sorted, struct ath_ports *ports)
{
    enum ath_link_layer layer = read_layer(root, device, number);
    struct ath_gid *gids;
    size_t gid_count;
    ath_gids_read(root, device->name, number, layer, &gids, &gid_count);

    struct ath_port *port = find_link(ports, sorted, device, number, gids, gid_count);
    if (!port && !device->has_pci) { /* soft RoCE on a link that is no hardware */
        free(gids);
        return;
    }
    if (!port) {
        port = ath_ports_add(ports);
        port->nic.has_pci = true;
        port->nic.pci = device->pci;
    }
    if (layer != ATH_LAYER_UNKNOWN)
        port->nic.link_layer = layer;
    port->nic.gids = gids;
    port->nic.gid_count = gid_count;
    fill_port(root, device, number, port);
}

static void read_ports(const struct ath_root *root, struct device *device, size_t sorted,
                       struct ath_ports *ports)
{
    ath_auto_free char *path = ath_xasprintf("sys/class/infiniband/%s/ports", device->name);
    char **names;
    size_t count;

    ath_root_list(root, path, &names, &count);
    device->port_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        int number;
        if (!ath_parse_int(names[i], 1, 255, &number))
            read_port(root, device, number, sorted, ports);
    }
    ath_names_free(names, count);
}

int ath_rdma_read(const struct ath_root *root, struct ath_ports *ports)
{
    char **names;
    size_t count, sorted = ports->count;
    int status = ath_root_list(root, "sys/class/infiniband", &names, &count);

    for (size_t i = 0; i < count; i++) {
        ATH_AUTO(device) device = { 0 };
        struct ath_pci parent;
        read_device(root, names[i], &device);
        /* A virtual function is counted at its physical one. */
        if (!device.has_pci || !ath_pcidev_is_virtual(root, &device.pci, &parent))
            read_ports(root, &device, sorted, ports);
    }
    ath_names_free(names, count);
    return status == -ENOENT || status == -ENOTDIR ? 0 : status;
}
