/* aitherion key remove: removes a key, which ends its sessions. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/commands/key_place.h"
#include "cli/nodes.h"
#include "cli/output/key.h"
#include "config/edit.h"

enum { LOCK_TIMEOUT_MS = 10000 };

struct work {
    struct ath_nodes nodes;
    struct ath_key_place place;
};

static void work_free(struct work *work)
{
    ath_key_place_free(&work->place);
    ath_nodes_free(&work->nodes);
}

static int may_remove(struct ath_cli *cli, const char *name, struct ath_err *err)
{
    ath_auto_free char *question =
        ath_xasprintf(_("Remove the key '%s'? Its programs lose their GPUs at once."), name);

    if (cli->globals.is_yes || cli->globals.is_dry_run || ath_cli_confirm(cli, question))
        return 0;
    ath_err_set(err, -ECANCELED, ATH_E_EXISTS, _("the key '%s' stays as it was"), name);
    return ath_err_hint(err, -ECANCELED, _("remove it with --yes"));
}

static bool has_row(const struct ath_document *document, const char *name)
{
    for (size_t i = 0; i < document->identities.count; i++)
        if (!strcmp(document->identities.items[i].name, name))
            return true;
    return false;
}

/* Removes the row of the identity from the document, if it has one. In a dry run the row is only
 * looked for. */
static int remove_row(const struct work *work, const char *name, bool is_dry_run, bool *out_had_row,
                      struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    ath_auto_free char *key = ath_xasprintf("identities.%s", name);

    *out_had_row = has_row(work->nodes.document, name);
    if (!*out_had_row)
        return 0;
    int status = ath_document_open(work->nodes.path, LOCK_TIMEOUT_MS, &document, &faults, err);
    if (!status && has_row(&document, name))
        status = ath_document_remove(&document, key, err);
    return status || is_dry_run ? status : ath_document_save(&document, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(work) work = { 0 };
    const char *name = cli->arguments[0];

    bool had_row = false;

    (void)data;
    int status = ath_key_place_open(cli, name, false, &work.nodes, &work.place, err);
    if (!status && !work.place.is_in_folder) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is the only key; replace it instead"),
                    work.place.file);
        status = ath_err_hint(err, -EINVAL, "aitherion key --new");
    }
    if (!status)
        status = may_remove(cli, name, err);
    if (!status)
        status = remove_row(&work, name, true, &had_row, err);
    if (!status && !cli->globals.is_dry_run && unlink(work.place.file))
        status = ath_err_system(err, -errno, _("cannot remove the key '%s'"), work.place.file);
    if (!status && !cli->globals.is_dry_run)
        status = remove_row(&work, name, false, &had_row, err);
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    if (status)
        return status;
    const struct ath_key_report report = {
        .action = ATH_KEY_REMOVE,
        .is_dry_run = cli->globals.is_dry_run,
        .is_there = cli->globals.is_dry_run,
        .path = work.place.file,
        .name = name,
        .has_row = had_row,
        .mode = ATH_UNKNOWN,
    };
    return ath_cli_show_done(cli, &ath_key_view, &report, err);
}

static const struct ath_argument arguments[] = {
    { .name = "NAME", .help = N_("name of the key"), .completion = ATH_COMPLETE_KEY_NAME },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion key remove alice", N_("end alice's sessions, and let her have no others") },
    { .command = NULL },
};

const struct ath_command ath_command_key_remove = {
    .name = "remove",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("remove a key and end its sessions"),
    .description = N_(
        "Removes the key from the folder of keys, and its row from `identities` of the document. "
        "Runtimes end all sessions of the key at once, "
        "and "
        "say why to their programs; other sessions go on. The command asks first; without a "
        "terminal it needs --yes."),
    .arguments = arguments,
    .examples = examples,
    .run = run,
};
