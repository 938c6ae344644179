/* GPUs and network ports as text: a branch for each, with its facts below. */
#include "config.h"

#include "cli/output/machine/text_devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/gpu_health.h"
#include "cli/output/words.h"
#include "numa/pair.h"
#include "roce/lack.h"

enum {
    NICS_MAX = 16,   /* ports shown for each node, if there are very many */
    NICS_MANY = 128, /* ports of the machine that are very many */
};

/* A device in the tree below its node. */
struct branch {
    const struct ath_style *style;
    FILE *out;
    const struct ath_outline *outline;
    const struct ath_machine *machine;
    size_t name_columns;
    size_t field_columns; /* width of "Nearest NIC" */
    bool is_last;
};

static const char *const field_names[] = { N_("Memory"),     N_("PCIe"),        N_("Link"),
                                           N_("RDMA"),       N_("Nearest NIC"), N_("SR-IOV"),
                                           N_("Partitions"), N_("Health") };

static const char *glyph(const struct branch *branch, enum ath_glyph which)
{
    return ath_style_glyph(branch->style, which);
}

static void print_branch_head(const struct branch *branch, const char *name, const char *text)
{
    enum ath_glyph next = branch->is_last ? ATH_GLYPH_NO_TRUNK : ATH_GLYPH_TRUNK;

    ath_style_print(
        branch->style, branch->out,
        &(struct ath_paragraph){
            .prefix = glyph(branch, branch->is_last ? ATH_GLYPH_LAST : ATH_GLYPH_BRANCH),
            .next_prefix = glyph(branch, next),
            .label = name,
            .label_role = ATH_ROLE_NAME,
            .label_columns = branch->name_columns,
            .text = text });
}

static void print_field(const struct branch *branch, const char *name, enum ath_role role,
                        const char *text)
{
    ath_auto_free char *prefix = ath_xasprintf(
        "%s   ", glyph(branch, branch->is_last ? ATH_GLYPH_NO_TRUNK : ATH_GLYPH_TRUNK));

    ath_style_print(branch->style, branch->out,
                    &(struct ath_paragraph){ .prefix = prefix,
                                             .label = name,
                                             .label_role = ATH_ROLE_DIM,
                                             .label_columns = branch->field_columns,
                                             .text = text,
                                             .role = role });
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void print_gpu_memory(const struct branch *branch, const struct ath_gpu *gpu)
{
    static const char *const states[] = { [ATH_MEMORY_UNKNOWN] = NULL,
                                          [ATH_MEMORY_OFFLINE] = N_("offline"),
                                          [ATH_MEMORY_ONLINE] = N_("online") };
    const struct ath_numa_node *node =
        gpu->memory_node < 0 ? NULL : ath_machine_node(branch->machine, gpu->memory_node);
    int64_t bytes = gpu->memory_total_bytes;
    ATH_AUTO(ath_text) text = { 0 };

    if (bytes < 0 && node)
        bytes = node->memory_total_bytes;
    if (bytes >= 0) {
        ath_auto_free char *size = ath_words_size(bytes);
        ath_text_add_part(&text, _(", "), "%s", size);
    }
    if (gpu->memory_node >= 0)
        ath_text_add_part(&text, _(", "), _("NUMA node %d"), gpu->memory_node);
    if (states[gpu->memory_state])
        ath_text_add_part(&text, _(", "), "%s", _(states[gpu->memory_state]));
    if (text.length)
        print_field(branch, _("Memory"),
                    gpu->memory_state == ATH_MEMORY_OFFLINE ? ATH_ROLE_BAD : ATH_ROLE_PLAIN,
                    text.data);
}

/* A GPU that is split: programs see each partition as a GPU. */
static void print_partitions(const struct branch *branch, const struct ath_gpu *gpu)
{
    bool is_whole = gpu->partition_mode && !strcmp(gpu->partition_mode, "SPX");
    ATH_AUTO(ath_text) text = { 0 };

    if (gpu->partitions > 1)
        ath_text_add_part(&text, _(", "), _("%d, each a GPU for programs"), gpu->partitions);
    if (gpu->partition_mode && !is_whole)
        ath_text_add_part(&text, _(", "), _("mode %s"), gpu->partition_mode);
    if (text.length)
        print_field(branch, _("Partitions"), ATH_ROLE_PLAIN, text.data);
}

static bool have_links(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].nvlink_count)
            return true;
    return false;
}

