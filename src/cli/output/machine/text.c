/*
 * A machine as text: a tree by NUMA node, then cards, distances in words, and warnings.
 *
 * Readers may see such a machine for the first time, so the text explains everything unusual: a
 * node that is a GPU's memory, a card that two sockets reach.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/machine/distances.h"
#include "cli/output/machine/machine.h"
#include "cli/output/machine/outline.h"
#include "cli/output/machine/text_devices.h"
#include "cli/output/words.h"

enum { TABLE_NODES_MAX = 16 };

struct page {
    const struct ath_style *style;
    FILE *out;
    const struct ath_machine *machine;
    const struct ath_outline *outline;
    size_t head_columns; /* width of "NUMA node 252" */
};

static void print_heading(const struct page *page, const char *heading)
{
    fprintf(page->out, "\n%s%s%s\n", ath_style_on(page->style, ATH_ROLE_HEADING), heading,
            ath_style_off(page->style, ATH_ROLE_HEADING));
}

static const char *glyph(const struct page *page, enum ath_glyph which)
{
    return ath_style_glyph(page->style, which);
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
        ath_text_add_part(&text, _(", "), "%s", machine->arch);
    if (machine->kernel)
        ath_text_add_part(&text, _(", "), _("kernel %s"), machine->kernel);
    if (machine->profile)
        ath_text_add_part(&text, _(", "), _("profile %s"), machine->profile);
    if (source)
        ath_text_add_part(&text, _(", "), "%s", source);
    const char *name = machine->hostname ? machine->hostname : _("(host name unknown)");
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .label = name,
                                             .label_role = ATH_ROLE_HEADING,
                                             .label_columns = ath_style_width(page->style, name),
                                             .text = machine->model ? machine->model : "" });
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .text = text.data ? text.data : "" });
}

/* --- NUMA nodes ------------------------------------------------------------------------------- */

static void add_cpus(const struct ath_numa_node *node, struct ath_text *text)
{
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    size_t count = ath_idset_count(&node->cpus);

    if (!count)
        return;
    ath_text_add_part(text, _(", "), count == 1 ? _("CPU %s") : _("CPUs %s (%zu)"), cpus, count);
    if (node->has_cpus_online && !ath_idset_equals(&node->cpus, &node->cpus_online)) {
        ath_auto_free char *online = ath_idset_format(&node->cpus_online);
        size_t online_count = ath_idset_count(&node->cpus_online);
        if (online_count)
            ath_text_add_part(text, _(", "), _("of which online: %s (%zu)"), online, online_count);
        else
            ath_text_add_part(text, _(", "), "%s", _("none of them online"));
    }
}

static void add_memory(const struct ath_numa_node *node, struct ath_text *text)
{
    if (node->memory_total_bytes < 0)
        return;
    if (node->memory_total_bytes == 0) {
        ath_text_add_part(text, _(", "), "%s", _("no memory"));
        return;
    }
    ath_auto_free char *total = ath_words_size(node->memory_total_bytes);
    if (node->memory_free_bytes < 0) {
        ath_text_add_part(text, _(", "), _("memory %s"), total);
        return;
    }
    ath_auto_free char *unused = ath_words_size(node->memory_free_bytes);
    ath_text_add_part(text, _(", "), _("memory %s (%s free)"), total, unused);
}

static void add_node(const struct ath_numa_node *node, struct ath_text *text)
{
    char pci[ATH_PCI_TEXT];

    if (!node->is_online)
        ath_text_add_part(text, _(", "), "%s", _("offline"));
    if (node->kind == ATH_NODE_GPU && node->has_gpu)
        ath_text_add_part(text, _(", "), _("memory of GPU %s"), ath_pci_format(&node->gpu, pci));
    else if (node->kind == ATH_NODE_GPU)
        ath_text_add_part(text, _(", "), "%s", _("memory of a GPU"));
    if (node->kind == ATH_NODE_MEMORY)
        ath_text_add_part(text, _(", "), "%s", _("memory only, no CPUs"));
    add_cpus(node, text);
    add_memory(node, text);
    if (node->memory_kind && node->kind != ATH_NODE_GPU)
        ath_text_add_part(text, _(", "), _("kind %s"), node->memory_kind);
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
            ath_text_add_part(&text, _(", "), _("%lld %s %s (%lld free)"), (long long)pages->total,
                              glyph(page, ATH_GLYPH_TIMES), size, (long long)pages->free);
        else
            ath_text_add_part(&text, _(", "), "%lld %s %s", (long long)pages->total,
                              glyph(page, ATH_GLYPH_TIMES), size);
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
        print_heading(page, _("NUMA node not known"));
    } else {
        ath_auto_free char *name = node_name(group->node);
        ATH_AUTO(ath_text) text = { 0 };
        add_node(group->node, &text);
        print_group_head(page, name, text.data ? text.data : "", has_children);
        print_hugepages(page, group->node, has_children);
    }
    ath_text_devices(page->style, page->out, page->outline, group);
}

static void print_folded(const struct page *page)
{
    const struct ath_outline *outline = page->outline;

    if (!outline->folded.range_count)
        return;
    ath_auto_free char *text = ath_outline_folded_words(outline);
    print_group_head(page, _("Other nodes"), text, false);
}

static void print_groups(const struct page *page)
{
    bool had_children = true;

    for (size_t i = 0; i < page->outline->group_count; i++) {
        const struct ath_group *group = &page->outline->groups[i];
        bool has_children = group->gpu_count || group->nic_count;
        /* An empty line around nodes with devices; none between nodes without. */
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
        ath_text_add_part(&text, _(", "), "%d", id);
    return ath_text_take(&text);
}

static void add_card_ports(const struct page *page, const char *card, struct ath_text *text)
{
    bool is_first = true;

    for (size_t i = 0; i < page->machine->nic_count; i++) {
        const struct ath_nic *nic = &page->machine->nics[i];
        if (!nic->card || strcmp(nic->card, card))
            continue;
        ath_text_add(text, "%s%s", is_first ? "" : _(", "),
                     nic->netdev ? nic->netdev : page->outline->nic_names[i]);
        is_first = false;
    }
}

/* Prints only cards that several nodes share: the ports of other cards show enough. */
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
    if (ath_distances_table_nodes(machine) <= TABLE_NODES_MAX &&
        (columns <= 0 || width <= (size_t)columns))
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
    ath_auto_free char *hint = ath_style_hint(page->style, warning->hint);
    if (hint)
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
