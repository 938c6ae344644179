/*
 * Network cards: the ports of links, of RDMA devices and of bare PCI functions, put together.
 *
 * Class 02xx is a network controller, 0207 one that came up in InfiniBand mode (PCI Code and ID
 * Assignment Specification, 1.3).
 */
#include "config.h"

#include "roce/nic.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/pci_names.h"
#include "base/pcidev.h"
#include "roce/card.h"
#include "roce/gid.h"
#include "roce/netdev.h"
#include "roce/port.h"
#include "roce/rdma.h"
#include "roce/route.h"

enum { CLASS_NETWORK = 0x02, CLASS_INFINIBAND = 0x0207, CLASS_ETHERNET = 0x0200 };

void ath_nic_init(struct ath_nic *nic)
{
    *nic = (struct ath_nic){
        .vendor_id = ATH_UNKNOWN,
        .device_id = ATH_UNKNOWN,
        .numa_node = ATH_UNKNOWN,
        .speed_mbps = ATH_UNKNOWN,
        .mtu = ATH_UNKNOWN,
        .port = ATH_UNKNOWN,
        .vfs = ATH_UNKNOWN,
        .best_gid_index = ATH_UNKNOWN,
    };
}

void ath_nic_free(struct ath_nic *nic)
{
    if (!nic)
        return;
    char *texts[] = { nic->place, nic->model,       nic->netdev, nic->driver,
                      nic->mac,   nic->rdma_device, nic->card };
    for (size_t i = 0; i < ATH_COUNT(texts); i++)
        free(texts[i]);
    for (size_t i = 0; i < nic->subnet_count; i++)
        free(nic->subnets[i]);
    free(nic->subnets);
    free(nic->gids);
    *nic = (struct ath_nic){ 0 };
}

static int compare_texts(const char *a, const char *b)
{
    return strverscmp(a ? a : "", b ? b : "");
}

int ath_nic_compare(const struct ath_nic *a, const struct ath_nic *b)
{
    if (a->has_pci != b->has_pci)
        return a->has_pci ? -1 : 1;
    int order = a->has_pci ? ath_pci_compare(&a->pci, &b->pci) : 0;
    if (!order)
        order = (a->port > b->port) - (a->port < b->port);
    if (!order)
        order = compare_texts(a->netdev, b->netdev);
    return order ? order : compare_texts(a->rdma_device, b->rdma_device);
}

/* A network function, and how it stands to its virtual or physical ones. */
struct function {
    struct ath_pci address;
    int class;
    bool is_virtual;
    int vfs; /* that name it as their physical function */
};

struct functions {
    struct function *items;
    size_t count;
};

static void functions_free(struct functions *functions)
{
    free(functions->items);
}

