/* Machines made by hand, modelled on real captures. */
#include "config.h"

#include "made_machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const int64_t gib = 1024LL * 1024 * 1024;

static struct ath_numa_node *add_node(struct ath_machine *machine, int id, int first_cpu,
                                      int cpu_count, int64_t memory_gib)
{
    struct ath_numa_node *node = ath_machine_add_node(machine, id);
    node->is_online = true;
    if (cpu_count)
        ath_idset_add(&node->cpus, first_cpu, first_cpu + cpu_count - 1);
    node->memory_total_bytes = memory_gib * gib;
    node->memory_free_bytes = memory_gib * gib - gib / 2;
    return node;
}

static void add_distances(struct ath_machine *machine, int (*distance)(int from, int to))
{
    for (size_t i = 0; i < machine->node_count; i++)
        for (size_t j = 0; j < machine->node_count; j++) {
            struct ath_numa_node *node = &machine->nodes[i];
            struct ath_distance *item =
                ath_push(&node->distances, &node->distance_count, sizeof *item);
            item->node = machine->nodes[j].id;
            item->value = distance(node->id, item->node);
        }
}

static struct ath_gpu *add_gpu(struct ath_machine *machine, const char *pci, int node,
                               const char *place, const char *model)
{
    struct ath_pci address = { 0 };
    ath_pci_parse(pci, &address);
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, &address);
    gpu->vendor_id = 0x10de;
    gpu->device_id = 0x1db5;
    gpu->numa_node = node;
    gpu->place = ath_xstrdup(place);
    gpu->model = ath_xstrdup(model);
    gpu->memory_total_bytes = 32 * gib;
    gpu->pcie_gen = 3;
    gpu->pcie_width = 16;
    return gpu;
}

static struct ath_nic *add_nic(struct ath_machine *machine, const char *pci, int node,
                               const char *place, const char *netdev, const char *rdma)
{
    struct ath_nic *nic = ath_machine_add_nic(machine);
    nic->has_pci = ath_pci_parse(pci, &nic->pci) == 0;
    nic->vendor_id = 0x15b3;
    nic->device_id = 0x1019;
    nic->model = ath_xstrdup("ConnectX-5 Ex");
    nic->numa_node = node;
    nic->place = ath_xstrdup(place);
    nic->netdev = ath_xstrdup(netdev);
    nic->rdma_device = ath_xstrdup(rdma);
    nic->port = rdma ? 1 : ATH_UNKNOWN;
    nic->driver = ath_xstrdup("mlx5_core");
    nic->link = ATH_LINK_UP;
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->speed_mbps = 100000;
    nic->mtu = 9000;
    nic->card = ath_xstrdup(pci);
    nic->vfs = 0;
    return nic;
}

static void set_card(struct ath_nic *nic, const char *card)
{
    free(nic->card);
    nic->card = ath_xstrdup(card);
}

static void add_gid(struct ath_nic *nic, int index, enum ath_gid_type type, const char *address)
{
    struct ath_gid *gid = ath_push(&nic->gids, &nic->gid_count, sizeof *gid);
    *gid = (struct ath_gid){ .index = index, .type = type, .is_usable = true };
    gid->is_ipv4_mapped = !strncmp(address, "0000:0000:0000:0000:0000:ffff:", 30);
    snprintf(gid->address, sizeof gid->address, "%s", address);
    snprintf(gid->netdev, sizeof gid->netdev, "%s", nic->netdev ? nic->netdev : "");
}

static void add_link(struct ath_gpu *gpu, enum ath_peer_kind kind, const struct ath_pci *peer,
                     int count)
{
    struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);
    gpu->has_nvlinks = true;
    *link =
        (struct ath_nvlink){ .kind = kind, .count = count, .speed_mbps = 200000 * (int64_t)count };
    link->has_peer = peer != NULL;
    if (peer)
        link->peer = *peer;
}

static void link_gpus(struct ath_machine *machine, size_t a, size_t b, int count)
{
    add_link(&machine->gpus[a], ATH_PEER_GPU, &machine->gpus[b].pci, count);
    add_link(&machine->gpus[b], ATH_PEER_GPU, &machine->gpus[a].pci, count);
}

static int ac922_distance(int from, int to)
{
    if (from == to)
        return 10;
    return from < 250 && to < 250 ? 40 : 80;
}

static void name(struct ath_machine *machine, const char *hostname, const char *model,
                 const char *arch, const char *profile)
{
    machine->hostname = ath_xstrdup(hostname);
    machine->model = ath_xstrdup(model);
    machine->arch = ath_xstrdup(arch);
    machine->kernel = ath_xstrdup("4.18.0-193");
    machine->profile = profile;
    machine->source = ATH_SOURCE_ROOT;
}

