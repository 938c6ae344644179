/* aitherion key: the shared key that programs and runtimes prove to each other. */
#include "config.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "base/log.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/commands/key_place.h"
#include "cli/nodes.h"
#include "cli/output/key.h"
#include "config/key_file.h"
#include "config/key_folder.h"
#include "container/image/digest.h"
#include "remote/wire/secret.h"

struct options {
    bool is_new;
    const char *export_name, *import_name; /* "": without a name; NULL: not asked for */
    const char *output;                    /* of an export */
};

struct work {
    struct ath_cli *cli;
    struct ath_nodes nodes;
    struct ath_key_place place;
    struct ath_secret secret;
    char *base64, *copy;
    char line_name[ATH_KEY_NAME_BYTES]; /* that came with an import; empty: none */
    char fingerprint[ATH_DIGEST_TEXT];
    struct ath_key_report report;
};

static void work_free(struct work *work)
{
    if (work->base64)
        explicit_bzero(work->base64, strlen(work->base64));
    free(work->base64);
    free(work->copy);
    ath_key_place_free(&work->place);
    ath_secret_free(&work->secret);
    ath_nodes_free(&work->nodes);
}

/*
 * The fingerprint equals the output of `sha256sum FILE`, so keys can be compared without aitherion.
 */
static int take_fingerprint(struct work *work, struct ath_err *err)
{
    struct ath_digest digest;
    int status = ath_digest_begin(&digest, err);
    if (status)
        return status;
    ath_digest_add(&digest, work->secret.bytes, work->secret.length);
    ath_digest_end(&digest, work->fingerprint);
    work->report.fingerprint = work->fingerprint;
    return 0;
}

static int load(struct work *work, struct ath_err *err)
{
    struct stat file;
    int status = ath_secret_load(work->place.file, &work->secret, err);
    if (status)
        return status;
    if (!stat(work->place.file, &file))
        work->report.mode = (int)(file.st_mode & 07777);
    return take_fingerprint(work, err);
}

/* ---- export and import ---- */

static void encode(struct work *work)
{
    size_t length = BASE64_ENCODE_RAW_LENGTH(work->secret.length);
    work->base64 = ath_xalloc(length + 1);
    base64_encode_raw(work->base64, work->secret.length, work->secret.bytes);
    work->report.base64 = work->base64;
}

/* Writes the export to a new file, with mode 0600 from the start. */
static int write_export(struct work *work, const char *path, struct ath_err *err)
{
    bool has_name = work->report.name && strcmp(work->report.name, ATH_KEY_NAME_DEFAULT) != 0;
    ath_auto_free char *line = ath_xasprintf("%s%s%s\n", has_name ? work->report.name : "",
                                             has_name ? " " : "", work->base64);
    int status = work->cli->globals.is_dry_run
                     ? 0
                     : ath_key_file_write(path, line, strlen(line), false, err);

    explicit_bzero(line, strlen(line));
    work->report.output = path;
    work->report.base64 = NULL;
    return status == -EEXIST ? ath_err_set(err, status, ATH_E_EXISTS,
                                           _("cannot write '%s': it exists already"), path)
                             : status;
}

static int refuse_line(struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_KEY_FILE, _("standard input is not a key in base64"));
    return ath_err_hint(err, -EINVAL,
                        "aitherion key --export | ssh HOST aitherion key --import --yes");
}

/* Takes the name in front of the key, if there is one. Returns the key. */
static char *take_name(char *line, char out[ATH_KEY_NAME_BYTES])
{
    char *blank = strchr(line, ' ');
    if (!blank)
        return line;
    *blank = '\0';
    snprintf(out, ATH_KEY_NAME_BYTES, "%s", ath_key_name_is_valid(line) ? line : "?");
    return blank + 1;
}

static int decode(char *line, struct ath_secret *out, struct ath_err *err)
{
    struct base64_decode_ctx decoder;
    size_t length = strcspn(line, "\r\n");
    size_t got = BASE64_DECODE_LENGTH(length);
    uint8_t *bytes = ath_xalloc(got);

    base64_decode_init(&decoder);
    bool is_good = base64_decode_update(&decoder, &got, bytes, length, line) &&
                   base64_decode_final(&decoder) && got <= ATH_KEY_BYTES_MAX;
    *out = (struct ath_secret){ .bytes = bytes, .length = got };
    if (!is_good || !got)
        return refuse_line(err);
    if (got >= ATH_SECRET_BYTES_MIN)
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_KEY_FILE,
                       _("the key has %d bytes and can be guessed; %d are needed"), (int)got,
                       ATH_SECRET_BYTES_MIN);
}

