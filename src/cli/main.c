/* The start of aitherion: language, arguments, the command, its error. */
#include "config.h"

#include <errno.h>
#include <libintl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/paths.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/parse.h"
#include "cli/report.h"
#include "cli/terminal.h"

static void set_language(void)
{
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* numbers in documents and outputs always have a decimal point */
    ath_auto_free char *folder = ath_path_share("locale");
    if (folder)
        bindtextdomain(PACKAGE, folder);
    textdomain(PACKAGE);
}

static struct ath_style style_for(const struct ath_globals *globals)
{
    int color = globals->color;

    return (struct ath_style){
        .is_color =
            color == ATH_COLOR_ALWAYS || (color == ATH_COLOR_AUTO && ath_terminal_has_color()),
        .is_utf8 = ath_terminal_is_utf8(),
        .columns = ath_terminal_columns(),
        .is_verbose = globals->verbosity > 0,
        .globals = globals,
    };
}

/* --log-level is another way to write -q, nothing, -v and -vv. */
static void take_log_level(struct ath_globals *globals)
{
    enum ath_level level = ATH_LEVEL_WARNING;
    if (!globals->log_level)
        return;
    (void)ath_level_read("--log-level", globals->log_level, &level, NULL); /* it is one */
    globals->is_quiet = level == ATH_LEVEL_ERROR;
    globals->verbosity = level > ATH_LEVEL_WARNING ? (int)(level - ATH_LEVEL_WARNING) : 0;
}

/* The environment sets the level of messages only. It does not change a command's result, as -q and
 * -v may do. */
static int set_log_level(struct ath_globals *globals, struct ath_err *err)
{
    static const enum ath_log_level levels[] = { ATH_LOG_NORMAL, ATH_LOG_VERBOSE, ATH_LOG_DEBUG };
    enum ath_log_level level;

    take_log_level(globals);
    int index = globals->verbosity < 2 ? globals->verbosity : 2;
    level = globals->is_quiet ? ATH_LOG_QUIET : levels[index];
    int status = globals->log_level || globals->is_quiet || globals->verbosity
                     ? 0
                     : ath_log_level_of_environment(&level, err);
    ath_log_set_level(level);
    return status;
}

/* Returns the command to run. --help and --version run the commands of these names, and so does a
 * command that only has children. */
static const struct ath_command *command_to_run(const struct ath_command_line *line)
{
    if (line->globals.wants_version)
        return &ath_command_version;
    if (line->globals.wants_help || !line->command->run)
        return &ath_command_help;
    return line->command;
}

/* Returns whether the command only tells about aitherion, which a wrong variable must not
 * prevent. */
static bool is_about_itself(const struct ath_command *command)
{
    return command == &ath_command_help || command == &ath_command_version ||
           command == &ath_command_complete;
}

static int run(const struct ath_command_line *line, struct ath_cli *cli, struct ath_err *err)
{
    const struct ath_command *command = command_to_run(line);

    cli->command = line->command;
    cli->arguments = line->arguments;
    cli->argument_count = line->argument_count;
    cli->style = style_for(&cli->globals);
    int status = set_log_level(&cli->globals, err);
    if (status && !is_about_itself(command))
        return status;
    return command->run(cli, line->options, err);
}

int main(int argc, char *argv[])
{
    ATH_AUTO(ath_command_line) line = { 0 };
    struct ath_cli cli = { 0 };
    struct ath_err err = { 0 };

    set_language();
    int status = ath_command_line_parse(argc, argv, &line, &err);
    cli.globals = line.globals;
    if (!status)
        status = run(&line, &cli, &err);
    if (status < 0) {
        ath_command_line_hint(&line, &err);
        ath_report_error(&cli, &err);
        status = err.code == ATH_E_USAGE ? ATH_EXIT_USAGE : ATH_EXIT_FAILED;
    }
    ath_faults_free(&cli.faults);
    return status;
}
