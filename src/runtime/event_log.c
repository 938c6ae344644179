/* Writing log lines. */
#include "config.h"

#include "runtime/event_log.h"

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

#include "base/clean.h"
#include "base/cleanup.h"
#include "base/text.h"

static _Atomic uint64_t own_missing, *missing = &own_missing;

static int log_fd = STDERR_FILENO;
static enum ath_level lowest = ATH_LEVEL_INFO;

void ath_event_log_set_level(enum ath_level level)
{
    lowest = level;
}

bool ath_event_log_has(enum ath_event_level level)
{
    return (enum ath_level)level <= lowest;
}

void ath_event_log_to(int fd)
{
    log_fd = fd;
}

void ath_event_log_count_in(_Atomic uint64_t *lines)
{
    missing = lines;
}

/* Returns the bytes of the character if it cannot control a terminal or hide text, else 0. */
static size_t harmless_length(const char *text)
{
    uint32_t point;
    size_t length = ath_utf8_decode(text, strnlen(text, 4), &point);
    return ath_is_harmless(point) ? length : 0;
}

static bool needs_no_quotes(const char *value)
{
    size_t length;
    for (const char *at = value; *at; at += length) {
        length = harmless_length(at);
        if (!length || strchr(" \"=\\", *at))
            return false;
    }
    return *value;
}

static void add_quoted(struct ath_text *line, const char *value)
{
    ath_text_add(line, "\"");
    for (size_t length; *value; value += length ? length : 1) {
        length = harmless_length(value);
        if (*value == '"' || *value == '\\')
            ath_text_add(line, "\\%c", *value);
        else if (length)
            ath_text_add_bytes(line, value, length);
        else
            ath_text_add(line, "\\x%02x", (unsigned char)*value);
    }
    ath_text_add(line, "\"");
}

static void add_pair(struct ath_text *line, const char *name, const char *value)
{
    ath_text_add(line, " %s=", name);
    if (needs_no_quotes(value))
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

static void begin_line(struct ath_text *line, enum ath_event_level level, const char *event)
{
    add_time(line);
    ath_text_add(line, " level=%s event=%s", ath_level_names[level], event);
}

/*
 * Writes a line. Returns false if the write would have to wait for a reader. A pipe that poll(2)
 * reports as writable has a free page (pipe(7)), which has room for many short lines, so no line
 * waits although other processes may write in between. A line longer than PIPE_BUF could wait, so
 * it is cut.
 */
static bool put_line(struct ath_text *line)
{
    struct pollfd log = { .fd = log_fd, .events = POLLOUT };
    if (poll(&log, 1, 0) <= 0)
        return false;
    if (line->length >= PIPE_BUF)
        line->length = PIPE_BUF - 1;
    ath_text_add(line, "\n");
    (void)!write(log_fd, line->data, line->length); /* a closed log must not stop the server */
    return true;
}

/* Writes how many lines were dropped, in front of the next line that can be written. */
static bool put_missing(uint64_t lines)
{
    ATH_AUTO(ath_text) line = { 0 };
    char count[24];
    snprintf(count, sizeof count, "%" PRIu64, lines);
    begin_line(&line, ATH_EVENT_WARNING, "lines-missing");
    add_pair(&line, "count", count);
    return put_line(&line);
}

void ath_event_log(enum ath_event_level level, const char *event, ...)
{
    ATH_AUTO(ath_text) line = { 0 };
    va_list pairs;

    if (!ath_event_log_has(level))
        return;
    begin_line(&line, level, event);
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
    if (lines || !put_line(&line))
        atomic_fetch_add(missing, lines + 1);
}
