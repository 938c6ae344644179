/*
 * aitherion roce macvlan: a macvlan link in the document and in the kernel.
 *
 * The document is changed in memory under its lock, then the kernel, then the document is saved: a
 * kernel that refuses leaves both as they were, and where saving fails the kernel's part is taken
 * back.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/key_flags.h"
#include "cli/output/roce_macvlan.h"
#include "config/check.h"
#include "config/edit.h"
#include "config/entry.h"
#include "roce/netns.h"
#include "roce/rdma_netlink.h"

enum { LOCK_TIMEOUT_MS = 10000, READY_TIMEOUT_MS = 6000, READY_STEP_MS = 100 };

#define LIST "roce.macvlans"

struct options {
    const char *parent, *mode, *address, *mtu, *numa, *host_address;
    bool has_host_link, has_no_host_link;
    bool is_record, is_delete;
};

static const struct ath_option option_table[];

struct work {
    struct ath_cli *cli;
    const struct options *options;
    const char *name;
    char numa[16];      /* of --numa as an id, in the place of NUMA0 */
    char *path, *entry; /* of the document; of its key: "roce.macvlans.macvlan0" */
    bool has_document;
    struct ath_document document;
    struct ath_roce_macvlan_report report;
};

static void work_free(struct work *work)
{
    free(work->path);
    free(work->entry);
    ath_document_free(&work->document);
    ath_roce_macvlan_report_free(&work->report);
}

static bool is_dry_run(const struct work *work)
{
    return work->cli->globals.is_dry_run;
}

static bool is_for_kernel(const struct work *work)
{
    return work->report.scope == ATH_ROCE_MACVLAN_BOTH;
}

/* ---- what the options say ---- */

static int check_together(const struct options *options, struct ath_err *err)
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

static int refuse_unprivileged(const struct work *work, struct ath_err *err)
{
    bool is_own = !work->cli->globals.config && strcmp(work->path, ATH_CLI_SYSTEM_DOCUMENT);

    ath_err_set(err, -EPERM, ATH_E_NOT_PERMITTED,
                _("cannot work on macvlan '%s': only root may change network links"), work->name);
    /* root's own document is another one */
    return ath_err_hint(err, -EPERM,
                        _("run it again with sudo in front%s%s, or with --record to change the "
                          "document alone"),
                        is_own ? " -c " : "", is_own ? work->path : "");
}

static int begin(struct ath_cli *cli, const struct options *options, struct work *work,
                 struct ath_err *err)
{
    bool is_capture = cli->globals.root || cli->globals.topology;

    work->cli = cli;
    work->options = options;
    work->name = cli->arguments[0];
    work->path = ath_cli_document_path(cli);
    work->entry = ath_xasprintf(LIST ".%s", work->name);
    work->report.name = work->name;
    work->report.is_delete = options->is_delete;
    work->report.scope = is_capture           ? ATH_ROCE_MACVLAN_CAPTURE
                         : options->is_record ? ATH_ROCE_MACVLAN_RECORD
                                              : ATH_ROCE_MACVLAN_BOTH;
    work->report.changes.file = work->path;
    work->report.changes.is_dry_run = cli->globals.is_dry_run;

    int status = check_together(options, err);
    if (!status && !ath_link_name_is_valid(work->name)) {
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, _("'%s' is no name for a network link"),
                    work->name);
        return ath_err_hint(err, -EINVAL, _("1 to 15 letters, without blanks, '/' and ':'"));
    }
    if (!status && is_for_kernel(work) && !is_dry_run(work) && !ath_netns_is_permitted())
        return refuse_unprivileged(work, err);
    return status;
}

/* A dry run reads; anything else holds the lock until all is done. */
static int open_document(struct work *work, struct ath_err *err)
{
    int status = is_dry_run(work)
                     ? ath_document_load(work->path, &work->document, &work->cli->faults, err)
                     : ath_document_open(work->path, LOCK_TIMEOUT_MS, &work->document,
                                         &work->cli->faults, err);
    work->has_document = work->report.has_document = !status;
    return status;
}

/* ---- what links can be parents ---- */

static bool can_be_parent(const struct ath_link *link, bool is_any)
{
    bool is_free = link->type == ATH_LINK_ETHERNET && link->master_index == ATH_UNKNOWN &&
                   !ath_link_is_macvlan(link);
    bool is_hardware = !link->kind || !strcmp(link->kind, "bond") || !strcmp(link->kind, "vlan");
    return is_free && (is_hardware || is_any);
}

