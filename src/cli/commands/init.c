/* aitherion init: a first document, from the machine or from a shipped profile. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/init.h"
#include "config/document.h"
#include "config/propose.h"

enum { OLD_MAX_BYTES = 64 << 20 };

struct options {
    const char *profile;
    bool is_forced;
};

static bool is_from_machine(const struct options *options)
{
    return !options->profile || !strcmp(options->profile, "auto");
}

static int propose(const struct ath_cli *cli, const struct options *options, char **out,
                   struct ath_err *err)
{
    if (!is_from_machine(options))
        return ath_document_propose(NULL, options->profile, out, err);

    ATH_AUTO(ath_machine) machine = { 0 };
    int status = ath_cli_machine(cli, &machine, err);
    return status ? status : ath_document_propose(&machine, NULL, out, err);
}

/* The document that --force replaces stays beside the new one. */
static int keep_old(const char *path, struct ath_err *err)
{
    ath_auto_free char *text = NULL, *kept = ath_xasprintf("%s.bak", path);
    size_t length;

    if (access(path, F_OK))
        return 0;
    int status = ath_file_read(path, OLD_MAX_BYTES, &text, &length, err);
    if (!status)
        status = ath_file_save(kept, text, length, err);
    if (!status)
        ath_log(ATH_LOG_NORMAL, _("the old document is kept as '%s'"), kept);
    return status;
}

static int create(const struct options *options, const char *path, const char *text,
                  struct ath_err *err)
{
    int status = options->is_forced ? keep_old(path, err) : 0;
    if (!status)
        status = ath_document_create(path, text, options->is_forced, err);
    if (status && err->code == ATH_E_EXISTS)
        ath_err_hint(err, status,
                     _("aitherion init --force (keeps the old one as '%s.bak'), or "
                       "aitherion configure --show"),
                     path);
    if (status && err->code == ATH_E_NO_ACCESS)
        ath_err_hint(err, status,
                     _("sudo aitherion init, or for yourself alone: "
                       "aitherion init -c ~/.config/aitherion/topology.yaml"));
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ath_auto_free char *path = ath_cli_document_path(cli), *text = NULL;
    ATH_AUTO(ath_document) document = { 0 };

    int status = propose(cli, options, &text, err);
    if (!status)
        status = ath_document_parse(text, strlen(text), path, &document, &cli->faults, err);
    if (!status && !cli->globals.is_dry_run)
        status = create(options, path, text, err);
    if (status)
        return status;

    const struct ath_init_report report = {
        .file = path,
        .profile = is_from_machine(options) ? NULL : options->profile,
        .text = text,
        .document = &document,
        .is_dry_run = cli->globals.is_dry_run,
    };
    return ath_cli_show(cli, &ath_init_view, &report, ath_cli_format(cli), err);
}

static const struct ath_option option_table[] = {
    { .name = "profile",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .offset = offsetof(struct options, profile),
      .help = N_("take the shipped document for a kind of machine (ac922) in place of this "
                 "machine; auto: this "
                 "machine, the default") },
    { .name = "force",
      .offset = offsetof(struct options, is_forced),
      .help = N_("replace a document that is there; the old one is kept beside it as FILE.bak") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion init", N_("a document for this machine") },
    { "aitherion init --dry-run", N_("show it and write nothing") },
    { "aitherion init --profile ac922", N_("the shipped document for an IBM AC922") },
    { "aitherion init -c my.yaml --root ac922-4gpu", N_("a document for a captured machine") },
    { .command = NULL },
};

const struct ath_command ath_command_init = {
    .name = "init",
    .group = ATH_GROUP_DOCUMENT,
    .summary = N_("write a first topology document from this machine or a profile"),
    .description = N_("Proposes an entry for every NUMA node that has GPUs (for every one with "
                      "CPUs, where there are no "
                      "GPUs): its memory with that of its GPUs, the nearest RDMA port for data, "
                      "the management port for "
                      "control, and ports to listen on. Read it, change what you like, and it is "
                      "yours. A document that "
                      "is there already is never replaced without --force."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
