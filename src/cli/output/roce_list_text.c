/*
 * RDMA cards as text. Each port is a branch with its state, the GID to use (or why there is none),
 * the containers that get it, and the macvlans on its link.
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/roce_list.h"
#include "cli/output/roce_list_sections.h"
#include "cli/output/words.h"
#include "config/entry.h"
#include "config/roce_edit.h"
#include "roce/lack.h"

enum {
    GIDS_MAX = 4,     /* shown besides the best GID, without --all */
    FIELD_COLUMNS = 7 /* width of "Used by" */
};

struct page {
    const struct ath_style *style;
    FILE *out;
    const struct ath_roce_list *list;
    size_t name_columns; /* of "mlx5_0:1" */
};

/* The port that is being printed. */
struct branch {
    const struct page *page;
    const struct ath_nic *nic;
    bool is_last;
};

static void print_line(const struct page *page, const char *prefix, enum ath_role role,
                       const char *text)
{
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .prefix = prefix, .text = text, .role = role });
}

static __attribute__((format(printf, 4, 5))) void print_field(const struct branch *branch,
                                                              const char *name, enum ath_role role,
                                                              const char *format, ...)
{
    const struct ath_style *style = branch->page->style;
    enum ath_glyph glyph = branch->is_last ? ATH_GLYPH_NO_TRUNK : ATH_GLYPH_TRUNK;
    ath_auto_free char *prefix = ath_xasprintf("%s   ", ath_style_glyph(style, glyph));
    ath_auto_free char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        abort();
    va_end(args);
    ath_style_print(style, branch->page->out,
                    &(struct ath_paragraph){ .prefix = prefix,
                                             .label = name,
                                             .label_role = ATH_ROLE_DIM,
                                             .label_columns = FIELD_COLUMNS,
                                             .text = text,
                                             .role = role });
}

/* ---- a port ---- */

/* "mlx5_0:1"; without an RDMA device the link's name, else the PCI address. */
static char *port_name(const struct ath_nic *nic)
{
    if (nic->rdma_device && nic->port >= 0)
        return ath_xasprintf("%s:%d", nic->rdma_device, nic->port);
    if (nic->rdma_device)
        return ath_xstrdup(nic->rdma_device);
    if (nic->netdev)
        return ath_xstrdup(nic->netdev);
    char pci[ATH_PCI_TEXT];
    return ath_xstrdup(nic->has_pci ? ath_pci_format(&nic->pci, pci) : "?");
}

static void print_head(const struct branch *branch)
{
    const struct page *page = branch->page;
    const struct ath_nic *nic = branch->nic;
    ath_auto_free char *name = port_name(nic);
    ATH_AUTO(ath_text) text = { 0 };
    char pci[ATH_PCI_TEXT];

    if (nic->netdev && nic->rdma_device)
        ath_text_add_part(&text, _(", "), "%s", nic->netdev);
    if (nic->has_pci && (nic->netdev || nic->rdma_device))
        ath_text_add_part(&text, _(", "), "%s", ath_pci_format(&nic->pci, pci));
    if (nic->numa_node != ATH_UNKNOWN)
        ath_text_add_part(&text, _(", "), _("NUMA node %d"), nic->numa_node);
    else
        ath_text_add_part(&text, _(", "), "%s", _("NUMA node not known"));
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){
                        .prefix = ath_style_glyph(page->style, branch->is_last ? ATH_GLYPH_LAST
                                                                               : ATH_GLYPH_BRANCH),
                        .next_prefix = ath_style_glyph(
                            page->style, branch->is_last ? ATH_GLYPH_NO_TRUNK : ATH_GLYPH_TRUNK),
                        .label = name,
                        .label_role = ATH_ROLE_NAME,
                        .label_columns = page->name_columns,
                        .text = text.data });
}

