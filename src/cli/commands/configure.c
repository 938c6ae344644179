/* aitherion configure: what the document says, and changing it by key. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/change.h"
#include "cli/output/document.h"
#include "cli/tui/terminal.h"
#include "cli/tui/tui.h"
#include "config/check.h"
#include "config/edit.h"

enum { LOCK_TIMEOUT_MS = 10000 };

struct options {
    struct ath_option_texts set;
    bool is_show;
};

/* "KEY=VALUE" taken apart; with an entry's id the keys are those of the entry. */
static int split_change(const char *text, const char *entry, struct ath_applied_change *out,
                        struct ath_err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not KEY=VALUE"), text);
        return ath_err_hint(err, -EINVAL, "aitherion configure --set numa.0.memory_percent=70");
    }
    out->key = entry ? ath_xasprintf("numa.%s.%.*s", entry, (int)(equals - text), text)
                     : strndup(text, (size_t)(equals - text));
    out->value = ath_xstrdup(equals + 1);
    return 0;
}

static int refuse_twice(const struct ath_change_report *report, struct ath_err *err)
{
    const struct ath_applied_change *last = &report->changes[report->change_count - 1];

    for (const struct ath_applied_change *change = report->changes; change < last; change++)
        if (!strcmp(change->key, last->key))
            return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is set twice"), last->key);
    return 0;
}

static int split_changes(const struct ath_cli *cli, const struct options *options,
                         struct ath_change_report *report, struct ath_err *err)
{
    const char *entry = cli->argument_count ? cli->arguments[0] : NULL;
    int status = 0;

    for (size_t i = 0; i < options->set.count && !status; i++) {
        struct ath_applied_change *change =
            ath_push(&report->changes, &report->change_count, sizeof *change);
        status = split_change(options->set.items[i], entry, change, err);
        if (!status)
            status = refuse_twice(report, err);
    }
    return status;
}

static int look_up_before(const struct ath_document *document, struct ath_change_report *report,
                          struct ath_err *err)
{
    int status = 0;
    for (size_t i = 0; i < report->change_count && !status; i++)
        status =
            ath_document_get(document, report->changes[i].key, &report->changes[i].before, err);
    return status;
}

/* As the document says it now. An entry that was renamed is not found by its old name: what was
 * asked for, then. */
static void look_up_after(const struct ath_document *document, struct ath_change_report *report)
{
    struct ath_err unused;

    for (size_t i = 0; i < report->change_count; i++) {
        struct ath_applied_change *change = &report->changes[i];
        if (ath_document_get(document, change->key, &change->after, &unused))
            change->after = ath_xstrdup(change->value);
    }
}

static int apply(struct ath_document *document, struct ath_change_report *report,
                 struct ath_err *err)
{
    ath_auto_free struct ath_change *changes = ath_xalloc(report->change_count * sizeof *changes);
    for (size_t i = 0; i < report->change_count; i++)
        changes[i] =
            (struct ath_change){ .key = report->changes[i].key, .value = report->changes[i].value };

    int status = look_up_before(document, report, err);
    if (!status)
        status = ath_document_set_all(document, changes, report->change_count, err);
    if (!status)
        look_up_after(document, report);
    return status;
}

/* A machine that cannot be read says nothing about the document. */
static bool read_machine(const struct ath_cli *cli, struct ath_machine *machine)
{
    struct ath_err unused;
    return !ath_cli_machine(cli, machine, &unused);
}

static bool has_fault(const struct ath_faults *faults, const struct ath_fault *wanted)
{
    for (size_t i = 0; i < faults->count; i++)
        if (!strcmp(faults->items[i].code, wanted->code) &&
            !strcmp(faults->items[i].message, wanted->message))
            return true;
    return false;
}

/* What does not fit the machine since the change; what did not fit before is counted only. */
static void check_change(const struct ath_document *before, const struct ath_document *after,
                         const struct ath_machine *machine, struct ath_change_report *report)
{
    ATH_AUTO(ath_faults) old = { 0 };
    ATH_AUTO(ath_faults) all = { 0 };

    ath_document_check(before, machine, &old);
    ath_document_check(after, machine, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (has_fault(&old, &all.items[i])) {
            report->older_warning_count++;
            continue;
        }
        struct ath_fault *fault = ath_push(&report->warnings.items, &report->warnings.count,
                                           sizeof *report->warnings.items);
        *fault = all.items[i];
        all.items[i] = (struct ath_fault){ 0 }; /* its texts have a new owner */
    }
}

/* The document is held locked only as long as it takes; the machine, which may be slow, is read
 * before. */