static int read_line(struct work *work, struct ath_err *err)
{
    char *line = NULL;
    size_t size = 0;

    int status = getline(&line, &size, stdin) < 0
                     ? refuse_line(err)
                     : decode(take_name(line, work->line_name), &work->secret, err);
    if (!status && !strcmp(work->line_name, "?"))
        status = refuse_line(err);
    if (line)
        explicit_bzero(line, size);
    free(line);
    return status;
}

/* ---- writing ---- */

/* Running runtimes keep the old key, because they read it when they start. */
static int may_replace(struct work *work, struct ath_err *err)
{
    ath_auto_free char *question =
        ath_xasprintf(_("Replace the key '%s'? Programs with the old key will get no session any "
                        "more."),
                      work->place.file);

    if (!work->place.is_there || work->cli->globals.is_yes ||
        (work->cli->globals.is_dry_run ? ath_cli_can_ask(work->cli)
                                       : ath_cli_confirm(work->cli, question)))
        return 0;
    if (ath_cli_can_ask(work->cli) && !work->cli->globals.is_dry_run)
        return ath_err_set(err, -EEXIST, ATH_E_EXISTS, _("the key '%s' stays as it was"),
                           work->place.file);
    ath_err_set(err, -EEXIST, ATH_E_EXISTS, _("there is already a key in '%s'"), work->place.file);
    return ath_err_hint(err, -EEXIST, _("replace it with --yes"));
}

static int write_key(struct work *work, struct ath_err *err)
{
    const char *path = work->place.file;
    int status = 0;

    if (work->cli->globals.is_dry_run && ath_key_file_is_writable(work->place.base))
        return 0;
    if (work->cli->globals.is_dry_run)
        status = ath_err_system(err, -EACCES, _("cannot write the key '%s'"), path);
    if (!status && work->place.is_in_folder)
        status = ath_key_folder_make(work->place.base, &work->report.has_moved, err);
    if (!status && work->place.is_there)
        status = ath_key_file_keep(path, &work->copy, err);
    if (!status)
        status = ath_key_file_write(path, work->secret.bytes, work->secret.length,
                                    work->place.is_there, err);
    work->report.copy = work->copy;
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    work->report.is_there = true;
    work->report.mode = 0600;
    if (work->place.is_there && !work->place.is_in_folder)
        work->report.next = _("aitherion restart: runtimes read the key when they start");
    return status;
}

/* If the document's key belongs to another user, writes to this user's own key file. */
static void choose_own(struct ath_nodes *nodes)
{
    ath_auto_free char *own = ath_key_file_own();

    if (!own || !nodes->has_key || !access(nodes->key_path, W_OK) || !strcmp(nodes->key_path, own))
        return;
    free(nodes->key_path);
    nodes->key_path = ath_steal(&own);
    nodes->has_key = false;
}

static int make_new(struct work *work, struct ath_err *err)
{
    int status = may_replace(work, err);
    if (status)
        return status;
    work->secret =
        (struct ath_secret){ .bytes = ath_xalloc(ATH_KEY_BYTES), .length = ATH_KEY_BYTES };
    status = ath_key_make(work->secret.bytes, err);
    if (!status)
        status = write_key(work, err);
    /* a dry run throws the key away, so its fingerprint would be of no use */
    return status || work->cli->globals.is_dry_run ? status : take_fingerprint(work, err);
}