static void print_link(const struct branch *branch)
{
    static const char *const layers[] = { [ATH_LAYER_UNKNOWN] = NULL,
                                          [ATH_LAYER_ETHERNET] = N_("Ethernet"),
                                          [ATH_LAYER_INFINIBAND] = N_("InfiniBand mode") };
    static const char *const states[] = {
        [ATH_LINK_UNKNOWN] = NULL, [ATH_LINK_DOWN] = N_("down"), [ATH_LINK_UP] = N_("up")
    };
    const struct ath_nic *nic = branch->nic;
    ATH_AUTO(ath_text) text = { 0 };

    if (layers[nic->link_layer])
        ath_text_add_part(&text, _(", "), "%s", _(layers[nic->link_layer]));
    if (states[nic->link])
        ath_text_add_part(&text, _(", "), "%s", _(states[nic->link]));
    if (nic->speed_mbps >= 0) {
        ath_auto_free char *speed = ath_words_speed(nic->speed_mbps);
        ath_text_add_part(&text, _(", "), "%s", speed);
    }
    if (nic->mtu >= 0)
        ath_text_add_part(&text, _(", "), _("MTU %d"), nic->mtu);
    if (nic->master)
        ath_text_add_part(&text, _(", "), _("part of %s"), nic->master);
    if (text.length)
        print_field(branch, _("Link"), nic->link == ATH_LINK_DOWN ? ATH_ROLE_DIM : ATH_ROLE_PLAIN,
                    "%s", text.data);
}

/* Prints whether connections can be made, or what is missing. Known on the live machine only. */
static void print_readiness(const struct branch *branch)
{
    const struct ath_roce_list *list = branch->page->list;
    int readiness =
        list->readiness ? list->readiness[branch->nic - list->machine->nics] : ATH_UNKNOWN;

    if (readiness == ATH_UNKNOWN)
        return;
    if (readiness == ATH_RDMA_READY)
        print_field(branch, _("State"), ATH_ROLE_GOOD, "%s", _("ready"));
    else
        print_field(branch, _("State"), ATH_ROLE_WARN, _("not ready: %s"),
                    ath_rdma_readiness_text((enum ath_rdma_readiness)readiness));
}

static char *gid_words(const struct ath_nic *nic, const struct ath_gid *gid)
{
    ath_auto_free char *address = ath_words_gid(gid);
    bool is_own = !*gid->netdev || (nic->netdev && !strcmp(gid->netdev, nic->netdev));
    return ath_xasprintf(is_own ? "%d: %s, %s" : _("%d: %s, %s, of %s"), gid->index, address,
                         ath_gid_type_word(gid->type), gid->netdev);
}

static bool is_usable(enum ath_lack lack)
{
    return lack == ATH_LACK_NOTHING || lack == ATH_LACK_ROUTABLE;
}

/* Prints the GID to use, or why there is none and what to do. */
static void print_best(const struct branch *branch)
{
    const struct ath_nic *nic = branch->nic;
    enum ath_lack lack = ath_nic_lack(nic);
    const struct ath_gid *best = ath_nic_gid(nic);
    ath_auto_free char *words = best ? gid_words(nic, best) : NULL;
    ath_auto_free char *mend = ath_lack_mend(lack, nic);
    ath_auto_free char *hint = ath_style_hint(branch->page->style, mend);

    if (lack == ATH_LACK_NOTHING)
        print_field(branch, _("GID"), ATH_ROLE_PLAIN, _("use %s"), words);
    else if (lack == ATH_LACK_ROUTABLE)
        print_field(branch, _("GID"), ATH_ROLE_WARN, _("use %s (%s)"), words, ath_lack_text(lack));
    else if (lack == ATH_LACK_UNKNOWN)
        print_field(branch, _("GID"), ATH_ROLE_DIM, "%s", _("not known"));
    else
        print_field(branch, _("GID"), ATH_ROLE_WARN, _("none usable: %s"), ath_lack_text(lack));
    if (hint)
        print_field(branch, "", ATH_ROLE_DIM, "%s", hint);
}

/* GIDs of other links on this port: of a macvlan in its container, of a VLAN. */
static bool is_of_interest(const struct ath_nic *nic, const struct ath_gid *gid)
{
    return gid->type == ATH_GID_ROCE_V2 && !ath_starts_with(gid->address, "fe80:") &&
           gid->index != nic->best_gid_index && !(nic->netdev && !strcmp(gid->netdev, nic->netdev));
}

