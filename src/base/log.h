/*
 * Messages for the user, on standard error: of the command line tool, and of aitherion's libraries
 * in programs. Results are printed elsewhere, and so are errors that end the work.
 *
 * The level is this process's only one. A library takes it from AITHERION_LOG_LEVEL when it first
 * has a message; the tool sets it at its start.
 */
#pragma once
#include <stdbool.h>

#include "base/level.h"

/* The levels by what they mean to a user of the tool: -q, no option, -v, -vv. */
enum ath_log_level {
    ATH_LOG_QUIET = ATH_LEVEL_ERROR,    /* results and errors */
    ATH_LOG_NORMAL = ATH_LEVEL_WARNING, /* also warnings, and what was changed */
    ATH_LOG_VERBOSE = ATH_LEVEL_INFO,   /* also what is done */
    ATH_LOG_DEBUG = ATH_LEVEL_DEBUG,    /* also its details */
};

void ath_log_set_level(enum ath_log_level level);

/*
 * Reads the level that the environment asks for: AITHERION_LOG_LEVEL, else AITHERION_LOG, its older
 * name; ATH_LOG_NORMAL if none is set. Returns 0, or -EINVAL "usage" with err.
 */
int ath_log_level_of_environment(enum ath_log_level *out, struct ath_err *err);

/* Returns whether messages of this level are printed. Any thread. */
bool ath_log_has(enum ath_log_level level);

/* Prints "aitherion: MESSAGE" if messages of this level are printed. Any thread. */
void ath_log(enum ath_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