static struct function *find_function(const struct functions *functions,
                                      const struct ath_pci *address)
{
    size_t low = 0, high = functions->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = ath_pci_compare(&functions->items[middle].address, address);
        if (!order)
            return &functions->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void read_functions(const struct ath_root *root, struct functions *out)
{
    ath_auto_free struct ath_pcidev *devices;
    size_t count;
    ath_pcidev_list(root, &devices, &count); /* a machine may have no PCI at all */

    for (size_t i = 0; i < count; i++)
        if (devices[i].class >= 0 && devices[i].class >> 8 == CLASS_NETWORK) {
            struct function *function = ath_push(&out->items, &out->count, sizeof *function);
            function->address = devices[i].address;
            function->class = devices[i].class;
        }
    for (size_t i = 0; i < out->count; i++) {
        struct ath_pci parent;
        out->items[i].is_virtual = ath_pcidev_is_virtual(root, &out->items[i].address, &parent);
        struct function *physical = out->items[i].is_virtual ? find_function(out, &parent) : NULL;
        if (physical)
            physical->vfs++;
    }
}

/* A port for every network function that neither a link nor an RDMA device has. */
static void add_bare_functions(const struct functions *functions, struct ath_ports *ports)
{
    size_t sorted = ports->count;

    for (size_t i = 0; i < functions->count; i++) {
        const struct function *function = &functions->items[i];
        if (function->is_virtual || ath_ports_find(ports, sorted, &function->address) < sorted)
            continue;
        struct ath_port *port = ath_ports_add(ports);
        port->nic.has_pci = true;
        port->nic.pci = function->address;
        if (function->class == CLASS_ETHERNET)
            port->nic.link_layer = ATH_LAYER_ETHERNET;
        if (function->class == CLASS_INFINIBAND)
            port->nic.link_layer = ATH_LAYER_INFINIBAND;
    }
}

/* Drops the links of virtual functions: they are counted at their physical ones. */
static void drop_virtual(const struct functions *functions, struct ath_ports *ports)
{
    struct ath_ports kept = { 0 }, dropped = { 0 };

    for (size_t i = 0; i < ports->count; i++) {
        const struct ath_nic *nic = &ports->items[i].nic;
        const struct function *function = nic->has_pci ? find_function(functions, &nic->pci) : NULL;
        *ath_ports_add(function && function->is_virtual ? &dropped : &kept) = ports->items[i];
    }
    ath_ports_free(&dropped);
    free(ports->items);
    *ports = kept;
}

/* What the PCI function tells about its port. */
static void fill_from_pci(const struct ath_root *root, const struct functions *functions,
                          struct ath_nic *nic)
{
    const struct function *function = find_function(functions, &nic->pci);
    int vfs = ath_pcidev_number(root, &nic->pci, "sriov_numvfs");

    nic->vendor_id = ath_pcidev_number(root, &nic->pci, "vendor");
    nic->device_id = ath_pcidev_number(root, &nic->pci, "device");
    nic->model = ath_xstrdup(ath_pci_name(nic->vendor_id, nic->device_id));
    nic->place = ath_pcidev_place(root, &nic->pci);
    nic->numa_node = ath_pcidev_number(root, &nic->pci, "numa_node");
    if (!nic->driver)
        nic->driver = ath_pcidev_driver(root, &nic->pci);
    nic->vfs = vfs != ATH_UNKNOWN ? vfs : function ? function->vfs : 0;
}

static void fill_port(const struct ath_root *root, const struct functions *functions,
                      struct ath_port *port)
{
    struct ath_nic *nic = &port->nic;

    if (nic->has_pci)
        fill_from_pci(root, functions, nic);
    const struct ath_gid *best =
        ath_gid_best(nic->gids, nic->gid_count, nic->link_layer, nic->netdev, port->master);
    if (best)
        nic->best_gid_index = best->index;
}

static int read_ports(const struct ath_root *root, struct ath_ports *ports)
{
    ATH_AUTO(functions) functions = { 0 };
    read_functions(root, &functions);

    int status = ath_netdevs_read(root, ports);
    drop_virtual(&functions, ports);
    ath_ports_sort(ports);
    int rdma_status = ath_rdma_read(root, ports);
    ath_ports_sort(ports);
    add_bare_functions(&functions, ports);
    ath_ports_sort(ports);

    for (size_t i = 0; i < ports->count; i++)
        fill_port(root, &functions, &ports->items[i]);
    ath_cards_group(root, ports);
    ath_subnets_read(root, ports);
    return status ? status : rdma_status;
}

int ath_nic_read(const struct ath_root *root, struct ath_nic **out, size_t *out_count,
                 struct ath_err *err)
{
    ATH_AUTO(ath_ports) ports = { 0 };
    int status = read_ports(root, &ports);
    if (status)
        return ath_err_system(err, status, _("cannot read the network links in '%s'"), root->path);

    struct ath_nic *nics = NULL;
    size_t count = 0;
    for (size_t i = 0; i < ports.count; i++) {
        *(struct ath_nic *)ath_push(&nics, &count, sizeof *nics) = ports.items[i].nic;
        ports.items[i].nic = (struct ath_nic){ 0 };
    }
    *out = nics;
    *out_count = count;
    return 0;
}

const char *ath_link_layer_word(enum ath_link_layer layer)
{
    static const char *const words[] = { NULL, "ethernet", "infiniband" };
    return words[layer];
}

const char *ath_link_state_word(enum ath_link_state state)
{
    static const char *const words[] = { NULL, "down", "up" };
    return words[state];
}

const char *ath_gid_type_word(enum ath_gid_type type)
{
    static const char *const words[] = { "InfiniBand", "RoCE v1", "RoCE v2" };
    return words[type];
}
