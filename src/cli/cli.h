/* The context of a command's run(): the global options, its arguments, and helpers to read
 * the machine, find the document and show results. Only the main thread calls these functions. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/root.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "config/faults.h"
#include "numa/discover.h"

/* The document of the whole machine, used unless the user has one. */
#define ATH_CLI_SYSTEM_DOCUMENT "/etc/aitherion/topology.yaml"

enum ath_color { ATH_COLOR_AUTO, ATH_COLOR_ALWAYS, ATH_COLOR_NEVER };

/* Values of the global options. Texts belong to argv. */
struct ath_globals {
    const char *config;
    bool is_json, is_yaml;
    bool is_quiet;
    int verbosity;
    const char *log_level; /* one of ath_level_names; NULL: by -q and -v, or the environment */
    int color;             /* enum ath_color */
    bool is_yes, is_no_input, is_dry_run;
    bool wants_help, wants_version;
    const char *root, *topology;
};

enum ath_exit { ATH_EXIT_DONE, ATH_EXIT_FAILED, ATH_EXIT_USAGE, ATH_EXIT_FAULTS, ATH_EXIT_UNSURE };

struct ath_cli {
    const struct ath_command *command;
    struct ath_globals globals;
    const char *const *arguments; /* positional arguments; belong to argv */
    size_t argument_count;
    struct ath_style style;   /* of standard output */
    struct ath_faults faults; /* a command fills this in if its document has faults; main() prints
                                 them with the error */
};

/* Returns the format that --json or --yaml asks for, else text. */
enum ath_format ath_cli_format(const struct ath_cli *cli);

/* Prints a command's result on standard output. Long text on a terminal goes through a pager.
 * Returns 0 or a negative errno with err. */
int ath_cli_show(const struct ath_cli *cli, const struct ath_view *view, const void *data,
                 enum ath_format format, struct ath_err *err);

/* The same for a command that changed something, in the format of --json or --yaml. With -q text
 * output is left out, except in a dry run. */
int ath_cli_show_done(const struct ath_cli *cli, const struct ath_view *view, const void *data,
                      struct ath_err *err);

/*
 * Reads the machine that --root or --topology names, else the live one. Both options also take the
 * name of a shipped capture. The live machine gets its measured figures (measured.h). The caller
 * releases *out with ath_machine_free(). Returns 0 or a negative errno with err.
 */
int ath_cli_machine(const struct ath_cli *cli, struct ath_machine *out, struct ath_err *err);

/* The same without the facts that only NVML has, for which a live machine may need seconds. */
int ath_cli_machine_without_nvml(const struct ath_cli *cli, struct ath_machine *out,
                                 struct ath_err *err);

/*
 * Opens the folder that the machine is read from: --root, else "/". With --topology there is no
 * such folder, and *out stays closed (fd -1). The caller releases *out with ath_root_free().
 * Returns 0 or a negative errno with err.
 */
int ath_cli_root(const struct ath_cli *cli, struct ath_root *out, struct ath_err *err);

/* Turns "configure --show" into "aitherion configure --show", with the -c, --root and --topology of
 * this run (see suggest.h). The caller frees it. */
char *ath_cli_suggest(const struct ath_cli *cli, const char *words);

/*
 * ath_cli_can_ask() returns whether the user can be asked: there is a terminal, and --no-input is
 * not given. ath_cli_confirm() asks a yes-or-no question. It returns true with --yes, or if the
 * user answers yes; false if the user answers no or cannot be asked (no terminal, --no-input).
 */
bool ath_cli_can_ask(const struct ath_cli *cli);
bool ath_cli_confirm(const struct ath_cli *cli, const char *question);

/*
 * Returns the document's path: -c, else $XDG_CONFIG_HOME/aitherion/topology.yaml if it exists, else
 * /etc/aitherion/topology.yaml. The caller frees it.
 */
char *ath_cli_document_path(const struct ath_cli *cli);

/*
 * Says whether a command may write the document. --root and --topology read another machine; its
 * devices do not belong in this machine's document, so these options need -c. A dry run may do
 * everything. Returns 0, or -EINVAL with err.
 */
int ath_cli_may_write_document(const struct ath_cli *cli, struct ath_err *err);
