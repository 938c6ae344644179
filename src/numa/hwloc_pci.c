/*
 * GPUs and network ports, from an hwloc topology.
 *
 * hwloc puts PCI functions, below their bridges, at the object whose CPUs are near. Below a
 * function are the devices that its driver made (OSDev: eth0, mlx5_0, nvml0, with infos). The names
 * of infos are those of hwloc 2's plugins (doc/hwloc.doxy, "Object attributes"). hwloc has only the
 * speed of a PCIe link, which does not determine its generation and width.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pci_names.h"
#include "base/text.h"
#include "numa/gpu.h"
#include "numa/hwloc_walk.h"

enum { CHAIN_MAX = 256, PORTS_MAX = 16, LINK_GB_MAX = 10000 };

struct ath_pci ath_hwloc_pci(const struct hwloc_obj *object)
{
    const struct hwloc_pcidev_attr_s *pci = object->type == HWLOC_OBJ_BRIDGE
                                                ? &object->attr->bridge.upstream.pci
                                                : &object->attr->pcidev;
    return (struct ath_pci){ pci->domain, pci->bus, pci->dev, pci->func };
}

static bool is_host_bridge(hwloc_obj_t object)
{
    return object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

/* Adds one part of a place as in sysfs: "pci0004:00" for the host bridge, else a port's address. */
static void add_bridge(struct ath_text *place, hwloc_obj_t bridge)
{
    char text[ATH_PCI_TEXT];
    struct ath_pci pci = ath_hwloc_pci(bridge);

    if (is_host_bridge(bridge))
        ath_text_add(place, "pci%04x:%02x", bridge->attr->bridge.downstream.pci.domain,
                     bridge->attr->bridge.downstream.pci.secondary_bus);
    else
        ath_text_add(place, "/%s", ath_pci_format(&pci, text));
}

/* Returns the chain of bridges above a function, or NULL if the file does not have it up to the
 * host bridge. The caller frees the text. */
static char *place_of(hwloc_obj_t function)
{
    hwloc_obj_t chain[CHAIN_MAX];
    size_t count = 0;

    for (hwloc_obj_t above = function->parent;
         above && above->type == HWLOC_OBJ_BRIDGE && count < CHAIN_MAX; above = above->parent)
        chain[count++] = above;
    if (!count || !is_host_bridge(chain[count - 1]))
        return NULL;

    struct ath_text place = { 0 };
    while (count)
        add_bridge(&place, chain[--count]);
    return ath_text_take(&place);
}

static bool has_cpus(const struct ath_machine *machine, int id)
{
    const struct ath_numa_node *node = ath_machine_find_node(machine, id);
    return node && node->cpus.range_count > 0;
}

int ath_hwloc_near_node(const struct ath_hwloc_walk *walk, hwloc_obj_t object)
{
    int node = ATH_UNKNOWN;
    hwloc_obj_t above = object;

    while (above && !above->nodeset)
        above = above->parent;
    if (!above)
        return ATH_UNKNOWN;
    for (int id = walk->hwloc->hwloc_bitmap_next(above->nodeset, -1); id >= 0 && id < USHRT_MAX;
         id = walk->hwloc->hwloc_bitmap_next(above->nodeset, id)) {
        if (!has_cpus(walk->machine, id))
            continue;
        if (node != ATH_UNKNOWN)
            return ATH_UNKNOWN;
        node = id;
    }
    return node;
}

/* hwloc writes 0000 for a function whose ids it could not read. */
static int id_of(unsigned short id)
{
    return id ? id : ATH_UNKNOWN;
}

/* Returns the next OSDev of a function after `last` (NULL for the first), or NULL. */
static hwloc_obj_t next_device(hwloc_obj_t function, hwloc_obj_t last)
{
    hwloc_obj_t next = last ? last->next_sibling : function->io_first_child;

    while (next && next->type != HWLOC_OBJ_OS_DEVICE)
        next = next->next_sibling;
    return next;
}

/* Returns the first of several infos that a device of the function has, or NULL. */
static const char *device_info(hwloc_obj_t function, const char *const *names)
{
    for (; *names; names++)
        for (hwloc_obj_t device = NULL; (device = next_device(function, device));) {
            const char *value = ath_hwloc_info(device, *names);
            if (value)
                return value;
        }
    return NULL;
}