static void print_gids(const struct branch *branch)
{
    const struct ath_nic *nic = branch->nic;
    bool is_all = branch->page->list->is_all, is_used = is_usable(ath_nic_lack(nic));
    size_t shown = 0, left_out = 0;

    for (size_t i = 0; i < nic->gid_count; i++) {
        const struct ath_gid *gid = &nic->gids[i];
        bool is_best = is_used && gid->index == nic->best_gid_index; /* shown already */
        if (is_best || (!is_all && (!is_of_interest(nic, gid) || shown >= GIDS_MAX))) {
            left_out += !is_best;
            continue;
        }
        ath_auto_free char *words = gid_words(nic, gid);
        print_field(branch, "", ATH_ROLE_DIM, "%s", words);
        shown++;
    }
    if (shown && left_out && !is_all)
        print_field(branch, "", ATH_ROLE_DIM,
                    ngettext("%zu more (--all)", "%zu more (--all)", left_out), left_out);
}

static void print_macvlans(const struct branch *branch)
{
    const struct ath_document *document = branch->page->list->document;

    for (size_t i = 0; document && i < document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &document->roce.macvlans.items[i];
        if (!ath_roce_list_carries(branch->nic, macvlan))
            continue;
        ATH_AUTO(ath_text) text = { 0 };
        ath_text_add(&text, "%s", macvlan->name);
        if (macvlan->address)
            ath_text_add_part(&text, _(", "), "%s", macvlan->address);
        ath_text_add_part(&text, _(", "), "%s", ath_macvlan_mode_word(macvlan->mode));
        if (macvlan->numa != ATH_UNSET)
            ath_text_add_part(&text, _(", "), _("for NUMA%d"), macvlan->numa);
        print_field(branch, "macvlan", ATH_ROLE_PLAIN, "%s", text.data);
    }
}

static void print_users(const struct branch *branch)
{
    const struct ath_roce_list *list = branch->page->list;
    ATH_AUTO(ath_idset) ids = { 0 };

    if (!list->document || !branch->nic->rdma_device)
        return;
    ath_roce_list_bound(list, branch->nic->rdma_device, &ids);
    ath_auto_free char *names = ath_entries_text(&ids);
    if (*names)
        print_field(branch, _("Used by"), ATH_ROLE_PLAIN,
                    ngettext("the container of %s", "the containers of %s", ath_idset_count(&ids)),
                    names);
    else
        print_field(branch, _("Used by"), ATH_ROLE_DIM, "%s", _("no container"));
}

static void print_port(const struct branch *branch)
{
    print_head(branch);
    print_link(branch);
    if (branch->nic->rdma_device) {
        print_readiness(branch);
        print_best(branch);
        print_gids(branch);
    }
    print_users(branch);
    print_macvlans(branch);
}

/* ---- a card ---- */

static size_t ports_of(const struct page *page, const struct ath_nic *first, size_t **out)
{
    const struct ath_machine *machine = page->list->machine;
    size_t count = 0;

    *out = NULL;
    for (size_t i = 0; i < machine->nic_count; i++)
        if (ath_roce_list_shows(page->list, &machine->nics[i]) &&
            ath_nic_is_same_card(&machine->nics[i], first))
            *(size_t *)ath_push(out, &count, sizeof **out) = i;
    return count;
}

/* Prints "in use for NUMA0, NUMA1: card shared by both sockets"; nothing without a document. */
static void print_use(const struct page *page, const struct ath_nic *first)
{
    const struct ath_document_card *use = ath_roce_list_use(page->list, first);
    const char *trunk = ath_style_glyph(page->style, ATH_GLYPH_TRUNK);
    ATH_AUTO(ath_text) text = { 0 };

    if (!page->list->document || !first->card)
        return;
    ath_auto_free char *names = use ? ath_entries_text(&use->numa) : NULL;
    ath_auto_free char *command = ath_xasprintf("aitherion roce add %s", first->card);
    ath_auto_free char *add = ath_style_suggest(page->style, command);
    if (!use)
        ath_text_add(&text, _("not in use: %s"), add);
    else if (*names)
        ath_text_add(&text, _("in use for %s"), names);
    else
        ath_text_add(&text, "%s", _("in the document, but no NUMA entry uses it"));
    if (use && use->description && strcmp(use->description, first->model ? first->model : ""))
        ath_text_add(&text, ": %s", use->description);
    print_line(page, trunk, use ? ATH_ROLE_PLAIN : ATH_ROLE_DIM, text.data);
}

