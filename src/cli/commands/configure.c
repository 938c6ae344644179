/* aitherion configure: what the document says, and changing it by key. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/edit.h"
#include "cli/key_flags.h"
#include "cli/output/change.h"
#include "cli/output/document.h"
#include "cli/tui/terminal.h"
#include "cli/tui/tui.h"
#include "config/check.h"
#include "config/edit.h"
#include "config/entry.h"
#include "config/key.h"

enum { LOCK_TIMEOUT_MS = 10000 };

struct options {
    struct ath_option_texts set;
    bool is_show;
    const char *memory_percent, *vram_fraction, *control_iface, *data_iface, *gpus, *rdma_devices,
        *control_port, *data_port;
};

static const struct ath_option option_table[];

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
    for (size_t i = 0; i < report->change_count; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(report->changes[i].key, report->changes[j].key))
                return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is set twice"),
                                   report->changes[i].key);
    return 0;
}

/* "$GPUS" that nobody set is no wish to have none. */
static int refuse_empty(const struct options *options, const char *entry, struct ath_err *err)
{
    const char *const lists[][2] = { { "gpus", options->gpus },
                                     { "rdma_devices", options->rdma_devices } };

    for (size_t i = 0; i < ATH_COUNT(lists); i++) {
        const char *key = lists[i][0], *value = lists[i][1];
        if (!value || value[strspn(value, " \t")])
            continue;
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, _("cannot set '%s' to nothing at all"), key);
        return ath_err_hint(err, -EINVAL,
                            _("to have none, say: aitherion configure %s --set %s=[]"), entry, key);
    }
    return 0;
}

/* The flags first, then --set; *out_flags is how many of the changes are flags'. */
static int collect_changes(const struct ath_cli *cli, const struct options *options,
                           struct ath_change_report *report, size_t *out_flags, struct ath_err *err)
{
    const char *entry = cli->argument_count ? cli->arguments[0] : NULL;
    int status = 0;

    if (entry) {
        ath_auto_free char *prefix = ath_xasprintf("numa.%s", entry);
        status = refuse_empty(options, entry, err);
        ath_key_flags_add(option_table, options, prefix, report);
    }
    *out_flags = report->change_count;
    for (size_t i = 0; i < options->set.count && !status; i++) {
        struct ath_applied_change *change =
            ath_push(&report->changes, &report->change_count, sizeof *change);
        status = split_change(options->set.items[i], entry, change, err);
    }
    return status ? status : refuse_twice(report, err);
}

/* A machine that cannot be read says nothing about the document. */
static bool read_machine(const struct ath_cli *cli, struct ath_machine *machine)
{
    struct ath_err unused;
    return !ath_cli_machine(cli, machine, &unused);
}

/* For flags: one that was named must be read, and of one that cannot be it is said that nothing
 * was checked. */
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

/* ---- what does not fit the machine ---- */

/* "aitherion configure 0 --set data_iface=X", which takes it anyway. */
static char *leniently(const struct ath_cli *cli, const struct ath_change_report *report)
{
    ATH_AUTO(ath_text) words = { 0 };

    ath_text_add(&words, "configure");
    for (size_t i = 0; i < report->change_count; i++) {
        const struct ath_applied_change *change = &report->changes[i];
        bool needs_quotes = strpbrk(change->value, " []{}()*?;&|<>$`\"'\\~#!") || !*change->value;
        ath_text_add(&words, " --set %s=%s%s%s", change->key, needs_quotes ? "'" : "",
                     change->value, needs_quotes ? "'" : "");
    }
    return ath_cli_suggest(cli, words.data);
}

/* What a fault's value may have been meant to be, or what there is in its place. */
struct mending {
    const struct ath_machine *machine;
    const struct ath_document *document;
    const struct ath_document_numa *entry;
    const char *value; /* as asked for */
};

static void add_name(struct ath_texts *names, const char *name)
{
    if (name)
        ath_texts_add(names, name);
}

