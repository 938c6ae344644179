/* aitherion configure: shows the document, and changes it by key. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/level.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/commands/configure_misfit.h"
#include "cli/edit.h"
#include "cli/key_flags.h"
#include "cli/output/change.h"
#include "cli/output/document.h"
#include "cli/tui/terminal.h"
#include "cli/tui/tui.h"
#include "config/check.h"
#include "config/edit.h"
#include "config/entry.h"

enum { LOCK_TIMEOUT_MS = 10000 };

struct options {
    struct ath_option_texts set;
    bool is_show;
    const char *memory_percent, *vram_fraction, *control_iface, *data_iface, *gpus, *rdma_devices,
        *control_port, *data_port, *metrics, *encrypt, *sharing, *log_level, *udp;
};

static const struct ath_option option_table[];

/* Splits "KEY=VALUE". With an entry's id, KEY is a key of that entry. */
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
    for (size_t i = 0; i < report->change_count; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(report->changes[i].key, report->changes[j].key))
                return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is set twice"),
                                   report->changes[i].key);
    return 0;
}

/* An empty "$GPUS" is a mistake of the caller, not a request to have none. */
static int refuse_empty(const struct options *options, const char *entry, struct ath_err *err)
{
    const char *const lists[][2] = { { "data_iface", options->data_iface },
                                     { "gpus", options->gpus },
                                     { "rdma_devices", options->rdma_devices } };

    for (size_t i = 0; i < ATH_COUNT(lists); i++) {
        const char *key = lists[i][0], *value = lists[i][1];
        if (!value || value[strspn(value, " \t")])
            continue;
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, _("'%s' is empty"), key);
        return ath_err_hint(err, -EINVAL,
                            _("for an empty list: aitherion configure %s --set %s=[]"), entry, key);
    }
    return 0;
}

/* Collects the changes: first those of the flags, then those of --set. *out_flags is the number of
 * the first kind. */
static int collect_changes(const struct ath_cli *cli, const struct options *options,
                           struct ath_change_report *report, size_t *out_flags, struct ath_err *err)
{
    const char *entry = cli->argument_count ? cli->arguments[0] : NULL;
    ath_auto_free char *prefix = ath_xasprintf("numa.%s", entry ? entry : "");
    int status = entry ? refuse_empty(options, entry, err) : 0;

    ath_key_flags_add(option_table, options, prefix, report);
    *out_flags = entry ? report->change_count : 0; /* nothing else depends on the machine */
    for (size_t i = 0; i < options->set.count && !status; i++) {
        struct ath_applied_change *change =
            ath_push(&report->changes, &report->change_count, sizeof *change);
        status = split_change(options->set.items[i], entry, change, err);
    }
    return status ? status : refuse_twice(report, err);
}

/* Returns false if the machine cannot be read; then nothing is checked against it. */
static bool read_machine(const struct ath_cli *cli, struct ath_machine *machine)
{
    return !ath_cli_machine(cli, machine, NULL);
}

/* Reads the machine to check flags against. If this machine cannot be read, logs that nothing is
 * checked. Returns a negative errno with err if --root or --topology cannot be read. */
static int read_machine_to_check(const struct ath_cli *cli, struct ath_machine *machine,
                                 bool *out_has_machine, struct ath_err *err)
{
    int status = ath_cli_machine(cli, machine, err);

    *out_has_machine = !status;
    if (status && (cli->globals.root || cli->globals.topology))
        return status;
    if (status)
        ath_log(ATH_LOG_NORMAL,
                _("warning: this machine cannot be read, so nothing was checked against it: %s"),
                err->message);
    return 0;
}

static int refuse_entry(const struct ath_cli *cli, const struct ath_document *document,
                        struct ath_err *err)
{
    ATH_AUTO(ath_idset) ids = { 0 };

    for (size_t i = 0; i < document->numa.count; i++)
        ath_idset_add(&ids, document->numa.items[i].id, document->numa.items[i].id);
    ath_auto_free char *list = ath_idset_format(&ids);
    ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("the document has no NUMA entry %s; it has %s"),
                cli->arguments[0], *list ? list : _("none"));
    return ath_err_hint(err, -ENOENT, "aitherion configure --show");
}

/* Refuses an entry that does not exist. */
static int check_entry(const struct ath_cli *cli, const struct ath_document *document,
                       struct ath_err *err)
{
    int id;
    if (!cli->argument_count ||
        (!ath_parse_int(cli->arguments[0], 0, ATH_ID_MAX, &id) && ath_document_numa(document, id)))
        return 0;
    return refuse_entry(cli, document, err);
}

/* Reads the document as it is before the change. If the file is YAML with faults, the change may
 * repair them. */
static int read_before(struct ath_cli *cli, const char *path, struct ath_document *out,
                       struct ath_err *err)
{
    ATH_AUTO(ath_faults) unused_faults = { 0 };
    int status = ath_document_load(path, out, &cli->faults, err);

    if (status && err->code == ATH_E_DOCUMENT_INVALID)
        return ath_document_load_faulty(path, out, &unused_faults, NULL) ? status : 0;
    return status ? status : check_entry(cli, out, err);
}