static void print_gpu_links(const struct branch *branch, size_t index)
{
    const struct ath_gpu *gpu = &branch->machine->gpus[index];
    const char *name = ath_outline_link_name(gpu);
    ATH_AUTO(ath_text) pcie = { 0 };

    if (gpu->pcie_gen >= 0)
        ath_text_add_part(&pcie, _(", "), _("gen %d"), gpu->pcie_gen);
    if (gpu->pcie_width >= 0)
        ath_text_add_part(&pcie, _(", "), "%s%d", glyph(branch, ATH_GLYPH_TIMES), gpu->pcie_width);
    if (gpu->pcie_gen < 0 && gpu->pcie_mbps >= 0) {
        ath_auto_free char *speed = ath_words_speed(gpu->pcie_mbps);
        ath_text_add_part(&pcie, _(", "), "%s", speed);
    }
    if (gpu->to_gpu_bytes_per_s > 0 && gpu->from_gpu_bytes_per_s > 0) {
        ath_auto_free char *to = ath_words_bandwidth(gpu->to_gpu_bytes_per_s);
        ath_auto_free char *from = ath_words_bandwidth(gpu->from_gpu_bytes_per_s);
        ath_text_add_part(&pcie, _(", "), _("measured %s to the GPU and %s back"), to, from);
    }
    if (pcie.length)
        print_field(branch, _("PCIe"), ATH_ROLE_PLAIN, pcie.data);

    ath_auto_free char *links =
        ath_outline_link_words(branch->machine, index, glyph(branch, ATH_GLYPH_TIMES));
    if (links)
        print_field(branch, name, ATH_ROLE_PLAIN, links);
    else if (gpu->has_nvlinks && have_links(branch->machine))
        print_field(branch, name, ATH_ROLE_PLAIN, _("none"));
    else if (!gpu->has_nvlinks && gpu->vendor_id == ATH_VENDOR_NVIDIA)
        print_field(branch, name, ATH_ROLE_DIM, _("not known"));
}

static const char *nic_name(const struct ath_outline *outline, size_t index)
{
    const char *netdev = outline->machine->nics[index].netdev;
    return netdev ? netdev : outline->nic_names[index];
}

/* The names of a port: "enP3p1s0f0 (mlx5_0)", or the only one. The caller frees it. */
static char *port_names(const struct branch *branch, size_t index)
{
    const struct ath_nic *nic = &branch->machine->nics[index];

    if (nic->netdev && nic->rdma_device)
        return ath_xasprintf("%s (%s)", nic->netdev, branch->outline->nic_names[index]);
    return ath_xstrdup(branch->outline->nic_names[index]);
}

/* Counts the ports of a rank that are not down. */
static size_t count_rank(const struct ath_machine *machine, size_t gpu, int rank)
{
    size_t count, equal = 0;
    const struct ath_pair *pairs = ath_pairs_of_gpu(machine, gpu, &count);

    for (size_t i = 0; i < count; i++)
        equal += pairs[i].rank == rank && machine->nics[pairs[i].nic].link != ATH_LINK_DOWN;
    return equal;
}

static void print_nearest(const struct branch *branch, size_t gpu)
{
    const struct ath_pair *pair = ath_outline_nearest(branch->machine, gpu);

    if (!pair)
        return;
    ath_auto_free char *names = port_names(branch, pair->nic);
    bool is_down = branch->machine->nics[pair->nic].link == ATH_LINK_DOWN;
    size_t equal = count_rank(branch->machine, gpu, pair->rank) - !is_down;
    ATH_AUTO(ath_text) text = { 0 };
    ath_text_add(&text, _("%s, %s: %s"), names, ath_pci_class_word(pair->class),
                 ath_pair_reason(pair));
    if (equal)
        ath_text_add(&text, ngettext("; %zu more is as near", "; %zu more are as near", equal),
                     equal);
    print_field(branch, _("Nearest NIC"), ATH_ROLE_PLAIN, text.data);
}

/* With -v only: a low score has a warning. */
static void print_gpu_health(const struct branch *branch, const struct ath_gpu *gpu)
{
    ath_auto_free char *text = ath_gpu_health_words(gpu);

    if (branch->style->is_verbose && gpu->vendor_id == ATH_VENDOR_NVIDIA)
        print_field(branch, _("Health"), ATH_ROLE_PLAIN, text);
}

static void print_gpu(const struct branch *branch, size_t index)
{
    const struct ath_gpu *gpu = &branch->machine->gpus[index];
    ath_auto_free char *name = ath_xasprintf("GPU%zu", index);
    ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
    bool has_pci = ath_pci_is_address(&gpu->pci);
    char pci[ATH_PCI_TEXT];
    ath_auto_free char *text =
        ath_xasprintf("%s%s%s", has_pci ? ath_pci_format(&gpu->pci, pci) : "",
                      has_pci && *device ? "  " : "", device);

    print_branch_head(branch, name, text);
    print_gpu_memory(branch, gpu);
    print_partitions(branch, gpu);
    print_gpu_links(branch, index);
    print_nearest(branch, index);
    print_gpu_health(branch, gpu);
}

/* --- network ports ---------------------------------------------------------------------------- */

