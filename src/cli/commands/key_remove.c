/* aitherion key remove: removes a key, which ends its sessions. */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/commands/key_place.h"
#include "cli/nodes.h"
#include "cli/output/key.h"

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

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    __attribute__((cleanup(work_free))) struct work work = { 0 };
    const char *name = cli->arguments[0];

    (void)data;
    int status = ath_key_place_open(cli, name, false, &work.nodes, &work.place, err);
    if (!status && !work.place.is_in_folder) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is the only key; replace it instead"),
                    work.place.file);
        status = ath_err_hint(err, -EINVAL, "aitherion key --new");
    }
    if (!status)
        status = may_remove(cli, name, err);
    if (!status && !cli->globals.is_dry_run && unlink(work.place.file))
        status = ath_err_system(err, -errno, _("cannot remove the key '%s'"), work.place.file);
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
    .description =
        N_("Removes the key from the folder of keys. Runtimes end all sessions of the key at once, "
           "and "
           "say why to their programs; other sessions go on. The command asks first; without a "
           "terminal it needs --yes."),
    .arguments = arguments,
    .examples = examples,
    .run = run,
};