/* Returns the bytes of "16671616" (KiB), which hwloc 3 writes as "16671616KiB", or ATH_UNKNOWN. */
static int64_t bytes_of(const char *text)
{
    uint64_t value;
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)strcspn(text, "K"), text);

    if (ath_parse_u64(digits, 10, &value) || !value || value > (uint64_t)INT64_MAX >> 10)
        return ATH_UNKNOWN;
    return (int64_t)value << 10;
}

static bool has_beside(const void *context, int vendor_id)
{
    const struct hwloc_obj *function = context;
    struct ath_pci own = ath_hwloc_pci(function);

    for (hwloc_obj_t other = function->parent ? function->parent->io_first_child : NULL; other;
         other = other->next_sibling) {
        if (other->type != HWLOC_OBJ_PCI_DEVICE || other->attr->pcidev.vendor_id != vendor_id)
            continue;
        struct ath_pci sibling = ath_hwloc_pci(other);
        if (ath_pci_same_slot(&own, &sibling))
            return true;
    }
    return false;
}

static bool owns_node(const struct ath_machine *machine, hwloc_obj_t function)
{
    struct ath_pci pci = ath_hwloc_pci(function);

    for (size_t i = 0; i < machine->node_count; i++)
        if (machine->nodes[i].has_gpu && ath_pci_equals(&machine->nodes[i].gpu, &pci))
            return true;
    return false;
}

/* True if a GPU library found the function, if a NUMA node is its memory, or if its ids and class
 * are those of a GPU. */
static bool is_gpu(const struct ath_machine *machine, hwloc_obj_t function)
{
    static const char *const backends[] = { "CUDA", "NVML", "RSMI" };
    const struct hwloc_pcidev_attr_s *pci = &function->attr->pcidev;

    if (owns_node(machine, function))
        return true;
    for (hwloc_obj_t device = NULL; (device = next_device(function, device));) {
        const char *backend = ath_hwloc_info(device, "Backend");
        for (size_t i = 0; backend && i < ATH_COUNT(backends); i++)
            if (!strcmp(backend, backends[i]))
                return true;
    }
    struct ath_pci address = ath_hwloc_pci(function);
    return ath_gpu_is_one(id_of(pci->vendor_id), id_of(pci->device_id), pci->class_id, &address,
                          has_beside, function);
}

/* Returns our name for the function's ids, else the name that hwloc found in pci.ids, or NULL. */
static const char *name_of(hwloc_obj_t function)
{
    const struct hwloc_pcidev_attr_s *pci = &function->attr->pcidev;
    const char *name = ath_pci_name(pci->vendor_id, pci->device_id);

    return name ? name : ath_hwloc_info(function, "PCIDevice");
}

/* ROCm's library has a device for each partition of a GPU (MI300 in mode CPX). */
static int partitions_of(hwloc_obj_t function)
{
    int count = 0;

    for (hwloc_obj_t device = NULL; (device = next_device(function, device));) {
        const char *backend = ath_hwloc_info(device, "Backend");
        count += backend && !strcmp(backend, "RSMI");
    }
    return count ? count : ATH_UNKNOWN;
}

static void add_gpu(struct ath_hwloc_walk *walk, hwloc_obj_t function)
{
    static const char *const model[] = { "GPUModel", NULL };
    static const char *const uuid[] = { "NVIDIAUUID", "AMDUUID", NULL };
    static const char *const memory[] = { "RSMIVRAMSize",           "CUDAGlobalMemorySize",
                                          "LevelZeroHBMSize",       "LevelZeroMemorySize",
                                          "OpenCLGlobalMemorySize", NULL };
    const struct hwloc_pcidev_attr_s *attr = &function->attr->pcidev;
    struct ath_pci pci = ath_hwloc_pci(function);
    struct ath_gpu *gpu = ath_machine_add_gpu(walk->machine, &pci);
    const char *name = device_info(function, model), *size = device_info(function, memory);

    gpu->vendor_id = id_of(attr->vendor_id);
    gpu->device_id = id_of(attr->device_id);
    gpu->model = ath_xstrdup(name ? name : name_of(function));
    gpu->uuid = ath_xstrdup(device_info(function, uuid));
    gpu->memory_total_bytes = size ? bytes_of(size) : ATH_UNKNOWN;
    gpu->partitions = partitions_of(function);
    if (attr->linkspeed > 0 && attr->linkspeed < LINK_GB_MAX) /* GB/s */
        gpu->pcie_mbps = (int64_t)((double)attr->linkspeed * 8000 + 0.5);
    gpu->place = place_of(function);
    gpu->numa_node = ath_hwloc_near_node(walk, function);
}