static void add_ac922_gpus(struct ath_machine *machine, int per_socket)
{
    for (int socket = 0; socket < 2; socket++)
        for (int i = 0; i < per_socket; i++) {
            int number = socket * per_socket + i;
            char pci[ATH_PCI_TEXT], place[64];
            snprintf(pci, sizeof pci, "%s:%02x:00.0", socket ? "0035" : "0004",
                     socket ? 3 + i : 4 + i);
            snprintf(place, sizeof place, "pci%s:00/%s:00:00.0/%s:01:00.0/%s:02:%02x.0",
                     socket ? "0035" : "0004", socket ? "0035" : "0004", socket ? "0035" : "0004",
                     socket ? "0035" : "0004", 4 + i);
            struct ath_gpu *gpu = add_gpu(machine, pci, socket * 8, place, "Tesla V100-SXM2-32GB");
            gpu->memory_node = 255 - number;
            gpu->memory_state = ATH_MEMORY_ONLINE;
            gpu->pcie_width = 8;
            struct ath_numa_node *node = ath_machine_node(machine, gpu->memory_node);
            node->kind = ATH_NODE_GPU;
            node->has_gpu = true;
            node->gpu = gpu->pci;
        }
}

static void add_ac922_nodes(struct ath_machine *machine, int gpus)
{
    struct ath_numa_node *node = add_node(machine, 0, 0, 64, 251);
    struct ath_hugepages *pages = ath_push(&node->hugepages, &node->hugepage_count, sizeof *pages);
    *pages = (struct ath_hugepages){ 16 * 1024 * 1024, 512, 100 };
    add_node(machine, 8, 64, 64, 255);
    for (int i = 0; i < gpus; i++)
        add_node(machine, 256 - gpus + i, 0, 0, 32);
    add_distances(machine, ac922_distance);
}

static void add_ac922_nics(struct ath_machine *machine)
{
    static const struct {
        const char *pci, *place, *netdev, *rdma, *card;
        int node;
    } ports[] = {
        { "0003:01:00.0", "pci0003:00/0003:00:00.0", "enP3p1s0f0", "mlx5_0", "0003:01:00.0", 0 },
        { "0003:01:00.1", "pci0003:00/0003:00:00.0", "enP3p1s0f1", "mlx5_1", "0003:01:00.0", 0 },
        { "0030:01:00.0", "pci0030:00/0030:00:00.0", "enP48p1s0f0", "mlx5_2", "0030:01:00.0", 8 },
        { "0030:01:00.1", "pci0030:00/0030:00:00.0", "enP48p1s0f1", "mlx5_3", "0030:01:00.0", 8 },
        { "0033:01:00.0", "pci0033:00/0033:00:00.0", "enP51p1s0f0", "mlx5_4", "0003:01:00.0", 8 },
        { "0033:01:00.1", "pci0033:00/0033:00:00.0", "enP51p1s0f1", "mlx5_5", "0003:01:00.0", 8 },
    };
    for (size_t i = 0; i < ATH_COUNT(ports); i++) {
        struct ath_nic *nic = add_nic(machine, ports[i].pci, ports[i].node, ports[i].place,
                                      ports[i].netdev, ports[i].rdma);
        set_card(nic, ports[i].card);
    }
    struct ath_nic *first = &machine->nics[0];
    add_gid(first, 0, ATH_GID_ROCE_V1, "fe80:0000:0000:0000:0e42:a1ff:fe73:1a2b");
    add_gid(first, 3, ATH_GID_ROCE_V2, "0000:0000:0000:0000:0000:ffff:c0a8:010a");
    first->best_gid_index = 3;
    first->vfs = 4;
    machine->nics[5].link = ATH_LINK_DOWN;
}

static void warn(struct ath_machine *machine, const char *code, const char *object,
                 const char *message, const char *hint)
{
    struct ath_warning *warning =
        ath_push(&machine->warnings, &machine->warning_count, sizeof *warning);
    warning->code = code;
    warning->object = ath_xstrdup(object);
    warning->message = ath_xstrdup(message);
    warning->hint = ath_xstrdup(hint);
}

void made_ac922(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "ac922-01", "IBM 8335-GTH", "ppc64le", "ac922");
    add_ac922_nodes(out, 4);
    add_ac922_gpus(out, 2);
    add_ac922_nics(out);
    ath_machine_finish(out);
    warn(out, "same-subnet", "enP3p1s0f0",
         "'enP3p1s0f0' and 'enP3p1s0f1' are links of one card in one subnet (192.168.1.0/24): "
         "answers may leave by the wrong one",
         "give each link a subnet of its own");
}

