/*
 * The shared work of all commands: choose the format, read the machine, find the document, show
 * results.
 */
#include "config.h"

#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/measured.h"
#include "cli/suggest.h"
#include "cli/terminal.h"

enum ath_format ath_cli_format(const struct ath_cli *cli)
{
    return cli->globals.is_json   ? ATH_FORMAT_JSON
           : cli->globals.is_yaml ? ATH_FORMAT_YAML
                                  : ATH_FORMAT_TEXT;
}

int ath_cli_show(const struct ath_cli *cli, const struct ath_view *view, const void *data,
                 enum ath_format format, struct ath_err *err)
{
    ath_auto_free char *text = NULL;
    size_t length = 0;
    int status = ath_output_make(view, data, format, &cli->style, &text, &length, err);
    return status ? status : ath_terminal_print(text, length, err);
}

int ath_cli_show_done(const struct ath_cli *cli, const struct ath_view *view, const void *data,
                      struct ath_err *err)
{
    enum ath_format format = ath_cli_format(cli);
    if (cli->globals.is_quiet && format == ATH_FORMAT_TEXT && !cli->globals.is_dry_run)
        return 0;
    return ath_cli_show(cli, view, data, format, err);
}

char *ath_cli_suggest(const struct ath_cli *cli, const char *words)
{
    ath_auto_free char *command = ath_xasprintf("aitherion %s", words);
    return ath_suggest_command(&cli->globals, command);
}

/*
 * Captures that are shipped with aitherion, below share/: folders for --root, files for --topology.
 */
#define CAPTURES "aitherion/captures"

/* Returns the path of a shipped capture if name is a plain word and no such file exists here; else
 * a copy of name. The caller frees it. */
static char *find_capture(const char *name, const char *suffix)
{
    if (*name && !strchr(name, '/') && access(name, F_OK)) {
        ath_auto_free char *inside = ath_xasprintf(CAPTURES "/%s%s", name, suffix);
        char *shipped = ath_path_share(inside);
        if (shipped)
            return shipped;
    }
    return ath_xstrdup(name);
}

/* Lists the shipped captures whose names end in suffix: "ac922-4gpu, ac922-6gpu". Folders have no
 * dot in their names, so their suffix is "". The caller frees it. */
static char *capture_names(const char *suffix)
{
    ath_auto_free char *path = ath_path_share(CAPTURES);
    struct ath_text names = { 0 };
    struct dirent **entries = NULL;
    int count = path ? scandir(path, &entries, NULL, alphasort) : 0;

    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *dot = strchr(name, '.');
        if (dot != name && !strcmp(dot ? dot : "", suffix))
            ath_text_add(&names, "%s%.*s", names.length ? ", " : "", (int)strcspn(name, "."), name);
        free(entries[i]);
    }
    free(entries);
    return ath_text_take(&names);
}

/* Adds a hint for a --root or --topology that does not exist. */
static int hint_capture(const struct ath_globals *globals, int status, struct ath_err *err)
{
    const char *name = globals->root ? globals->root : globals->topology;
    ath_auto_free char *names = capture_names(globals->root ? "" : ".xml");
    ath_auto_free char *other = find_capture(name, globals->root ? ".xml" : "");

    if (strcmp(other, name))
        return ath_err_hint(err, status, globals->root ? "--topology %s" : "--root %s", name);
    if (globals->root && status == -ENOTDIR)
        return ath_err_hint(err, status, _("it is a file: --topology %s"), name);
    if (globals->root && strstr(name, ".tar"))
        return ath_err_hint(err, status, _("unpack it and give the folder: tar -xf %s"), name);
    return *names ? ath_err_hint(err, status, _("shipped captures: %s"), names)
                  : ath_err_hint(err, status,
                                 globals->root ? _("give a folder with the captured files, such as "
                                                   "sys and proc")
                                               : _("give a file that lstopo or NCCL wrote, or the "
                                                   "text of nvidia-smi topo -m"));
}

static int read_machine(const struct ath_cli *cli, bool without_nvml, struct ath_machine *out,
                        struct ath_err *err)
{
    const struct ath_globals *globals = &cli->globals;
    ath_auto_free char *root = globals->root ? find_capture(globals->root, "") : NULL;
    ath_auto_free char *topology =
        globals->topology ? find_capture(globals->topology, ".xml") : NULL;
    const struct ath_machine_source source = { .root = root,
                                               .topology = topology,
                                               .without_nvml = without_nvml };
    int status = ath_machine_discover(&source, out, err);

    if (status && err && err->code == ATH_E_NOT_FOUND && (root || topology))
        return hint_capture(globals, status, err);
    if (status && err && err->code == ATH_E_TOPOLOGY_INVALID && !*err->hint)
        return ath_err_hint(err, status,
                            _("give an XML file of lstopo (lstopo machine.xml) or of NCCL "
                              "(NCCL_TOPO_DUMP_FILE=machine.xml), or the text of nvidia-smi topo "
                              "-m"));
    return status;
}

int ath_cli_machine(const struct ath_cli *cli, struct ath_machine *out, struct ath_err *err)
{
    int status = read_machine(cli, false, out, err);
    if (!status)
        ath_measured_apply(cli, out);
    return status;
}

int ath_cli_machine_without_nvml(const struct ath_cli *cli, struct ath_machine *out,
                                 struct ath_err *err)
{
    return read_machine(cli, true, out, err);
}

bool ath_cli_can_ask(const struct ath_cli *cli)
{
    return !cli->globals.is_no_input && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool ath_cli_confirm(const struct ath_cli *cli, const char *question)
{
    ath_auto_free char *answer = NULL;
    size_t size = 0;

    if (cli->globals.is_yes)
        return true;
    if (!ath_cli_can_ask(cli))
        return false;
    /* TRANSLATORS: y and yes are understood in every language */
    fprintf(stderr, _("%s [y/N] "), question);
    if (getline(&answer, &size, stdin) < 0)
        return false;
    answer[strcspn(answer, "\r\n")] = '\0';
    return !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
}

int ath_cli_root(const struct ath_cli *cli, struct ath_root *out, struct ath_err *err)
{
    const struct ath_globals *globals = &cli->globals;
    ath_auto_free char *path = ath_xstrdup("/");

    *out = (struct ath_root){ .fd = -1 };
    if (globals->topology)
        return 0;
    if (globals->root) {
        free(path);
        path = find_capture(globals->root, "");
    }
    return ath_root_open(path, out, err);
}

char *ath_cli_document_path(const struct ath_cli *cli)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    ath_auto_free char *own = NULL;

    if (cli->globals.config)
        return ath_xstrdup(cli->globals.config);
    if (base && base[0] == '/') /* the XDG specification says to ignore relative paths */
        own = ath_xasprintf("%s/aitherion/topology.yaml", base);
    else if (home && home[0] == '/')
        own = ath_xasprintf("%s/.config/aitherion/topology.yaml", home);
    if (own && !access(own, F_OK))
        return ath_steal(&own);
    return ath_xstrdup(ATH_CLI_SYSTEM_DOCUMENT);
}

int ath_cli_may_write_document(const struct ath_cli *cli, struct ath_err *err)
{
    const struct ath_globals *globals = &cli->globals;
    bool is_other = globals->root || globals->topology;

    if (!is_other || globals->config || globals->is_dry_run)
        return 0;
    ath_auto_free char *path = ath_cli_document_path(cli);
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("'--%s' reads another machine; its devices do not belong in this machine's "
                  "document '%s'"),
                globals->root ? "root" : "topology", path);
    return ath_err_hint(err, -EINVAL, _("name a document for that machine with -c FILE"));
}
