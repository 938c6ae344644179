/* A machine as aitherion.machine/1. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/output/fields.h"
#include "cli/output/gpu_health.h"
#include "cli/output/machine/machine.h"
#include "cli/output/roce_list.h"
#include "cli/output/words.h"
#include "numa/machine.h"
#include "numa/pair.h"
#include "place/gpu_pair.h"

/* Limits for pairs: all pairs of a thousand GPUs with four ports each need half a gigabyte. */
enum { PAIRS_MANY = 10000, PAIRS_OF_GPU_MAX = 16 };

/* ---- the machine ---- */

ATH_FIELD_WORD(source_word, enum ath_source, ath_source_word)

#define AT(member) ATH_AT(struct ath_machine, member)
static const struct ath_field host_fields[] = {
    ATH_FIELD("hostname", AT(hostname), .help = "host name", .is_nullable = true),
    ATH_FIELD("model", AT(model), .help = "product name from the firmware or the device tree",
              .is_nullable = true),
    ATH_FIELD("arch", AT(arch),
              .help = "architecture as `uname -m` prints it: ppc64le, x86_64, aarch64",
              .is_nullable = true),
    ATH_FIELD("kernel", AT(kernel), .help = "kernel release as `uname -r` prints it",
              .is_nullable = true),
    ATH_FIELD("profile", AT(profile),
              .help = "recognized kind of machine: ac922, ...; generic for other machines",
              .is_nullable = true),
    ATH_FIELD("source", AT(source),
              .help = "live: this machine, now; root: a captured root (--root); xml: a topology "
                      "file (--topology), also the text of nvidia-smi",
              .word = source_word, .word_count = ATH_SOURCE_COUNT),
    { .name = NULL },
};
#undef AT

/* ---- NUMA nodes ---- */

