/*
 * Checks of macvlans: those in the document, those in the kernel, and those that no document
 * records.
 *
 * These checks do not judge themselves whether a link is as the document wants it. The plan that
 * `roce macvlan` would carry out tells (roce/macvlan.h): a plan without steps means that all is
 * well.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/root.h"
#include "base/text.h"
#include "health/check.h"

/* Looks at one macvlan. Returns false if it could not look; another check reports the reason. */
typedef bool look_function(struct ath_health *health, const struct ath_document_macvlan *macvlan);

/* Looks at every macvlan of the document. Returns false if there are none, if the kernel's links
 * could not be read, or if one macvlan could not be looked at. */
static bool each_macvlan(struct ath_health *health, look_function *look)
{
    const struct ath_health_facts *facts = health->facts;
    bool is_all = true;

    if (!facts->document || !facts->document->roce.macvlans.count || !facts->has_net)
        return false;
    for (size_t i = 0; i < facts->document->roce.macvlans.count; i++)
        is_all &= look(health, &facts->document->roce.macvlans.items[i]);
    return is_all;
}

static enum ath_macvlan_state state_of(const struct ath_health *health,
                                       const struct ath_document_macvlan *macvlan)
{
    return ath_macvlan_state(macvlan->name, &health->facts->net, NULL, NULL);
}

static void hint_make(struct ath_health_finding *finding,
                      const struct ath_document_macvlan *macvlan)
{
    ath_health_hint(finding, "aitherion roce macvlan %s", macvlan->name);
}

/* True if the macvlan was not found but may be in a container whose namespace we may not enter. */
static bool may_be_hidden(struct ath_health *health, const struct ath_document_macvlan *macvlan)
{
    if (health->facts->sees_all_namespaces)
        return false;
    ath_health_hint(
        ath_health_unsure(health, macvlan->name,
                          _("could not tell whether macvlan '%s' is there: only root may look into "
                            "the network namespaces of containers"),
                          macvlan->name),
        _("run the same command as root, with sudo in front"));
    return true;
}

static bool look_recorded(struct ath_health *health, const struct ath_document_macvlan *macvlan)
{
    if (state_of(health, macvlan) == ATH_MACVLAN_RECORDED && !may_be_hidden(health, macvlan))
        hint_make(
            ath_health_wrong(health, macvlan->name,
                             _("macvlan '%s' is recorded in the document, but does not exist"),
                             macvlan->name),
            macvlan);
    return true;
}

bool ath_health_check_macvlan_recorded(struct ath_health *health)
{
    const struct ath_health_facts *facts = health->facts;

    if (facts->document && facts->document->roce.macvlans.count && !facts->has_net) {
        struct ath_health_finding *finding = ath_health_unsure(
            health, NULL, _("could not tell which of the document's macvlans exist: %s"),
            facts->net_err.message);
        if (*facts->net_err.hint)
            ath_health_hint(finding, "%s", facts->net_err.hint);
        return true;
    }
    return each_macvlan(health, look_recorded);
}

/* True for the macvlan of a runtime. It ends with the container's network, and start makes it
 * again; the checks of runtimes report on it. */
static bool has_runtime(const struct ath_health *health, const struct ath_document_macvlan *macvlan)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    for (size_t i = 0; i < runtimes->count; i++)
        if (runtimes->items[i].id == macvlan->numa && runtimes->items[i].status)
            return true;
    return false;
}

static bool look_gone(struct ath_health *health, const struct ath_document_macvlan *macvlan)
{
    if (has_runtime(health, macvlan))
        return true;
    if (state_of(health, macvlan) == ATH_MACVLAN_GONE && !may_be_hidden(health, macvlan))
        hint_make(ath_health_wrong(health, macvlan->name,
                                   _("macvlan '%s' is gone: its network namespace exists, but the "
                                     "link ended with its parent or with a container"),
                                   macvlan->name),
                  macvlan);
    return true;
}

bool ath_health_check_macvlan_gone(struct ath_health *health)
{
    return each_macvlan(health, look_gone);
}

static int plan(const struct ath_health *health, const struct ath_document_macvlan *macvlan,
                struct ath_macvlan_plan *out, struct ath_err *err)
{
    struct ath_macvlan_wanted wanted;
    ath_health_wanted(macvlan, &wanted);
    return ath_macvlan_plan(&wanted, &health->facts->net, out, err);
}

static bool is_unfit(const char *text)
{
    struct ath_address address;
    return text && !ath_address_parse(text, &address, NULL) && ath_address_unfit(&address);
}

/* True for errors that the checks of parents and of addresses report. */
static bool has_own_check(const struct ath_health *health,
                          const struct ath_document_macvlan *macvlan)
{
    struct ath_health_link parent;
    ath_health_link(health->facts, macvlan->parent, &parent);
    return is_unfit(macvlan->address) ||
           (macvlan->has_host_link && is_unfit(macvlan->host_address)) ||
           parent.presence == ATH_PRESENCE_MISSING || parent.link_layer == ATH_LAYER_INFINIBAND ||
           (parent.mtu > 0 && macvlan->mtu > parent.mtu);
}

static bool look_impossible(struct ath_health *health, const struct ath_document_macvlan *macvlan)
{
    ATH_AUTO(ath_macvlan_plan) steps = { 0 };
    struct ath_err err = { 0 };

    if (has_own_check(health, macvlan))
        return false;
    if (!plan(health, macvlan, &steps, &err))
        return true;
    struct ath_health_finding *finding = ath_health_wrong(
        health, macvlan->name, _("macvlan '%s' cannot be made as the document describes it: %s"),
        macvlan->name, err.message);
    if (*err.hint)
        ath_health_hint(finding, "%s", err.hint);
    else
        ath_health_hint(finding, "aitherion roce macvlan %s --help", macvlan->name);
    return true;
}

bool ath_health_check_macvlan_impossible(struct ath_health *health)
{
    return each_macvlan(health, look_impossible);
}

/* Reports the steps that would change an existing macvlan. */
static bool look_drift(struct ath_health *health, const struct ath_document_macvlan *macvlan)
{
    ATH_AUTO(ath_macvlan_plan) steps = { 0 };
    ATH_AUTO(ath_text) text = { 0 };
    enum ath_macvlan_state state = state_of(health, macvlan);

    if ((state != ATH_MACVLAN_MADE && state != ATH_MACVLAN_MOVED) ||
        plan(health, macvlan, &steps, NULL))
        return false;
    for (size_t i = 0; i < steps.count; i++)
        ath_text_add_part(&text, "; ", "%s", steps.steps[i].text);
    if (steps.count)
        hint_make(
            ath_health_wrong(health, macvlan->name,
                             _("macvlan '%s' is not as the document describes it; needed: %s"),
                             macvlan->name, text.data),
            macvlan);
    return true;
}

bool ath_health_check_macvlan_drift(struct ath_health *health)
{
    return each_macvlan(health, look_drift);
}

/* ---- macvlans that no document records ---- */

bool ath_health_check_macvlan_unrecorded(struct ath_health *health)
{
    const struct ath_health_facts *facts = health->facts;
    char **names;
    size_t count;

    if (!facts->has_net || !facts->document)
        return false; /* a document that is missing or has faults may record them */
    ath_macvlan_names(&facts->net, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (!ath_document_macvlan(facts->document, names[i]))
            ath_health_hint(
                ath_health_wrong(health, names[i],
                                 _("aitherion made macvlan '%s', but this document does not have "
                                   "it: delete it, unless it belongs to another document"),
                                 names[i]),
                "aitherion roce macvlan %s --delete", names[i]);
    ath_names_free(names, count);
    return true;
}