static int change(struct ath_cli *cli, const struct options *options, const char *path,
                  struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) before = { 0 };
    ATH_AUTO(ath_change_report) report = { .file = path, .is_dry_run = cli->globals.is_dry_run };

    int status = split_changes(cli, options, &report, err);
    if (!status)
        status = ath_document_load(path, &before, &cli->faults, err);
    if (status)
        return status;
    bool has_machine = read_machine(cli, &machine);

    ATH_AUTO(ath_document) document = { 0 };
    status = report.is_dry_run
                 ? ath_document_load(path, &document, &cli->faults, err)
                 : ath_document_open(path, LOCK_TIMEOUT_MS, &document, &cli->faults, err);
    if (!status)
        status = apply(&document, &report, err);
    if (status)
        return status;
    report.is_saved = !report.is_dry_run && ath_document_is_changed(&document);
    status = report.is_saved ? ath_document_save(&document, err) : 0;
    if (status)
        return status;
    if (has_machine)
        check_change(&before, &document, &machine, &report);
    return ath_cli_show_done(cli, &ath_change_view, &report, err);
}

/* With an id all other entries are left out. */
static int choose_entry(const struct ath_cli *cli, int id, struct ath_document *document,
                        struct ath_err *err)
{
    struct ath_document_numa *entry = ath_document_numa(document, id);

    if (!entry) {
        ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("the document has no NUMA entry %s"),
                    cli->arguments[0]);
        return ath_err_hint(err, -ENOENT, "aitherion configure --show");
    }
    document->numa.items = entry;
    document->numa.count = 1;
    return 0;
}

static int show(struct ath_cli *cli, const char *path, int id, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_faults) warnings = { 0 };

    int status = ath_document_load(path, &document, &cli->faults, err);
    if (status)
        return status;
    struct ath_document shown = document; /* owns nothing */
    if (cli->argument_count && (status = choose_entry(cli, id, &shown, err)))
        return status;
    if (read_machine(cli, &machine))
        ath_document_check(&shown, &machine, &warnings);
    const struct ath_document_report report = { .document = &shown, .warnings = &warnings };
    return ath_cli_show(cli, &ath_document_view, &report, ath_cli_format(cli), err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ath_auto_free char *path = ath_cli_document_path(cli);
    int id = 0;

    if (cli->argument_count && ath_parse_int(cli->arguments[0], 0, ATH_ID_MAX, &id)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("'%s' is no id of a NUMA entry: it must be a whole number"),
                    cli->arguments[0]);
        return ath_err_hint(err, -EINVAL, _("NUMA1 has the id 1: aitherion configure 1 --show"));
    }
    if (options->set.count && options->is_show)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--show' and '--set' exclude each other"));
    if (options->set.count)
        return change(cli, options, path, err);
    if (options->is_show)
        return show(cli, path, id, err);
    if (ath_screen_is_possible())
        return ath_tui_run(cli, cli->argument_count ? cli->arguments[0] : "", err);
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("nothing to do: say what to show or to set (the menus need a terminal)"));
    return ath_err_hint(err, -EINVAL,
                        "aitherion configure --show, aitherion configure --set KEY=VALUE");
}

static const struct ath_argument arguments[] = {
    { .name = "N",
      .help = N_("the id of a NUMA entry (the 1 of NUMA1): the keys of --set are those of this "
                 "entry, --show shows only it"),
      .is_optional = true },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "set",
      .type = ATH_OPTION_TEXTS,
      .metavar = "KEY=VALUE",
      .offset = offsetof(struct options, set),
      .help = N_("give a key of the document a new value; several are made together or not at all; "
                 "an optional key is "
                 "taken away with KEY=null") },
    { .name = "show",
      .offset = offsetof(struct options, is_show),
      .help = N_("show the document, with the defaults of what it leaves out, and what does not "
                 "fit this machine") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion configure --show", N_("what the document says") },
    { "aitherion configure 1 --show", N_("what it says of NUMA1") },
    { "aitherion configure 0 --set memory_percent=70",
      N_("let NUMA0 have 70 percent of its node's memory") },
    { "aitherion configure --set numa.0.memory_percent=70", N_("the same by its full key") },
    { "aitherion configure --set numa.1.gpus=[0035:03:00.0] --dry-run",
      N_("show a change without making it") },
    { .command = NULL },
};

const struct ath_command ath_command_configure = {
    .name = "configure",
    .group = ATH_GROUP_DOCUMENT,
    .summary = N_("show the topology document, or change it by key or in menus"),
    .description = N_("Without options, on a terminal, opens the menu of NUMA entries (with N, "
                      "that of entry N); see 'aitherion menu'.\n\n"
                      "Changes only the value asked for: comments, order and layout of the file "
                      "stay. A value that the "
                      "document may not have is refused with what is allowed; one that does not "
                      "fit this machine is "
                      "taken with a warning, so that a document can be written elsewhere."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
