/* aitherion roce remove: takes an RDMA card out of the document. */
#include "config.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/commands/roce_notes.h"
#include "cli/edit.h"
#include "config/entry.h"
#include "config/roce_edit.h"

/* The context of change(). */
struct task {
    const struct ath_cli *cli;
    const char *name;
    const struct ath_machine *machine; /* NULL if it cannot be read */
    char pci[ATH_PCI_TEXT];            /* of the card */
};

/* Finds the card. A card that is no longer in the machine can be named by its PCI address. */
static int find_card(struct task *task, struct ath_err *err)
{
    struct ath_roce_card card;
    struct ath_pci pci;
    int status = task->machine ? ath_roce_card_find(task->machine, task->name, &card, err) : 0;

    if (task->machine && !status) {
        snprintf(task->pci, sizeof task->pci, "%s", card.pci);
        return 0;
    }
    if (!ath_pci_parse(task->name, &pci)) {
        ath_pci_format(&pci, task->pci);
        return 0;
    }
    if (status)
        return status;
    ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                _("the machine cannot be read, so the card of '%s' is unknown: give its PCI "
                  "address"),
                task->name);
    return ath_err_hint(err, -ENOENT, "aitherion configure --show");
}

/* Notes containers that still get a device of the card. */
static void note_device(const struct task *task, const struct ath_document *document,
                        const char *device, struct ath_change_report *report)
{
    for (size_t i = 0; i < document->numa.count; i++) {
        const struct ath_document_numa *entry = &document->numa.items[i];
        if (!ath_roce_is_bound(entry, device))
            continue;
        struct ath_note *note = ath_change_note(
            report, ATH_NOTE_STILL_BOUND, device,
            _("the container of NUMA%d still gets '%s' of this card"), entry->id, device);
        ath_auto_free char *words = ath_xasprintf("roce bind %s %d --unbind", device, entry->id);
        note->hint = ath_cli_suggest(task->cli, words);
    }
}

static void note_bound(const struct task *task, const struct ath_document *document,
                       struct ath_change_report *report)
{
    for (size_t i = 0; task->machine && i < task->machine->nic_count; i++) {
        const struct ath_nic *nic = &task->machine->nics[i];
        if (nic->rdma_device && nic->port <= 1 && ath_roce_card_has(task->pci, nic))
            note_device(task, document, nic->rdma_device, report);
    }
}

/* Notes an address that neither the document nor the machine has; it may be mistyped. */
static void note_missing(const struct task *task, struct ath_change_report *report)
{
    struct ath_roce_card unused;
    struct ath_err err;
    if (!task->machine || !ath_roce_card_find(task->machine, task->pci, &unused, &err) ||
        err.code != ATH_E_NOT_FOUND)
        return;
    struct ath_note *note =
        ath_change_note(report, ATH_NOTE_NOT_THERE, task->pci, "%s", err.message);
    note->hint = ath_cli_suggest(task->cli, "roce list");
}

static int change(struct ath_document *document, void *context, struct ath_change_report *report,
                  struct ath_err *err)
{
    static const char *const keys[] = { "pci", "description", "numa" };
    const struct task *task = context;
    const struct ath_document_card *card = ath_roce_card_in(document, task->machine, task->pci);

    if (!card)
        note_missing(task, report);
    if (!card)
        ath_change_note(report, ATH_NOTE_NOTHING_TO_DO, task->pci,
                        _("the card '%s' is not in the document: nothing to do"), task->pci);
    for (size_t i = 0; card && i < ATH_COUNT(keys); i++)
        ath_cli_edit_key(report, "roce.cards.%s.%s", card->pci, keys[i]);
    int status = ath_roce_card_remove(document, task->machine, task->pci, err);
    if (!status && card)
        note_bound(task, document, report);
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_change_report) report = { 0 };
    ath_auto_free char *path = ath_cli_document_path(cli);
    struct task task = { .cli = cli, .name = cli->arguments[0] };

    (void)data;
    int status = ath_cli_machine(cli, &machine, err);
    if (status && (cli->globals.root || cli->globals.topology))
        return status; /* the user named this machine */
    task.machine = status ? NULL : &machine;
    status = find_card(&task, err);
    if (status)
        return status;
    ath_roce_note_card(&report, task.name, task.pci);
    status = ath_cli_edit(cli, path, task.machine, change, &task, &report, err);
    return status ? status : ath_cli_show_done(cli, &ath_change_view, &report, err);
}

static const struct ath_argument arguments[] = {
    { .name = "CARD",
      .help = N_("PCI address of any of its functions, or one of its RDMA devices or network "
                 "interfaces"),
      .completion = ATH_COMPLETE_RECORDED_CARD },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion roce remove 0003:01:00.0", N_("remove it from the document") },
    { .command = NULL },
};

const struct ath_command ath_command_roce_remove = {
    .name = "remove",
    .group = ATH_GROUP_DOCUMENT,
    .summary = N_("take an RDMA card out of use"),
    .description = N_("Removes a card from the topology document. The card itself, its links and "
                      "what is bound to containers stay as they are. If the document does not "
                      "have the card, the command succeeds."),
    .arguments = arguments,
    .reads_machine = true,
    .writes_document = true,
    .examples = examples,
    .run = run,
};
