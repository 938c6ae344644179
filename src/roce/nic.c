/*
 * Network cards: merges the ports of links, of RDMA devices and of bare PCI functions.
 *
 * PCI class 02xx is a network controller, 0207 a controller in InfiniBand mode (PCI Code and ID
 * Assignment Specification, 1.3).
 */
#include "config.h"

#include "roce/nic.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/pci_names.h"
#include "base/pcidev.h"
#include "roce/card.h"
#include "roce/function.h"
#include "roce/gid.h"
#include "roce/netdev.h"
#include "roce/port.h"
#include "roce/rdma.h"
#include "roce/route.h"

enum { CLASS_INFINIBAND = 0x0207, CLASS_ETHERNET = 0x0200 };

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
    char *texts[] = { nic->place,  nic->model, nic->netdev,      nic->master,
                      nic->driver, nic->mac,   nic->rdma_device, nic->card };
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

void ath_nic_others_free(struct ath_nic_others *others)
{
    if (!others)
        return;
    ath_names_free(others->links, others->link_count);
    ath_names_free(others->rdma_devices, others->rdma_device_count);
    *others = (struct ath_nic_others){ 0 };
}

static void add_name(char ***names, size_t *count, const char *name)
{
    *(char **)ath_push(names, count, sizeof **names) = ath_xstrdup(name);
}

void ath_nic_others_add(struct ath_nic_others *others, const struct ath_nic *nic)
{
    if (nic->netdev)
        add_name(&others->links, &others->link_count, nic->netdev);
    if (nic->rdma_device)
        add_name(&others->rdma_devices, &others->rdma_device_count, nic->rdma_device);
}

static bool has_name(const struct ath_ports *ports, const char *name)
{
    for (size_t i = 0; i < ports->count; i++) {
        const struct ath_nic *nic = &ports->items[i].nic;
        if ((nic->netdev && !strcmp(nic->netdev, name)) ||
            (nic->rdma_device && !strcmp(nic->rdma_device, name)))
            return true;
    }
    return false;
}

/* Adds the names in a folder of sys/class that belong to no port. */
static void add_others(const struct ath_root *root, const char *folder,
                       const struct ath_ports *ports, char ***out, size_t *out_count)
{
    char **names;
    size_t count;

    ath_root_list(root, folder, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], "bonding_masters") != 0 && !has_name(ports, names[i]))
            add_name(out, out_count, names[i]);
    ath_names_free(names, count);
}

void ath_nic_take_gid(struct ath_nic *nic, const struct ath_gid *best)
{
    if (best && nic->link != ATH_LINK_DOWN && nic->rdma_state != ATH_LINK_DOWN)
        nic->best_gid_index = best->index;
}

const struct ath_gid *ath_nic_gid(const struct ath_nic *nic)
{
    for (size_t i = 0; nic->best_gid_index != ATH_UNKNOWN && i < nic->gid_count; i++)
        if (nic->gids[i].index == nic->best_gid_index)
            return &nic->gids[i];
    return NULL;
}

bool ath_nic_is_same_card(const struct ath_nic *a, const struct ath_nic *b)
{
    return a == b || (a->card && b->card && !strcmp(a->card, b->card));
}

bool ath_nic_lacks_gid(const struct ath_nic *nic)
{
    return nic->has_roce && nic->best_gid_index == ATH_UNKNOWN;
}

/* Adds a port for every network function that has neither a link nor an RDMA device. */
static void add_bare_functions(const struct ath_functions *functions, struct ath_ports *ports)
{
    size_t sorted = ports->count;

    for (size_t i = 0; i < functions->count; i++) {
        const struct ath_function *function = &functions->items[i];
        if (function->class == ATH_UNKNOWN || function->is_owned ||
            ath_ports_find(ports, sorted, &function->pci) < sorted)
            continue;
        struct ath_port *port = ath_ports_add(ports);
        port->nic.has_pci = true;
        port->nic.pci = function->pci;
        if (function->class == CLASS_ETHERNET)
            port->nic.link_layer = ATH_LAYER_ETHERNET;
        if (function->class == CLASS_INFINIBAND)
            port->nic.link_layer = ATH_LAYER_INFINIBAND;
    }
}

