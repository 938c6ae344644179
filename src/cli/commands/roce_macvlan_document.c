/* The macvlan's entry in the document: opening, changing, checking, removing, saving. */
#include "config.h"

#include "cli/commands/roce_macvlan_work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/key_flags.h"
#include "config/check.h"
#include "config/edit.h"

enum { LOCK_TIMEOUT_MS = 10000 };

/* Loads the document. Except in a dry run, its lock is held until the work is freed. */
int ath_macvlan_work_open(struct ath_macvlan_work *work, struct ath_err *err)
{
    int status = ath_macvlan_work_is_dry_run(work)
                     ? ath_document_load(work->path, &work->document, &work->cli->faults, err)
                     : ath_document_open(work->path, LOCK_TIMEOUT_MS, &work->document,
                                         &work->cli->faults, err);
    work->has_document = work->report.has_document = !status;
    return status;
}

void ath_macvlan_work_add_change(struct ath_macvlan_work *work, const char *key, const char *value)
{
    struct ath_change_report *report = &work->report.changes;
    struct ath_applied_change *change =
        ath_push(&report->changes, &report->change_count, sizeof *change);
    change->key = ath_xasprintf("%s.%s", work->entry, key);
    change->value = ath_xstrdup(value);
}

static int add_entry(struct ath_macvlan_work *work, struct ath_err *err)
{
    struct ath_change_report *report = &work->report.changes;
    ath_auto_free struct ath_change *fields =
        ath_xalloc((report->change_count + 1) * sizeof *fields);

    if (!work->options->parent) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("the document has no macvlan '%s'; give '--parent' to make it"), work->name);
        return ath_macvlan_work_hint_parents(work, NULL, -EINVAL, err);
    }
    fields[0] = (struct ath_change){ "name", work->name };
    for (size_t i = 0; i < report->change_count; i++)
        fields[i + 1] = (struct ath_change){ report->changes[i].key + strlen(work->entry) + 1,
                                             report->changes[i].value };
    int status = ath_document_append(&work->document, ATH_MACVLAN_LIST, fields,
                                     report->change_count + 1, err);
    for (size_t i = 0; !status && i < report->change_count; i++)
        status = ath_document_get(&work->document, report->changes[i].key,
                                  &report->changes[i].after, err);
    return status;
}

/* Refuses an id that no entry has, and lists those that exist. */
static int check_numa(const struct ath_macvlan_work *work, struct ath_err *err)
{
    const char *numa = work->options->numa;
    ATH_AUTO(ath_idset) ids = { 0 };
    int id;

    if (!numa || ath_parse_int(numa, 0, ATH_ID_MAX, &id) || ath_document_numa(&work->document, id))
        return 0;
    for (size_t i = 0; i < work->document.numa.count; i++)
        ath_idset_add(&ids, work->document.numa.items[i].id, work->document.numa.items[i].id);
    ath_auto_free char *list = ath_idset_format(&ids);
    ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("the document has no NUMA entry %s; it has %s"),
                numa, *list ? list : _("none"));
    return ath_err_hint(err, -ENOENT, "aitherion configure --show");
}

/* The error codes of the document's faults, if they are refused. */
static const struct {
    enum ath_fault_code fault;
    enum ath_error code;
} fault_codes[] = {
    { ATH_FAULT_LINK_MISSING, ATH_E_NOT_FOUND },
    { ATH_FAULT_LINK_INFINIBAND, ATH_E_LINK_NOT_ETHERNET },
    { ATH_FAULT_MTU_ABOVE, ATH_E_VALUE_INVALID },
    { ATH_FAULT_ADDRESS_UNFIT, ATH_E_VALUE_INVALID },
    { ATH_FAULT_ADDRESS_TWICE, ATH_E_ADDRESS_IN_USE },
    { ATH_FAULT_HOST_LINK, ATH_E_VALUE_INVALID },
};

static int hint_layer(const struct ath_machine *machine, const char *parent, struct ath_err *err)
{
    const struct ath_nic *nic = machine ? ath_machine_nic_by_netdev(machine, parent) : NULL;
    char pci[ATH_PCI_TEXT];
    return ath_macvlan_hint_layer(nic && nic->has_pci ? ath_pci_format(&nic->pci, pci) : NULL,
                                  -EINVAL, err);
}

