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
    if (!equals || equals == text)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not KEY=VALUE"), text);
    out->key = entry ? ath_xasprintf("numa.%s.%.*s", entry, (int)(equals - text), text)
                     : strndup(text, (size_t)(equals - text));
    out->value = ath_xstrdup(equals + 1);
    return 0;
}

static int split_changes(const struct ath_cli *cli, const struct options *options,
                         struct ath_change_report *report, struct ath_err *err)
{
    const char *entry = cli->argument_count ? cli->arguments[0] : NULL;

    for (size_t i = 0; i < options->set.count; i++) {
        struct ath_applied_change *change =
            ath_push(&report->changes, &report->change_count, sizeof *change);
        int status = split_change(options->set.items[i], entry, change, err);
        if (status)
            return status;
    }
    return 0;
}

/* Looks up the values from before (or after); a key that is not there has none. */
static int look_up(const struct ath_document *document, struct ath_change_report *report,
                   bool is_before, struct ath_err *err)
{
    for (size_t i = 0; i < report->change_count; i++) {
        struct ath_applied_change *change = &report->changes[i];
        int status = ath_document_get(document, change->key,
                                      is_before ? &change->before : &change->after, err);
        if (status)
            return status;
    }
    return 0;
}

static int apply(struct ath_document *document, struct ath_change_report *report,
                 struct ath_err *err)
{
    ath_auto_free struct ath_change *changes = ath_xalloc(report->change_count * sizeof *changes);
    for (size_t i = 0; i < report->change_count; i++)
        changes[i] =
            (struct ath_change){ .key = report->changes[i].key, .value = report->changes[i].value };

    int status = look_up(document, report, true, err);
    if (!status)
        status = ath_document_set_all(document, changes, report->change_count, err);
    return status ? status : look_up(document, report, false, err);
}

/* What does not fit this machine; a machine that cannot be read says nothing about the document. */
static void check(const struct ath_cli *cli, const struct ath_document *document,
                  struct ath_faults *warnings)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err unused = { 0 };

    if (!ath_cli_machine(cli, &machine, &unused))
        ath_document_check(document, &machine, warnings);
}

static int change(struct ath_cli *cli, const struct options *options, const char *path,
                  struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_change_report) report = { .file = path, .is_dry_run = cli->globals.is_dry_run };

    int status = split_changes(cli, options, &report, err);
    if (!status)
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
    check(cli, &document, &report.warnings);
    return ath_cli_show(cli, &ath_change_view, &report, ath_cli_format(cli), err);
}

static int show(struct ath_cli *cli, const char *path, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    int status = ath_document_load(path, &document, &cli->faults, err);
    if (status)
        return status;
    ATH_AUTO(ath_faults) warnings = { 0 };
    check(cli, &document, &warnings);
    const struct ath_document_report report = { .document = &document, .warnings = &warnings };
    return ath_cli_show(cli, &ath_document_view, &report, ath_cli_format(cli), err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ath_auto_free char *path = ath_cli_document_path(cli);
    int id;

    if (cli->argument_count && ath_parse_int(cli->arguments[0], 0, ATH_ID_MAX, &id))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is no id of a NUMA entry: it must be a whole number"),
                           cli->arguments[0]);
    if (options->set.count && options->is_show)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--show' and '--set' exclude each other"));
    if (options->set.count)
        return change(cli, options, path, err);
    if (options->is_show && !cli->argument_count)
        return show(cli, path, err);
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("nothing to do: say what to show or to set"));
    return ath_err_hint(err, -EINVAL,
                        "aitherion configure --show, aitherion configure --set KEY=VALUE");
}

static const struct ath_argument arguments[] = {
    { .name = "N",
      .help =
          N_("the id of a NUMA entry (the 1 of NUMA1): keys of --set are then those of this entry"),
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
    .summary = N_("show the topology document, or change it by key"),
    .description = N_("Changes only the value asked for: comments, order and layout of the file "
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
