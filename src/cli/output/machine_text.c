/*
 * A machine as text: a tree by NUMA node, then cards, distances in words, and warnings.
 *
 * It is read by people who see such a machine for the first time, so everything that is unusual
 * (a node that is a GPU's memory, a card that two sockets reach) is said in words beside it.
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/distances.h"
#include "cli/output/machine.h"
#include "cli/output/outline.h"
#include "cli/output/words.h"
#include "numa/pair.h"

enum {
    VENDOR_NVIDIA = 0x10de,
    NICS_MAX = 16,   /* ports shown per node where there are very many */
    NICS_MANY = 128, /* in the whole machine */
    TABLE_NODES_MAX = 16,
};

struct page {
    const struct ath_style *style;
    FILE *out;
    const struct ath_machine *machine;
    const struct ath_outline *outline;
    size_t head_columns;  /* of "NUMA node 252" */
    size_t field_columns; /* of "Nearest NIC" */
};

/* A device in the tree below its node. */
struct branch {
    const struct page *page;
    size_t name_columns;
    bool is_last;
};

static const char *const field_names[] = { N_("Memory"), N_("PCIe"),        N_("Link"),
                                           N_("RDMA"),   N_("Nearest NIC"), N_("SR-IOV") };

static void print_heading(const struct page *page, const char *heading)
{
    fprintf(page->out, "\n%s%s%s\n", ath_style_on(page->style, ATH_ROLE_HEADING), heading,
            ath_style_off(page->style, ATH_ROLE_HEADING));
}

static const char *glyph(const struct page *page, enum ath_glyph which)
{
    return ath_style_glyph(page->style, which);
}

/* Adds a part behind a comma. */
static void add(struct ath_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct ath_text *text, const char *format, ...)
{
    va_list args;
    char *part = NULL;

    va_start(args, format);
    int length = vasprintf(&part, format, args);
    va_end(args);
    if (length > 0)
        ath_text_add(text, "%s%s", text->length ? ", " : "", part);
    if (length >= 0)
        free(part);
}

static void print_branch_head(const struct branch *branch, const char *name, const char *text)
{
    const struct page *page = branch->page;
    enum ath_glyph next = branch->is_last ? ATH_GLYPH_NO_TRUNK : ATH_GLYPH_TRUNK;

    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){
                        .prefix = glyph(page, branch->is_last ? ATH_GLYPH_LAST : ATH_GLYPH_BRANCH),
                        .next_prefix = glyph(page, next),
                        .label = name,
                        .label_role = ATH_ROLE_NAME,
                        .label_columns = branch->name_columns,
                        .text = text });
}

static void print_field(const struct branch *branch, const char *name, enum ath_role role,
                        const char *text)
{
    const struct page *page = branch->page;
    ath_auto_free char *prefix =
        ath_xasprintf("%s   ", glyph(page, branch->is_last ? ATH_GLYPH_NO_TRUNK : ATH_GLYPH_TRUNK));

    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .prefix = prefix,
                                             .label = name,
                                             .label_role = ATH_ROLE_DIM,
                                             .label_columns = page->field_columns,
                                             .text = text,
                                             .role = role });
}

/* --- the head --------------------------------------------------------------------------------- */

static const char *source_words(enum ath_source source)
{
    static const char *const words[] = { [ATH_SOURCE_LIVE] = NULL,
                                         [ATH_SOURCE_ROOT] = N_("read from a captured root"),
                                         [ATH_SOURCE_XML] = N_("read from a topology file") };
    return words[source] ? _(words[source]) : NULL;
}

