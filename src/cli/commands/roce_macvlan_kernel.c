/* The macvlan's link in the kernel: making, checking, removing. */
#include "config.h"

#include "cli/commands/roce_macvlan_work.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/ending.h"
#include "roce/netns.h"

static struct ath_macvlan_wanted wanted_by(const struct ath_document_macvlan *entry)
{
    return (struct ath_macvlan_wanted){
        .name = entry->name,
        .parent = entry->parent,
        .mode = (enum ath_macvlan_mode)entry->mode,
        .address = entry->address,
        .mtu = entry->mtu == ATH_UNSET ? ATH_UNKNOWN : entry->mtu,
        .wants_companion = entry->has_host_link,
        .companion_address = entry->host_address,
    };
}

int ath_macvlan_work_make_link(struct ath_macvlan_work *work, struct ath_err *err)
{
    const struct ath_document_macvlan *entry = ath_document_macvlan(&work->document, work->name);
    struct ath_macvlan_wanted wanted = wanted_by(entry);
    ath_auto_free char *document = realpath(work->path, NULL);
    wanted.document = document;
    int status =
        ath_macvlan_make(&wanted, ath_macvlan_work_is_dry_run(work), &work->report.plan, err);

    if (status == -ENODEV && err->code == ATH_E_NOT_FOUND)
        return ath_macvlan_work_hint_parents(work, entry->parent, status, err);
    return status;
}

/* Checks an entry that is only recorded against the kernel too, if the kernel may be read. */
int ath_macvlan_work_check_link(struct ath_macvlan_work *work, struct ath_err *err)
{
    const struct ath_macvlan_wanted wanted =
        wanted_by(ath_document_macvlan(&work->document, work->name));
    ATH_AUTO(ath_macvlan_plan) unused = { 0 };
    ATH_AUTO(ath_netstate) present = { 0 };

    if (work->report.scope != ATH_ROCE_MACVLAN_RECORD || ath_netstate_look(&present, err))
        return 0;
    int status = ath_macvlan_plan(&wanted, &present, &unused, err);
    if (status == -ENODEV && err->code == ATH_E_NOT_FOUND)
        return ath_macvlan_work_hint_parents(work, wanted.parent, status, err);
    return status;
}

/* Asks before deleting a link that programs or a container use. */
int ath_macvlan_work_confirm_cut(const struct ath_macvlan_work *work, struct ath_err *err)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    ATH_AUTO(ath_ending) ending = { 0 };
    const struct ath_netstate_place *place = NULL;

    if (!ath_ending_find(work->cli, work->name, &ending, err) && ending.report.count)
        return ath_ending_confirm(work->cli, &ending, err);
    int status = ath_netstate_read(&present, err);

    if (status || ath_macvlan_state(work->name, &present, &place, NULL) != ATH_MACVLAN_MOVED)
        return status;
    const char *where = place->name ? place->name : place->path;
    ath_auto_free char *question =
        ath_xasprintf(_("macvlan '%s' is in use in namespace '%s'. Delete it and cut the "
                        "connection?"),
                      work->name, where);
    if (ath_cli_confirm(work->cli, question))
        return 0;
    ath_err_set(err, -EBUSY, ATH_E_BUSY,
                _("macvlan '%s' is in use in namespace '%s', and was not deleted"), work->name,
                where);
    return ath_err_hint(err, -EBUSY, "aitherion roce macvlan %s --delete --yes", work->name);
}

int ath_macvlan_work_remove_link(struct ath_macvlan_work *work, struct ath_err *err)
{
    int status =
        ath_macvlan_remove(work->name, ath_macvlan_work_is_dry_run(work), &work->report.plan, err);

    if (status && err->code == ATH_E_FOREIGN && !err->hint[0] && work->report.changes.change_count)
        return ath_err_hint(err, status, "aitherion roce macvlan %s --delete --record", work->name);
    return status;
}
