/*
 * aitherion roce macvlan: a macvlan link in the document and in the kernel.
 *
 * The document is changed in memory under its lock, then the kernel is changed, then the document
 * is saved. If the kernel refuses, both stay as they were. If saving fails, the kernel's changes
 * are undone.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/commands/roce_macvlan_work.h"
#include "cli/key_flags.h"
#include "config/entry.h"
#include "roce/netns.h"

static const struct ath_option option_table[];

static void work_free(struct ath_macvlan_work *work)
{
    free(work->path);
    free(work->entry);
    ath_document_free(&work->document);
    ath_roce_macvlan_report_free(&work->report);
}

/* ---- what the options say ---- */

static int check_together(const struct ath_macvlan_options *options, struct ath_err *err)
{
    const struct ath_option *flag = ath_key_flags_first(option_table, options);

    if (options->has_host_link && options->has_no_host_link)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                           _("'--host-link' and '--no-host-link' exclude each other"));
    if (options->host_address && options->has_no_host_link)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                           _("'--host-address' and '--no-host-link' exclude each other"));
    if (options->is_delete && (flag || options->has_host_link || options->has_no_host_link))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--delete' and '--%s' exclude each other"),
                           flag                     ? flag->name
                           : options->has_host_link ? "host-link"
                                                    : "no-host-link");
    return 0;
}

static int refuse_unprivileged(const struct ath_macvlan_work *work, struct ath_err *err)
{
    bool is_own = !work->cli->globals.config && strcmp(work->path, ATH_CLI_SYSTEM_DOCUMENT);

    ath_err_set(err, -EPERM, ATH_E_NOT_PERMITTED,
                _("cannot work on macvlan '%s': only root may change network links"), work->name);
    /* under sudo the default document is root's */
    return ath_err_hint(err, -EPERM,
                        _("run it again with sudo in front%s%s, or with --record to change only "
                          "the document"),
                        is_own ? " -c " : "", is_own ? work->path : "");
}

static int begin(struct ath_cli *cli, const struct ath_macvlan_options *options,
                 struct ath_macvlan_work *work, struct ath_err *err)
{
    bool is_capture = cli->globals.root || cli->globals.topology;

    work->cli = cli;
    work->options = options;
    work->name = cli->arguments[0];
    work->path = ath_cli_document_path(cli);
    work->entry = ath_xasprintf(ATH_MACVLAN_LIST ".%s", work->name);
    work->report.name = work->name;
    work->report.is_delete = options->is_delete;
    work->report.scope = is_capture           ? ATH_ROCE_MACVLAN_CAPTURE
                         : options->is_record ? ATH_ROCE_MACVLAN_RECORD
                                              : ATH_ROCE_MACVLAN_BOTH;
    work->report.changes.file = work->path;
    work->report.changes.is_dry_run = cli->globals.is_dry_run;

    int status = check_together(options, err);
    if (!status)
        status = ath_cli_may_write_document(cli, err);
    if (!status && !ath_link_name_is_valid(work->name)) {
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                    _("'%s' is not a valid name for a network "
                      "link"),
                    work->name);
        return ath_err_hint(err, -EINVAL, _("use 1 to 15 characters, without spaces, '/' and ':'"));
    }
    if (!status && ath_macvlan_work_is_for_kernel(work) && !ath_macvlan_work_is_dry_run(work) &&
        !ath_netns_is_permitted())
        return refuse_unprivileged(work, err);
    return status;
}

static void collect_changes(struct ath_macvlan_work *work)
{
    const struct ath_macvlan_options *options = work->options;
    bool wants_host_link =
        options->has_host_link || (options->host_address && strcmp(options->host_address, "null"));

    ath_key_flags_add(option_table, options, work->entry, &work->report.changes);
    if (wants_host_link || options->has_no_host_link)
        ath_macvlan_work_add_change(work, "host_link", wants_host_link ? "true" : "false");
}

/* ---- making and deleting ---- */

/* Blocks signals until the kernel and the document agree; a signal that came meanwhile ends us
 * then. */
static void hold_signals(sigset_t *out_before)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    sigset_t held;

    sigemptyset(&held);
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        sigaddset(&held, numbers[i]);
    sigprocmask(SIG_BLOCK, &held, out_before);
}

static void release_signals(const sigset_t *before)
{
    sigprocmask(SIG_SETMASK, before, NULL);
}

static int make_macvlan(struct ath_macvlan_work *work, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    bool needs_machine = !ath_macvlan_work_is_for_kernel(work);
    int status = needs_machine ? ath_cli_machine(work->cli, &machine, err) : 0;

    if (!status)
        status = ath_macvlan_work_open(work, err);
    if (status)
        return status;
    collect_changes(work);
    status = ath_macvlan_work_edit(work, needs_machine ? &machine : NULL, err);
    if (status)
        return status;
    sigset_t before;
    hold_signals(&before);
    status = ath_macvlan_work_is_for_kernel(work) ? ath_macvlan_work_make_link(work, err)
                                                  : ath_macvlan_work_check_link(work, err);
    if (!status)
        status = ath_macvlan_work_save(work, err);
    release_signals(&before);
    return status;
}