/* Returns the next netdev or RDMA device of a function after `last`, or NULL. */
static hwloc_obj_t next_of_type(hwloc_obj_t function, hwloc_obj_osdev_type_t type, hwloc_obj_t last)
{
    hwloc_obj_t next = last;

    do
        next = next_device(function, next);
    while (next && next->attr->osdev.type != type);
    return next;
}

static int count_of_type(hwloc_obj_t function, hwloc_obj_osdev_type_t type)
{
    int count = 0;

    for (hwloc_obj_t device = NULL; (device = next_of_type(function, type, device));)
        count++;
    return count;
}

/* Returns an info of an RDMA device's port, or NULL: port_info(mlx5_0, 1, "State") is
 * "Port1State". */
static const char *port_info(hwloc_obj_t rdma, int port, const char *what)
{
    char name[32];

    snprintf(name, sizeof name, "Port%d%s", port, what);
    return ath_hwloc_info(rdma, name);
}

static int port_count(hwloc_obj_t rdma)
{
    int count = 0;

    while (count < PORTS_MAX && port_info(rdma, count + 1, "State"))
        count++;
    return count;
}

/* Returns the link of a port: the link that names the port, or the only link of the only port; or
 * NULL. */
static hwloc_obj_t netdev_of_port(hwloc_obj_t function, hwloc_obj_t rdma, int port)
{
    hwloc_obj_t netdev = NULL;

    while ((netdev = next_of_type(function, HWLOC_OBJ_OSDEV_NETWORK, netdev))) {
        const char *text = ath_hwloc_info(netdev, "Port");
        int own;
        if (text && !ath_parse_int(text, 0, PORTS_MAX, &own) && own == port)
            return netdev;
    }
    if (port_count(rdma) > 1 || count_of_type(function, HWLOC_OBJ_OSDEV_NETWORK) != 1 ||
        count_of_type(function, HWLOC_OBJ_OSDEV_OPENFABRICS) != 1)
        return NULL;
    return next_of_type(function, HWLOC_OBJ_OSDEV_NETWORK, NULL);
}

/* An address of IP over InfiniBand has 20 bytes, one of Ethernet has 6 (linux/if_infiniband.h,
 * linux/if_ether.h). */
static enum ath_link_layer layer_of_address(const char *address)
{
    size_t length = address ? strlen(address) : 0;

    if (length == 20 * 3 - 1)
        return ATH_LAYER_INFINIBAND;
    return length == 6 * 3 - 1 ? ATH_LAYER_ETHERNET : ATH_LAYER_UNKNOWN;
}

/* True for a text like "fe80:0000:0000:0000:248a:0703:001e:39fe"; false for an unused slot. */
static bool is_gid(const char *text)
{
    return strlen(text) == sizeof((struct ath_gid *)0)->address - 1 &&
           !text[strspn(text, "0123456789abcdef:")] && text[strspn(text, "0:")];
}

/*
 * Adds the GIDs of an InfiniBand port, which all have the same type. hwloc does not write the type
 * of an Ethernet port's GIDs, so those are left out.
 */
static void add_gids(struct ath_nic *nic, hwloc_obj_t rdma)
{
    char prefix[32];

    snprintf(prefix, sizeof prefix, "Port%dGID", nic->port);
    for (unsigned int i = 0; i < rdma->infos_count; i++) {
        const char *name = rdma->infos[i].name, *value = rdma->infos[i].value;
        int index;
        if (!ath_starts_with(name, prefix) || !is_gid(value) ||
            ath_parse_int(name + strlen(prefix), 0, UINT16_MAX, &index))
            continue;
        struct ath_gid *gid = ath_push(&nic->gids, &nic->gid_count, sizeof *gid);
        *gid = (struct ath_gid){ .index = index, .type = ATH_GID_IB, .is_usable = true };
        memcpy(gid->address, value, sizeof gid->address);
        if (nic->best_gid_index < 0 || index < nic->best_gid_index)
            ath_nic_take_gid(nic, gid);
    }
}

static void describe_netdev(struct ath_nic *nic, hwloc_obj_t netdev)
{
    const char *address = ath_hwloc_info(netdev, "Address");

    nic->netdev = ath_xstrdup(netdev->name);
    nic->mac = ath_xstrdup(address);
    nic->link_layer = layer_of_address(address);
}

/* States are the numbers of sysfs, 4 is ACTIVE (enum ib_port_state). Only a port of an InfiniBand
 * fabric has a LID. */
