/*
 * aitherion complete KIND WORD...: prints the values that a shell's completion offers, for the
 * scripts of `aitherion completion`. Each line is a value, a tab, and what it is.
 */
#include "config.h"

#include <signal.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cli/candidates.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"

/* A user at a prompt waits no longer. A Docker or a runtime that does not answer leaves the list
 * empty. */
enum { LIMIT_S = 2 };

static void give_up(int number)
{
    (void)number;
    _exit(0);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_candidates *candidates = data;
    for (size_t i = 0; i < candidates->count; i++) {
        ath_auto_free char *about = ath_clean(candidates->items[i].about, style->is_utf8);
        fprintf(out, "%s\t%s\n", candidates->items[i].value, about);
    }
}

static int run(struct ath_cli *cli, const void *options, struct ath_err *err)
{
    static const struct ath_view view = { .to_text = to_text };
    ATH_AUTO(ath_candidates) candidates = { 0 };

    (void)options;
    ath_log_set_level(ATH_LOG_QUIET);
    signal(SIGALRM, give_up);
    alarm(LIMIT_S);
    ath_candidates_find(cli->arguments[0], cli->arguments + 1, cli->argument_count - 1,
                        &candidates);
    return ath_output(&view, &candidates, ATH_FORMAT_TEXT, &cli->style, stdout, err);
}

static const struct ath_argument arguments[] = {
    { .name = "KIND", .help = N_("the kind of value, from the command table") },
    { .name = "WORD",
      .help = N_("the words of the command line, up to the one that is completed"),
      .is_repeated = true },
    { .name = NULL },
};

const struct ath_command ath_command_complete = {
    .name = "complete",
    .group = ATH_GROUP_HELP,
    .summary = N_("print values for the completion scripts"),
    .arguments = arguments,
    .runs_program = true,
    .ignores_document = true,
    .run = run,
};