/* Reads the document again, with the lock unless nothing will be saved. */
static int open_to_change(struct ath_cli *cli, const char *path, bool has_faults,
                          struct ath_document *out, struct ath_err *err)
{
    bool is_dry_run = cli->globals.is_dry_run;

    if (has_faults)
        return is_dry_run ? ath_document_load_faulty(path, out, &cli->faults, err)
                          : ath_document_open_faulty(path, LOCK_TIMEOUT_MS, out, &cli->faults, err);
    return is_dry_run ? ath_document_load(path, out, &cli->faults, err)
                      : ath_document_open(path, LOCK_TIMEOUT_MS, out, &cli->faults, err);
}

/* Changes the document. The machine is read first, since that may be slow; the document is locked
 * only for the change. */
static int change(struct ath_cli *cli, const struct options *options, const char *path,
                  struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) before = { 0 };
    ATH_AUTO(ath_change_report) report = { .file = path, .is_dry_run = cli->globals.is_dry_run };
    bool has_machine = false;
    size_t flags = 0;

    int status = ath_cli_may_write_document(cli, err);
    if (!status)
        status = collect_changes(cli, options, &report, &flags, err);
    if (!status)
        status = read_before(cli, path, &before, err);
    if (!status && flags)
        status = read_machine_to_check(cli, &machine, &has_machine, err);
    if (status)
        return status;
    if (!flags)
        has_machine = read_machine(cli, &machine);

    ATH_AUTO(ath_document) document = { 0 };
    status = open_to_change(cli, path, before.has_faults, &document, err);
    if (!status)
        status = ath_changes_apply(&document, &report, err);
    if (!status)
        ath_faults_free(&cli->faults); /* those that the change has repaired */
    if (!status && has_machine)
        status =
            ath_configure_refuse_misfits(cli, &before, &document, &machine, &report, flags, err);
    if (status)
        return status;
    ath_change_drop_same(&report, ath_document_is_changed(&document));
    report.is_saved = !report.is_dry_run && ath_document_is_changed(&document);
    status = report.is_saved ? ath_document_save(&document, err) : 0;
    if (status)
        return status;
    if (has_machine)
        ath_cli_edit_compare(&before, &document, &machine, &report);
    return ath_cli_show_done(cli, &ath_change_view, &report, err);
}

/* Leaves only one entry in the document. */
static int choose_entry(const struct ath_cli *cli, int id, struct ath_document *document,
                        struct ath_err *err)
{
    struct ath_document_numa *entry = ath_document_numa(document, id);

    if (!entry)
        return refuse_entry(cli, document, err);
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
    struct ath_document shown = document; /* a shallow copy, never freed */
    if (cli->argument_count && (status = choose_entry(cli, id, &shown, err)))
        return status;
    if (read_machine(cli, &machine))
        ath_document_check(&shown, &machine, &warnings);
    const struct ath_document_report report = { .document = &shown, .warnings = &warnings };
    return ath_cli_show(cli, &ath_document_view, &report, ath_cli_format(cli), err);
}

static int refuse_no_entry(const struct ath_option *flag, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--%s' needs the id of a NUMA entry"), flag->name);
    return ath_err_hint(err, -EINVAL, "aitherion configure 0 --%s %s", flag->name, flag->metavar);
}

/* id: of the entry, if there is an argument. */
static int run_for_entry(struct ath_cli *cli, const struct options *options, int id,
                         struct ath_err *err)
{
    ath_auto_free char *path = ath_cli_document_path(cli);
    const struct ath_option *flag = ath_key_flags_first(option_table, options);
    const struct ath_option *of_entry = ath_key_flags_first_of_entry(option_table, options);

    if (of_entry && !cli->argument_count)
        return refuse_no_entry(of_entry, err);
    if ((options->set.count || flag) && options->is_show)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--show' and '--%s' exclude each other"),
                           flag ? flag->name : "set");
    if (options->set.count || flag)
        return change(cli, options, path, err);
    if (options->is_show)
        return show(cli, path, id, err);
    if (ath_screen_is_possible())
        return ath_tui_run(cli, cli->argument_count ? cli->arguments[0] : "", err);
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("nothing to do: use --show or --set (the menus need a terminal)"));
    return ath_err_hint(err, -EINVAL,
                        "aitherion configure --show, aitherion configure --set KEY=VALUE");
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const char *const *given = cli->arguments;
    int id = cli->argument_count ? ath_entry_id(given[0]) : ATH_UNSET;
    ath_auto_free char *entry = ath_xasprintf("%d", id);

    if (cli->argument_count && id == ATH_UNSET) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("'%s' is not the id of a NUMA entry: it must be a whole number"), given[0]);
        return ath_err_hint(err, -EINVAL, _("NUMA1 has the id 1: aitherion configure 1 --show"));
    }
    cli->arguments = (const char *const[]){ entry };
    int status = run_for_entry(cli, data, id, err);
    cli->arguments = given;
    return status;
}

