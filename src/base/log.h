/*
 * Progress messages for the user, on standard error. Results and errors are printed elsewhere. The
 * level is the only mutable global of the command line tool; it is set once at the start.
 */
#pragma once

enum ath_log_level { ATH_LOG_QUIET, ATH_LOG_NORMAL, ATH_LOG_VERBOSE, ATH_LOG_DEBUG };

void ath_log_set_level(enum ath_log_level level);

/* Prints "aitherion: MESSAGE" if the level set by -q or -v is at least `level`. */
void ath_log(enum ath_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
