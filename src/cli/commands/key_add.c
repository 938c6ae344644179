/* aitherion key add: makes a key with a name of its own. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/time_claim.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/commands/key_place.h"
#include "cli/nodes.h"
#include "cli/output/key.h"
#include "config/check.h"
#include "config/edit.h"
#include "config/key_file.h"
#include "config/key_folder.h"
#include "container/image/digest.h"

enum { LOCK_TIMEOUT_MS = 10000, ROW_KEYS = 8 };

struct options {
    const char *group, *memory, *share, *priority, *sm_share, *sessions, *gpus;
    bool is_capped, is_admin;
};

struct work {
    struct ath_nodes nodes;
    struct ath_key_place place;
    char fingerprint[ATH_DIGEST_TEXT];
    char *next;
    char *warning; /* about the row; NULL for none */
};

static void work_free(struct work *work)
{
    free(work->next);
    free(work->warning);
    ath_key_place_free(&work->place);
    ath_nodes_free(&work->nodes);
}

static int take_fingerprint(const unsigned char *key, char out[ATH_DIGEST_TEXT],
                            struct ath_err *err)
{
    struct ath_digest digest;
    int status = ath_digest_begin(&digest, err);
    if (status)
        return status;
    ath_digest_add(&digest, key, ATH_KEY_BYTES);
    ath_digest_end(&digest, out);
    return 0;
}

/* A group gets the key before the key gets its name: a runtime that sees it can read it. */
static int make(struct work *work, const char *group, bool *out_has_moved, struct ath_err *err)
{
    unsigned char key[ATH_KEY_BYTES];
    int status = ath_key_folder_make(work->place.base, out_has_moved, err);
    if (!status)
        status = ath_key_make(key, err);
    if (!status)
        status = ath_key_file_write(work->place.file, key, sizeof key, false, err);
    if (!status && group && (status = ath_key_folder_share(work->place.file, group, err)))
        unlink(work->place.file);
    if (!status)
        status = take_fingerprint(key, work->fingerprint, err);
    explicit_bzero(key, sizeof key);
    return status;
}

static bool has_row(const struct options *options)
{
    return options->memory || options->share || options->is_capped || options->priority ||
           options->sm_share || options->sessions || options->gpus || options->is_admin;
}

/* Returns a percentage as the document has it: without its sign. NULL stays NULL. */
static char *number_of(const char *percentage)
{
    char *number = ath_xstrdup(percentage);
    size_t length = number ? strlen(number) : 0;
    if (length > 1 && number[length - 1] == '%')
        number[length - 1] = '\0';
    return number;
}

/* Writes the row of the identity into the document. A row that is there already, of a key from
 * before, keeps what no option changes. In a dry run it is only checked. */