static const struct ath_argument arguments[] = {
    { .name = "N",
      .help = N_("a NUMA entry, as 1 or NUMA1: --set takes keys of this entry, --show shows only "
                 "this entry"),
      .is_optional = true,
      .completion = ATH_COMPLETE_ENTRY },
    { .name = NULL },
};

/* The last arguments are the help and more members. */
#define KEY(option, member, value, ...)                                                            \
    {                                                                                              \
        .name = option, .type = ATH_OPTION_TEXT, .metavar = value,                                 \
        .offset = offsetof(struct options, member), .help = __VA_ARGS__                            \
    }

static const char *const sharings[] = { "auto", "turns", "free", NULL };
static const char *const switches[] = { "on", "off", NULL };
static const char *const encryptions[] = { "auto", "on", "off", NULL };

/* Options that take a text set keys of the entry, or of the document; see key_flags.h. */
static const struct ath_option option_table[] = {
    KEY("memory-percent", memory_percent, "P",
        N_("of entry N: percentage of the CPU node's memory that it may use")),
    KEY("vram-fraction", vram_fraction, "F",
        N_("of entry N: fraction of each GPU's memory that it may use; 1 is all")),
    KEY("control-iface", control_iface, "I",
        N_("of entry N: network interface for control connections"),
        .completion = ATH_COMPLETE_INTERFACE),
    KEY("data-iface", data_iface, "I,...",
        N_("of entry N: network interfaces for large copies, at most 8"),
        .completion = ATH_COMPLETE_INTERFACES),
    KEY("gpus", gpus, "PCI,...", N_("of entry N: PCI addresses of its GPUs"),
        .completion = ATH_COMPLETE_GPUS),
    KEY("rdma-devices", rdma_devices, "DEVICE,...",
        N_("of entry N: RDMA devices for its container"), .completion = ATH_COMPLETE_RDMA_DEVICES),
    KEY("control-port", control_port, "PORT", N_("of entry N: TCP port for control connections")),
    KEY("data-port", data_port, "PORT",
        N_("of entry N: TCP port for large copies on the data interfaces")),
    KEY("metrics", metrics, "[ADDRESS:]PORT",
        N_("of entry N: where Prometheus reads its metrics; a port alone is at the control "
           "address")),
    KEY("encrypt", encrypt, "auto|on|off",
        N_("TCP connections that the runtimes of all entries encrypt: those that leave the machine "
           "(auto), all (on) or none (off)"),
        .suggestions = encryptions),
    KEY("sharing", sharing, "auto|turns|free",
        N_("when programs of the runtimes of all entries take turns on a GPU: from the first "
           "share, cap or priority (auto), always (turns) or never (free)"),
        .suggestions = sharings),
    KEY("log-level", log_level, NULL,
        N_("lines of the logs of the runtimes of all entries (-q and -v are of this command)"),
        .choices = ath_level_names),
    KEY("udp", udp, "on|off",
        N_("whether the runtimes of all entries take large copies by UDP as well, which keeps its "
           "speed on a network that loses packets"),
        .suggestions = switches),
    { .name = "set",
      .type = ATH_OPTION_TEXTS,
      .metavar = "KEY=VALUE",
      .completion = ATH_COMPLETE_KEY,
      .offset = offsetof(struct options, set),
      .help = N_("set a key of the document; several are set together or not at all; KEY=null "
                 "removes an optional key") },
    { .name = "show",
      .offset = offsetof(struct options, is_show),
      .help = N_("show the document with the defaults of missing keys, and what does not fit this "
                 "machine") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion configure --show", N_("show the document") },
    { "aitherion configure 1 --show", N_("show its entry NUMA1") },
    { "aitherion configure 0 --memory-percent 70",
      N_("let NUMA0 use 70 percent of its node's memory") },
    { "aitherion configure --set numa.0.memory_percent=70", N_("the same with the full key") },
    { "aitherion configure 0 --control-iface eth0 --data-iface enP3p1s0f0,enP3p1s0f1",
      N_("change several keys, checked against this machine") },
    { "aitherion configure --encrypt on", N_("let runtimes encrypt every TCP connection") },
    { "aitherion configure --set numa.1.gpus=[0035:03:00.0] --dry-run",
      N_("show a change without making it") },
    { .command = NULL },
};

const struct ath_command ath_command_configure = {
    .name = "configure",
    .group = ATH_GROUP_DOCUMENT,
    .summary = N_("show the topology document, or change it by key or in menus"),
    .description = N_("Without options, on a terminal, opens the menu of NUMA entries (with N, "
                      "the menu of entry N); see 'aitherion menu'.\n\n"
                      "Changes only the value that you name: comments, order and layout of the "
                      "file stay. An invalid value is refused, and the error says what is "
                      "allowed. A document with faulty values can be repaired this way, all of "
                      "them in one command.\n\n"
                      "The options for single keys are strict: a value that does not fit this "
                      "machine (an interface that does not exist, a GPU of another node) is "
                      "refused. --set accepts it with a warning, so that a document can be "
                      "written for another machine."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .writes_document = true,
    .examples = examples,
    .run = run,
};