static void print_head(const struct page *page)
{
    const struct ath_machine *machine = page->machine;
    const char *source = source_words(machine->source);
    ATH_AUTO(ath_text) text = { 0 };

    if (machine->arch)
        add(&text, "%s", machine->arch);
    if (machine->kernel)
        add(&text, _("kernel %s"), machine->kernel);
    if (machine->profile)
        add(&text, _("profile %s"), machine->profile);
    if (source)
        add(&text, "%s", source);
    const char *name = machine->hostname ? machine->hostname : _("(host name unknown)");
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .label = name,
                                             .label_role = ATH_ROLE_HEADING,
                                             .label_columns = ath_style_width(page->style, name),
                                             .text = machine->model ? machine->model : "" });
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .text = text.data ? text.data : "" });
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void print_gpu_memory(const struct branch *branch, const struct ath_gpu *gpu)
{
    static const char *const states[] = { [ATH_MEMORY_UNKNOWN] = NULL,
                                          [ATH_MEMORY_OFFLINE] = N_("offline"),
                                          [ATH_MEMORY_ONLINE] = N_("online") };
    const struct ath_numa_node *node =
        gpu->memory_node < 0 ? NULL : ath_machine_node(branch->page->machine, gpu->memory_node);
    int64_t bytes = gpu->memory_total_bytes;
    ATH_AUTO(ath_text) text = { 0 };

    if (bytes < 0 && node)
        bytes = node->memory_total_bytes;
    if (bytes >= 0) {
        ath_auto_free char *size = ath_words_size(bytes);
        add(&text, "%s", size);
    }
    if (gpu->memory_node >= 0)
        add(&text, _("NUMA node %d"), gpu->memory_node);
    if (states[gpu->memory_state])
        add(&text, "%s", _(states[gpu->memory_state]));
    if (text.length)
        print_field(branch, _("Memory"),
                    gpu->memory_state == ATH_MEMORY_OFFLINE ? ATH_ROLE_BAD : ATH_ROLE_PLAIN,
                    text.data);
}

static void print_gpu_links(const struct branch *branch, size_t index)
{
    const struct page *page = branch->page;
    const struct ath_gpu *gpu = &page->machine->gpus[index];
    const char *name = ath_outline_link_name(gpu);
    ATH_AUTO(ath_text) pcie = { 0 };

    if (gpu->pcie_gen >= 0)
        add(&pcie, _("gen %d"), gpu->pcie_gen);
    if (gpu->pcie_width >= 0)
        add(&pcie, "%s%d", glyph(page, ATH_GLYPH_TIMES), gpu->pcie_width);
    if (pcie.length)
        print_field(branch, _("PCIe"), ATH_ROLE_PLAIN, pcie.data);

    ath_auto_free char *links =
        ath_outline_link_words(page->machine, index, glyph(page, ATH_GLYPH_TIMES));
    if (links)
        print_field(branch, name, ATH_ROLE_PLAIN, links);
    else if (!gpu->has_nvlinks && gpu->vendor_id == VENDOR_NVIDIA)
        print_field(branch, name, ATH_ROLE_DIM, _("not known"));
}

/* "enP3p1s0f0 (mlx5_0)": both names of a port, as far as there are two. */
static char *port_names(const struct page *page, size_t index)
{
    const struct ath_nic *nic = &page->machine->nics[index];

    if (nic->netdev && nic->rdma_device)
        return ath_xasprintf("%s (%s)", nic->netdev, page->outline->nic_names[index]);
    return ath_xstrdup(page->outline->nic_names[index]);
}

static size_t count_rank(const struct ath_machine *machine, size_t gpu, int rank)
{
    size_t count, equal = 0;
    const struct ath_pair *pairs = ath_pairs_of_gpu(machine, gpu, &count);

    for (size_t i = 0; i < count; i++)
        equal += pairs[i].rank == rank;
    return equal;
}

static void print_nearest(const struct branch *branch, size_t gpu)
{
    const struct page *page = branch->page;
    const struct ath_pair *pair = ath_outline_nearest(page->machine, gpu);

    if (!pair)
        return;
    ath_auto_free char *names = port_names(page, pair->nic);
    size_t equal = count_rank(page->machine, gpu, pair->rank) - 1;
    ATH_AUTO(ath_text) text = { 0 };
    ath_text_add(&text, "%s, %s: %s", names, ath_pci_class_word(pair->class),
                 ath_pair_reason(pair));
    if (equal)
        ath_text_add(&text, ngettext("; %zu more is as near", "; %zu more are as near", equal),
                     equal);
    print_field(branch, _("Nearest NIC"), ATH_ROLE_PLAIN, text.data);
}