static void collect_live_parents(struct ath_texts *out)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    struct ath_err unused;

    if (ath_netstate_look(&present, &unused))
        return;
    const struct ath_links *links = &present.places[0].links;
    for (int is_any = 0; is_any < 2 && !out->count; is_any++)
        for (size_t i = 0; i < links->count; i++)
            if (can_be_parent(&links->items[i], is_any))
                ath_texts_add(out, links->items[i].name);
}

static void collect_captured_parents(const struct ath_cli *cli, struct ath_texts *out)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_err unused;

    if (ath_cli_machine(cli, &machine, &unused))
        return;
    for (size_t i = 0; i < machine.nic_count; i++)
        if (machine.nics[i].netdev && machine.nics[i].link_layer != ATH_LAYER_INFINIBAND)
            ath_texts_add(out, machine.nics[i].netdev);
}

/* The mend for a parent that is missing or wrong; typed may be NULL. */
static int hint_parents(const struct work *work, const char *typed, int status, struct ath_err *err)
{
    ATH_AUTO(ath_texts) parents = { 0 };
    ATH_AUTO(ath_text) list = { 0 };

    if (work->report.scope == ATH_ROCE_MACVLAN_CAPTURE)
        collect_captured_parents(work->cli, &parents);
    else
        collect_live_parents(&parents);
    const char *nearest =
        typed ? ath_text_nearest(typed, (const char *const *)parents.items, parents.count) : NULL;
    if (nearest)
        return ath_err_hint(err, status, _("did you mean '%s'?"), nearest);
    for (size_t i = 0; i < parents.count; i++)
        ath_text_add_part(&list, ", ", "%s", parents.items[i]);
    if (!parents.count)
        return ath_err_hint(err, status, _("no Ethernet link can be seen here"));
    return ath_err_hint(err, status, _("links that can carry it: %s"), list.data);
}

/* ---- the document ---- */

static void add_change(struct work *work, const char *key, const char *value)
{
    struct ath_change_report *report = &work->report.changes;
    struct ath_applied_change *change =
        ath_push(&report->changes, &report->change_count, sizeof *change);
    change->key = ath_xasprintf("%s.%s", work->entry, key);
    change->value = ath_xstrdup(value);
}

static void collect_changes(struct work *work)
{
    const struct options *options = work->options;
    bool wants_host_link =
        options->has_host_link || (options->host_address && strcmp(options->host_address, "null"));

    ath_key_flags_add(option_table, options, work->entry, &work->report.changes);
    if (wants_host_link || options->has_no_host_link)
        add_change(work, "host_link", wants_host_link ? "true" : "false");
}

static int add_entry(struct work *work, struct ath_err *err)
{
    struct ath_change_report *report = &work->report.changes;
    ath_auto_free struct ath_change *fields =
        ath_xalloc((report->change_count + 1) * sizeof *fields);

    if (!work->options->parent) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("the document has no macvlan '%s': to make it, say '--parent'"), work->name);
        return hint_parents(work, NULL, -EINVAL, err);
    }
    fields[0] = (struct ath_change){ "name", work->name };
    for (size_t i = 0; i < report->change_count; i++)
        fields[i + 1] = (struct ath_change){ report->changes[i].key + strlen(work->entry) + 1,
                                             report->changes[i].value };
    int status = ath_document_append(&work->document, LIST, fields, report->change_count + 1, err);
    for (size_t i = 0; !status && i < report->change_count; i++)
        status = ath_document_get(&work->document, report->changes[i].key,
                                  &report->changes[i].after, err);
    return status;
}

/* An id that is no entry's is refused by name, with those there are. */
static int check_numa(const struct work *work, struct ath_err *err)
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

/* What faults of the document are called where they are errors. */
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

