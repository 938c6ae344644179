/* Sections of the text of `roce list`: other RDMA devices, what the machine lacks, namespaces,
 * warnings. */
#include "config.h"

#include "cli/output/roce_list_sections.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "config/entry.h"

enum { OTHERS_MAX = 8 /* shown devices of virtual functions, without --all */ };

struct page {
    const struct ath_style *style;
    FILE *out;
    const struct ath_roce_list *list;
};

static void print_heading(const struct page *page, const char *heading)
{
    fprintf(page->out, "\n%s%s%s\n", ath_style_on(page->style, ATH_ROLE_HEADING), heading,
            ath_style_off(page->style, ATH_ROLE_HEADING));
}

static void print_line(const struct page *page, const char *prefix, enum ath_role role,
                       const char *text)
{
    ath_style_print(page->style, page->out,
                    &(struct ath_paragraph){ .prefix = prefix, .text = text, .role = role });
}

static void print_others(const struct page *page)
{
    const struct ath_nic_others *others = &page->list->machine->others;
    size_t shown = page->list->is_all || others->rdma_device_count <= OTHERS_MAX
                       ? others->rdma_device_count
                       : OTHERS_MAX;
    ATH_AUTO(ath_text) text = { 0 };

    if (!shown)
        return;
    for (size_t i = 0; i < shown; i++) {
        ATH_AUTO(ath_idset) ids = { 0 };
        ath_roce_list_bound(page->list, others->rdma_devices[i], &ids);
        ath_auto_free char *names = ath_entries_text(&ids);
        ath_text_add_part(&text, _(", "), *names ? "%s (%s)" : "%s", others->rdma_devices[i],
                          names);
    }
    size_t rest = others->rdma_device_count - shown;
    if (rest)
        ath_text_add_part(&text, _(", "), ngettext("%zu more (--all)", "%zu more (--all)", rest),
                          rest);
    print_heading(page, _("RDMA devices of virtual functions, or on links without hardware"));
    print_line(page, "  ", ATH_ROLE_PLAIN, text.data);
}

static void print_missing(const struct page *page)
{
    const struct ath_document *document = page->list->document;
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; document && i < document->roce.cards.count; i++) {
        const struct ath_document_card *card = &document->roce.cards.items[i];
        if (ath_roce_list_lacks_card(page->list, card))
            ath_text_add_part(&text, _(", "), _("card %s"), card->pci);
    }
    for (size_t i = 0; document && i < document->numa.count; i++)
        for (size_t k = 0; k < document->numa.items[i].rdma_devices.count; k++) {
            const char *device = document->numa.items[i].rdma_devices.items[k];
            if (ath_roce_list_lacks_device(page->list, device))
                ath_text_add_part(&text, _(", "), _("%s (bound to NUMA%d)"), device,
                                  document->numa.items[i].id);
        }
    if (!text.length)
        return;
    print_heading(page, _("In the document, but not in this machine"));
    print_line(page, "  ", ATH_ROLE_WARN, text.data);
}

static void print_netns(const struct page *page)
{
    static const char *const meanings[] = {
        [ATH_RDMA_NETNS_SHARED] =
            N_("shared: every container sees every RDMA device, and can use a device that has a "
               "GID of the container's own links, for example of a macvlan"),
        [ATH_RDMA_NETNS_EXCLUSIVE] =
            N_("exclusive: each RDMA device is in one network namespace: containers cannot share "
               "it, and a container with a macvlan does not see it; to change this while no other "
               "namespace exists: rdma system set netns shared"),
    };
    enum ath_rdma_netns_mode mode = page->list->netns_mode;

    if (mode == ATH_RDMA_NETNS_UNKNOWN)
        return;
    print_heading(page, _("RDMA and network namespaces"));
    print_line(page, "  ", mode == ATH_RDMA_NETNS_EXCLUSIVE ? ATH_ROLE_WARN : ATH_ROLE_PLAIN,
               _(meanings[mode]));
}

/* Except ports without a usable GID: their branches show that. */
static void print_warnings(const struct page *page)
{
    const struct ath_machine *machine = page->list->machine;
    bool has_heading = false;

    for (size_t i = 0; i < machine->warning_count; i++) {
        const struct ath_warning *warning = &machine->warnings[i];
        if (!ath_roce_list_is_warning(warning) || !strcmp(warning->code, "no-usable-gid"))
            continue;
        if (!has_heading)
            print_heading(page, _("Warnings"));
        has_heading = true;
        ath_style_print(
            page->style, page->out,
            &(struct ath_paragraph){ .prefix = "  ",
                                     .next_prefix = "    ",
                                     .label = ath_style_glyph(page->style, ATH_GLYPH_WARNING),
                                     .label_role = ATH_ROLE_WARN,
                                     .text = warning->message });
        ath_auto_free char *hint = ath_style_hint(page->style, warning->hint);
        if (hint)
            print_line(page, "    ", ATH_ROLE_DIM, hint);
    }
}

void ath_roce_list_print_sections(const struct ath_roce_list *list, const struct ath_style *style,
                                  FILE *out)
{
    const struct page page = { style, out, list };

    print_others(&page);
    print_missing(&page);
    print_netns(&page);
    print_warnings(&page);
}