static void print_gpu(const struct branch *branch, size_t index)
{
    const struct ath_gpu *gpu = &branch->page->machine->gpus[index];
    ath_auto_free char *name = ath_xasprintf("GPU%zu", index);
    ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
    char pci[ATH_PCI_TEXT];
    ath_auto_free char *text =
        ath_xasprintf("%s%s%s", ath_pci_format(&gpu->pci, pci), *device ? "  " : "", device);

    print_branch_head(branch, name, text);
    print_gpu_memory(branch, gpu);
    print_gpu_links(branch, index);
    print_nearest(branch, index);
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
        add(&text, "%s", _(layers[nic->link_layer]));
    if (nic->speed_mbps >= 0) {
        ath_auto_free char *speed = ath_words_speed(nic->speed_mbps);
        add(&text, "%s", speed);
    }
    if (states[nic->link])
        add(&text, "%s", _(states[nic->link]));
    if (nic->mtu >= 0)
        add(&text, _("MTU %d"), nic->mtu);
    if (nic->driver)
        add(&text, _("driver %s"), nic->driver);
    if (text.length)
        print_field(branch, _("Link"), nic->link == ATH_LINK_DOWN ? ATH_ROLE_DIM : ATH_ROLE_PLAIN,
                    text.data);
}

static const struct ath_gid *best_gid(const struct ath_nic *nic)
{
    for (size_t i = 0; i < nic->gid_count; i++)
        if (nic->best_gid_index >= 0 && nic->gids[i].index == nic->best_gid_index)
            return &nic->gids[i];
    return NULL;
}

static void print_rdma(const struct branch *branch, const struct ath_nic *nic)
{
    const struct ath_gid *gid = best_gid(nic);
    ATH_AUTO(ath_text) text = { 0 };

    if (!nic->rdma_device)
        return;
    if (nic->port >= 0)
        ath_text_add(&text, _("%s port %d"), nic->rdma_device, nic->port);
    else
        ath_text_add(&text, "%s", nic->rdma_device);
    if (gid) {
        ath_auto_free char *address = ath_words_gid(gid);
        add(&text, _("use GID %d (%s, %s)"), gid->index, ath_gid_type_word(gid->type), address);
    } else if (nic->gid_count) {
        add(&text, "%s", _("none of its GIDs can be used"));
    }
    print_field(branch, _("RDMA"), ATH_ROLE_PLAIN, text.data);
}

static void print_nic(const struct branch *branch, size_t index)
{
    const struct page *page = branch->page;
    const struct ath_nic *nic = &page->machine->nics[index];
    const char *name = nic->netdev ? nic->netdev : page->outline->nic_names[index];
    ath_auto_free char *device = ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    char pci[ATH_PCI_TEXT];
    ath_auto_free char *text =
        ath_xasprintf("%s%s%s", nic->has_pci ? ath_pci_format(&nic->pci, pci) : _("no PCI address"),
                      *device ? "  " : "", device);

    print_branch_head(branch, name, text);
    print_link(branch, nic);
    print_rdma(branch, nic);
    if (nic->vfs > 0) {
        unsigned int vfs = (unsigned int)nic->vfs;
        ath_auto_free char *words =
            ath_xasprintf(ngettext("%u virtual function", "%u virtual functions", vfs), vfs);
        print_field(branch, _("SR-IOV"), ATH_ROLE_PLAIN, words);
    }
}

/* --- NUMA nodes ------------------------------------------------------------------------------- */

