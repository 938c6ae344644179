/* aitherion discover: reads the machine and shows it. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/machine/machine.h"

/* "auto" (not given), then the words of enum ath_format in its order. */
static const char *const formats[] = {
    "auto", "text", "json", "yaml", "matrix", "dot", "svg", NULL
};
_Static_assert(ATH_COUNT(formats) == ATH_FORMAT_COUNT + 2, "every output format can be asked for");

struct options {
    int format; /* index into formats */
    const char *output;
};

/* Returns the text after the last dot of a file's name, or "". */
static const char *suffix_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strchr(dot, '/') ? dot + 1 : "";
}

/* Picture formats that users may ask for and that can be converted from ours. */
static bool is_other_picture(const char *suffix)
{
    static const char *const pictures[] = { "png", "pdf", "jpg", "jpeg", "gif", "ps" };
    for (size_t i = 0; i < ATH_COUNT(pictures); i++)
        if (!strcasecmp(suffix, pictures[i]))
            return true;
    return false;
}

/* Chooses the format by the name of the output file; text if the name does not tell. */
static int format_of_name(const char *path, enum ath_format *out, struct ath_err *err)
{
    const char *suffix = suffix_of(path);

    for (int format = 0; format < ATH_FORMAT_COUNT; format++)
        if (!strcmp(suffix, ath_format_word((enum ath_format)format)))
            *out = (enum ath_format)format;
    if (!strcmp(suffix, "yml"))
        *out = ATH_FORMAT_YAML;
    if (!is_other_picture(suffix))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("cannot write '%s': discover does not have the "
                  "format '%s'"),
                path, suffix);
    return ath_err_hint(
        err, -EINVAL,
        _("write an SVG and convert it with rsvg-convert or inkscape: aitherion discover -o "
          "machine.svg"));
}

/* Chooses the format by --format, --json or --yaml, else by the name of the output file. */
static int choose_format(const struct ath_cli *cli, const struct options *options,
                         enum ath_format *out, struct ath_err *err)
{
    enum ath_format global = ath_cli_format(cli);

    if (options->format && global != ATH_FORMAT_TEXT && (int)global != options->format - 1)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--format %s' and '--%s' exclude each other"),
                           formats[options->format], ath_format_word(global));
    *out = options->format ? (enum ath_format)(options->format - 1) : global;
    if (options->format || global != ATH_FORMAT_TEXT || !options->output)
        return 0;
    return format_of_name(options->output, out, err);
}

static int write_file(const char *path, const struct ath_machine *machine, enum ath_format format,
                      bool is_dry_run, struct ath_err *err)
{
    ath_auto_free char *text = NULL;
    size_t length = 0;
    const struct ath_style plain = { .is_utf8 = true };
    int status = ath_output_make(&ath_machine_view, machine, format, &plain, &text, &length, err);
    if (status)
        return status;
    if (is_dry_run) {
        ath_log(ATH_LOG_NORMAL, _("would write %zu bytes to '%s'"), length, path);
        return 0;
    }
    status = ath_file_save(path, text, length, err);
    if (!status)
        ath_log(ATH_LOG_NORMAL, _("wrote '%s'"), path);
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_machine) machine = { 0 };
    enum ath_format format = ATH_FORMAT_TEXT;

    int status = choose_format(cli, options, &format, err);
    if (!status)
        status = ath_cli_machine(cli, &machine, err);
    if (status)
        return status;
    if (options->output && strcmp(options->output, "-"))
        return write_file(options->output, &machine, format, cli->globals.is_dry_run, err);
    return ath_cli_show(cli, &ath_machine_view, &machine, format, err);
}

static const struct ath_option option_table[] = {
    { .name = "format",
      .type = ATH_OPTION_CHOICE,
      .choices = formats,
      .offset = offsetof(struct options, format),
      .help = N_("text to read, data for programs (json, yaml), a table like `nvidia-smi topo -m` "
                 "(matrix), or a picture (dot for Graphviz, svg); auto follows --json, --yaml and "
                 "the name given with -o") },
    { .name = "output",
      .letter = 'o',
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, output),
      .help = N_("write to FILE, completely or not at all") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion discover", N_("show this machine") },
    { "aitherion discover --format matrix", N_("show all distances as a table") },
    { "aitherion discover -o machine.svg", N_("draw a picture") },
    { "aitherion discover --json", N_("data for programs") },
    { "aitherion discover --root ac922-4gpu", N_("show an IBM AC922 from a shipped capture") },
    { "aitherion discover --topology lstopo.xml",
      N_("show a machine on which `lstopo lstopo.xml` was run") },
    { "aitherion discover --topology topo.txt,numactl.txt",
      N_("show a machine from the texts of `nvidia-smi topo -m` and `numactl -H`") },
    { .command = NULL },
};

const struct ath_command ath_command_discover = {
    .name = "discover",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("show NUMA nodes, GPUs and network cards, and how near they are to each other"),
    .description =
        N_("Reads which CPUs, memory, GPUs and network cards belong to which NUMA node, how far "
           "the nodes are apart, and for every GPU which network port is nearest and why. Changes "
           "nothing and needs no privileges. Unknown values are shown as unknown. Warnings below "
           "say what looks wrong and how to fix it.\n\n"
           "The same can be read from a capture of another machine: see --root and --topology."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
