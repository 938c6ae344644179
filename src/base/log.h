/*
 * What a person may want to follow while a command works; results and errors do not come this way.
 * Lines go to standard error. The level is the process's only mutable setting.
 */
#pragma once

enum ath_log_level { ATH_LOG_QUIET, ATH_LOG_NORMAL, ATH_LOG_VERBOSE, ATH_LOG_DEBUG };

void ath_log_set_level(enum ath_log_level level);

/* Prints "aitherion: MESSAGE" where the level asked for with -q/-v reaches `level`. */
void ath_log(enum ath_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