static void print_link(const struct branch *branch, const struct ath_nic *nic)
{
    static const char *const layers[] = { [ATH_LAYER_UNKNOWN] = NULL,
                                          [ATH_LAYER_ETHERNET] = N_("Ethernet"),
                                          [ATH_LAYER_INFINIBAND] = N_("InfiniBand") };
    static const char *const states[] = {
        [ATH_LINK_UNKNOWN] = NULL, [ATH_LINK_DOWN] = N_("down"), [ATH_LINK_UP] = N_("up")
    };
    ATH_AUTO(ath_text) text = { 0 };

    if (layers[nic->link_layer])
        ath_text_add_part(&text, _(", "), "%s", _(layers[nic->link_layer]));
    if (nic->speed_mbps >= 0) {
        ath_auto_free char *speed = ath_words_speed(nic->speed_mbps);
        ath_text_add_part(&text, _(", "), "%s", speed);
    }
    if (states[nic->link])
        ath_text_add_part(&text, _(", "), "%s", _(states[nic->link]));
    if (nic->mtu >= 0)
        ath_text_add_part(&text, _(", "), _("MTU %d"), nic->mtu);
    if (nic->driver)
        ath_text_add_part(&text, _(", "), _("driver %s"), nic->driver);
    if (nic->master)
        ath_text_add_part(&text, _(", "), _("part of %s"), nic->master);
    if (text.length)
        print_field(branch, _("Link"), nic->link == ATH_LINK_DOWN ? ATH_ROLE_DIM : ATH_ROLE_PLAIN,
                    text.data);
}

static void print_rdma(const struct branch *branch, const struct ath_nic *nic)
{
    const struct ath_gid *gid = ath_nic_gid(nic);
    enum ath_lack lack = ath_nic_lack(nic);
    ATH_AUTO(ath_text) text = { 0 };

    if (!nic->rdma_device)
        return;
    if (nic->port >= 0)
        ath_text_add(&text, _("%s port %d"), nic->rdma_device, nic->port);
    else
        ath_text_add(&text, "%s", nic->rdma_device);
    if (gid) {
        ath_auto_free char *address = ath_words_gid(gid);
        ath_text_add_part(&text, _(", "), _("use GID %d (%s, %s)"), gid->index,
                          ath_gid_type_word(gid->type), address);
    } else if (lack != ATH_LACK_UNKNOWN) {
        ath_text_add_part(&text, _(", "), _("no GID to use: %s"), ath_lack_text(lack));
    }
    print_field(branch, _("RDMA"), ATH_ROLE_PLAIN, text.data);
}

static void print_nic(const struct branch *branch, size_t index)
{
    const struct ath_nic *nic = &branch->machine->nics[index];
    ath_auto_free char *device = ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    char pci[ATH_PCI_TEXT];
    ath_auto_free char *text =
        ath_xasprintf("%s%s%s", nic->has_pci ? ath_pci_format(&nic->pci, pci) : _("no PCI address"),
                      *device ? "  " : "", device);

    print_branch_head(branch, nic_name(branch->outline, index), text);
    print_link(branch, nic);
    print_rdma(branch, nic);
    if (nic->vfs > 0) {
        unsigned int vfs = (unsigned int)nic->vfs;
        ath_auto_free char *words =
            ath_xasprintf(ngettext("%u virtual function", "%u virtual functions", vfs), vfs);
        print_field(branch, _("SR-IOV"), ATH_ROLE_PLAIN, words);
    }
}

/* --- the devices of a node
 * --------------------------------------------------------------------- */

static size_t shown_nics(const struct ath_machine *machine, const struct ath_group *group)
{
    bool is_crowded = machine->nic_count > NICS_MANY && group->nic_count > NICS_MAX;
    return is_crowded ? NICS_MAX : group->nic_count;
}

static void widen(size_t *columns, const struct ath_style *style, const char *text)
{
    size_t width = ath_style_width(style, text);
    if (width > *columns)
        *columns = width;
}

static void measure(struct branch *branch, const struct ath_group *group, size_t nics)
{
    branch->name_columns = group->gpu_count ? strlen("GPU0") : 0;
    for (size_t i = 0; i < group->gpu_count; i++)
        if (group->gpus[i] > 9)
            branch->name_columns = strlen("GPU10");
    for (size_t i = 0; i < nics; i++)
        widen(&branch->name_columns, branch->style, nic_name(branch->outline, group->nics[i]));
    for (size_t i = 0; i < ATH_COUNT(field_names); i++)
        widen(&branch->field_columns, branch->style, _(field_names[i]));
}

void ath_text_devices(const struct ath_style *style, FILE *out, const struct ath_outline *outline,
                      const struct ath_group *group)
{
    struct branch branch = {
        .style = style, .out = out, .outline = outline, .machine = outline->machine
    };
    size_t nics = shown_nics(outline->machine, group), rest = group->nic_count - nics;

    measure(&branch, group, nics);
    for (size_t i = 0; i < group->gpu_count; i++) {
        branch.is_last = i + 1 == group->gpu_count && !group->nic_count;
        print_gpu(&branch, group->gpus[i]);
    }
    for (size_t i = 0; i < nics; i++) {
        branch.is_last = i + 1 == group->nic_count;
        print_nic(&branch, group->nics[i]);
    }
    if (rest) {
        ath_auto_free char *text = ath_xasprintf(
            ngettext("%zu more port (--json shows it)", "%zu more ports (--json shows them)", rest),
            rest);
        branch.is_last = true;
        print_branch_head(&branch, "", text);
    }
}
