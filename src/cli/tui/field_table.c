/* The table of fields, with what the machine offers for them. */
#include "config.h"

#include "cli/tui/field_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/words.h"

/* Returns node, speed, state and name as cells. */
static char *words_of_nic(const struct ath_nic *nic)
{
    ath_auto_free char *device = ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    ath_auto_free char *node = nic->numa_node == ATH_UNKNOWN
                                   ? ath_xstrdup("")
                                   : ath_xasprintf(_("NUMA node %d"), nic->numa_node);
    ath_auto_free char *speed =
        nic->speed_mbps > 0 ? ath_words_speed(nic->speed_mbps) : ath_xstrdup("");
    const char *state = nic->link == ATH_LINK_UP     ? _("up")
                        : nic->link == ATH_LINK_DOWN ? _("down")
                                                     : "";

    return ath_xasprintf("%s\t%s\t%s\t%s", node, speed, state, device ? device : "");
}

static void offer_links_of(const struct ath_tui *tui, bool is_for_macvlan, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.nic_count; i++) {
        const struct ath_nic *nic = &tui->store.machine.nics[i];
        if (!nic->netdev || (is_for_macvlan && nic->link_layer == ATH_LAYER_INFINIBAND))
            continue;
        ath_auto_free char *words = words_of_nic(nic);
        ath_choices_add(out, nic->netdev, NULL, words);
    }
}

static void offer_links(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_links_of(tui, false, out);
}

/* InfiniBand cannot carry a macvlan. */
static void offer_parents(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_links_of(tui, true, out);
}

static void offer_rdma(const struct ath_tui *tui, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.nic_count; i++) {
        const struct ath_nic *nic = &tui->store.machine.nics[i];
        if (!nic->rdma_device || ath_choices_find(out, nic->rdma_device))
            continue;
        ath_auto_free char *words = words_of_nic(nic);
        ath_auto_free char *detail = ath_xasprintf("%s\t%s", nic->netdev ? nic->netdev : "", words);
        ath_choices_add(out, nic->rdma_device, NULL, detail);
    }
}

static void offer_gpus(const struct ath_tui *tui, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.gpu_count && !tui->store.machine.is_text; i++) {
        const struct ath_gpu *gpu = &tui->store.machine.gpus[i];
        char pci[ATH_PCI_TEXT];
        ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
        ath_auto_free char *node = gpu->numa_node == ATH_UNKNOWN
                                       ? ath_xstrdup("")
                                       : ath_xasprintf(_("NUMA node %d"), gpu->numa_node);
        ath_auto_free char *detail = ath_xasprintf("GPU%zu\t%s\t%s", i, node, device);
        ath_choices_add(out, ath_pci_format(&gpu->pci, pci), NULL, detail);
    }
}

static void offer_nodes_of(const struct ath_tui *tui, bool is_with_cpus, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.node_count; i++) {
        const struct ath_numa_node *node = &tui->store.machine.nodes[i];
        char gpu[ATH_PCI_TEXT];
        if (is_with_cpus && node->kind != ATH_NODE_CPU)
            continue;
        ath_auto_free char *id = ath_xasprintf("%d", node->id);
        ath_auto_free char *size = node->memory_total_bytes > 0
                                       ? ath_words_size(node->memory_total_bytes)
                                       : ath_xstrdup("");
        ath_auto_free char *cpus = ath_idset_format(&node->cpus);
        ath_auto_free char *use =
            node->has_gpu ? ath_xasprintf(_("memory of GPU %s"), ath_pci_format(&node->gpu, gpu))
            : node->kind == ATH_NODE_CPU ? ath_xasprintf(_("CPUs %s"), cpus)
                                         : ath_xstrdup("");
        ath_auto_free char *detail = ath_xasprintf("%s\t%s", size, use);
        ath_choices_add(out, id, NULL, detail);
    }
}

static void offer_cpu_nodes(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_nodes_of(tui, true, out);
}

static void offer_nodes(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_nodes_of(tui, false, out);
}