/* "ConnectX-5 Ex, one card at NUMA nodes 0,8": a card that the kernel shows as two. */
static char *card_words(const struct page *page, const struct ath_nic *first)
{
    ath_auto_free char *device = ath_words_device(first->vendor_id, first->device_id, first->model);
    ATH_AUTO(ath_idset) nodes = { 0 };

    if (first->card)
        ath_roce_card_nodes(page->list->machine, first->card, &nodes);
    if (ath_idset_count(&nodes) < 2)
        return ath_steal(&device);
    ath_auto_free char *ids = ath_idset_format(&nodes);
    return ath_xasprintf(_("%s, one card at NUMA nodes %s"), device, ids);
}

static void print_card(const struct page *page, const struct ath_nic *first)
{
    const struct ath_machine *machine = page->list->machine;
    ath_auto_free char *words = card_words(page, first);
    ath_auto_free size_t *ports = NULL;
    size_t count = ports_of(page, first, &ports);
    const char *name = first->card ? first->card : _("no PCI address");

    putc('\n', page->out);
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .label = name,
                                             .label_role = ATH_ROLE_HEADING,
                                             .label_columns = ath_style_width(page->style, name),
                                             .text = words });
    print_use(page, first);
    for (size_t i = 0; i < count; i++) {
        const struct branch branch = { .page = page,
                                       .nic = &machine->nics[ports[i]],
                                       .is_last = i + 1 == count };
        print_port(&branch);
    }
}

/* ---- the page ---- */

static void print_title(const struct page *page)
{
    static const char *const sources[] = { [ATH_SOURCE_LIVE] = NULL,
                                           [ATH_SOURCE_ROOT] = N_("read from a captured root"),
                                           [ATH_SOURCE_XML] = N_("read from a topology file") };
    const struct ath_machine *machine = page->list->machine;
    const char *name = machine->hostname ? machine->hostname : _("(host name unknown)");
    const char *source = sources[machine->source] ? _(sources[machine->source]) : "";
    ath_auto_free char *init = ath_style_suggest(page->style, "aitherion init");
    ath_auto_free char *document =
        page->list->document
            ? ath_xasprintf(_("topology document: '%s'"), page->list->file)
            : ath_xasprintf(_("no topology document '%s' yet (%s)"), page->list->file, init);

    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .label = name,
                                             .label_role = ATH_ROLE_HEADING,
                                             .label_columns = ath_style_width(page->style, name),
                                             .text = source });
    print_line(page, NULL, ATH_ROLE_PLAIN, document);
}

static void print_none(const struct page *page)
{
    if (page->list->machine->source == ATH_SOURCE_XML && !page->list->machine->nic_count) {
        print_line(page, "", ATH_ROLE_WARN, _("the topology file lists no network cards"));
        return;
    }
    putc('\n', page->out);
    print_line(page, "", ATH_ROLE_PLAIN, _("no RDMA device found"));
    print_line(page, "  ", ATH_ROLE_DIM,
               _("hint: load the card's driver (Mellanox: modprobe mlx5_ib), or create a software "
                 "device: rdma link add rxe0 type rxe netdev IFACE"));
}

static void print_no_rdma_listed(const struct page *page)
{
    print_line(page, "", ATH_ROLE_WARN,
               _("the topology file lists no RDMA devices, so all network cards are shown"));
}

static void measure(struct page *page)
{
    const struct ath_machine *machine = page->list->machine;
    for (size_t i = 0; i < machine->nic_count; i++) {
        ath_auto_free char *name = port_name(&machine->nics[i]);
        size_t width = ath_style_width(page->style, name);
        if (ath_roce_list_shows(page->list, &machine->nics[i]) && width > page->name_columns)
            page->name_columns = width;
    }
}

void ath_roce_list_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    struct page page = { .style = style, .out = out, .list = data };
    const struct ath_machine *machine = page.list->machine;
    ath_auto_free size_t *cards = NULL;
    size_t count;

    measure(&page);
    print_title(&page);
    ath_roce_list_cards(page.list, &cards, &count);
    if (!count && !machine->others.rdma_device_count)
        print_none(&page);
    else if (count && !machine->nics[cards[0]].rdma_device)
        print_no_rdma_listed(&page);
    for (size_t i = 0; i < count; i++)
        print_card(&page, &machine->nics[cards[i]]);
    ath_roce_list_print_sections(page.list, style, out);
}
