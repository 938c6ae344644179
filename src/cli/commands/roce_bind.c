/* aitherion roce bind: gives an RDMA device to a container, or takes it back. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/commands/roce_notes.h"
#include "cli/edit.h"
#include "config/entry.h"
#include "config/roce_edit.h"

struct options {
    bool is_unbind;
};

/* The context of change(). */
struct task {
    const struct ath_cli *cli;
    const char *name, *container; /* as given */
    const struct ath_machine *machine;
    bool is_unbind;
};

static void note_shared(const struct ath_document *document, const struct ath_document_numa *entry,
                        const char *device, struct ath_change_report *report)
{
    ATH_AUTO(ath_idset) others = { 0 };

    for (size_t i = 0; i < document->numa.count; i++)
        if (&document->numa.items[i] != entry &&
            ath_roce_is_bound(&document->numa.items[i], device))
            ath_idset_add(&others, document->numa.items[i].id, document->numa.items[i].id);
    ath_auto_free char *names = ath_entries_text(&others);
    if (*names)
        ath_change_note(report, ATH_NOTE_DEVICE_SHARED, device, _("'%s' is also bound to %s"),
                        device, names);
}

static void note_far(const struct task *task, const struct ath_document_numa *entry,
                     const char *device, struct ath_change_report *report)
{
    ath_auto_free char *far = ath_roce_far_text(task->machine, entry, device);
    if (far)
        ath_change_note(report, ATH_NOTE_DEVICE_FAR, device, "%s", far);
}

/* Notes that the document does not have the device's card for this entry. */
static void note_card(const struct task *task, const struct ath_document *document,
                      const struct ath_document_numa *entry, const char *device,
                      struct ath_change_report *report)
{
    const struct ath_nic *nic = ath_machine_nic_by_rdma(task->machine, device);
    const struct ath_document_card *card =
        nic && nic->card ? ath_roce_card_in(document, task->machine, nic->card) : NULL;

    if (!nic || !nic->card || (card && ath_idset_has(&card->numa, entry->id)))
        return;
    struct ath_note *note = ath_change_note(report, ATH_NOTE_CARD_NOT_TAKEN, nic->card,
                                            _("the card of '%s', '%s', is not in use for NUMA%d"),
                                            device, nic->card, entry->id);
    ATH_AUTO(ath_idset) all = { 0 };
    if (card)
        ath_idset_copy(&card->numa, &all);
    ath_idset_add(&all, entry->id, entry->id);
    ath_auto_free char *ids = ath_idset_format(&all);
    ath_auto_free char *words = ath_xasprintf("roce add %s --numa %s", nic->card, ids);
    note->hint = ath_cli_suggest(task->cli, words);
}

static void note_all(const struct task *task, const struct ath_document *document,
                     const struct ath_document_numa *entry, const char *device,
                     struct ath_change_report *report)
{
    note_shared(document, entry, device, report);
    ath_roce_note_device_mode(report, task->machine, device);
    note_far(task, entry, device, report);
    note_card(task, document, entry, device, report);
}

/* Returns the device to bind, or NULL with err. --unbind accepts a device that the machine no
 * longer has, and works if the machine cannot be read. */
static const char *device_of(const struct task *task, const struct ath_document_numa *entry,
                             struct ath_err *err)
{
    bool is_name = task->is_unbind && (!task->machine || ath_roce_is_bound(entry, task->name));
    const char *device = is_name ? NULL : ath_roce_device_find(task->machine, task->name, err);

    return device || !task->is_unbind ? device : task->name;
}

/* Notes a name that neither the document nor the machine has; it may be mistyped. */
static void note_missing(const struct task *task, const char *device,
                         struct ath_change_report *report)
{
    struct ath_err err;
    if (!task->machine || ath_roce_device_find(task->machine, device, &err))
        return;
    struct ath_note *note = ath_change_note(report, ATH_NOTE_NOT_THERE, device, "%s", err.message);
    note->hint = ath_cli_suggest(task->cli, "roce list");
}

static int change(struct ath_document *document, void *context, struct ath_change_report *report,
                  struct ath_err *err)
{
    const struct task *task = context;
    const struct ath_document_numa *entry = ath_entry_find(document, task->container, err);
    const char *device = entry ? device_of(task, entry, err) : NULL;

    if (!device)
        return -ENOENT;
    int id = entry->id;
    if (task->is_unbind && !ath_roce_is_bound(entry, device)) {
        note_missing(task, device, report);
        ath_change_note(report, ATH_NOTE_NOTHING_TO_DO, device,
                        _("'%s' is not bound to NUMA%d: nothing to do"), device, id);
    }
    int status = ath_roce_bind(document, id, device, !task->is_unbind, err);
    if (status)
        return status;
    ath_cli_edit_key(report, "numa.%d.rdma_devices", id);
    ath_roce_note_device(report, task->name, device);
    if (!task->is_unbind)
        note_all(task, document, ath_document_numa(document, id), device, report);
    return 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_change_report) report = { 0 };
    ath_auto_free char *path = ath_cli_document_path(cli);
    struct task task = { .cli = cli,
                         .name = cli->arguments[0],
                         .container = cli->arguments[1],
                         .is_unbind = options->is_unbind };

    int status = ath_cli_machine(cli, &machine, err);
    if (status && (!task.is_unbind || cli->globals.root || cli->globals.topology))
        return status;
    task.machine = status ? NULL : &machine;
    status = ath_cli_edit(cli, path, task.machine, change, &task, &report, err);
    return status ? status : ath_cli_show_done(cli, &ath_change_view, &report, err);
}

static const struct ath_argument arguments[] = {
    { .name = "DEVICE",
      .help = N_("an RDMA device (mlx5_0), or its network interface or PCI function"),
      .completion = ATH_COMPLETE_RDMA_DEVICE },
    { .name = "CONTAINER",
      .help = N_("the NUMA entry whose container gets it: 0, NUMA0 or aitherion-numa0"),
      .completion = ATH_COMPLETE_ENTRY },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "unbind",
      .offset = offsetof(struct options, is_unbind),
      .help = N_("take the "
                 "device back") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion roce bind mlx5_0 0", N_("give mlx5_0 to the container of NUMA0") },
    { "aitherion roce bind mlx5_0 0 --unbind", N_("take it back") },
    { .command = NULL },
};

const struct ath_command ath_command_roce_bind = {
    .name = "bind",
    .group = ATH_GROUP_DOCUMENT,
    .summary = N_("give an RDMA device to a container"),
    .description =
        N_("Writes into the topology document that the container of a NUMA entry gets an RDMA "
           "device; it gets the device with its next start. A device may be bound to several "
           "containers. A device far from the entry's NUMA node is accepted with a warning that "
           "names nearer ones."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .writes_document = true,
    .examples = examples,
    .run = run,
};