static int refuse_fault(const struct work *work, const struct ath_machine *machine,
                        const struct ath_fault *fault, struct ath_err *err)
{
    const struct ath_document_macvlan *entry = ath_document_macvlan(&work->document, work->name);
    enum ath_error code = ATH_E_MISFIT;

    for (size_t i = 0; i < ATH_COUNT(fault_codes); i++)
        if (!strcmp(fault->code, ath_fault_word(fault_codes[i].fault)))
            code = fault_codes[i].code;
    ath_err_set(err, -EINVAL, code, _("cannot have macvlan '%s': %s"), work->name, fault->message);
    if (code == ATH_E_NOT_FOUND)
        return hint_parents(work, entry->parent, -EINVAL, err);
    if (code == ATH_E_LINK_NOT_ETHERNET)
        return hint_layer(machine, entry->parent, err);
    if (code == ATH_E_ADDRESS_IN_USE)
        return ath_err_hint(err, -EINVAL, _("give '%s' another address"), work->name);
    return -EINVAL;
}

/* All that can be known is wrong without the kernel, which is asked later where it is concerned. */
static void find_faults(const struct work *work, const struct ath_machine *machine,
                        struct ath_faults *out)
{
    if (machine)
        ath_document_check(&work->document, machine, out);
    else
        ath_document_check_alone(&work->document, out);
}

static int edit(struct work *work, struct ath_err *err)
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

static int edit_strictly(struct work *work, const struct ath_machine *machine, struct ath_err *err)
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

/* What was made or removed must not stay where the document cannot say so. */
static int save(struct work *work, struct ath_err *err)
{
    struct ath_change_report *changes = &work->report.changes;
    struct ath_err undo;

    if (!work->has_document || is_dry_run(work) || !ath_document_is_changed(&work->document))
        return 0;
    int status = ath_document_save(&work->document, err);
    changes->is_saved = !status;
    if (!status || !work->report.plan.count)
        return status;
    bool is_undone = !ath_macvlan_take_back(&work->report.plan, &undo);
    size_t length = strlen(err->message);
    snprintf(err->message + length, sizeof err->message - length,
             is_undone ? _("; the kernel is as it was before%s")
                       : _("; and the kernel's part could not be undone: %s"),
             is_undone ? "" : undo.message);
    return status;
}

/* ---- the kernel ---- */

/* What stops us waits until the kernel and the document say the same; it ends us then. */
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

static int make_in_kernel(struct work *work, struct ath_err *err)
{
    const struct ath_document_macvlan *entry = ath_document_macvlan(&work->document, work->name);
    const struct ath_macvlan_wanted wanted = wanted_by(entry);
    int status = ath_macvlan_make(&wanted, is_dry_run(work), &work->report.plan, err);

    if (status == -ENODEV && err->code == ATH_E_NOT_FOUND)
        return hint_parents(work, entry->parent, status, err);
    return status;
}

/* What is only recorded is checked against the kernel as well, as far as it may be looked at. */
static int check_against_kernel(struct work *work, struct ath_err *err)
{
    const struct ath_macvlan_wanted wanted =
        wanted_by(ath_document_macvlan(&work->document, work->name));
    ATH_AUTO(ath_macvlan_plan) unused = { 0 };
    ATH_AUTO(ath_netstate) present = { 0 };

    if (work->report.scope != ATH_ROCE_MACVLAN_RECORD || ath_netstate_look(&present, err))
        return 0;
    int status = ath_macvlan_plan(&wanted, &present, &unused, err);
    if (status == -ENODEV && err->code == ATH_E_NOT_FOUND)
        return hint_parents(work, wanted.parent, status, err);
    return status;
}

/* Who is using the link would lose it: that is asked first. */
static int ask_before_cut(const struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    const struct ath_netstate_place *place = NULL;
    int status = ath_netstate_read(&present, err);

    if (status || ath_macvlan_state(work->name, &present, &place, NULL) != ATH_MACVLAN_MOVED)
        return status;
    const char *where = place->name ? place->name : place->path;
    ath_auto_free char *question =
        ath_xasprintf(_("macvlan '%s' is in use, in namespace '%s'. Delete it and cut that off?"),
                      work->name, where);
    if (ath_cli_confirm(work->cli, question))
        return 0;
    ath_err_set(err, -EBUSY, ATH_E_BUSY,
                _("macvlan '%s' is in use, in namespace '%s', and was not deleted"), work->name,
                where);
    return ath_err_hint(err, -EBUSY, "aitherion roce macvlan %s --delete --yes", work->name);
}

/* ---- what is there in the end ---- */

/* The namespace's name, or its path; NULL for the host's. */
static const char *label_of(const struct ath_netstate_place *place)
{
    return place->name ? place->name : place->path;
}

