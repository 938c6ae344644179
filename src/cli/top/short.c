/* Short numbers. */
#include "config.h"

#include "cli/top/short.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static char *unknown(void)
{
    return ath_xstrdup("?");
}

/* Shows at most three digits before the unit, and one after the point below ten. */
static char *scaled(int64_t value, int64_t step, const char *units)
{
    double shown = (double)value;
    size_t unit = 0;

    for (; shown >= (double)step - 0.5 && units[unit + 1]; unit++)
        shown /= (double)step;
    if (!unit)
        return ath_xasprintf("%" PRId64, value);
    return ath_xasprintf(shown < 99.95 ? "%.1f%c" : "%.0f%c", shown, units[unit]);
}

char *ath_short_size(int64_t bytes)
{
    return bytes < 0 ? unknown() : scaled(bytes, 1024, " KMGTPE");
}

char *ath_short_rate(int64_t per_s)
{
    return per_s < 0 ? unknown() : scaled(per_s, 1000, " kMGTPE");
}

char *ath_short_percent(int64_t percent)
{
    return percent < 0 ? unknown() : ath_xasprintf("%" PRId64 "%%", percent);
}

char *ath_short_time(int64_t us)
{
    int64_t seconds = us / 1000000, minutes = seconds / 60, hours = minutes / 60;

    if (us < 0)
        return unknown();
    if (seconds < 60)
        return ath_xasprintf("%" PRId64 ".%ds", seconds, (int)(us / 100000 % 10));
    if (hours < 1)
        return ath_xasprintf("%" PRId64 ":%02d", minutes, (int)(seconds % 60));
    if (hours < 100)
        return ath_xasprintf("%" PRId64 ":%02d:%02d", hours, (int)(minutes % 60),
                             (int)(seconds % 60));
    return ath_xasprintf("%" PRId64 "d %dh", hours / 24, (int)(hours % 24));
}

char *ath_short_age(int64_t ms)
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' } };
    int64_t seconds = ms / 1000;

    if (ms < 0)
        return unknown();
    for (size_t i = 0; i < ATH_COUNT(units); i++)
        if (seconds >= units[i].seconds)
            return ath_xasprintf("%" PRId64 "%c", seconds / units[i].seconds, units[i].unit);
    return ath_xasprintf("%" PRId64 "s", seconds);
}

char *ath_short_wait(int64_t us)
{
    if (us < 0)
        return unknown();
    if (us < 1000)
        return ath_xasprintf("%" PRId64 "us", us);
    if (us < 1000000)
        return ath_xasprintf("%.1fms", (double)us / 1000);
    return ath_xasprintf("%.1fs", (double)us / 1000000);
}

char *ath_short_power(int64_t mw)
{
    return mw < 0 ? unknown() : ath_xasprintf("%" PRId64 "W", (mw + 500) / 1000);
}

char *ath_short_middle(const char *text, int columns, bool is_utf8)
{
    size_t room = columns > 1 ? (size_t)columns - 1 : 0, tail_columns = room / 2;
    const char *tail = text + strlen(text);

    if (ath_text_width(text) <= (size_t)columns)
        return ath_xstrdup(text);
    for (const char *at = tail; at > text && ath_text_width(at) <= tail_columns; at--)
        tail = ath_utf8_is_inside(*at) ? tail : at;
    return ath_xasprintf("%.*s%s%s", (int)ath_text_cut(text, room - tail_columns), text,
                         is_utf8 ? "…" : "~", tail);
}
