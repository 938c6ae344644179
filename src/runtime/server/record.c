/* Writing log lines. */
#include "config.h"

#include "runtime/server/record.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

static _Atomic uint64_t own_missing, *missing = &own_missing;

void ath_record_count_in(_Atomic uint64_t *lines)
{
    missing = lines;
}

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

static void begin(struct ath_text *line, enum ath_record_level level, const char *event)
{
    static const char *const words[] = { "info", "warning", "error" };
    add_time(line);
    ath_text_add(line, " level=%s event=%s", words[level], event);
}

/*
 * False where it would have to wait for a reader. A pipe that poll(2) finds writable has a page
 * free (pipe(7)), into which many short lines go: no line waits, though other processes may write
 * in between. One longer than PIPE_BUF could, so it is cut.
 */
static bool put(struct ath_text *line)
{
    struct pollfd log = { .fd = STDERR_FILENO, .events = POLLOUT };
    if (poll(&log, 1, 0) <= 0)
        return false;
    if (line->length >= PIPE_BUF)
        line->length = PIPE_BUF - 1;
    ath_text_add(line, "\n");
    (void)!write(STDERR_FILENO, line->data, line->length); /* a log that is gone stops nobody */
    return true;
}

/* Before the next line that can be written. */
static bool put_missing(uint64_t lines)
{
    ATH_AUTO(ath_text) line = { 0 };
    char count[24];
    snprintf(count, sizeof count, "%" PRIu64, lines);
    begin(&line, ATH_RECORD_WARNING, "lines-missing");
    add_pair(&line, "count", count);
    return put(&line);
}

void ath_record(enum ath_record_level level, const char *event, ...)
{
    ATH_AUTO(ath_text) line = { 0 };
    va_list pairs;

    begin(&line, level, event);
    va_start(pairs, event);
    for (const char *name; (name = va_arg(pairs, const char *));) {
        const char *value = va_arg(pairs, const char *);
        if (value)
            add_pair(&line, name, value);
    }
    va_end(pairs);
    uint64_t lines = atomic_exchange(missing, 0);
    if (lines && put_missing(lines))
        lines = 0;
    if (lines || !put(&line))
        atomic_fetch_add(missing, lines + 1);
}