static void collect_links(const struct mending *mending, struct ath_texts *out)
{
    for (size_t i = 0; i < mending->machine->nic_count; i++)
        add_name(out, mending->machine->nics[i].netdev);
    for (size_t i = 0; i < mending->document->roce.macvlans.count; i++)
        add_name(out, mending->document->roce.macvlans.items[i].name);
}

static void collect_rdma_devices(const struct mending *mending, struct ath_texts *out)
{
    for (size_t i = 0; i < mending->machine->nic_count; i++)
        add_name(out, mending->machine->nics[i].rdma_device);
    for (size_t i = 0; i < mending->machine->others.rdma_device_count; i++)
        add_name(out, mending->machine->others.rdma_devices[i]);
}

/* Those of the entry's node. */
static void collect_gpus(const struct mending *mending, struct ath_texts *out)
{
    char pci[ATH_PCI_TEXT];
    for (size_t i = 0; i < mending->machine->gpu_count; i++)
        if (mending->machine->gpus[i].numa_node == mending->entry->node)
            add_name(out, ath_pci_format(&mending->machine->gpus[i].pci, pci));
}

static char *joined(const struct ath_texts *texts)
{
    struct ath_text list = { 0 };
    for (size_t i = 0; i < texts->count; i++)
        ath_text_add_part(&list, ", ", "%s", texts->items[i]);
    return ath_text_take(&list);
}

/* Where one name is near to what was typed, that; else all. */
static char *mend_name(const struct mending *mending,
                       void (*collect)(const struct mending *, struct ath_texts *))
{
    ATH_AUTO(ath_texts) names = { 0 };
    collect(mending, &names);
    const char *nearest =
        ath_text_nearest(mending->value, (const char *const *)names.items, names.count);
    if (nearest)
        return ath_xasprintf(_("did you mean '%s'?"), nearest);
    ath_auto_free char *list = joined(&names);
    return names.count ? ath_xasprintf(_("there are %s"), list) : ath_xstrdup(_("there is none"));
}

static char *mend_link(const struct mending *mending)
{
    return mend_name(mending, collect_links);
}

static char *mend_rdma_device(const struct mending *mending)
{
    return mend_name(mending, collect_rdma_devices);
}

static char *mend_gpu(const struct mending *mending)
{
    ATH_AUTO(ath_texts) gpus = { 0 };
    collect_gpus(mending, &gpus);
    ath_auto_free char *list = joined(&gpus);
    return gpus.count ? ath_xasprintf(_("NUMA node %d has the GPUs %s"), mending->entry->node, list)
                      : ath_xasprintf(_("NUMA node %d has no GPU"), mending->entry->node);
}

/* The memory nodes that the entry has, and those of its GPUs. */
static char *mend_memory(const struct mending *mending)
{
    ATH_AUTO(ath_idset) nodes = { 0 };
    ATH_AUTO(ath_text) list = { 0 };
    struct ath_pci pci;

    for (size_t i = 0; i < mending->entry->gpus.count; i++) {
        const struct ath_gpu *gpu = ath_pci_parse(mending->entry->gpus.items[i], &pci)
                                        ? NULL
                                        : ath_machine_gpu(mending->machine, &pci);
        if (gpu && gpu->memory_node != ATH_UNKNOWN)
            ath_idset_add(&nodes, gpu->memory_node, gpu->memory_node);
    }
    const struct ath_idset *own = &mending->entry->memory_nodes;
    for (int id = ath_idset_next(own, -1); id >= 0; id = ath_idset_next(own, id))
        ath_idset_add(&nodes, id, id);
    for (int id = ath_idset_next(&nodes, -1); id >= 0; id = ath_idset_next(&nodes, id))
        ath_text_add_part(&list, ",", "%d", id);
    return ath_xasprintf(_("add --set memory_nodes=%s"), list.data ? list.data : "");
}