static int refuse_fault(const struct ath_macvlan_work *work, const struct ath_machine *machine,
                        const struct ath_fault *fault, struct ath_err *err)
{
    const struct ath_document_macvlan *entry = ath_document_macvlan(&work->document, work->name);
    enum ath_error code = ATH_E_MISFIT;

    for (size_t i = 0; i < ATH_COUNT(fault_codes); i++)
        if (!strcmp(fault->code, ath_fault_word(fault_codes[i].fault)))
            code = fault_codes[i].code;
    ath_err_set(err, -EINVAL, code, _("cannot have macvlan '%s': %s"), work->name, fault->message);
    if (code == ATH_E_NOT_FOUND)
        return ath_macvlan_work_hint_parents(work, entry->parent, -EINVAL, err);
    if (code == ATH_E_LINK_NOT_ETHERNET)
        return hint_layer(machine, entry->parent, err);
    if (code == ATH_E_ADDRESS_IN_USE)
        return ath_err_hint(err, -EINVAL, _("give '%s' another address"), work->name);
    return -EINVAL;
}

/* Finds the faults that the document and the machine show. The kernel is asked later. */
static void find_faults(const struct ath_macvlan_work *work, const struct ath_machine *machine,
                        struct ath_faults *out)
{
    if (machine)
        ath_document_check(&work->document, machine, out);
    else
        ath_document_check_alone(&work->document, out);
}

static int edit(struct ath_macvlan_work *work, struct ath_err *err)
{
    bool is_there = ath_document_macvlan(&work->document, work->name);
    int status = check_numa(work, err);

    if (!status && !is_there)
        return add_entry(work, err);
    if (!status && work->report.changes.change_count)
        status = ath_changes_apply(&work->document, &work->report.changes, err);
    if (!status)
        ath_change_drop_same(&work->report.changes, ath_document_is_changed(&work->document));
    return status;
}

int ath_macvlan_work_edit(struct ath_macvlan_work *work, const struct ath_machine *machine,
                          struct ath_err *err)
{
    const struct ath_yaml whole = { .end = SIZE_MAX };
    ATH_AUTO(ath_faults) old = { 0 };
    ATH_AUTO(ath_faults) all = { 0 };
    ATH_AUTO(ath_faults) new = { 0 };

    find_faults(work, machine, &old);
    int status = edit(work, err);
    if (status)
        return status;
    find_faults(work, machine, &all);
    ath_faults_take_new(&old, &whole, &all, &whole, &new);
    return new.count ? refuse_fault(work, machine, &new.items[0], err) : 0;
}

/* Reports all keys of the entry, which are removed with it. */
static int note_entry(struct ath_macvlan_work *work, struct ath_err *err)
{
    const struct ath_document_macvlan *entry = ath_document_macvlan(&work->document, work->name);
    const struct ath_schema *roce = ath_schema_find(ath_schema_root(), "roce");
    const struct ath_schema *key = ath_schema_find(roce, "macvlans")->keys;
    struct ath_change_report *report = &work->report.changes;

    for (; key->name; key++) {
        ath_auto_free char *path = ath_xasprintf("%s.%s", work->entry, key->name);
        ath_auto_free char *value = NULL;
        if (!ath_yaml_get(entry->item.source, key->name))
            continue;
        int status = ath_document_get(&work->document, path, &value, err);
        if (status)
            return status;
        ath_macvlan_work_add_change(work, key->name, NULL);
        report->changes[report->change_count - 1].before = ath_steal(&value);
    }
    return 0;
}

int ath_macvlan_work_remove_entry(struct ath_macvlan_work *work, struct ath_err *err)
{
    if (!work->has_document || !ath_document_macvlan(&work->document, work->name))
        return 0;
    int status = note_entry(work, err);
    return status ? status : ath_document_remove(&work->document, work->entry, err);
}

/* Saves the document. If saving fails, undoes what was made or removed in the kernel. */
int ath_macvlan_work_save(struct ath_macvlan_work *work, struct ath_err *err)
{
    struct ath_change_report *changes = &work->report.changes;
    struct ath_err undo;

    if (!work->has_document || ath_macvlan_work_is_dry_run(work) ||
        !ath_document_is_changed(&work->document))
        return 0;
    int status = ath_document_save(&work->document, err);
    changes->is_saved = !status;
    if (!status || !work->report.plan.count)
        return status;
    if (ath_macvlan_take_back(&work->report.plan, &undo))
        return ath_err_append(err, status, _("; and the kernel's part could not be undone: %s"),
                              undo.message);
    return ath_err_append(err, status, _("; the kernel is as it was before"));
}
