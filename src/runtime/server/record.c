/* Writing log lines. */
#include "config.h"

#include "runtime/server/record.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

static bool is_plain(const char *value)
{
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f || strchr("\"=\\", *at))
            return false;
    return *value;
}

static void add_quoted(struct ath_text *line, const char *value)
{
    ath_text_add(line, "\"");
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            ath_text_add(line, "\\%c", *value);
        else if ((unsigned char)*value < ' ' || *value == 0x7f)
            ath_text_add(line, "\\x%02x", (unsigned char)*value);
        else
            ath_text_add_bytes(line, value, 1);
    }
    ath_text_add(line, "\"");
}

static void add_pair(struct ath_text *line, const char *name, const char *value)
{
    ath_text_add(line, " %s=", name);
    if (is_plain(value))
        ath_text_add(line, "%s", value);
    else
        add_quoted(line, value);
}

static void add_time(struct ath_text *line)
{
    struct timespec now;
    struct tm parts;
    char text[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    ath_text_add(line, "time=%s.%03dZ", text, (int)(now.tv_nsec / 1000000));
}

void ath_record(enum ath_record_level level, const char *event, ...)
{
    static const char *const words[] = { "info", "warning", "error" };
    ATH_AUTO(ath_text) line = { 0 };
    va_list pairs;

    add_time(&line);
    ath_text_add(&line, " level=%s event=%s", words[level], event);
    va_start(pairs, event);
    for (const char *name; (name = va_arg(pairs, const char *));) {
        const char *value = va_arg(pairs, const char *);
        if (value)
            add_pair(&line, name, value);
    }
    va_end(pairs);
    ath_text_add(&line, "\n");
    (void)!write(STDERR_FILENO, line.data, line.length); /* a log that is gone stops nobody */
}