static const struct {
    enum ath_fault_code code;
    char *(*mend)(const struct mending *mending); /* the caller frees it */
} mends[] = {
    { ATH_FAULT_LINK_MISSING, mend_link },  { ATH_FAULT_RDMA_MISSING, mend_rdma_device },
    { ATH_FAULT_LINK_LOOPBACK, mend_link }, { ATH_FAULT_GPU_MISSING, mend_gpu },
    { ATH_FAULT_GPU_NODE, mend_gpu },       { ATH_FAULT_GPU_MEMORY, mend_memory },
};

static char *mend(const struct ath_fault *fault, const struct mending *mending)
{
    for (size_t i = 0; i < ATH_COUNT(mends); i++)
        if (!strcmp(fault->code, ath_fault_word(mends[i].code)))
            return mends[i].mend(mending);
    return ath_xstrdup(fault->message);
}

/* The value that a key has in a document's tree; NULL where it says none. */
static const struct ath_yaml *value_at(const struct ath_document *document, const char *path)
{
    struct ath_key key;
    struct ath_err unused;
    return ath_key_find(&document->tree, NULL, path, &key, &unused) ? NULL : key.value;
}

/* What flags ask for must fit the machine; faults that were there before are no reason. */
static int refuse_misfits(struct ath_cli *cli, const struct ath_document *before,
                          const struct ath_document *after, const struct ath_machine *machine,
                          const struct ath_change_report *report, size_t flags, struct ath_err *err)
{
    ATH_AUTO(ath_faults) old = { 0 };
    ATH_AUTO(ath_faults) all = { 0 };
    ath_auto_free char *mended = NULL;

    ath_document_check_machine(before, machine, &old);
    ath_document_check_machine(after, machine, &all);
    for (size_t i = 0; i < flags; i++) {
        const char *key = report->changes[i].key;
        ath_faults_take_new(&old, value_at(before, key), &all, value_at(after, key), &cli->faults);
        if (mended || !cli->faults.count)
            continue;
        const struct mending mending = {
            .machine = machine,
            .document = after,
            .entry = ath_document_numa(after, (int)strtol(cli->arguments[0], NULL, 10)),
            .value = report->changes[i].value,
        };
        mended = mend(&cli->faults.items[0], &mending);
    }
    if (!cli->faults.count)
        return 0;
    ath_auto_free char *anyway = leniently(cli, report);
    ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                _("cannot change NUMA entry %s: what was asked for does not fit this machine"),
                cli->arguments[0]);
    return ath_err_hint(err, -EINVAL, _("%s (or take it anyway: %s)"), mended, anyway);
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

/* An entry that was named must be there. */
static int check_entry(const struct ath_cli *cli, const struct ath_document *document,
                       struct ath_err *err)
{
    int id;
    if (!cli->argument_count ||
        (!ath_parse_int(cli->arguments[0], 0, ATH_ID_MAX, &id) && ath_document_numa(document, id)))
        return 0;
    return refuse_entry(cli, document, err);
}

/* The document is held locked only as long as it takes; the machine, which may be slow, is read
 * before. */
static int change(struct ath_cli *cli, const struct options *options, const char *path,
                  struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) before = { 0 };
    ATH_AUTO(ath_change_report) report = { .file = path, .is_dry_run = cli->globals.is_dry_run };
    bool has_machine = false;
    size_t flags = 0;

    int status = collect_changes(cli, options, &report, &flags, err);
    if (!status)
        status = ath_document_load(path, &before, &cli->faults, err);
    if (!status)
        status = check_entry(cli, &before, err);
    if (!status && flags)
        status = read_machine_to_check(cli, &machine, &has_machine, err);
    if (status)
        return status;
    if (!flags)
        has_machine = read_machine(cli, &machine);

    ATH_AUTO(ath_document) document = { 0 };
    status = report.is_dry_run
                 ? ath_document_load(path, &document, &cli->faults, err)
                 : ath_document_open(path, LOCK_TIMEOUT_MS, &document, &cli->faults, err);
    if (!status)
        status = ath_changes_apply(&document, &report, err);
    if (!status && has_machine)
        status = refuse_misfits(cli, &before, &document, &machine, &report, flags, err);
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

