/* aitherion init: writes a first document from the machine or from a shipped profile. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/init.h"
#include "config/check.h"
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

static int propose(const struct ath_cli *cli, const struct options *options,
                   struct ath_machine *machine, char **out, struct ath_err *err)
{
    if (is_from_machine(options)) {
        int status = ath_cli_machine(cli, machine, err);
        return status ? status : ath_document_propose(machine, NULL, out, err);
    }
    if (cli->globals.root || cli->globals.topology)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--profile %s' and '--%s' exclude each other"), options->profile,
                           cli->globals.root ? "root" : "topology");
    return ath_document_propose(NULL, options->profile, out, err);
}

/* Keeps a copy of the document that --force replaces, if the new one differs. */
static int keep_old(const char *path, const char *text, struct ath_err *err)
{
    ath_auto_free char *old = NULL, *kept = ath_file_copy_name(path);
    size_t length;

    if (access(path, F_OK))
        return 0;
    int status = ath_file_read(path, OLD_MAX_BYTES, &old, &length, err);
    if (status || !strcmp(old, text))
        return status;
    status = ath_file_save(kept, old, length, err);
    if (!status)
        ath_log(ATH_LOG_NORMAL, _("the old document is kept as '%s'"), kept);
    return status;
}

/* Returns the first folder of path that does not exist, or NULL. The caller frees it. */
static char *missing_folder(const char *path)
{
    ath_auto_free char *copy = ath_xstrdup(path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (access(copy, F_OK) && errno == ENOENT)
            return ath_steal(&copy);
        *slash = '/';
    }
    return NULL;
}

static int create(const struct options *options, const char *path, const char *text,
                  struct ath_err *err)
{
    struct stat present;
    if (!stat(path, &present) && S_ISDIR(present.st_mode)) {
        ath_err_set(err, -EISDIR, ATH_E_IO, _("cannot write '%s': it is a folder"), path);
        return ath_err_hint(err, -EISDIR, "%s", _("name a file in this folder"));
    }

    int status = options->is_forced ? keep_old(path, text, err) : 0;
    if (!status)
        status = ath_document_create(path, text, options->is_forced, err);
    if (status == -EEXIST)
        ath_err_hint(err, status,
                     _("aitherion init --force (keeps a copy of the old document), or aitherion "
                       "configure --show"));
    if (status == -EACCES || status == -EPERM)
        ath_err_hint(err, status,
                     _("sudo aitherion init, or a document for this user alone: aitherion init -c "
                       "~/.config/aitherion/topology.yaml"));
    if (status == -EROFS || status == -ENOENT)
        ath_err_hint(err, status, _("choose a writable place: aitherion init -c FILE"));
    return status;
}

/* Returns how many faults a profile's document has on this machine; 0 if the machine cannot be
 * read. NVML is not asked, because the driver may need seconds. */
static size_t count_faults(const struct ath_cli *cli, const struct ath_document *document)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };

    return ath_cli_machine_without_nvml(cli, &machine, NULL)
               ? 0
               : ath_document_check_machine(document, &machine, &faults);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ath_auto_free char *path = ath_cli_document_path(cli), *text = NULL;
    ath_auto_free char *next = ath_cli_suggest(cli, "configure --show");
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };

    int status = ath_cli_may_write_document(cli, err);
    if (!status)
        status = propose(cli, options, &machine, &text, err);
    if (status || !text)
        return status;
    status = ath_document_parse(text, strlen(text), path, &document, &cli->faults, err);
    ath_auto_free char *folder = cli->globals.is_dry_run ? NULL : missing_folder(path);
    if (!status && !cli->globals.is_dry_run)
        status = create(options, path, text, err);
    if (status)
        return status;

    const struct ath_init_report report = {
        .file = path,
        .made_folder = folder,
        .profile = is_from_machine(options) ? NULL : options->profile,
        .text = text,
        .next = next,
        .document = &document,
        .machine = &machine,
        .fault_count = is_from_machine(options) ? 0 : count_faults(cli, &document),
        .is_dry_run = cli->globals.is_dry_run,
    };
    return ath_cli_show_done(cli, &ath_init_view, &report, err);
}

/* Shipped profiles, offered by completion; other names in etc/ are accepted too. */
static const char *const profiles[] = { "auto", "ac922", "ac922-6gpu", "dgx2", "minsky", NULL };

static const struct ath_option option_table[] = {
    { .name = "profile",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .suggestions = profiles,
      .offset = offsetof(struct options, profile),
      .help = N_("use the shipped document for a kind of machine (ac922, ac922-6gpu, dgx2, minsky) "
                 "instead of this machine; auto: this machine (default)") },
    { .name = "force",
      .offset = offsetof(struct options, is_forced),
      .help = N_("replace an existing document; the old one is kept as FILE.bak, FILE.bak.1 and "
                 "so on") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion init", N_("write a document for this machine") },
    { "aitherion init --dry-run", N_("show it and write nothing") },
    { "aitherion init --profile ac922", N_("write the shipped document for an IBM AC922") },
    { "aitherion init -c my.yaml --root ac922-4gpu",
      N_("write a document for a captured machine") },
    { .command = NULL },
};

const struct ath_command ath_command_init = {
    .name = "init",
    .group = ATH_GROUP_DOCUMENT,
    .summary = N_("write a first topology document from this machine or a profile"),
    .description = N_("Proposes an entry for every NUMA node with GPUs (if there are no GPUs, for "
                      "every node with CPUs): the memory of the node and of its GPUs, all RDMA "
                      "ports that are nearest to one of its GPUs, the best of them for data, the "
                      "management port for control, and ports to listen on. A port whose link is "
                      "down is only taken if there is no other. Comments in the document say what "
                      "is not as it should be, such as ports of another node. Read the document "
                      "and change what you like. An existing document is "
                      "replaced only with --force."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .writes_document = true,
    .examples = examples,
    .run = run,
};
