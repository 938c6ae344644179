/*
 * The option --watch: a command that only looks is repeated until a signal ends it.
 *
 * On a terminal each look replaces the last one. Otherwise only changes are printed: text after an
 * empty line, JSON as one line, YAML as one document each.
 */
#pragma once
#include "cli/cli.h"

struct ath_repeat; /* of one run; only the main thread uses it */

/* Looks once, and hands what it sees to ath_repeat_show(). Returns the exit code, or a negative
 * errno with err. */
typedef int ath_look(struct ath_cli *cli, const void *options, struct ath_repeat *repeat,
                     struct ath_err *err);

/*
 * Looks once if seconds is NULL, otherwise every so many seconds until SIGINT, SIGTERM or SIGHUP
 * comes. Returns the last exit code, or a negative errno with err: "usage" for seconds that are not
 * a number from 1 to 86400.
 */
int ath_repeat_run(struct ath_cli *cli, const char *seconds, ath_look *look, const void *options,
                   struct ath_err *err);

/* Shows the data in the format of --json or --yaml. Returns 0, or a negative errno with err. */
int ath_repeat_show(struct ath_repeat *repeat, const struct ath_view *view, const void *data,
                    struct ath_err *err);

/* Returns whether the look is one of several. */
bool ath_repeat_is_watching(const struct ath_repeat *repeat);

/* A row for a command's option table. The command's option struct has `const char *watch`. */
#define ATH_REPEAT_OPTION(target)                                                                  \
    {                                                                                              \
        .name = "watch", .type = ATH_OPTION_TEXT, .metavar = "S", .fallback = "2",                 \
        .offset = offsetof(target, watch),                                                         \
        .help = N_("repeat this every S seconds (default: 2) until stopped. On a terminal the "    \
                   "screen is redrawn; otherwise only changes are printed, with --json one line "  \
                   "each time")                                                                    \
    }