static void offer_entries(const struct ath_tui *tui, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.document.numa.count; i++) {
        ath_auto_free char *id = ath_xasprintf("%d", tui->store.document.numa.items[i].id);
        ath_auto_free char *name = ath_xasprintf("NUMA%s", id);
        ath_choices_add(out, id, name, NULL);
    }
}

static const struct ath_field_row fields[] = {
    { "numa", "node", N_("NUMA node of the kernel"), "", offer_cpu_nodes },
    { "numa", "memory_nodes", N_("Memory nodes"), "", offer_nodes },
    { "numa", "memory_percent", N_("Memory percentage"), " %", NULL },
    { "numa", "vram_fraction", N_("VRAM fraction"), "", NULL },
    { "numa", "enforce", N_("Limits of GPU memory enforced"), "", NULL },
    { "numa", "control_iface", N_("Control interface"), "", offer_links },
    { "numa", "data_iface", N_("Data interfaces"), "", offer_links },
    { "numa", "gpus", N_("GPUs"), "", offer_gpus },
    { "numa", "rdma_devices", N_("RDMA devices"), "", offer_rdma },
    { "numa", "control_port", N_("Control port"), "", NULL },
    { "numa", "data_port", N_("Data port"), "", NULL },
    { "numa", "metrics", N_("Metrics address or port"), "", NULL },
    { "", "encrypt", N_("Encryption of TCP"), "", NULL },
    { "", "sharing", N_("Turns on a GPU"), "", NULL },
    { "", "log_level", N_("Level of the logs"), "", NULL },
    { "", "udp", N_("Large copies by UDP"), "", NULL },
    { "", "tls_certificate", N_("Certificate of the runtimes"), "", NULL },
    { "", "tls_key", N_("Private key of the certificate"), "", NULL },
    { "", "metrics_web", N_("TLS and passwords of metrics"), "", NULL },
    { "", "tls_ca", N_("Authorities that clients trust"), "", NULL },
    { "", "limits.sessions_per_source", N_("Sessions from one source"), "", NULL },
    { "", "limits.host_fraction", N_("Host memory of one session"), "", NULL },
    { "identities", "name", N_("Name of the identity"), "", NULL },
    { "identities", "memory", N_("Memory of each GPU"), "", NULL },
    { "identities", "share", N_("Share of a GPU's time"), " %", NULL },
    { "identities", "cap", N_("Never more than the share"), "", NULL },
    { "identities", "priority", N_("Highest priority"), "", NULL },
    { "identities", "sm_share", N_("Part of a GPU's multiprocessors"), " %", NULL },
    { "identities", "sessions", N_("Sessions"), "", NULL },
    { "identities", "gpus", N_("GPUs"), "", offer_gpus },
    { "identities", "admin", N_("Administrator"), "", NULL },
    { "roce.cards", "description", N_("Description"), "", NULL },
    { "roce.cards", "numa", N_("NUMA entries that use it"), "", offer_entries },
    { "roce.macvlans", "name", N_("Name"), "", NULL },
    { "roce.macvlans", "parent", N_("Parent interface"), "", offer_parents },
    { "roce.macvlans", "mode", N_("Mode"), "", NULL },
    { "roce.macvlans", "address", N_("Address"), "", NULL },
    { "roce.macvlans", "mtu", N_("MTU"), "", NULL },
    { "roce.macvlans", "numa", N_("NUMA entry whose container gets it"), "", offer_entries },
    { "roce.macvlans", "host_link", N_("Second link on the host"), "", NULL },
    { "roce.macvlans", "host_address", N_("Address of the host's link"), "", NULL },
};

const struct ath_field_row *ath_field_find(const char *list, const char *key)
{
    for (size_t i = 0; i < ATH_COUNT(fields); i++)
        if (!strcmp(fields[i].list, list) && !strcmp(fields[i].key, key))
            return &fields[i];
    abort(); /* a row of a screen names a field that is not in the table */
}
