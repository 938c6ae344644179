/* Checks of the links that the document names: control and data interfaces, parents of macvlans. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "health/check.h"
#include "numa/warning.h"

struct walk {
    struct ath_health *health;
    enum ath_health_use use; /* ATH_USE_COUNT: every use */
    ath_health_look_link *look;
    bool is_any, is_all;
};

static void look_at(struct walk *walk, struct ath_health_named_link named)
{
    const struct ath_health_facts *facts = walk->health->facts;

    if (!named.name || (walk->use != ATH_USE_COUNT && walk->use != named.use))
        return;
    /* An interface may be a macvlan of the document; the checks of macvlans report on it. */
    if (named.entry && ath_document_macvlan(facts->document, named.name))
        return;
    ath_health_link(facts, named.name, &named.link);
    walk->is_any = true;
    walk->is_all &= walk->look(walk->health, &named);
}

bool ath_health_each_link(struct ath_health *health, enum ath_health_use use,
                          ath_health_look_link *look)
{
    const struct ath_document *document = health->facts->document;
    struct walk walk = { .health = health, .use = use, .look = look, .is_all = true };

    for (size_t i = 0; document && i < document->numa.count; i++) {
        const struct ath_document_numa *entry = &document->numa.items[i];
        look_at(&walk, (struct ath_health_named_link){
                           .use = ATH_USE_CONTROL, .name = entry->control_iface, .entry = entry });
        for (size_t j = 0; j < entry->data_iface.count; j++)
            look_at(&walk, (struct ath_health_named_link){ .use = ATH_USE_DATA,
                                                           .name = entry->data_iface.items[j],
                                                           .entry = entry });
    }
    for (size_t i = 0; document && i < document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &document->roce.macvlans.items[i];
        look_at(&walk, (struct ath_health_named_link){
                           .use = ATH_USE_PARENT, .name = macvlan->parent, .macvlan = macvlan });
    }
    return walk.is_any && walk.is_all;
}

char *ath_health_use_text(const struct ath_health_named_link *named)
{
    switch (named->use) {
    case ATH_USE_CONTROL:
        return ath_xasprintf(_("the control interface of NUMA%d"), named->entry->id);
    case ATH_USE_DATA:
        return ath_xasprintf(_("a data interface of NUMA%d"), named->entry->id);
    default:
        return ath_xasprintf(_("the parent of macvlan '%s'"), named->macvlan->name);
    }
}

/* ---- links that are missing ---- */

static void hint_other(struct ath_health_finding *finding,
                       const struct ath_health_named_link *named)
{
    if (named->use == ATH_USE_PARENT)
        ath_health_hint(finding, "aitherion roce macvlan %s --parent IF", named->macvlan->name);
    else
        ath_health_hint(finding, "aitherion configure %d --%s-iface IF", named->entry->id,
                        named->use == ATH_USE_DATA ? "data" : "control");
}

static bool look_missing(struct ath_health *health, const struct ath_health_named_link *named)
{
    ath_auto_free char *use = ath_health_use_text(named);

    if (named->link.presence == ATH_PRESENCE_MISSING)
        hint_other(
            ath_health_wrong(health, named->name, _("there is no link '%s', %s"), named->name, use),
            named);
    return named->link.presence != ATH_PRESENCE_UNKNOWN;
}

/* Finds out only whether the document names any links. */
static bool look_nowhere(struct ath_health *health, const struct ath_health_named_link *named)
{
    (void)health;
    (void)named;
    return true;
}

bool ath_health_check_interface_missing(struct ath_health *health)
{
    bool is_known = ath_health_each_link(health, ATH_USE_COUNT, look_missing);
    bool is_any = ath_health_each_link(health, ATH_USE_COUNT, look_nowhere);

    if (is_any && !is_known)
        ath_health_unsure(health, NULL,
                          _("could not tell whether the document's interfaces exist: the capture "
                            "holds no links"));
    return is_any;
}

/* ---- links that are down ---- */

static bool look_down(struct ath_health *health, const struct ath_health_named_link *named)
{
    const struct ath_health_link *link = &named->link;
    ath_auto_free char *use = ath_health_use_text(named);

    if (link->presence != ATH_PRESENCE_THERE)
        return false;
    if (link->state == ATH_LINK_UP)
        return true;
    if (link->state == ATH_LINK_UNKNOWN)
        ath_health_unsure(health, named->name,
                          _("could not tell whether link '%s', %s, is up: its state is not known"),
                          named->name, use);
    else if (link->link && link->link->is_up)
        ath_health_hint(ath_health_wrong(health, named->name, _("link '%s', %s, has no carrier"),
                                         named->name, use),
                        _("look at its cable and the switch's port: ethtool %s"), named->name);
    else
        ath_health_hint(
            ath_health_wrong(health, named->name, _("link '%s', %s, is down"), named->name, use),
            "ip link set %s up", named->name);
    return true;
}

