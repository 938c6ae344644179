/* Progress messages, at the level that -v and -q set. */
#include "config.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clean.h"
#include "base/cleanup.h"

static enum ath_log_level current_level = ATH_LOG_NORMAL;

void ath_log_set_level(enum ath_log_level level)
{
    current_level = level;
}

void ath_log(enum ath_log_level level, const char *format, ...)
{
    if (level > current_level)
        return;
    ath_auto_free char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        abort();
    ath_auto_free char *clean = ath_clean(text, ath_locale_is_utf8());
    fprintf(stderr, "aitherion: %s\n", clean);
}