/* With an id all other entries are left out. */
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
    struct ath_document shown = document; /* owns nothing */
    if (cli->argument_count && (status = choose_entry(cli, id, &shown, err)))
        return status;
    if (read_machine(cli, &machine))
        ath_document_check(&shown, &machine, &warnings);
    const struct ath_document_report report = { .document = &shown, .warnings = &warnings };
    return ath_cli_show(cli, &ath_document_view, &report, ath_cli_format(cli), err);
}

static int refuse_no_entry(const struct ath_option *flag, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("'--%s' needs the id of the NUMA entry that it is for"), flag->name);
    return ath_err_hint(err, -EINVAL, "aitherion configure 0 --%s %s", flag->name, flag->metavar);
}

/* The argument is an id by now. */
static int do_as_told(struct ath_cli *cli, const struct options *options, int id,
                      struct ath_err *err)
{
    ath_auto_free char *path = ath_cli_document_path(cli);
    const struct ath_option *flag = ath_key_flags_first(option_table, options);

    if (flag && !cli->argument_count)
        return refuse_no_entry(flag, err);
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
                _("nothing to do: say what to show or to set (the menus need a terminal)"));
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
                    _("'%s' is no id of a NUMA entry: it must be a whole number"), given[0]);
        return ath_err_hint(err, -EINVAL, _("NUMA1 has the id 1: aitherion configure 1 --show"));
    }
    cli->arguments = (const char *const[]){ entry };
    int status = do_as_told(cli, data, id, err);
    cli->arguments = given;
    return status;
}

static const struct ath_argument arguments[] = {
    { .name = "N",
      .help = N_("a NUMA entry, as 1 or NUMA1: the keys of --set are those of this "
                 "entry, --show shows only it"),
      .is_optional = true },
    { .name = NULL },
};

#define KEY(option, member, value, text)                                                           \
    {                                                                                              \
        .name = option, .type = ATH_OPTION_TEXT, .metavar = value,                                 \
        .offset = offsetof(struct options, member), .help = text                                   \
    }

/* Options that take a text are keys of the entry: see key_flags.h. */
static const struct ath_option option_table[] = {
    KEY("memory-percent", memory_percent, "P",
        N_("of entry N: how much of the CPU node's memory it may use, in percent")),
    KEY("vram-fraction", vram_fraction, "F",
        N_("of entry N: how much of each GPU's memory it may use, as a fraction; 1 is all")),
    KEY("control-iface", control_iface, "I",
        N_("of entry N: network interface of the control connections")),
    KEY("data-iface", data_iface, "I", N_("of entry N: network interface of the data plane")),
    KEY("gpus", gpus, "PCI,...", N_("of entry N: PCI addresses of the GPUs that it serves")),
    KEY("rdma-devices", rdma_devices, "DEVICE,...",
        N_("of entry N: RDMA devices that its container gets")),
    KEY("control-port", control_port, "PORT",
        N_("of entry N: TCP port of the control connections")),
    KEY("data-port", data_port, "PORT", N_("of entry N: port of the data plane")),
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
    { "aitherion configure 0 --memory-percent 70",
      N_("let NUMA0 have 70 percent of its node's memory") },
    { "aitherion configure --set numa.0.memory_percent=70", N_("the same by its full key") },
    { "aitherion configure 0 --control-iface enP5p1s0f0 --data-iface enP3p1s0f0",
      N_("several at once, checked against this machine") },
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
                      "document may not have is refused with what is allowed.\n\n"
                      "The options for single keys are strict: what does not fit this machine "
                      "(an interface that does not exist, a GPU of another node) is refused too. "
                      "--set takes it with a warning, so that a document can be written for "
                      "another machine."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