static void copy_link(const struct ath_netstate *present, const struct ath_netstate_place *place,
                      const struct ath_link *link, struct ath_roce_macvlan_link *out)
{
    const struct ath_links *host = &present->places[0].links;
    const struct ath_link *parent = ath_links_by_index(host, link->parent_index);
    ath_auto_free char *companion = ath_macvlan_companion_name(link->name);
    const struct ath_link *sibling = ath_links_find(host, companion);

    ath_link_copy(link, &out->link);
    out->netns = ath_xstrdup(label_of(place));
    out->parent = parent ? ath_xstrdup(parent->name) : NULL;
    if (sibling && ath_link_is_ours(sibling))
        ath_link_copy(sibling, &out->companion);
}

/* The first that is not the kernel's own; NULL where there is none. */
static const struct ath_address *address_of(const struct ath_link *link)
{
    for (size_t i = 0; i < link->address_count; i++)
        if (!link->addresses[i].is_link_local)
            return &link->addresses[i];
    return NULL;
}

static void find_gid(struct ath_roce_macvlan_link *link, uint64_t end_ms)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_err unused;

    if (!link->parent || ath_root_open("/", &root, &unused))
        return;
    for (;;) {
        link->gid_state = ath_link_gid_find(&root, link->link.name, link->parent,
                                            address_of(&link->link), &link->gid);
        if (link->gid_state != ATH_LINK_GID_MISSING || ath_now_ms() >= end_ms)
            return;
        nanosleep(&(struct timespec){ .tv_nsec = READY_STEP_MS * 1000000L }, NULL);
    }
}

static int left_until(uint64_t end_ms)
{
    uint64_t now = ath_now_ms();
    return now < end_ms ? (int)(end_ms - now) : 0;
}

/* Connections over the link's GID work when its addresses are settled and the port is active. */
static void wait_until_ready(const char *path, struct ath_roce_macvlan_link *link, uint64_t end_ms)
{
    struct ath_err err;
    int status = ath_link_wait(path, link->link.name, left_until(end_ms), &err);

    find_gid(link, end_ms);
    if (!status && link->gid_state == ATH_LINK_GID_FOUND)
        status = ath_rdma_wait(link->gid.device, link->gid.port, left_until(end_ms), &err);
    if (status)
        link->not_ready = ath_xstrdup(err.message);
    else if (link->gid_state == ATH_LINK_GID_MISSING)
        link->not_ready = ath_xasprintf(_("its address is no GID of '%s' yet"), link->gid.device);
}

static void note_unseen(struct work *work, const struct ath_netstate *present)
{
    struct ath_note *note = ath_change_note(
        &work->report.changes, ATH_NOTE_NOT_SEEN, work->name,
        _("could not look into the network namespaces %s: what is there, an address in use for "
          "one, is not known"),
        present->unseen);
    note->hint = ath_xstrdup(_("run the same command as root, with sudo in front"));
}

/* Only what has just been changed is waited for. What cannot be looked at is left out. */
static void look_at_kernel(struct work *work)
{
    struct ath_roce_macvlan_link *out = &work->report.link;
    bool is_fresh = work->report.plan.count && !is_dry_run(work) && !work->report.is_delete;
    const struct ath_netstate_place *place;
    const struct ath_link *link;
    ATH_AUTO(ath_netstate) present = { 0 };
    struct ath_err unused;

    if (!is_for_kernel(work) || ath_netstate_look(&present, &unused))
        return;
    if (present.unseen)
        note_unseen(work, &present);
    out->is_known = true;
    out->state = ath_macvlan_state(work->name, &present, &place, &link);
    if (!link)
        return;
    copy_link(&present, place, link, out);
    wait_until_ready(place->path, out, ath_now_ms() + (is_fresh ? READY_TIMEOUT_MS : 0));
}

