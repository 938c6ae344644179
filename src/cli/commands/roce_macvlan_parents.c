/* Hints at links that can be parents of a macvlan. */
#include "config.h"

#include "cli/commands/roce_macvlan_work.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/netns.h"

static bool can_be_parent(const struct ath_link *link, bool is_any)
{
    bool is_free = link->type == ATH_LINK_ETHERNET && link->master_index == ATH_UNKNOWN &&
                   !ath_link_is_macvlan(link);
    bool is_hardware = !link->kind || !strcmp(link->kind, "bond") || !strcmp(link->kind, "vlan");
    return is_free && (is_hardware || is_any);
}

static void collect_live_parents(struct ath_texts *out)
{
    ATH_AUTO(ath_netstate) present = { 0 };

    if (ath_netstate_look(&present, NULL))
        return;
    const struct ath_links *links = &present.places[0].links;
    for (int is_any = 0; is_any < 2 && !out->count; is_any++)
        for (size_t i = 0; i < links->count; i++)
            if (can_be_parent(&links->items[i], is_any))
                ath_texts_add(out, links->items[i].name);
}

static void collect_captured_parents(const struct ath_cli *cli, struct ath_texts *out)
{
    ATH_AUTO(ath_machine) machine = { 0 };

    if (ath_cli_machine(cli, &machine, NULL))
        return;
    for (size_t i = 0; i < machine.nic_count; i++)
        if (machine.nics[i].netdev && machine.nics[i].link_layer != ATH_LAYER_INFINIBAND)
            ath_texts_add(out, machine.nics[i].netdev);
}

/* Adds a hint for a parent that is missing or unfit: the link most like the name given (NULL: none
 * was given), else all that can be parents. */
int ath_macvlan_work_hint_parents(const struct ath_macvlan_work *work, const char *typed,
                                  int status, struct ath_err *err)
{
    ATH_AUTO(ath_texts) parents = { 0 };
    ATH_AUTO(ath_text) list = { 0 };

    if (work->report.scope == ATH_ROCE_MACVLAN_CAPTURE)
        collect_captured_parents(work->cli, &parents);
    else
        collect_live_parents(&parents);
    const char *nearest =
        typed ? ath_text_nearest(typed, (const char *const *)parents.items, parents.count) : NULL;
    if (nearest)
        return ath_err_hint(err, status, _("did you mean '%s'?"), nearest);
    for (size_t i = 0; i < parents.count; i++)
        ath_text_add_part(&list, ", ", "%s", parents.items[i]);
    if (!parents.count)
        return ath_err_hint(err, status, _("no Ethernet link was found"));
    return ath_err_hint(err, status, _("links that can be its parent: %s"), list.data);
}
