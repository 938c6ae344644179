/* aitherion roce add: puts an RDMA card to use for NUMA entries. */
#include "config.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/commands/roce_notes.h"
#include "cli/edit.h"
#include "config/entry.h"
#include "config/roce_edit.h"

struct options {
    const char *numa, *description;
};

/* The context of change(). */
struct task {
    const struct options *options;
    const struct ath_machine *machine;
    struct ath_roce_card card;
};

static int report_nobody_near(const struct task *task, struct ath_err *err)
{
    ATH_AUTO(ath_idset) nodes = { 0 };
    ath_roce_card_nodes(task->machine, task->card.pci, &nodes);
    ath_auto_free char *list = ath_idset_format(&nodes);

    if (*list)
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("the card '%s' is at NUMA node %s, which has no entry in the document"),
                    task->card.pci, list);
    else
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the NUMA node of the card '%s' is unknown"),
                    task->card.pci);
    return ath_err_hint(err, -EINVAL, _("name the entries: aitherion roce add %s --numa 0"),
                        task->card.pci);
}

static int parse_entries(const struct ath_document *document, const char *text,
                         struct ath_idset *out, struct ath_err *err)
{
    int status = ath_entries_parse(document, text, out, err);

    if (status || out->range_count)
        return status;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--numa %s' names no NUMA entry"), text);
    return ath_err_hint(err, -EINVAL, "--numa 0,1");
}

/*
 * Chooses the entries: those of --numa, else those that the card has already, else those near it.
 */
static int choose_entries(const struct task *task, const struct ath_document *document,
                          struct ath_idset *out, struct ath_err *err)
{
    const struct ath_document_card *present =
        ath_roce_card_in(document, task->machine, task->card.pci);

    if (task->options->numa)
        return parse_entries(document, task->options->numa, out, err);
    if (present && present->numa.range_count)
        ath_idset_copy(&present->numa, out);
    else
        ath_roce_card_near(document, task->machine, task->card.pci, out);
    return out->range_count ? 0 : report_nobody_near(task, err);
}

static int change(struct ath_document *document, void *context, struct ath_change_report *report,
                  struct ath_err *err)
{
    static const char *const keys[] = { "pci", "description", "numa" };
    const struct task *task = context;
    ATH_AUTO(ath_idset) entries = { 0 };

    int status = choose_entries(task, document, &entries, err);
    if (!status)
        status = ath_roce_card_add(document, task->machine, task->card.pci, &entries,
                                   task->options->description, err);
    if (status)
        return status;
    const char *pci = ath_roce_card_in(document, task->machine, task->card.pci)->pci;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ath_cli_edit_key(report, "roce.cards.%s.%s", pci, keys[i]);
    return 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_change_report) report = { 0 };
    ath_auto_free char *path = ath_cli_document_path(cli);
    const char *name = cli->arguments[0];
    struct task task = { .options = data, .machine = &machine };

    int status = ath_cli_machine(cli, &machine, err);
    if (!status)
        status = ath_roce_card_find(&machine, name, &task.card, err);
    if (status)
        return status;
    ath_roce_note_card(&report, name, task.card.pci);
    ath_roce_note_card_mode(&report, &machine, task.card.pci);
    status = ath_cli_edit(cli, path, &machine, change, &task, &report, err);
    return status ? status : ath_cli_show_done(cli, &ath_change_view, &report, err);
}

static const struct ath_argument arguments[] = {
    { .name = "CARD",
      .help = N_("PCI address of any of its functions (0003:01:00.0), or one of its RDMA devices "
                 "(mlx5_0) or network interfaces (enP3p1s0f0)"),
      .completion = ATH_COMPLETE_CARD },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "numa",
      .type = ATH_OPTION_TEXT,
      .metavar = "IDS",
      .completion = ATH_COMPLETE_ENTRIES,
      .offset = offsetof(struct options, numa),
      .help =
          N_("the NUMA entries that use it, as 0,1 (default: those near one of its functions)") },
    { .name = "description",
      .type = ATH_OPTION_TEXT,
      .metavar = "TEXT",
      .offset = offsetof(struct options, description),
      .help = N_("a description (default: its model); empty: none") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion roce add 0003:01:00.0", N_("for the NUMA entries near it") },
    { "aitherion roce add mlx5_0 --numa 0,1", N_("for two entries, by the name of one of its "
                                                 "devices") },
    { .command = NULL },
};

const struct ath_command ath_command_roce_add = {
    .name = "add",
    .group = ATH_GROUP_DOCUMENT,
    .summary = N_("put an RDMA card to use"),
    .description =
        N_("Writes a card of this machine and the NUMA entries that use it into the topology "
           "document. A card may have several PCI functions (the ConnectX-5 of an AC922 has four, "
           "two at each socket); any of them names the card.\n\n"
           "If the document has the card already, its entries are changed to those given; "
           "repeating the command changes nothing. `aitherion roce bind` says which container "
           "gets which RDMA device."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .writes_document = true,
    .examples = examples,
    .run = run,
};