/* The step after this one, where there is one. */
static char *next_step(const struct work *work, int numa)
{
    ath_auto_free char *make = NULL, *start = NULL;

    if (is_dry_run(work) || work->report.is_delete ||
        work->report.scope == ATH_ROCE_MACVLAN_CAPTURE)
        return NULL;
    if (!is_for_kernel(work)) {
        ath_auto_free char *words = ath_xasprintf("roce macvlan %s", work->name);
        make = ath_cli_suggest(work->cli, words);
        return ath_xasprintf(_("%s (makes it)"), make);
    }
    if (numa == ATH_UNSET) {
        ath_auto_free char *words = ath_xasprintf("roce macvlan %s --numa N", work->name);
        make = ath_cli_suggest(work->cli, words);
        return ath_xasprintf(_("%s (gives it to the container of a NUMA entry)"), make);
    }
    if (ath_command_child(&ath_command_root, "start")) {
        ath_auto_free char *words = ath_xasprintf("start %d", numa);
        start = ath_cli_suggest(work->cli, words);
        return ath_xasprintf(_("%s (moves it into the container of NUMA entry %d)"), start, numa);
    }
    if (work->report.link.state == ATH_MACVLAN_MADE)
        return ath_xasprintf(_("ip netns exec aitherion-%s ip address (shows it from inside)"),
                             work->name);
    return NULL;
}

/* ---- the two ways ---- */

static int make(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    bool needs_machine = !is_for_kernel(work);
    int status = needs_machine ? ath_cli_machine(work->cli, &machine, err) : 0;

    if (!status)
        status = open_document(work, err);
    if (status)
        return status;
    collect_changes(work);
    status = edit_strictly(work, needs_machine ? &machine : NULL, err);
    if (status)
        return status;
    sigset_t before;
    hold_signals(&before);
    status = is_for_kernel(work) ? make_in_kernel(work, err) : check_against_kernel(work, err);
    if (!status)
        status = save(work, err);
    release_signals(&before);
    return status;
}

/* All keys that the entry says, which are gone afterwards. */
static int note_entry(struct work *work, struct ath_err *err)
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
        add_change(work, key->name, NULL);
        report->changes[report->change_count - 1].before = ath_steal(&value);
    }
    return 0;
}

static int remove_from_document(struct work *work, struct ath_err *err)
{
    if (!work->has_document || !ath_document_macvlan(&work->document, work->name))
        return 0;
    int status = note_entry(work, err);
    return status ? status : ath_document_remove(&work->document, work->entry, err);
}

static int remove_from_kernel(struct work *work, struct ath_err *err)
{
    int status = ath_macvlan_remove(work->name, is_dry_run(work), &work->report.plan, err);

    if (status && err->code == ATH_E_FOREIGN && !err->hint[0] && work->report.changes.change_count)
        return ath_err_hint(err, status, "aitherion roce macvlan %s --delete --record", work->name);
    return status;
}

/* Who deletes twice is right, who mistypes is to see it. */
static void note_missing(struct work *work)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    ATH_AUTO(ath_texts) names = { 0 };
    struct ath_err unused;
    char **made = NULL;
    size_t count = 0;

    if (work->report.changes.change_count || work->report.plan.count)
        return;
    for (size_t i = 0; work->has_document && i < work->document.roce.macvlans.count; i++)
        ath_texts_add(&names, work->document.roce.macvlans.items[i].name);
    if (is_for_kernel(work) && !ath_netstate_look(&present, &unused))
        ath_macvlan_names(&present, &made, &count);
    for (size_t i = 0; i < count; i++)
        ath_texts_add(&names, made[i]);
    ath_names_free(made, count);
    const char *nearest =
        ath_text_nearest(work->name, (const char *const *)names.items, names.count);
    struct ath_note *note = ath_change_note(
        &work->report.changes, ATH_NOTE_NOT_THERE, work->name,
        is_for_kernel(work) ? _("there is no macvlan '%s', in the document and in the kernel")
                            : _("the document has no macvlan '%s'"),
        work->name);
    note->hint = nearest ? ath_xasprintf(_("did you mean '%s'?"), nearest) : NULL;
}

