/* The -v/-q log. */
#include "config.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum ath_log_level current_level = ATH_LOG_NORMAL;

void ath_log_set_level(enum ath_log_level level)
{
    current_level = level;
}

void ath_log(enum ath_log_level level, const char *format, ...)
{
    if (level > current_level)
        return;
    va_list args;
    va_start(args, format);
    fputs("aitherion: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}