void made_ac922_six(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "ac922-02", "IBM 8335-GTW", "ppc64le", "ac922");
    add_ac922_nodes(out, 6);
    add_ac922_gpus(out, 3);
    add_ac922_nics(out);
    for (size_t first = 0; first < 6; first += 3) {
        link_gpus(out, first, first + 1, 2);
        link_gpus(out, first, first + 2, 2);
        link_gpus(out, first + 1, first + 2, 2);
    }
    for (size_t i = 0; i < 6; i++)
        add_link(&out->gpus[i], ATH_PEER_CPU, NULL, 2);
    ath_machine_finish(out);
}

static int two_socket_distance(int from, int to)
{
    return from == to ? 10 : 21;
}

/* Spreads GPUs evenly over the nodes 0, 1, ..., each with its own root port. */
static void add_plain_gpus(struct ath_machine *machine, int count, int nodes, const char *model)
{
    for (int i = 0; i < count; i++) {
        char pci[ATH_PCI_TEXT], place[64];
        snprintf(pci, sizeof pci, "0000:%02x:00.0", 0x10 + i * 8);
        snprintf(place, sizeof place, "pci0000:%02x/0000:%02x:00.0", 0xf + i * 8, 0xf + i * 8);
        add_gpu(machine, pci, i * nodes / count, place, model);
    }
}

void made_dgx2(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "dgx2", "NVIDIA DGX-2", "x86_64", "generic");
    add_node(out, 0, 0, 24, 754);
    add_node(out, 1, 24, 24, 755);
    add_distances(out, two_socket_distance);
    add_plain_gpus(out, 16, 2, "Tesla V100-SXM3-32GB-H");
    for (size_t a = 0; a < 16; a++)
        for (size_t b = a + 1; b < 16; b++)
            link_gpus(out, a, b, 6);
    for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < 15; j++)
            out->gpus[i].nvlinks[j].is_through_switch = true;
    ath_machine_finish(out);
}

void made_b200(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "b200", "NVIDIA DGX B200", "x86_64", "generic");
    add_node(out, 0, 0, 56, 1007);
    add_node(out, 1, 56, 56, 1008);
    add_distances(out, two_socket_distance);
    add_plain_gpus(out, 8, 2, "NVIDIA B200");
    for (size_t i = 0; i < 8; i++) {
        struct ath_gpu *gpu = &out->gpus[i];
        gpu->vendor_id = ATH_VENDOR_NVIDIA;
        gpu->device_id = 0x2901;
        gpu->has_nvlinks = true;
        if (i < 7)
            *(struct ath_nvlink *)ath_push(&gpu->nvlinks, &gpu->nvlink_count,
                                           sizeof *gpu->nvlinks) =
                (struct ath_nvlink){ .kind = ATH_PEER_SWITCH, .count = 18, .speed_mbps = -1 };
    }
    ath_machine_finish(out);
}

void made_dgx1(struct ath_machine *out)
{
    static const struct {
        size_t a, b;
        int count;
    } links[] = { { 0, 1, 1 }, { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 2 }, { 1, 2, 2 }, { 1, 3, 1 },
                  { 1, 5, 2 }, { 2, 3, 2 }, { 2, 6, 1 }, { 3, 7, 1 }, { 4, 5, 1 }, { 4, 6, 1 },
                  { 4, 7, 2 }, { 5, 6, 2 }, { 5, 7, 1 }, { 6, 7, 2 } };

    *out = (struct ath_machine){ 0 };
    name(out, "dgx1", "NVIDIA DGX-1", "x86_64", "generic");
    add_node(out, 0, 0, 20, 251);
    add_node(out, 1, 20, 20, 252);
    add_distances(out, two_socket_distance);
    add_plain_gpus(out, 8, 2, "Tesla V100-SXM2-16GB");
    for (size_t i = 0; i < ATH_COUNT(links); i++)
        link_gpus(out, links[i].a, links[i].b, links[i].count);
    static const char *const ports[] = { "0000:05:00.0", "0000:0c:00.0", "0000:84:00.0",
                                         "0000:8b:00.0" };
    for (int i = 0; i < 4; i++) {
        char rdma[24], switch_place[64];
        snprintf(rdma, sizeof rdma, "mlx5_%d", i);
        snprintf(switch_place, sizeof switch_place, "pci0000:%02x/0000:%02x:00.0", i, i);
        struct ath_nic *nic = add_nic(out, ports[i], i / 2, switch_place, NULL, rdma);
        nic->link_layer = ATH_LAYER_INFINIBAND;
        for (int j = 0; j < 2; j++) {
            free(out->gpus[2 * i + j].place);
            out->gpus[2 * i + j].place = ath_xstrdup(switch_place);
        }
    }
    ath_machine_finish(out);
}