/* What was made can be removed where there is no document any more. */
static int delete (struct work *work, struct ath_err *err)
{
    int status = open_document(work, err);
    if (status && err->code != ATH_E_DOCUMENT_MISSING)
        return status;
    status = remove_from_document(work, err);
    if (!status && is_for_kernel(work) && !is_dry_run(work))
        status = ask_before_cut(work, err);
    if (status)
        return status;
    sigset_t before;
    hold_signals(&before);
    if (is_for_kernel(work))
        status = remove_from_kernel(work, err);
    if (!status)
        status = save(work, err);
    release_signals(&before);
    if (!status)
        note_missing(work);
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    __attribute__((cleanup(work_free))) struct work work = { 0 };
    struct options options = *(const struct options *)data;
    int id = options.numa ? ath_entry_id(options.numa) : ATH_UNSET;
    if (id != ATH_UNSET) {
        snprintf(work.numa, sizeof work.numa, "%d", id);
        options.numa = work.numa;
    }
    int status = begin(cli, &options, &work, err);
    if (!status)
        status = options.is_delete ? delete (&work, err) : make(&work, err);
    if (status)
        return status;

    const struct ath_document_macvlan *entry =
        work.has_document ? ath_document_macvlan(&work.document, work.name) : NULL;
    int numa = entry ? entry->numa : ATH_UNSET;
    ath_document_free(&work.document); /* nobody has to wait for the lock while we wait for links */
    work.document = (struct ath_document){ 0 };
    look_at_kernel(&work);
    work.report.next = next_step(&work, numa);
    return ath_cli_show_done(cli, &ath_roce_macvlan_view, &work.report, err);
}

static const char *const modes[] = { "bridge", "private", "vepa", "passthru", NULL };

static const struct ath_argument arguments[] = {
    { .name = "NAME", .help = N_("the link's name: macvlan0") },
    { .name = NULL },
};

#define KEY(option, member, value, text)                                                           \
    {                                                                                              \
        .name = option, .type = ATH_OPTION_TEXT, .metavar = value,                                 \
        .offset = offsetof(struct options, member), .help = text                                   \
    }
#define FLAG(option, member, text)                                                                 \
    {                                                                                              \
        .name = option, .offset = offsetof(struct options, member), .help = text                   \
    }

/* Options that take a text are keys of the entry: see key_flags.h. */
static const struct ath_option option_table[] = {
    KEY("parent", parent, "IF", N_("the Ethernet interface below it; needed for a new one")),
    { .name = "mode",
      .type = ATH_OPTION_TEXT,
      .metavar = "MODE",
      .suggestions = modes,
      .offset = offsetof(struct options, mode),
      .help = N_("how macvlans of one parent reach each other: bridge (the default), private, "
                 "vepa, or passthru, which has the parent alone") },
    KEY("address", address, "A/P", N_("its IP address with the prefix: 192.168.100.10/24")),
    KEY("mtu", mtu, "N",
        N_("largest packet in bytes, at most the parent's (default: the parent's)")),
    KEY("numa", numa, "N", N_("the NUMA entry whose container gets it: 0 or NUMA0")),
    FLAG("host-link", has_host_link,
         N_("make a second link, on the host, by which the host reaches it: a parent cannot talk "
            "to its own macvlans")),
    KEY("host-address", host_address, "A/P",
        N_("an IP address for that second link (default: the host's other addresses serve)")),
    FLAG("no-host-link", has_no_host_link, N_("take the second link away again")),
    FLAG("record", is_record, N_("change the document alone, and leave the kernel as it is")),
    FLAG("delete", is_delete, N_("remove the link, its namespace and its entry of the document")),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion roce macvlan mv0 --parent eth0 --address 10.1.1.2/24 --numa 0", N_("a new one") },
    { "aitherion roce macvlan mv0", N_("make what the document says; nothing where it is") },
    { "aitherion roce macvlan mv0 --mtu 9000", N_("change it, in the document and in place") },
    { "aitherion roce macvlan mv0 --dry-run", N_("show what would be done") },
    { "aitherion roce macvlan mv0 --delete", N_("remove it from the kernel and the document") },
    { .command = NULL },
};

const struct ath_command ath_command_roce_macvlan = {
    .name = "macvlan",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("make, change or delete a macvlan link and its namespace"),
    .description =
        N_("Writes the macvlan into the document and makes the link, in a network namespace of its "
           "own (aitherion-NAME). What is so already is left alone, what differs is changed in "
           "place where the kernel can. An optional key is taken away by the value null.\n\n"
           "All is checked first: a parent that is missing or in InfiniBand mode, an address that "
           "another link has, a name that is taken. Where a step fails, those before it are "
           "undone; where the document cannot be saved, the link is removed again.\n\n"
           "The address becomes a GID of the parent's RDMA device, which is shown: RDMA "
           "connections from inside the namespace are made with it. Links and namespaces that "
           "aitherion did not make are never touched. Needs root, but for --record, --dry-run "
           "and captured machines."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