bool ath_health_check_interface_down(struct ath_health *health)
{
    return ath_health_each_link(health, ATH_USE_COUNT, look_down);
}

/* ---- links without addresses ---- */

/* True if the document has a macvlan on the link: the data then use the macvlan's address. */
static bool has_macvlan_on(const struct ath_document *document,
                           const struct ath_document_numa *entry, const char *link)
{
    for (size_t i = 0; i < document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &document->roce.macvlans.items[i];
        if (macvlan->numa == entry->id && !strcmp(macvlan->parent, link))
            return true;
    }
    return false;
}

static bool needs_address(const struct ath_health *health,
                          const struct ath_health_named_link *named)
{
    return named->use == ATH_USE_CONTROL ||
           (named->use == ATH_USE_DATA &&
            !has_macvlan_on(health->facts->document, named->entry, named->name));
}

static bool look_address(struct ath_health *health, const struct ath_health_named_link *named)
{
    ath_auto_free char *use = ath_health_use_text(named);

    if (named->link.presence != ATH_PRESENCE_THERE)
        return false;
    if (!needs_address(health, named) || named->link.address == ATH_PRESENCE_THERE)
        return true;
    if (named->link.address == ATH_PRESENCE_MISSING)
        ath_health_hint(ath_health_wrong(health, named->name, _("link '%s', %s, has no address"),
                                         named->name, use),
                        _("ip address add ADDRESS/PREFIX dev %s; the system's network settings "
                          "make it permanent"),
                        named->name);
    else
        ath_health_unsure(health, named->name,
                          health->facts->is_live
                              ? _("could not tell whether link '%s', %s, has an address: the "
                                  "kernel's list of links cannot be read")
                              : _("could not tell whether link '%s', %s, has an address: the "
                                  "capture does not show one"),
                          named->name, use);
    return true;
}

bool ath_health_check_interface_address(struct ath_health *health)
{
    return ath_health_each_link(health, ATH_USE_COUNT, look_address);
}

static bool look_duplicate(struct ath_health *health, const struct ath_health_named_link *named)
{
    const struct ath_link *link = named->link.link;
    ath_auto_free char *use = ath_health_use_text(named);

    for (size_t i = 0; link && i < link->address_count; i++) {
        if (!link->addresses[i].is_duplicate)
            continue;
        ath_auto_free char *address = ath_address_format(&link->addresses[i]);
        ath_health_hint(ath_health_wrong(health, named->name,
                                         _("another host has the address '%s' of link '%s', %s"),
                                         address, named->name, use),
                        _("ip address del %s dev %s, and give the link another address"), address,
                        named->name);
    }
    return link;
}

bool ath_health_check_address_duplicate(struct ath_health *health)
{
    return health->facts->has_net && ath_health_each_link(health, ATH_USE_COUNT, look_duplicate);
}

/* ---- parents of macvlans ---- */

/* Returns the command of the machine's own warning, which knows the card and its port; NULL if
 * there is no such warning. */
static const char *mlxconfig_of(const struct ath_machine *machine, const char *link)
{
    for (size_t i = 0; i < machine->warning_count; i++) {
        const struct ath_warning *warning = &machine->warnings[i];
        if (!strcmp(warning->code, ath_warning_word(ATH_W_INFINIBAND_MODE)) && warning->object &&
            !strcmp(warning->object, link))
            return warning->hint;
    }
    return NULL;
}

static bool look_infiniband(struct ath_health *health, const struct ath_health_named_link *named)
{
    ath_auto_free char *use = ath_health_use_text(named);
    const char *hint = mlxconfig_of(health->facts->machine, named->name);

    if (named->link.link_layer != ATH_LAYER_INFINIBAND)
        return named->link.link_layer == ATH_LAYER_ETHERNET;
    struct ath_health_finding *finding = ath_health_wrong(
        health, named->name, _("'%s', %s, is in InfiniBand mode and cannot carry a macvlan"),
        named->name, use);
    if (hint)
        ath_health_hint(finding, "%s", hint);
    else
        hint_other(finding, named);
    return true;
}

bool ath_health_check_parent_infiniband(struct ath_health *health)
{
    return ath_health_each_link(health, ATH_USE_PARENT, look_infiniband);
}

/* The kernel refuses an MTU above the parent's (macvlan_change_mtu() in drivers/net/macvlan.c). */
static bool look_mtu(struct ath_health *health, const struct ath_health_named_link *named)
{
    int mtu = named->link.mtu;

    if (mtu > 0 && named->macvlan->mtu > mtu)
        ath_health_hint(
            ath_health_wrong(
                health, named->name,
                _("macvlan '%s' has the MTU %d in the document, but its parent '%s' has only %d"),
                named->macvlan->name, named->macvlan->mtu, named->name, mtu),
            "ip link set %s mtu %d", named->name, named->macvlan->mtu);
    return mtu > 0;
}

bool ath_health_check_parent_mtu(struct ath_health *health)
{
    return ath_health_each_link(health, ATH_USE_PARENT, look_mtu);
}