/* Deletes the link. Works without a document too. */
static int delete_macvlan(struct ath_macvlan_work *work, struct ath_err *err)
{
    int status = ath_macvlan_work_open(work, err);
    if (status && err->code != ATH_E_DOCUMENT_MISSING)
        return status;
    status = ath_macvlan_work_remove_entry(work, err);
    if (!status && ath_macvlan_work_is_for_kernel(work) && !ath_macvlan_work_is_dry_run(work))
        status = ath_macvlan_work_confirm_cut(work, err);
    if (status)
        return status;
    sigset_t before;
    hold_signals(&before);
    if (ath_macvlan_work_is_for_kernel(work))
        status = ath_macvlan_work_remove_link(work, err);
    if (!status)
        status = ath_macvlan_work_save(work, err);
    release_signals(&before);
    if (!status)
        ath_macvlan_work_note_missing(work);
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    __attribute__((cleanup(work_free))) struct ath_macvlan_work work = { 0 };
    struct ath_macvlan_options options = *(const struct ath_macvlan_options *)data;
    int id = options.numa ? ath_entry_id(options.numa) : ATH_UNSET;
    if (id != ATH_UNSET) {
        snprintf(work.numa, sizeof work.numa, "%d", id);
        options.numa = work.numa;
    }
    int status = begin(cli, &options, &work, err);
    if (!status)
        status = options.is_delete ? delete_macvlan(&work, err) : make_macvlan(&work, err);
    if (status)
        return status;

    const struct ath_document_macvlan *entry =
        work.has_document ? ath_document_macvlan(&work.document, work.name) : NULL;
    int numa = entry ? entry->numa : ATH_UNSET;
    ath_document_free(&work.document); /* release the lock before waiting for links */
    work.document = (struct ath_document){ 0 };
    ath_macvlan_work_look(&work);
    work.report.next = ath_macvlan_work_next_step(&work, numa);
    return ath_cli_show_done(cli, &ath_roce_macvlan_view, &work.report, err);
}

static const char *const modes[] = { "bridge", "private", "vepa", "passthru", NULL };

static const struct ath_argument arguments[] = {
    { .name = "NAME",
      .help = N_("name of the link: macvlan0"),
      .completion = ATH_COMPLETE_MACVLAN },
    { .name = NULL },
};

/* The last arguments are the help and more members. */
#define KEY(option, member, value, ...)                                                            \
    {                                                                                              \
        .name = option, .type = ATH_OPTION_TEXT, .metavar = value,                                 \
        .offset = offsetof(struct ath_macvlan_options, member), .help = __VA_ARGS__                \
    }
#define FLAG(option, member, text)                                                                 \
    {                                                                                              \
        .name = option, .offset = offsetof(struct ath_macvlan_options, member), .help = text       \
    }

/* Options that take a text set keys of the entry; see key_flags.h. */
static const struct ath_option option_table[] = {
    KEY("parent", parent, "IF", N_("the parent: an Ethernet interface; needed for a new link"),
        .completion = ATH_COMPLETE_INTERFACE),
    { .name = "mode",
      .type = ATH_OPTION_TEXT,
      .metavar = "MODE",
      .suggestions = modes,
      .offset = offsetof(struct ath_macvlan_options, mode),
      .help = N_("how macvlans of one parent reach each other: bridge (default), private, vepa, "
                 "or passthru, which allows one macvlan only") },
    KEY("address", address, "A/P", N_("IP address with prefix: 192.168.100.10/24")),
    KEY("mtu", mtu, "N",
        N_("largest packet in bytes, at most the parent's (default: the parent's)")),
    KEY("numa", numa, "N", N_("the NUMA entry whose container gets the link: 0 or NUMA0"),
        .completion = ATH_COMPLETE_ENTRY),
    FLAG("host-link", has_host_link,
         N_("make a second link on the host, through which the host reaches the macvlan: a parent "
            "cannot talk to its own macvlans")),
    KEY("host-address", host_address, "A/P",
        N_("IP address of the second link (default: none; the host's other addresses are used)")),
    FLAG("no-host-link", has_no_host_link, N_("remove the second link")),
    FLAG("record", is_record, N_("change only the document, not the kernel")),
    FLAG("delete", is_delete, N_("remove the link, its namespace and its entry in the document")),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion roce macvlan mv0 --parent eth0 --address 10.1.1.2/24 --numa 0", N_("make a new "
                                                                                    "link") },
    { "aitherion roce macvlan mv0",
      N_("make the link of the document; does nothing if it exists") },
    { "aitherion roce macvlan mv0 --mtu 9000", N_("change it in the document and in place") },
    { "aitherion roce macvlan mv0 --dry-run", N_("show what would be done") },
    { "aitherion roce macvlan mv0 --delete", N_("remove it from the kernel and the document") },
    { .command = NULL },
};

const struct ath_command ath_command_roce_macvlan = {
    .name = "macvlan",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("make, change or delete a macvlan link and its namespace"),
    .description =
        N_("Writes the macvlan into the document and makes the link in a network namespace of its "
           "own (aitherion-NAME). Existing settings are kept; differences are changed in place "
           "where the kernel allows it. The value null removes an optional key.\n\n"
           "Everything is checked first: a parent that is missing or in InfiniBand mode, an "
           "address that another link has, a name that is taken. If a step fails, the earlier "
           "steps are undone; if the document cannot be saved, the link is removed again.\n\n"
           "The address becomes a GID of the parent's RDMA device, which is shown: RDMA "
           "connections from inside the namespace use it. Links and namespaces that aitherion did "
           "not make are never touched. Needs root, except for --record, --dry-run and captured "
           "machines."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct ath_macvlan_options),
    .reads_machine = true,
    .writes_document = true,
    .examples = examples,
    .run = run,
};
