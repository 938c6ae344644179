/* A machine as aitherion.machine/1; docs/schema/machine.json says what each key means. */
#include "config.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "cli/output/json.h"
#include "cli/output/machine.h"
#include "cli/output/words.h"
#include "numa/machine.h"
#include "numa/pair.h"

/* A thousand GPUs with four ports each would be half a gigabyte. */
enum { PAIRS_MANY = 10000, PAIRS_OF_GPU_MAX = 16 };

static json_t *pci_address(bool is_known, const struct ath_pci *pci)
{
    char text[ATH_PCI_TEXT];
    return is_known ? json_string(ath_pci_format(pci, text)) : json_null();
}

/* Vendor and device ids as lspci and sysfs write them, without 0x: "10de". */
static json_t *pci_id(int id)
{
    return id < 0 ? json_null() : json_sprintf("%04x", (unsigned int)id);
}

static json_t *idset(bool is_known, const struct ath_idset *set)
{
    if (!is_known)
        return json_null();
    ath_auto_free char *text = ath_idset_format(set);
    return json_string(text);
}

static json_t *hugepages(const struct ath_numa_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->hugepage_count; i++) {
        const struct ath_hugepages *pages = &node->hugepages[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "size_bytes",
                                              ath_json_number(pages->size_bytes), "total",
                                              ath_json_number(pages->total), "free",
                                              ath_json_number(pages->free)));
    }
    return list;
}

static json_t *distances(const struct ath_numa_node *node)
{
    json_t *object = json_object();
    for (size_t i = 0; i < node->distance_count; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", node->distances[i].node);
        json_object_set_new_nocheck(object, key, ath_json_number(node->distances[i].value));
    }
    return object;
}

static json_t *numa_node(const struct ath_numa_node *node)
{
    return json_pack("{s:i, s:s, s:b, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "id", node->id,
                     "kind", ath_node_kind_word(node->kind), "online", node->is_online, "cpus",
                     idset(true, &node->cpus), "cpu_count",
                     (json_int_t)ath_idset_count(&node->cpus), "cpus_online",
                     idset(node->has_cpus_online, &node->cpus_online), "memory_total_bytes",
                     ath_json_number(node->memory_total_bytes), "memory_free_bytes",
                     ath_json_number(node->memory_free_bytes), "hugepages", hugepages(node), "gpu",
                     pci_address(node->has_gpu, &node->gpu), "distances", distances(node));
}

static json_t *nvlink(const struct ath_nvlink *link)
{
    static const char *const kinds[] = {
        [ATH_PEER_GPU] = "gpu", [ATH_PEER_CPU] = "cpu", [ATH_PEER_SWITCH] = "switch"
    };
    return json_pack("{s:o, s:s, s:b, s:o, s:o}", "peer", pci_address(link->has_peer, &link->peer),
                     "peer_kind", kinds[link->kind], "through_switch", link->is_through_switch,
                     "count", ath_json_number(link->count), "speed_mbps",
                     ath_json_number(link->speed_mbps));
}

static json_t *nvlinks(const struct ath_gpu *gpu)
{
    if (!gpu->has_nvlinks)
        return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        json_array_append_new(list, nvlink(&gpu->nvlinks[i]));
    return list;
}

static json_t *memory_state(enum ath_memory_state state)
{
    static const char *const words[] = { [ATH_MEMORY_UNKNOWN] = NULL,
                                         [ATH_MEMORY_OFFLINE] = "offline",
                                         [ATH_MEMORY_ONLINE] = "online" };
    return ath_json_text(words[state]);
}

static json_t *gpu_fields(const struct ath_gpu *gpu)
{
    json_t *pcie = json_pack("{s:o, s:o}", "gen", ath_json_number(gpu->pcie_gen), "width",
                             ath_json_number(gpu->pcie_width));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pci",
        pci_address(true, &gpu->pci), "vendor_id", pci_id(gpu->vendor_id), "device_id",
        pci_id(gpu->device_id), "vendor", ath_json_text(ath_words_vendor(gpu->vendor_id)), "model",
        ath_json_text(gpu->model), "uuid", ath_json_text(gpu->uuid), "numa_node",
        ath_json_number(gpu->numa_node), "memory_node", ath_json_number(gpu->memory_node),
        "memory_state", memory_state(gpu->memory_state), "memory_total_bytes",
        ath_json_number(gpu->memory_total_bytes), "pcie", pcie, "nvlinks", nvlinks(gpu),
        "driver_version", ath_json_text(gpu->driver_version));
}

static json_t *gids(const struct ath_nic *nic)
{
    json_t *list = json_array();
    for (size_t i = 0; i < nic->gid_count; i++) {
        const struct ath_gid *gid = &nic->gids[i];
        json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o, s:b}", "index", gid->index,
                                              "gid", ath_json_text(gid->address), "type",
                                              ath_json_text(ath_gid_type_word(gid->type)), "netdev",
                                              ath_json_text(*gid->netdev ? gid->netdev : NULL),
                                              "usable", gid->is_usable));
    }
    return list;
}

