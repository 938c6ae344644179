/* Messages for the user, and their level. */
#include "config.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clean.h"
#include "base/cleanup.h"

enum { UNREAD = -1 };

static atomic_int current_level = UNREAD;

void ath_log_set_level(enum ath_log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

int ath_log_level_of_environment(enum ath_log_level *out, struct ath_err *err)
{
    static const char *const variables[] = { ATH_LEVEL_VARIABLE, "AITHERION_LOG" };
    enum ath_level level = (enum ath_level)ATH_LOG_NORMAL;
    int status = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (!text || !*text)
            continue;
        status = ath_level_read(variables[i], text, &level, err);
        break;
    }
    if (!status)
        *out = (enum ath_log_level)level;
    return status;
}

bool ath_log_has(enum ath_log_level level)
{
    int current = atomic_load_explicit(&current_level, memory_order_relaxed);
    if (current == UNREAD) {
        enum ath_log_level told = ATH_LOG_NORMAL;
        (void)ath_log_level_of_environment(&told, NULL); /* opening a session reports the error */
        ath_log_set_level(told);
        current = (int)told;
    }
    return (int)level <= current;
}

void ath_log(enum ath_log_level level, const char *format, ...)
{
    if (!ath_log_has(level))
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