static void add_cpus(const struct ath_numa_node *node, struct ath_text *text)
{
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    size_t count = ath_idset_count(&node->cpus);

    if (!count)
        return;
    add(text, count == 1 ? _("CPU %s") : _("CPUs %s (%zu)"), cpus, count);
    if (node->has_cpus_online && !ath_idset_equals(&node->cpus, &node->cpus_online)) {
        ath_auto_free char *online = ath_idset_format(&node->cpus_online);
        size_t online_count = ath_idset_count(&node->cpus_online);
        if (online_count)
            add(text, _("online of them %s (%zu)"), online, online_count);
        else
            add(text, "%s", _("none of them online"));
    }
}

static void add_memory(const struct ath_numa_node *node, struct ath_text *text)
{
    if (node->memory_total_bytes < 0)
        return;
    if (node->memory_total_bytes == 0) {
        add(text, "%s", _("no memory"));
        return;
    }
    ath_auto_free char *total = ath_words_size(node->memory_total_bytes);
    if (node->memory_free_bytes < 0) {
        add(text, _("memory %s"), total);
        return;
    }
    ath_auto_free char *unused = ath_words_size(node->memory_free_bytes);
    add(text, _("memory %s (%s free)"), total, unused);
}

static void add_node(const struct ath_numa_node *node, struct ath_text *text)
{
    char pci[ATH_PCI_TEXT];

    if (!node->is_online)
        add(text, "%s", _("offline"));
    if (node->kind == ATH_NODE_GPU && node->has_gpu)
        add(text, _("memory of GPU %s"), ath_pci_format(&node->gpu, pci));
    else if (node->kind == ATH_NODE_GPU)
        add(text, "%s", _("memory of a GPU"));
    if (node->kind == ATH_NODE_MEMORY)
        add(text, "%s", _("memory only, no CPUs"));
    add_cpus(node, text);
    add_memory(node, text);
}

static void print_hugepages(const struct page *page, const struct ath_numa_node *node,
                            bool has_children)
{
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; i < node->hugepage_count; i++) {
        const struct ath_hugepages *pages = &node->hugepages[i];
        if (pages->total <= 0)
            continue;
        ath_auto_free char *size = ath_words_page(pages->size_bytes);
        if (pages->free >= 0)
            add(&text, _("%lld %s %s (%lld free)"), (long long)pages->total,
                glyph(page, ATH_GLYPH_TIMES), size, (long long)pages->free);
        else
            add(&text, "%lld %s %s", (long long)pages->total, glyph(page, ATH_GLYPH_TIMES), size);
    }
    if (!text.length)
        return;
    ath_auto_free char *words = ath_xasprintf(_("huge pages: %s"), text.data);
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){
                        .prefix = glyph(page, has_children ? ATH_GLYPH_TRUNK : ATH_GLYPH_NO_TRUNK),
                        .label = "",
                        .label_columns = page->head_columns - 3,
                        .text = words });
}

static size_t shown_nics(const struct page *page, const struct ath_group *group)
{
    bool is_crowded = page->machine->nic_count > NICS_MANY && group->nic_count > NICS_MAX;
    return is_crowded ? NICS_MAX : group->nic_count;
}

static size_t widest_name(const struct page *page, const struct ath_group *group, size_t nics)
{
    size_t widest = group->gpu_count ? strlen("GPU0") : 0;

    for (size_t i = 0; i < group->gpu_count; i++)
        if (group->gpus[i] > 9)
            widest = strlen("GPU10");
    for (size_t i = 0; i < nics; i++) {
        const char *netdev = page->machine->nics[group->nics[i]].netdev;
        size_t width = ath_style_width(page->style,
                                       netdev ? netdev : page->outline->nic_names[group->nics[i]]);
        if (width > widest)
            widest = width;
    }
    return widest;
}

