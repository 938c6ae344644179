/* What a command gets to work with: the global options, its arguments, and where to show things. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/root.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "config/faults.h"
#include "numa/discover.h"

/* The document of the whole machine. */
#define ATH_CLI_SYSTEM_DOCUMENT "/etc/aitherion/topology.yaml"

enum ath_color { ATH_COLOR_AUTO, ATH_COLOR_ALWAYS, ATH_COLOR_NEVER };

/* Targets of the global options; texts belong to argv. */
struct ath_globals {
    const char *config;
    bool is_json, is_yaml;
    bool is_quiet;
    int verbosity;
    int color; /* enum ath_color */
    bool is_yes, is_no_input, is_dry_run;
    bool wants_help, wants_version;
    const char *root, *topology;
};

enum ath_exit { ATH_EXIT_DONE, ATH_EXIT_FAILED, ATH_EXIT_USAGE, ATH_EXIT_FAULTS, ATH_EXIT_UNSURE };

struct ath_cli {
    const struct ath_command *command;
    struct ath_globals globals;
    const char *const *arguments; /* the positional ones; belong to argv */
    size_t argument_count;
    struct ath_style style; /* of standard output */
    struct ath_faults
        faults; /* filled by a command whose document has faults; printed with its error */
};

/* The format that --json and --yaml ask for. */
enum ath_format ath_cli_format(const struct ath_cli *cli);

/* Shows a command's result on standard output, through a pager where it is long on a terminal. */
int ath_cli_show(const struct ath_cli *cli, const struct ath_view *view, const void *data,
                 enum ath_format format, struct ath_err *err);

/* The same for what a command has done, in the format of --json and --yaml: with -q that is no text
 * at all. */
int ath_cli_show_done(const struct ath_cli *cli, const struct ath_view *view, const void *data,
                      struct ath_err *err);

/* Reads the machine that --root or --topology names, else the live one; names of shipped captures
 * are found too. */
int ath_cli_machine(const struct ath_cli *cli, struct ath_machine *out, struct ath_err *err);

/*
 * Opens what the machine is read from: the folder that --root names, else "/"; release it with
 * ath_root_free(). With --topology there is none: *out is closed (fd -1). Returns 0 or a negative
 * errno with err.
 */
int ath_cli_root(const struct ath_cli *cli, struct ath_root *out, struct ath_err *err);

/* "aitherion configure --show" for the words "configure --show", with the -c, --root and --topology
 * that were given (suggest.h). The caller frees it. */
char *ath_cli_suggest(const struct ath_cli *cli, const char *words);

/*
 * Asks a question that takes yes or no. True for --yes, and where the person answers yes; false
 * where nobody can be asked (no terminal, --no-input) or the answer is no.
 */
bool ath_cli_confirm(const struct ath_cli *cli, const char *question);

/*
 * The document's path: -c, else $XDG_CONFIG_HOME/aitherion/topology.yaml where it exists, else
 * /etc/aitherion/topology.yaml. The caller frees it.
 */
char *ath_cli_document_path(const struct ath_cli *cli);