static json_t *subnets(const struct ath_nic *nic)
{
    json_t *list = json_array();
    for (size_t i = 0; i < nic->subnet_count; i++)
        json_array_append_new(list, ath_json_text(nic->subnets[i]));
    return list;
}

/* The half that every network port has. */
static json_t *nic_link(const struct ath_nic *nic)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pci",
        pci_address(nic->has_pci, &nic->pci), "vendor_id", pci_id(nic->vendor_id), "device_id",
        pci_id(nic->device_id), "vendor", ath_json_text(ath_words_vendor(nic->vendor_id)), "model",
        ath_json_text(nic->model), "netdev", ath_json_text(nic->netdev), "master",
        ath_json_text(nic->master), "driver", ath_json_text(nic->driver), "numa_node",
        ath_json_number(nic->numa_node), "speed_mbps", ath_json_number(nic->speed_mbps), "link",
        ath_json_text(ath_link_state_word(nic->link)), "mtu", ath_json_number(nic->mtu), "mac",
        ath_json_text(nic->mac));
}

static json_t *nic_fields(const struct ath_nic *nic)
{
    json_t *fields = nic_link(nic);
    json_t *rdma =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rdma_device",
                  ath_json_text(nic->rdma_device), "port", ath_json_number(nic->port), "link_layer",
                  ath_json_text(ath_link_layer_word(nic->link_layer)), "card",
                  ath_json_text(nic->card), "vfs", ath_json_number(nic->vfs), "gids", gids(nic),
                  "best_gid_index", ath_json_number(nic->best_gid_index), "subnets", subnets(nic));
    json_object_update(fields, rdma);
    json_decref(rdma);
    return fields;
}

static json_t *pair_fields(const struct ath_machine *machine, const struct ath_pair *pair)
{
    const struct ath_gpu *gpu = &machine->gpus[pair->gpu];
    const struct ath_nic *nic = &machine->nics[pair->nic];
    bool has_class = pair->class != ATH_PCI_UNKNOWN;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "gpu",
                     pci_address(true, &gpu->pci), "nic", pci_address(nic->has_pci, &nic->pci),
                     "netdev", ath_json_text(nic->netdev), "rdma_device",
                     ath_json_text(nic->rdma_device), "class",
                     ath_json_text(has_class ? ath_pci_class_word(pair->class) : NULL), "same_node",
                     pair->is_same_node, "rank", ath_json_number(pair->rank), "reason",
                     ath_json_text(ath_pair_reason(pair)));
}

/* Every pair, but of a machine with very many only the nearest of each GPU. */
static json_t *pairs_list(const struct ath_machine *machine)
{
    json_t *list = json_array();
    size_t of_gpu = 0;

    for (size_t i = 0; i < machine->pair_count; i++) {
        const struct ath_pair *pair = &machine->pairs[i];
        of_gpu = i > 0 && pair->gpu == machine->pairs[i - 1].gpu ? of_gpu + 1 : 0;
        if (machine->pair_count <= PAIRS_MANY || of_gpu < PAIRS_OF_GPU_MAX)
            json_array_append_new(list, pair_fields(machine, pair));
    }
    return list;
}

static json_t *warning_fields(const struct ath_warning *warning)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "code", ath_json_text(warning->code), "object",
                     ath_json_text(warning->object), "message", ath_json_text(warning->message),
                     "hint", ath_json_text(warning->hint));
}

static json_t *machine_fields(const struct ath_machine *machine)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "hostname", ath_json_text(machine->hostname),
                     "model", ath_json_text(machine->model), "arch", ath_json_text(machine->arch),
                     "kernel", ath_json_text(machine->kernel), "profile",
                     ath_json_text(machine->profile), "source", ath_source_word(machine->source));
}

json_t *ath_machine_to_json(const void *data)
{
    const struct ath_machine *machine = data;
    json_t *nodes = json_array(), *gpus = json_array(), *nics = json_array();
    json_t *warnings = json_array();

    for (size_t i = 0; i < machine->node_count; i++)
        json_array_append_new(nodes, numa_node(&machine->nodes[i]));
    for (size_t i = 0; i < machine->gpu_count; i++)
        json_array_append_new(gpus, gpu_fields(&machine->gpus[i]));
    for (size_t i = 0; i < machine->nic_count; i++)
        json_array_append_new(nics, nic_fields(&machine->nics[i]));
    for (size_t i = 0; i < machine->warning_count; i++)
        json_array_append_new(warnings, warning_fields(&machine->warnings[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "machine", machine_fields(machine),
                     "numa_nodes", nodes, "gpus", gpus, "nics", nics, "pairs", pairs_list(machine),
                     "warnings", warnings);
}