static void print_devices(const struct page *page, const struct ath_group *group)
{
    size_t nics = shown_nics(page, group), rest = group->nic_count - nics;
    struct branch branch = { .page = page, .name_columns = widest_name(page, group, nics) };

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

static char *node_name(const struct ath_numa_node *node)
{
    return ath_xasprintf(_("NUMA node %d"), node->id);
}

static void print_group_head(const struct page *page, const char *name, const char *text,
                             bool has_children)
{
    ath_style_print(
        page->style, page->out,
        &(struct ath_paragraph){
            .next_prefix = glyph(page, has_children ? ATH_GLYPH_TRUNK : ATH_GLYPH_NO_TRUNK),
            .label = name,
            .label_role = ATH_ROLE_HEADING,
            .label_columns = page->head_columns,
            .text = text });
}

static void print_group(const struct page *page, const struct ath_group *group)
{
    bool has_children = group->gpu_count || group->nic_count;

    if (!group->node) {
        print_heading(page, _("On no known NUMA node"));
    } else {
        ath_auto_free char *name = node_name(group->node);
        ATH_AUTO(ath_text) text = { 0 };
        add_node(group->node, &text);
        print_group_head(page, name, text.data ? text.data : "", has_children);
        print_hugepages(page, group->node, has_children);
    }
    print_devices(page, group);
}

static void print_folded(const struct page *page)
{
    const struct ath_outline *outline = page->outline;
    size_t count = ath_idset_count(&outline->folded);

    if (!count)
        return;
    ath_auto_free char *ids = ath_idset_format(&outline->folded);
    ath_auto_free char *size = ath_words_size(outline->folded_bytes);
    ath_auto_free char *text = ath_xasprintf(
        _("%zu nodes without GPUs and network ports: %s; together %zu CPUs and memory %s"), count,
        ids, outline->folded_cpus, size);
    print_group_head(page, _("Other nodes"), text, false);
}

static void print_groups(const struct page *page)
{
    bool had_children = true;

    for (size_t i = 0; i < page->outline->group_count; i++) {
        const struct ath_group *group = &page->outline->groups[i];
        bool has_children = group->gpu_count || group->nic_count;
        /* Nodes without devices stand line by line, the others apart. */
        if (group->node && (i == 0 || had_children || has_children))
            putc('\n', page->out);
        print_group(page, group);
        had_children = has_children;
    }
    if (ath_idset_count(&page->outline->folded)) {
        if (had_children)
            putc('\n', page->out);
        print_folded(page);
    }
}

/* --- cards, distances, warnings --------------------------------------------------------------- */

static bool is_first_of_card(const struct ath_machine *machine, size_t index)
{
    const char *card = machine->nics[index].card;

    for (size_t i = 0; card && i < index; i++)
        if (machine->nics[i].card && !strcmp(machine->nics[i].card, card))
            return false;
    return card;
}

/* "0 and 8", "0, 1, 2". */
static char *node_list(const struct ath_idset *nodes)
{
    size_t count = ath_idset_count(nodes);
    ATH_AUTO(ath_text) text = { 0 };

    if (count == 2) {
        int first = ath_idset_next(nodes, -1);
        return ath_xasprintf(_("%d and %d"), first, ath_idset_next(nodes, first));
    }
    for (int id = -1; (id = ath_idset_next(nodes, id)) >= 0;)
        add(&text, "%d", id);
    return ath_text_take(&text);
}

static void add_card_ports(const struct page *page, const char *card, struct ath_text *text)
{
    bool is_first = true;

    for (size_t i = 0; i < page->machine->nic_count; i++) {
        const struct ath_nic *nic = &page->machine->nics[i];
        if (!nic->card || strcmp(nic->card, card))
            continue;
        ath_text_add(text, "%s%s", is_first ? "" : ", ",
                     nic->netdev ? nic->netdev : page->outline->nic_names[i]);
        is_first = false;
    }
}

/* Only cards that nodes share: the others are told by their ports already. */
static void print_shared_card(const struct page *page, size_t index, bool *has_heading)
{
    ATH_AUTO(ath_idset) nodes = { 0 };
    size_t count = ath_outline_card(page->outline, index, &nodes);
    ATH_AUTO(ath_text) text = { 0 };

    if (ath_idset_count(&nodes) < 2)
        return;
    if (!*has_heading)
        print_heading(page, _("Cards shared by several NUMA nodes"));
    *has_heading = true;
    const struct ath_nic *nic = &page->machine->nics[index];
    ath_auto_free char *ids = node_list(&nodes);
    if (nic->model)
        ath_text_add(&text, "%s: ", nic->model);
    ath_text_add(&text, _("%zu functions on nodes %s ("), count, ids);
    add_card_ports(page, nic->card, &text);
    ath_text_add(&text, ")");
    ath_style_print(
        page->style, page->out,
        &(struct ath_paragraph){ .prefix = "  ",
                                 .label = nic->card,
                                 .label_role = ATH_ROLE_NAME,
                                 .label_columns = ath_style_width(page->style, nic->card),
                                 .text = text.data });
}

static void print_cards(const struct page *page)
{
    bool has_heading = false;

    for (size_t i = 0; i < page->machine->nic_count; i++)
        if (is_first_of_card(page->machine, i))
            print_shared_card(page, i, &has_heading);
}

static void print_distances(const struct page *page)
{
    const struct ath_machine *machine = page->machine;
    ath_auto_free char *words = ath_distances_words(machine);

    if (machine->node_count < 2 || !words)
        return;
    print_heading(page, _("Distances between NUMA nodes"));
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .prefix = "  ", .text = words });
    int columns = page->style->columns;
    size_t width = ath_distances_table_width(machine);
    if (machine->node_count <= TABLE_NODES_MAX && (columns <= 0 || width <= (size_t)columns))
        ath_distances_print(machine, page->style, page->out);
}