static void describe_port(struct ath_nic *nic, hwloc_obj_t rdma, int port)
{
    const char *state = port_info(rdma, port, "State"), *lid = port_info(rdma, port, "LID");
    uint64_t number;

    nic->rdma_device = ath_xstrdup(rdma->name);
    nic->port = port;
    if (state)
        nic->link = nic->rdma_state = *state == '4' ? ATH_LINK_UP : ATH_LINK_DOWN;
    if (lid && !ath_parse_u64(lid, 0, &number) && number)
        nic->link_layer = ATH_LAYER_INFINIBAND;
    if (nic->link_layer == ATH_LAYER_INFINIBAND)
        add_gids(nic, rdma);
}

/* Returns the GUID of "248a:0703:001e:39fe", or 0 if it is unknown. */
static uint64_t card_guid(hwloc_obj_t rdma)
{
    const char *text = rdma ? ath_hwloc_info(rdma, "SysImageGUID") : NULL;
    struct ath_text digits = { 0 };
    uint64_t guid = 0;

    for (; text && *text; text++)
        if (*text != ':')
            ath_text_add_bytes(&digits, text, 1);
    if (digits.data)
        ath_parse_u64(digits.data, 16, &guid);
    ath_text_free(&digits);
    return guid;
}

/* Adds one port of a function; netdev and rdma may be NULL. */
static void add_port(struct ath_hwloc_walk *walk, hwloc_obj_t function, hwloc_obj_t netdev,
                     hwloc_obj_t rdma, int port)
{
    const struct hwloc_pcidev_attr_s *attr = &function->attr->pcidev;
    struct ath_nic *nic = ath_xml_add_nic(walk->machine, &walk->guids, card_guid(rdma));

    nic->has_pci = true;
    nic->pci = ath_hwloc_pci(function);
    nic->place = place_of(function);
    nic->vendor_id = id_of(attr->vendor_id);
    nic->device_id = id_of(attr->device_id);
    nic->model = ath_xstrdup(name_of(function));
    nic->numa_node = ath_hwloc_near_node(walk, function);
    if (netdev)
        describe_netdev(nic, netdev);
    if (rdma)
        describe_port(nic, rdma, port);
}

/* Adds the ports of RDMA devices with their links, then the remaining links, or else the bare
 * function. */
static void add_ports(struct ath_hwloc_walk *walk, hwloc_obj_t function)
{
    hwloc_obj_t taken[PORTS_MAX], rdma = NULL, netdev = NULL;
    size_t taken_count = 0, before = walk->machine->nic_count;

    while ((rdma = next_of_type(function, HWLOC_OBJ_OSDEV_OPENFABRICS, rdma)))
        for (int port = 1; port == 1 || port <= port_count(rdma); port++) {
            hwloc_obj_t own = netdev_of_port(function, rdma, port);
            if (own && taken_count < PORTS_MAX)
                taken[taken_count++] = own;
            add_port(walk, function, own, rdma, port);
        }
    while ((netdev = next_of_type(function, HWLOC_OBJ_OSDEV_NETWORK, netdev))) {
        bool is_taken = false;
        for (size_t i = 0; i < taken_count; i++)
            is_taken |= taken[i] == netdev;
        if (!is_taken)
            add_port(walk, function, netdev, NULL, 0);
    }
    if (walk->machine->nic_count == before)
        add_port(walk, function, NULL, NULL, 0);
}

/* Class 02 is a network controller. An RDMA card may also have class 0c06. */
static bool is_network(hwloc_obj_t function)
{
    return function->attr->pcidev.class_id >> 8 == 0x02 ||
           next_of_type(function, HWLOC_OBJ_OSDEV_NETWORK, NULL) ||
           next_of_type(function, HWLOC_OBJ_OSDEV_OPENFABRICS, NULL);
}

void ath_hwloc_walk_pci(struct ath_hwloc_walk *walk)
{
    hwloc_obj_t function;

    for (unsigned int i = 0; (function = walk->hwloc->hwloc_get_obj_by_depth(
                                  walk->topology, HWLOC_TYPE_DEPTH_PCI_DEVICE, i));
         i++) {
        if (is_gpu(walk->machine, function))
            add_gpu(walk, function);
        else if (is_network(function))
            add_ports(walk, function);
    }
    walk->machine->lacks_pci =
        !walk->hwloc->hwloc_get_obj_by_depth(walk->topology, HWLOC_TYPE_DEPTH_PCI_DEVICE, 0);
}
