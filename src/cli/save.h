/*
 * The options --format and -o of commands whose answer may be a picture, and what they do.
 *
 * The command's option struct has a struct ath_save_options as its member `save`, and its table has
 * the rows ATH_SAVE_OPTIONS().
 */
#pragma once
#include "cli/cli.h"
#include "cli/output/output.h"

struct ath_save_options {
    int format; /* index into ath_save_formats */
    const char *output;
};

/* "auto" (not given), then the words of enum ath_format in its order, up to a NULL. */
extern const char *const ath_save_formats[];

/* Chooses the format by --format, --json or --yaml, else by the name of the output file, else text.
 * Returns 0, or -EINVAL with err. */
int ath_save_format(const struct ath_cli *cli, const struct ath_save_options *options,
                    enum ath_format *out, struct ath_err *err);

/* Writes the output to the file of -o, completely or not at all, or else to standard output. With
 * --dry-run a file is only announced. Returns 0, or a negative errno with err. */
int ath_save_output(const struct ath_cli *cli, const struct ath_save_options *options,
                    const struct ath_view *view, const void *data, enum ath_format format,
                    struct ath_err *err);

#define ATH_SAVE_OPTIONS(target)                                                                   \
    { .name = "format",                                                                            \
      .type = ATH_OPTION_CHOICE,                                                                   \
      .choices = ath_save_formats,                                                                 \
      .offset = offsetof(target, save.format),                                                     \
      .help =                                                                                      \
          N_("text to read, data for programs (json, yaml), a table like `nvidia-smi topo -m` "    \
             "(matrix), or a picture (dot for Graphviz, svg); auto follows --json, --yaml and "    \
             "the name given with -o") },                                                          \
    {                                                                                              \
        .name = "output", .letter = 'o', .type = ATH_OPTION_TEXT, .metavar = "FILE",               \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, save.output),                  \
        .help = N_("write to FILE, completely or not at all")                                      \
    }