/* Most messages name the object themselves. */
static char *warning_words(const struct ath_warning *warning)
{
    const char *object = warning->object ? warning->object : "";
    const char *message = warning->message ? warning->message : "";
    bool is_named = !*object || strstr(message, object);

    return ath_xasprintf("%s%s%s", is_named ? "" : object, is_named ? "" : ": ", message);
}

static void print_warning(const struct page *page, const struct ath_warning *warning)
{
    ath_auto_free char *text = warning_words(warning);
    const char *sign = glyph(page, ATH_GLYPH_WARNING);

    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .prefix = "  ",
                                             .next_prefix = "    ",
                                             .label = sign,
                                             .label_role = ATH_ROLE_WARN,
                                             .text = text });
    if (!warning->hint)
        return;
    ath_auto_free char *hint = ath_xasprintf(_("mend: %s"), warning->hint);
    ath_style_print(
        page->style, page->out,
        &(struct ath_paragraph){ .prefix = "    ", .text = hint, .role = ATH_ROLE_DIM });
}

static void print_warnings(const struct page *page)
{
    if (page->machine->warning_count)
        print_heading(page, _("Warnings"));
    for (size_t i = 0; i < page->machine->warning_count; i++)
        print_warning(page, &page->machine->warnings[i]);
}

/* --- the page --------------------------------------------------------------------------------- */

static void measure(struct page *page)
{
    for (size_t i = 0; i < ATH_COUNT(field_names); i++) {
        size_t width = ath_style_width(page->style, _(field_names[i]));
        if (width > page->field_columns)
            page->field_columns = width;
    }
    page->head_columns =
        page->outline->folded.range_count ? ath_style_width(page->style, _("Other nodes")) : 0;
    for (size_t i = 0; i < page->outline->group_count; i++) {
        if (!page->outline->groups[i].node)
            continue;
        ath_auto_free char *name = node_name(page->outline->groups[i].node);
        size_t width = ath_style_width(page->style, name);
        if (width > page->head_columns)
            page->head_columns = width;
    }
}

void ath_machine_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    ATH_AUTO(ath_outline) outline = { 0 };
    struct page page = { .style = style, .out = out, .machine = data, .outline = &outline };

    ath_outline_make(data, &outline);
    measure(&page);
    print_head(&page);
    print_groups(&page);
    print_cards(&page);
    print_distances(&page);
    print_warnings(&page);
}