static bool is_same(const struct ath_secret *a, const struct ath_secret *b)
{
    return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

/* Finds the key's place, and notes it in the report. name is of the command line or of the line
 * that came. */
static int find_place(struct work *work, const char *name, bool is_new, struct ath_err *err)
{
    int status = ath_key_place_find(&work->nodes, name, is_new, &work->place, err);
    if (status)
        return status;
    work->report.path = work->place.file;
    work->report.name = work->place.name;
    work->report.is_there = work->place.is_there;
    return 0;
}

static int import(struct work *work, const char *name, struct ath_err *err)
{
    ATH_AUTO(ath_secret) old = { 0 };

    int status = read_line(work, err);
    if (!status)
        status = find_place(work, *name ? name : work->line_name, true, err);
    if (status)
        return status;
    bool is_old = work->place.is_there && !ath_secret_load(work->place.file, &old, NULL) &&
                  is_same(&old, &work->secret);
    if (is_old) {
        ath_secret_free(&work->secret);
        return load(work, err);
    }
    status = may_replace(work, err);
    if (!status)
        status = write_key(work, err);
    return status ? status : take_fingerprint(work, err);
}

/* The key is shown or exported. Only a key that is shown may be missing. */
static int look(struct work *work, const char *name, bool is_needed, struct ath_err *err)
{
    if (!work->nodes.has_key && !is_needed) {
        work->report.path = work->nodes.key_path;
        return 0;
    }
    int status = find_place(work, name, false, err);
    return status ? status : load(work, err);
}

static int do_action(struct work *work, const struct options *options, struct ath_err *err)
{
    if (options->is_new) {
        int status = find_place(work, "", true, err);
        return status ? status : make_new(work, err);
    }
    if (options->import_name)
        return import(work, options->import_name, err);
    int status =
        look(work, options->export_name ? options->export_name : "", options->export_name, err);
    if (status || !options->export_name)
        return status;
    encode(work);
    return options->output ? write_export(work, options->output, err) : 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(work) work = { .cli = cli };

    if (options->is_new + !!options->export_name + !!options->import_name > 1)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--new', '--export' and '--import' exclude each other"));
    if (options->output && !options->export_name)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--output' needs '--export'"));
    int status = ath_nodes_open(cli, false, &work.nodes, err);
    if (status)
        return status;
    if (options->is_new || options->import_name)
        choose_own(&work.nodes);
    work.report = (struct ath_key_report){
        .action = options->is_new        ? ATH_KEY_NEW
                  : options->export_name ? ATH_KEY_EXPORT
                  : options->import_name ? ATH_KEY_IMPORT
                                         : ATH_KEY_SHOW,
        .is_dry_run = cli->globals.is_dry_run,
        .mode = ATH_UNKNOWN,
    };
    status = do_action(&work, options, err);
    if (status)
        return status;
    return options->export_name && !options->output
               ? ath_cli_show(cli, &ath_key_view, &work.report, ath_cli_format(cli), err)
               : ath_cli_show_done(cli, &ath_key_view, &work.report, err);
}

static const struct ath_command *const children[] = { ATH_KEY_COMMANDS(ATH_COMMAND_CHILD) NULL };

static const struct ath_option option_table[] = {
    { .name = "new",
      .offset = offsetof(struct options, is_new),
      .help = N_("make a new key of 32 random bytes; asks before it replaces a key") },
    { .name = "export",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .fallback = "",
      .completion = ATH_COMPLETE_KEY_NAME,
      .offset = offsetof(struct options, export_name),
      .help = N_("print the key itself, as one line of base64, with its name in front if it has "
                 "one") },
    { .name = "output",
      .letter = 'o',
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, output),
      .help = N_("write the line of --export to a new file that only its owner may read") },
    { .name = "import",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .fallback = "",
      .offset = offsetof(struct options, import_name),
      .help = N_("read such a line from standard input, for the name in the line or this one; asks "
                 "before it replaces a key") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion key", N_("show the key's file and fingerprint") },
    { "aitherion key --export | ssh node2 aitherion key --import", N_("copy the key to node2") },
    { "aitherion key --new", N_("make a new key") },
    { "aitherion key add alice", N_("make a key for alice alone") },
    { "aitherion key --export alice | ssh node2 aitherion key --import",
      N_("copy alice's key to node2") },
    { .command = NULL },
};

const struct ath_command ath_command_key = {
    .name = "key",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show, make or copy the shared key"),
    .description = N_(
        "Runtimes and programs prove to each other that they have the same key: the contents "
        "of the file $XDG_CONFIG_HOME/aitherion/key if it exists, else of key_file of the "
        "document. The first start makes a key that only its owner may read. If the document's "
        "key belongs to another user, --new and --import write to the user's own file. The "
        "fingerprint is the output of `sha256sum FILE`. A key has at least 16 bytes.\n\n"
        "A key that is replaced is kept as FILE.bak. Runtimes read the key when they start: until "
        "the next start their sessions are listed and ended with --key FILE.bak.\n\n"
        "If key_file is a folder, each of its files is a key, and the file's name is the identity "
        "of all programs that have the key: `aitherion key add NAME`. Without a name the key "
        "`default` is used, else the first key that the user may read.\n\n"
        "Every program with the key may use the GPUs: copy it only to machines that may use "
        "them."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .children = children,
    .run = run,
};
