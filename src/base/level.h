/* The levels of a log: of the server, of the libraries in programs, and of the command line tool.
 * This is the only table of their names. */
#pragma once
#include "base/err.h"

/* A log of a level has the lines of that level and of those before it. */
enum ath_level {
    ATH_LEVEL_ERROR,
    ATH_LEVEL_WARNING,
    ATH_LEVEL_INFO,
    ATH_LEVEL_DEBUG,
    ATH_LEVEL_COUNT
};

/* Their names by enum ath_level, terminated by NULL. */
extern const char *const ath_level_names[ATH_LEVEL_COUNT + 1];

/*
 * Finds the level of a name. what: the option or variable that has the text, for the error. Returns
 * 0, or -EINVAL "usage" with err, which names the levels.
 */
int ath_level_read(const char *what, const char *text, enum ath_level *out, struct ath_err *err);

/* The variable of the environment that has the level. */
#define ATH_LEVEL_VARIABLE "AITHERION_LOG_LEVEL"