static int add_row(struct work *work, const struct options *options, const char *name,
                   bool is_dry_run, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    ATH_AUTO(ath_texts) keys = { 0 };
    ath_auto_free char *share = number_of(options->share), *part = number_of(options->sm_share);
    struct ath_change changes[ROW_KEYS];
    const struct ath_change wanted[ROW_KEYS] = { { "memory", options->memory },
                                                 { "share", share },
                                                 { "cap", options->is_capped ? "true" : NULL },
                                                 { "priority", options->priority },
                                                 { "sm_share", part },
                                                 { "sessions", options->sessions },
                                                 { "gpus", options->gpus },
                                                 { "admin", options->is_admin ? "true" : NULL } };
    size_t count = 0;
    for (size_t i = 0; i < ATH_COUNT(wanted); i++) {
        ath_auto_free char *key = ath_xasprintf("identities.%s.%s", name, wanted[i].key);
        if (!wanted[i].value)
            continue;
        ath_texts_add(&keys, key);
        changes[count] = (struct ath_change){ keys.items[count], wanted[i].value };
        count++;
    }
    if (!count)
        return 0;
    int status = ath_document_open(work->nodes.path, LOCK_TIMEOUT_MS, &document, &faults, err);
    if (!status)
        status = ath_document_set_all(&document, changes, count, err);
    if (status == -EINVAL && options->is_capped && !options->share)
        return ath_err_hint(err, status, "aitherion key add %s --share 25 --cap", name);
    if (!status && options->share && !work->warning &&
        ath_document_check_doubts(&document, &faults))
        work->warning = ath_xstrdup(faults.items[0].message);
    return status || is_dry_run ? status : ath_document_save(&document, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(work) work = { 0 };
    const char *name = cli->arguments[0];
    bool has_moved = false;

    int status = ath_key_place_open(cli, name, true, &work.nodes, &work.place, err);
    if (status)
        return status;
    if (!work.place.is_in_folder) { /* the name `default` */
        work.place.is_in_folder = true;
        work.place.name = name;
        free(work.place.file);
        work.place.file = ath_key_folder_file(work.place.base, name);
        work.place.is_there = work.nodes.has_key; /* the only key becomes this one */
    }
    if (work.place.is_there) {
        ath_err_set(err, -EEXIST, ATH_E_EXISTS, _("there is already a key '%s'"), name);
        return ath_err_hint(err, -EEXIST,
                            _("to change what it may have: aitherion configure --set "
                              "identities.%s.share=25; for a new key, first: "
                              "aitherion key remove %s"),
                            name, name);
    }
    status = add_row(&work, options, name, true, err); /* a faulty row makes no key */
    if (status)
        return status;
    if (!cli->globals.is_dry_run)
        status = make(&work, options->group, &has_moved, err);
    else if (!ath_key_file_is_writable(work.place.base))
        status = ath_err_system(err, -EACCES, _("cannot write the key '%s'"), work.place.file);
    if (!status && !cli->globals.is_dry_run)
        status = add_row(&work, options, name, false, err);
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    if (status)
        return status;
    work.next =
        options->group
            ? ath_xasprintf(_("members of the group '%s' on this machine can run programs "
                              "now: aitherion run --key-name %s -- PROGRAM"),
                            options->group, name)
            : ath_xasprintf("aitherion key --export %s | ssh HOST aitherion key --import", name);
    const struct ath_key_report report = {
        .action = ATH_KEY_ADD,
        .is_dry_run = cli->globals.is_dry_run,
        .is_there = !cli->globals.is_dry_run,
        .path = work.place.file,
        .name = name,
        .has_moved = has_moved,
        .has_row = has_row(options),
        .warning = work.warning,
        .mode = ATH_UNKNOWN,
        .fingerprint = *work.fingerprint ? work.fingerprint : NULL,
        .next = work.next,
    };
    return ath_cli_show_done(cli, &ath_key_view, &report, err);
}

static const struct ath_argument arguments[] = {
    { .name = "NAME",
      .help = N_("name of the key: letters, digits, dots, dashes and underscores") },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "group",
      .type = ATH_OPTION_TEXT,
      .metavar = "GROUP",
      .offset = offsetof(struct options, group),
      .help = N_("let the members of this group of users read the key, and so use the GPUs of this "
                 "machine without root") },
    { .name = "memory",
      .type = ATH_OPTION_TEXT,
      .metavar = "AMOUNT",
      .offset = offsetof(struct options, memory),
      .help =
          N_("add a row to `identities` of the document: memory of each GPU for all its sessions "
             "together, such as 4G or 50%; `aitherion start` gives it to runtimes") },
    { .name = "share",
      .type = ATH_OPTION_TEXT,
      .metavar = "P",
      .offset = offsetof(struct options, share),
      .help =
          N_("the same for the part of a GPU's time that its sessions together get while others "
             "want the GPU, in percent") },
    { .name = "cap",
      .offset = offsetof(struct options, is_capped),
      .help = N_("the same for never more than --share, even if no other program wants the GPU") },
    { .name = "priority",
      .type = ATH_OPTION_TEXT,
      .choices = ath_time_priorities,
      .offset = offsetof(struct options, priority),
      .help = N_("the same for the highest priority that its programs may ask for (default: "
                 "normal with --share, else high)") },
    { .name = "sm-share",
      .type = ATH_OPTION_TEXT,
      .metavar = "P",
      .offset = offsetof(struct options, sm_share),
      .help = N_("the same for the part of a GPU's multiprocessors that each of its sessions gets "
                 "at most, in percent") },
    { .name = "sessions",
      .type = ATH_OPTION_TEXT,
      .metavar = "N",
      .offset = offsetof(struct options, sessions),
      .help = N_("the same for the number of programs that use a runtime at a time") },
    { .name = "gpus",
      .type = ATH_OPTION_TEXT,
      .metavar = "PCI[,...]",
      .completion = ATH_COMPLETE_GPUS,
      .offset = offsetof(struct options, gpus),
      .help = N_("the same for the GPUs that its programs may use") },
    { .name = "admin",
      .offset = offsetof(struct options, is_admin),
      .help =
          N_("the same for an administrator, who may list, limit and end the sessions of others") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion key add alice", N_("make a key for alice") },
    { "aitherion key add lab --group users", N_("make a key for all users of this machine") },
    { "aitherion key add bob --memory 4G --sessions 2", N_("make a key with limits") },
    { "aitherion key add carol --share 25 --priority normal",
      N_("make a key for a quarter of each GPU's time") },
    { .command = NULL },
};

const struct ath_command ath_command_key_add = {
    .name = "add",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("make a key with a name, for a user or a team"),
    .description = N_(
        "Makes a new key of 32 random bytes. Its name is the identity of all programs that have "
        "the key: in `session list`, in logs, in metrics, and in the rows `identities` of the "
        "document, which say what each identity may have. Runtimes whose key_file is a folder take "
        "the key at once.\n\n"
        "If key_file is one file, it becomes a folder: the old key stays as the key `default`, and "
        "running runtimes take the other keys after the next start."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