#define AT(member) ATH_AT(struct ath_hugepages, member)
static const struct ath_field hugepages_fields[] = {
    ATH_FIELD("size_bytes", AT(size_bytes), .help = "size of a page", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("total", AT(total), .help = "pages reserved on this node", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("free", AT(free), .help = "reserved pages that are not in use", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

ATH_FIELD_WORD(node_kind_word, enum ath_node_kind, ath_node_kind_word)

static json_t *make_cpu_count(const void *object)
{
    const struct ath_numa_node *node = object;
    return json_integer((json_int_t)ath_idset_count(&node->cpus));
}

static json_t *make_distances(const void *object)
{
    const struct ath_numa_node *node = object;
    json_t *made = json_object();
    for (size_t i = 0; i < node->distance_count; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", node->distances[i].node);
        json_object_set_new_nocheck(made, key, json_integer(node->distances[i].value));
    }
    return made;
}

#define DISTANCES                                                                                  \
    "{\"propertyNames\": {\"pattern\": \"^[0-9]+$\"},"                                             \
    " \"additionalProperties\": {\"type\": \"integer\", \"minimum\": 0}}"
#define AT(member) ATH_AT(struct ath_numa_node, member)
static const struct ath_field node_fields[] = {
    ATH_FIELD("id", AT(id), .help = "the kernel's number of the node; numbers have gaps",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("kind", AT(kind),
              .help = "cpu: has CPUs; gpu: a GPU's memory; memory: memory without CPUs (CXL, "
                      "persistent memory)",
              .word = node_kind_word, .word_count = ATH_NODE_KIND_COUNT),
    ATH_FIELD("online", AT(is_online), .help = "whether the kernel has the node online"),
    ATH_FIELD("cpus", ATH_AT_AS(ATH_FIELD_CPUS, struct ath_numa_node, cpus),
              .help = "CPUs of the node in the kernel's list format (\"0-87,90\"); empty if it has "
                      "no CPUs"),
    ATH_FIELD("cpu_count", ATH_OF(ATH_FIELD_SIZE), .help = "number of CPUs in the node",
              .rules = ATH_AT_LEAST_0, .make = make_cpu_count),
    ATH_FIELD("cpus_online", ATH_AT_AS(ATH_FIELD_CPUS, struct ath_numa_node, cpus_online),
              .help = "CPUs of the node that are online, in the same format; null if the source "
                      "does not have them",
              .known = ATH_KNOWN(struct ath_numa_node, has_cpus_online)),
    ATH_FIELD("memory_total_bytes", AT(memory_total_bytes), .help = "memory of the node",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("memory_free_bytes", AT(memory_free_bytes),
              .help = "free memory at the time of reading", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("memory_kind", AT(memory_kind),
              .help =
                  "kind of the node's memory: CXL, NVM (persistent), SPM (specific-purpose, for "
                  "example HBM), or hwloc's word for it; null for ordinary memory, or if not "
                  "known",
              .is_nullable = true),
    ATH_FIELD("hugepages", ATH_AT_LIST(struct ath_numa_node, hugepages, hugepage_count),
              .help = "huge pages, by page size", .fields = hugepages_fields),
    ATH_FIELD("gpu", AT(gpu),
              .help = "PCI address of the GPU, if the node is a GPU's memory and the address is "
                      "known; else null",
              .known = ATH_KNOWN(struct ath_numa_node, has_gpu)),
    ATH_FIELD("distances", ATH_OF(ATH_FIELD_INT),
              .help = "distance to each node, by node id, from the firmware; 10 is local, and "
                      "values only have a meaning when compared. Nodes with an unknown distance "
                      "are left out",
              .is_map = true, .rules = DISTANCES, .make = make_distances),
    { .name = NULL },
};
#undef AT

/* ---- GPUs ---- */

/* Returns a vendor or device id as lspci writes it, without 0x: "10de". The thread's next call
 * overwrites it. */
static const char *pci_id_word(int id)
{
    static _Thread_local char text[16];
    snprintf(text, sizeof text, "%04x", (unsigned int)id);
    return id < 0 ? NULL : text;
}

/* Descriptions and rules of members that GPUs and network ports have. */
#define ID_RULES "{\"pattern\": \"^[0-9a-f]{4}$\"}"
#define ID_HELP(of)                                                                                \
    "PCI " of " id, four hexadecimal digits without 0x, as lspci prints it; null if not known"
#define VENDOR_HELP "name of the vendor; null if aitherion does not know the vendor's name"
#define DEVICE_NODE_HELP "id of the NUMA node that the device is attached to"

static const char *memory_state_word(int state)
{
    static const char *const words[ATH_MEMORY_STATE_COUNT] = {
        [ATH_MEMORY_OFFLINE] = "offline", [ATH_MEMORY_ONLINE] = "online"
    };
    return words[state];
}

static const char *peer_kind_word(int kind)
{
    static const char *const words[ATH_PEER_KIND_COUNT] = {
        [ATH_PEER_GPU] = "gpu", [ATH_PEER_CPU] = "cpu", [ATH_PEER_SWITCH] = "switch"
    };
    return words[kind];
}

#define AT(member) ATH_AT(struct ath_nvlink, member)
static const struct ath_field nvlink_fields[] = {
    ATH_FIELD("peer", AT(peer),
              .help = "PCI address of the other end: a GPU, a bridge of the CPU, or a switch",
              .known = ATH_KNOWN(struct ath_nvlink, has_peer)),
    ATH_FIELD("peer_kind", AT(kind), .help = "kind of the other end", .word = peer_kind_word,
              .word_count = ATH_PEER_KIND_COUNT),
    ATH_FIELD("through_switch", AT(is_through_switch),
              .help = "whether links to the peer GPU run through NVSwitches"),
    ATH_FIELD("count", AT(count),
              .help = "number of parallel links; null if only their bandwidth is known",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("speed_mbps", AT(speed_mbps),
              .help = "speed of all these links together in one direction, in 10^6 bit/s",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_gpu, member)
static const struct ath_field pcie_fields[] = {
    ATH_FIELD("gen", AT(pcie_gen), .help = "PCIe generation, from 1", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("width", AT(pcie_width), .help = "number of lanes", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("speed_mbps", AT(pcie_mbps),
              .help = "speed in one direction, in 10^6 bit/s; hwloc's files have only this",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};

static const struct ath_field gpu_fields[] = {
    ATH_FIELD("pci", AT(pci),
              .help = "PCI address, domain:bus:device.function; null in a machine from the text of "
                      "nvidia-smi",
              .is_nullable = true),
    ATH_FIELD("vendor_id", AT(vendor_id), .help = ID_HELP("vendor"), .is_nullable = true,
              .rules = ID_RULES, .word = pci_id_word),
    ATH_FIELD("device_id", AT(device_id), .help = ID_HELP("device"), .is_nullable = true,
              .rules = ID_RULES, .word = pci_id_word),
    ATH_FIELD("vendor", AT(vendor_id), .help = VENDOR_HELP, .is_nullable = true,
              .word = ath_words_vendor),
    ATH_FIELD("model", AT(model), .help = "product name", .is_nullable = true),
    ATH_FIELD("uuid", AT(uuid), .help = "UUID from the driver", .is_nullable = true),
    ATH_FIELD("numa_node", AT(numa_node), .help = DEVICE_NODE_HELP, .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("memory_node", AT(memory_node),
              .help = "id of the NUMA node that is the GPU's memory (POWER9 and Grace Hopper); "
                      "null if its memory is not a NUMA node",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("memory_state", AT(memory_state),
              .help = "state of memory_node from the driver; CUDA needs it online",
              .is_nullable = true, .word = memory_state_word, .word_count = ATH_MEMORY_STATE_COUNT),
    ATH_FIELD("memory_total_bytes", AT(memory_total_bytes), .help = "memory of the GPU",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("partitions", AT(partitions),
              .help =
                  "number of GPUs that programs see of this one (MI300 in mode CPX); 1 if it is "
                  "whole, null if not known",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("partition_mode", AT(partition_mode),
              .help = "mode of the partitions from the driver: SPX, DPX, TPX, QPX, CPX",
              .is_nullable = true),
    ATH_FIELD("pcie", ATH_OF(ATH_FIELD_OBJECT), .help = "PCIe link at the time of reading",
              .fields = pcie_fields),
    ATH_FIELD("to_gpu_bytes_per_s", AT(to_gpu_bytes_per_s),
              .help = "measured speed of copies from pinned memory of the host to the GPU "
                      "(discover --measure)",
              .is_nullable = true, .rules = ATH_AT_LEAST_1),
    ATH_FIELD("from_gpu_bytes_per_s", AT(from_gpu_bytes_per_s),
              .help = "the same from the GPU to the host", .is_nullable = true,
              .rules = ATH_AT_LEAST_1),
    ATH_FIELD("nvlinks", ATH_AT_LIST(struct ath_gpu, nvlinks, nvlink_count),
              .help = "NVLinks (xGMI links of AMD GPUs) by peer; an empty list if there are none, "
                      "null if not known",
              .known = ATH_KNOWN(struct ath_gpu, has_nvlinks), .fields = nvlink_fields),
    ATH_FIELD("health", ATH_OF(ATH_FIELD_OBJECT), .help = ATH_GPU_HEALTH_HELP,
              .fields = ath_gpu_health_fields),
    ATH_FIELD("driver_version", AT(driver_version), .help = "version of the GPU's kernel driver",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

/* ---- network ports ---- */

ATH_FIELD_WORD(link_layer_word, enum ath_link_layer, ath_link_layer_word)
ATH_FIELD_WORD(link_state_word, enum ath_link_state, ath_link_state_word)

#define AT(member) ATH_AT(struct ath_nic, member)
static const struct ath_field nic_fields[] = {
    ATH_FIELD("pci", AT(pci), .help = "PCI address; two ports of one function share it",
              .known = ATH_KNOWN(struct ath_nic, has_pci)),
    ATH_FIELD("vendor_id", AT(vendor_id), .help = ID_HELP("vendor"), .is_nullable = true,
              .rules = ID_RULES, .word = pci_id_word),
    ATH_FIELD("device_id", AT(device_id), .help = ID_HELP("device"), .is_nullable = true,
              .rules = ID_RULES, .word = pci_id_word),
    ATH_FIELD("vendor", AT(vendor_id), .help = VENDOR_HELP, .is_nullable = true,
              .word = ath_words_vendor),
    ATH_FIELD("model", AT(model), .help = "product name", .is_nullable = true),
    ATH_FIELD("netdev", AT(netdev), .help = "name of the network device; null if the port has none",
              .is_nullable = true),
    ATH_FIELD("master", AT(master),
              .help = "outermost bond, bridge or team that the network device belongs to; it has "
                      "the addresses",
              .is_nullable = true),
    ATH_FIELD("driver", AT(driver), .help = "kernel driver", .is_nullable = true),
    ATH_FIELD("numa_node", AT(numa_node), .help = DEVICE_NODE_HELP, .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("speed_mbps", AT(speed_mbps), .help = "speed of the link, in 10^6 bit/s",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("link", AT(link), .help = "state of the link", .is_nullable = true,
              .word = link_state_word, .word_count = ATH_LINK_STATE_COUNT),
    ATH_FIELD("mtu", AT(mtu), .help = "MTU of the network device, in bytes", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("mac", AT(mac), .help = "hardware address of the network device",
              .is_nullable = true),
    ATH_FIELD("rdma_device", AT(rdma_device),
              .help = "name of the RDMA device, mlx5_0, ...; null if the port has none",
              .is_nullable = true),
    ATH_FIELD("port", AT(port), .help = "port number of the RDMA device, from 1",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("link_layer", AT(link_layer),
              .help = "RoCE and macvlans need ethernet; infiniband supports neither",
              .is_nullable = true, .word = link_layer_word, .word_count = ATH_LINK_LAYER_COUNT),
    ATH_FIELD("card", AT(card),
              .help = "lowest PCI address of the card, the same for all its functions",
              .is_nullable = true),
    ATH_FIELD("vfs", AT(vfs), .help = "number of SR-IOV virtual functions that exist now",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("gids", ATH_AT_LIST(struct ath_nic, gids, gid_count),
              .help = "GID table of the port, by index", .fields = ath_gid_fields),
    ATH_FIELD("best_gid_index", AT(best_gid_index),
              .help = "index of the GID to use; null if none is usable", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("subnets", ATH_AT_LIST(struct ath_nic, subnets, subnet_count),
              .help = "IPv4 subnets that are routed directly to this link, or to its master"),
    { .name = NULL },
};
#undef AT

/* ---- pairs ---- */

struct shown_pair {
    struct ath_pair pair; /* its gpu is the number */
    struct ath_gpu gpu;
    struct ath_nic nic;
    const char *reason;
};

static const char *class_word(int class)
{
    return class == ATH_PCI_UNKNOWN ? NULL : ath_pci_class_word((enum ath_pci_class) class);
}

#define AT(member) ATH_AT(struct shown_pair, member)
static const struct ath_field pair_fields[] = {
    ATH_FIELD("gpu", AT(gpu.pci), .help = "PCI address of the GPU", .is_nullable = true),
    ATH_FIELD("gpu_index", AT(pair.gpu), .help = "number of the GPU in gpus, from 0"),
    ATH_FIELD("nic", AT(nic.pci), .help = "PCI address of the network port",
              .known = ATH_KNOWN(struct shown_pair, nic.has_pci)),
    ATH_FIELD("netdev", AT(nic.netdev), .help = "the port's network device", .is_nullable = true),
    ATH_FIELD("rdma_device", AT(nic.rdma_device), .help = "the port's RDMA device",
              .is_nullable = true),
    ATH_FIELD("class", AT(pair.class),
              .help = "distance, in the words of `nvidia-smi topo -m`: PIX at most one PCIe switch "
                      "in between, PXB several PCIe switches, PHB one host bridge, NODE several "
                      "host bridges of one NUMA node, SYS across NUMA nodes; null if not known",
              .is_nullable = true, .word = class_word, .word_count = ATH_PCI_CLASS_COUNT),
    ATH_FIELD("same_node", AT(pair.is_same_node),
              .help = "whether both are known to be on the same NUMA node"),
    ATH_FIELD("rank", AT(pair.rank),
              .help = "1 for the nearest port of this GPU; equally near ports have the same rank",
              .rules = ATH_AT_LEAST_1),
    ATH_FIELD("reason", AT(reason),
              .help = "reason for the rank, a sentence for users (translated)"),
    { .name = NULL },
};
#undef AT

static json_t *pair_to_json(const struct ath_machine *machine, const struct ath_pair *pair)
{
    const struct shown_pair shown = { *pair, machine->gpus[pair->gpu], machine->nics[pair->nic],
                                      ath_pair_reason(pair) };
    return ath_fields_to_json(pair_fields, &shown);
}

/* Makes all pairs; if there are very many, only the nearest pairs of each GPU. */
static json_t *make_pairs(const void *object)
{
    const struct ath_machine *machine = object;
    json_t *list = json_array();
    size_t of_gpu = 0;

    for (size_t i = 0; i < machine->pair_count; i++) {
        const struct ath_pair *pair = &machine->pairs[i];
        of_gpu = i > 0 && pair->gpu == machine->pairs[i - 1].gpu ? of_gpu + 1 : 0;
        if (machine->pair_count <= PAIRS_MANY || of_gpu < PAIRS_OF_GPU_MAX)
            json_array_append_new(list, pair_to_json(machine, pair));
    }
    return list;
}

/* ---- pairs of GPUs ---- */

struct shown_gpu_pair {
    struct ath_gpu_pair pair;
    struct ath_pci a, b;
    char *word;
};

ATH_FIELD_WORD(figure_source_word, enum ath_figure_source, ath_figure_source_word)

#define AT(member) ATH_AT(struct shown_gpu_pair, member)
static const struct ath_field gpu_pair_fields[] = {
    ATH_FIELD("a", AT(a), .help = "PCI address of a GPU", .is_nullable = true),
    ATH_FIELD("b", AT(b), .help = "PCI address of the other GPU", .is_nullable = true),
    ATH_FIELD("a_index", AT(pair.a), .help = "number of GPU a in gpus, from 0"),
    ATH_FIELD("b_index", AT(pair.b), .help = "number of GPU b in gpus, from 0"),
    ATH_FIELD("class", AT(word),
              .help =
                  "distance, in the words of `nvidia-smi topo -m`: NV# so many NVLinks, XGMI, or "
                  "a class as in pairs; null if not known, as NVLinks without NVIDIA's library",
              .is_nullable = true),
    ATH_FIELD("bandwidth_bytes_per_s", AT(pair.bandwidth_bytes_per_s),
              .help = "what the narrowest part of the way carries in one direction",
              .is_nullable = true, .rules = ATH_AT_LEAST_1),
    ATH_FIELD("latency_ns", AT(pair.latency_ns),
              .help =
                  "of a small message, from a table; with the source \"measured\" of a small copy "
                  "by the driver, from GPU to GPU",
              .is_nullable = true, .rules = ATH_AT_LEAST_1),
    ATH_FIELD("distance", AT(pair.distance),
              .help = "by latency: 10 is a direct NVLink; only comparisons have a meaning",
              .is_nullable = true, .rules = ATH_AT_LEAST_1),
    ATH_FIELD("source", AT(pair.source), .help = "what says the bandwidth",
              .word = figure_source_word, .word_count = ATH_FIGURE_SOURCE_COUNT),
    { .name = NULL },
};
#undef AT

static json_t *gpu_pair_to_json(const struct ath_machine *machine, size_t a, size_t b)
{
    struct shown_gpu_pair shown = { .a = machine->gpus[a].pci, .b = machine->gpus[b].pci };
    ath_gpu_pair_look(machine, a, b, &shown.pair);
    shown.word = ath_gpu_pair_word(machine, &shown.pair);
    json_t *object = ath_fields_to_json(gpu_pair_fields, &shown);
    free(shown.word);
    return object;
}

static json_t *make_gpu_pairs(const void *object)
{
    const struct ath_machine *machine = object;
    json_t *list = json_array();
    size_t count = machine->gpu_count;

    for (size_t a = 0; a < count && count * (count - 1) / 2 <= PAIRS_MANY; a++)
        for (size_t b = a + 1; b < count; b++)
            json_array_append_new(list, gpu_pair_to_json(machine, a, b));
    return list;
}

/* ---- warnings, and the whole ---- */

#define AT(member) ATH_AT(struct ath_warning, member)
static const struct ath_field warning_fields[] = {
    ATH_FIELD("code", AT(code), .help = "stable code word; aitherion-discover(1) lists all of them",
              .rules = "{\"pattern\": \"^[a-z0-9-]+$\"}"),
    ATH_FIELD("object", AT(object),
              .help = "subject of the warning: a PCI address, \"node 255\", the name of a link",
              .is_nullable = true),
    ATH_FIELD("message", AT(message), .help = "a sentence for users (translated)"),
    ATH_FIELD("hint", AT(hint), .help = "command or step that fixes it", .is_nullable = true),
    { .name = NULL },
};
#undef AT

const struct ath_field ath_machine_fields[] = {
    ATH_FIELD("machine", ATH_OF(ATH_FIELD_OBJECT),
              .help = "the machine and the source of its description", .fields = host_fields),
    ATH_FIELD("numa_nodes", ATH_AT_LIST(struct ath_machine, nodes, node_count),
              .help = "all NUMA nodes, by id", .fields = node_fields),
    ATH_FIELD("gpus", ATH_AT_LIST(struct ath_machine, gpus, gpu_count),
              .help = "all GPUs and other accelerators, by PCI address", .fields = gpu_fields),
    ATH_FIELD("nics", ATH_AT_LIST(struct ath_machine, nics, nic_count),
              .help = "all network ports, by PCI address, port and name; virtual functions are "
                      "only counted",
              .fields = nic_fields),
    ATH_FIELD("pairs", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "all pairs of a GPU and a network port, by GPU and rank; with more than "
                      "10,000 pairs, only the 16 nearest ports of each GPU",
              .fields = pair_fields, .make = make_pairs),
    ATH_FIELD("gpu_pairs", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "all pairs of two GPUs; none with more than 10,000 pairs (142 GPUs)",
              .fields = gpu_pair_fields, .make = make_gpu_pairs),
    ATH_FIELD("warnings", ATH_AT_LIST(struct ath_machine, warnings, warning_count),
              .help = "things that look wrong or could not be read", .fields = warning_fields),
    { .name = NULL },
};
