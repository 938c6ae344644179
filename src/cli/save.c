/* Chooses the format of an output, and writes it to a file or to standard output. */
#include "config.h"

#include "cli/save.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/log.h"

const char *const ath_save_formats[] = { "auto",   "text", "json", "yaml",
                                         "matrix", "dot",  "svg",  NULL };
_Static_assert(ATH_COUNT(ath_save_formats) == ATH_FORMAT_COUNT + 2,
               "every output format can be asked for");

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
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("cannot write '%s': there is no format '%s'"), path,
                suffix);
    return ath_err_hint(err, -EINVAL,
                        _("write an SVG (-o machine.svg) and convert it with rsvg-convert or "
                          "inkscape"));
}

int ath_save_format(const struct ath_cli *cli, const struct ath_save_options *options,
                    enum ath_format *out, struct ath_err *err)
{
    enum ath_format global = ath_cli_format(cli);

    if (options->format && global != ATH_FORMAT_TEXT && (int)global != options->format - 1)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--format %s' and '--%s' exclude each other"),
                           ath_save_formats[options->format], ath_format_word(global));
    *out = options->format ? (enum ath_format)(options->format - 1) : global;
    if (options->format || global != ATH_FORMAT_TEXT || !options->output)
        return 0;
    return format_of_name(options->output, out, err);
}

static int write_file(const char *path, const struct ath_view *view, const void *data,
                      enum ath_format format, bool is_dry_run, struct ath_err *err)
{
    ath_auto_free char *text = NULL;
    size_t length = 0;
    const struct ath_style plain = { .is_utf8 = true };
    int status = ath_output_make(view, data, format, &plain, &text, &length, err);
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

int ath_save_output(const struct ath_cli *cli, const struct ath_save_options *options,
                    const struct ath_view *view, const void *data, enum ath_format format,
                    struct ath_err *err)
{
    if (options->output && strcmp(options->output, "-"))
        return write_file(options->output, view, data, format, cli->globals.is_dry_run, err);
    return ath_cli_show(cli, view, data, format, err);
}