/* Removes the links of folded functions, and marks the RDMA devices of folded functions. */
static void fold(const struct ath_functions *functions, struct ath_ports *ports,
                 struct ath_rdma_devices *devices)
{
    struct ath_ports kept = { 0 }, dropped = { 0 };

    for (size_t i = 0; i < ports->count; i++) {
        struct ath_port *port = &ports->items[i];
        bool is_folded =
            ath_functions_folds(functions, port->nic.has_pci, &port->nic.pci, port->subfunction);
        *ath_ports_add(is_folded ? &dropped : &kept) = *port;
    }
    for (size_t i = 0; i < devices->count; i++) {
        struct ath_rdma_device *device = &devices->items[i];
        device->is_folded =
            ath_functions_folds(functions, device->has_pci, &device->pci, device->subfunction);
    }
    ath_ports_free(&dropped);
    free(ports->items);
    *ports = kept;
}

static void fill_from_pci(const struct ath_root *root, const struct ath_functions *functions,
                          struct ath_nic *nic)
{
    const struct ath_function *function = ath_functions_find(functions, &nic->pci, ATH_UNKNOWN);
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

static void fill_port(const struct ath_root *root, const struct ath_functions *functions,
                      struct ath_port *port)
{
    struct ath_nic *nic = &port->nic;

    if (nic->has_pci)
        fill_from_pci(root, functions, nic);
    const struct ath_gid *best =
        ath_gid_best(root, nic->gids, nic->gid_count, nic->link_layer, nic->netdev);
    ath_nic_take_gid(nic, best);
}

static void log_ports(const struct ath_ports *ports, const struct ath_functions *functions,
                      const struct ath_rdma_devices *devices)
{
    size_t folded = 0;

    for (size_t i = 0; i < functions->count; i++)
        folded += functions->items[i].is_folded;
    ath_log(
        ATH_LOG_VERBOSE,
        _("network ports: %zu, from sys/class/net, sys/class/infiniband (RDMA devices: %zu) and "
          "sys/bus/pci; virtual functions and subfunctions left out: %zu"),
        ports->count, devices->count, folded);
}

static int read_ports(const struct ath_root *root, struct ath_ports *ports)
{
    ATH_AUTO(ath_functions) functions = { 0 };
    ATH_AUTO(ath_rdma_devices) devices = { 0 };

    int status = ath_netdevs_read(root, ports);
    int rdma_status = ath_rdma_list(root, &devices);
    ath_functions_read(root, ports, &devices, &functions);
    fold(&functions, ports, &devices);
    ath_ports_sort(ports);
    ath_rdma_read(root, &devices, ports);
    ath_ports_sort(ports);
    add_bare_functions(&functions, ports);
    ath_ports_sort(ports);

    for (size_t i = 0; i < ports->count; i++)
        fill_port(root, &functions, &ports->items[i]);
    ath_cards_group(root, ports);
    ath_subnets_read(root, ports);
    log_ports(ports, &functions, &devices);
    return status ? status : rdma_status;
}

int ath_nic_read(const struct ath_root *root, struct ath_nic **out, size_t *out_count,
                 struct ath_nic_others *out_others, struct ath_err *err)
{
    ATH_AUTO(ath_ports) ports = { 0 };
    int status = read_ports(root, &ports);
    if (status)
        return ath_err_system(err, status, _("cannot read the network links in '%s'"), root->path);

    struct ath_nic_others others = { 0 };
    add_others(root, "sys/class/net", &ports, &others.links, &others.link_count);
    add_others(root, "sys/class/infiniband", &ports, &others.rdma_devices,
               &others.rdma_device_count);
    struct ath_nic *nics = NULL;
    size_t count = 0;
    for (size_t i = 0; i < ports.count; i++) {
        *(struct ath_nic *)ath_push(&nics, &count, sizeof *nics) = ports.items[i].nic;
        ports.items[i].nic = (struct ath_nic){ 0 };
    }
    *out = nics;
    *out_count = count;
    *out_others = others;
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