void made_azure(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "nd96isr", NULL, "x86_64", "generic");
    add_node(out, 0, 0, 48, 900);
    add_node(out, 1, 48, 48, 900);
    add_distances(out, two_socket_distance);
    for (int i = 0; i < 8; i++) {
        char pci[ATH_PCI_TEXT], nic_pci[ATH_PCI_TEXT], place[32], rdma[24];
        snprintf(pci, sizeof pci, "%04x:00:00.0", i + 1);
        snprintf(nic_pci, sizeof nic_pci, "%04x:00:00.0", 0x101 + i);
        snprintf(place, sizeof place, "pciffff:ff/ffff:ff:%02x.0", i + 1);
        snprintf(rdma, sizeof rdma, "mlx5_%d", i);
        struct ath_gpu *gpu = add_gpu(out, pci, i / 4, place, "NVIDIA H100 80GB HBM3");
        gpu->pcie_gen = 5;
        struct ath_nic *nic = add_nic(out, nic_pci, i / 4, place, NULL, rdma);
        nic->link_layer = ATH_LAYER_INFINIBAND;
        nic->speed_mbps = 400000;
    }
    ath_machine_finish(out);
}

void made_laptop(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "laptop", "ThinkPad T480", "x86_64", "generic");
    add_node(out, 0, 0, 8, 16);
    add_distances(out, two_socket_distance);
    struct ath_nic *nic = add_nic(out, "0000:00:1f.6", 0, "pci0000:00", "enp0s31f6", NULL);
    nic->speed_mbps = 1000;
    nic->link_layer = ATH_LAYER_UNKNOWN;
    ath_machine_finish(out);
}

void made_eight(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "eight", "Supermicro AS-8125GS", "x86_64", "generic");
    for (int i = 0; i < 8; i++)
        add_node(out, i, i * 16, 16, 188);
    add_distances(out, two_socket_distance);
    add_plain_gpus(out, 8, 8, "AMD Instinct MI300X");
    for (size_t a = 0; a < 8; a++) {
        out->gpus[a].vendor_id = 0x1002;
        for (size_t b = a + 1; b < 8; b++)
            link_gpus(out, a, b, 1);
    }
    add_nic(out, "0000:21:00.0", 0, "pci0000:20", "eth0", "mlx5_0");
    ath_machine_finish(out);
}

void made_memory_only(struct ath_machine *out)
{
    *out = (struct ath_machine){ 0 };
    name(out, "cxl", "CXL test box", "x86_64", "generic");
    add_node(out, 0, 0, 16, 64);
    add_node(out, 1, 16, 16, 64);
    add_node(out, 2, 0, 0, 128)->kind = ATH_NODE_MEMORY;
    add_node(out, 3, 0, 0, 128)->kind = ATH_NODE_MEMORY;
    add_distances(out, two_socket_distance);
    struct ath_gpu *gpu = add_gpu(out, "0000:41:00.0", ATH_UNKNOWN, NULL, NULL);
    gpu->memory_total_bytes = ATH_UNKNOWN;
    add_nic(out, "0000:21:00.0", 0, "pci0000:20/0000:20:01.0", "eth0", "mlx5_0");
    ath_machine_finish(out);
}

void made_hostile(struct ath_machine *out)
{
    static const char evil[] = "a\033[31m\"\\<&'>{}|%s\xff\xc3\x9f\n\xe2\x80\xae z";

    *out = (struct ath_machine){ 0 };
    name(out, evil, evil, evil, "generic");
    add_node(out, 0, 0, 4, 4);
    struct ath_gpu *gpu = add_gpu(out, "0000:41:00.0", 0, "pci0000:40", evil);
    gpu->uuid = ath_xstrdup(evil);
    gpu->driver_version = ath_xstrdup("true");
    struct ath_nic *nic = add_nic(out, "0000:21:00.0", 0, "pci0000:20", evil, NULL);
    set_card(nic, evil);
    nic->mac = ath_xstrdup("12:34");
    free(nic->driver);
    nic->driver = ath_xstrdup("1e3");
    add_gid(nic, 0, ATH_GID_IB, "\033]0;evil");
    ath_machine_finish(out);
    warn(out, "same-subnet", evil, evil, evil);
}

static int large_distance(int from, int to)
{
    return from == to ? 10 : from / 8 == to / 8 ? 20 : 40;
}

void made_large(struct ath_machine *out, int nodes)
{
    *out = (struct ath_machine){ 0 };
    name(out, "large", "made up", "x86_64", "generic");
    for (int i = 0; i < nodes; i++)
        add_node(out, i, i * 4, 4, 16);
    add_distances(out, large_distance);
    ath_machine_finish(out);
}
