/* Catching signals, and choosing how progress is shown. */
#include "config.h"

#include "cli/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
    stop_signal = number;
}

bool ath_stop_is_wanted(void *context)
{
    (void)context;
    return stop_signal != 0;
}

/* Without SA_RESTART, so that blocking system calls end. */
void ath_stop_catch(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    const struct sigaction action = { .sa_handler = note_signal };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

struct ath_bar ath_cli_bar(const struct ath_cli *cli)
{
    const char *term = getenv("TERM");

    return (struct ath_bar){
        .is_silent = cli->globals.is_quiet || ath_cli_format(cli) != ATH_FORMAT_TEXT,
        .is_terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb"),
    };
}
