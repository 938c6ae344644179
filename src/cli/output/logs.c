/* Logs as lines, and as one JSON object. */
#include "config.h"

#include "cli/output/logs.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/fields.h"
#include "cli/output/words.h"

/* A longer line is cut into several, so that output without newlines does not fill memory. */
enum { LINE_MAX_BYTES = 64 << 10 };

void ath_logs_report_free(struct ath_logs_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->count; i++)
        ath_texts_free(&report->items[i].lines);
    free(report->items);
    *report = (struct ath_logs_report){ 0 };
}

/* ---- lines ---- */

void ath_log_lines_free(struct ath_log_lines *lines)
{
    if (lines)
        ath_text_free(&lines->rest);
}

static void take_line(struct ath_log_lines *lines, void (*take)(void *context, const char *line),
                      void *context)
{
    ath_auto_free char *line = ath_text_take(&lines->rest);
    size_t length = strlen(line);

    if (length && line[length - 1] == '\r')
        line[length - 1] = '\0';
    for (char *tab = line; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    take(context, line);
}

void ath_log_lines_add(struct ath_log_lines *lines, const char *bytes, size_t length,
                       void (*take)(void *context, const char *line), void *context)
{
    if (!length && lines->rest.length)
        take_line(lines, take, context);
    for (; length; bytes++, length--) {
        if (*bytes == '\n' || lines->rest.length >= LINE_MAX_BYTES)
            take_line(lines, take, context);
        if (*bytes != '\n')
            ath_text_add_bytes(&lines->rest, *bytes ? bytes : "\x01", 1);
    }
}

void ath_log_seen_note(struct ath_log_seen *seen, const char *line)
{
    char time[sizeof seen->time];
    snprintf(time, sizeof time, "%s", line);
    if (ath_starts_with(line, "time=") && strcmp(time, seen->time) != 0) {
        memcpy(seen->time, time, sizeof time);
        seen->lines = 0;
    }
    seen->lines++;
}

void ath_log_seen_resume(struct ath_log_seen *seen)
{
    seen->is_resumed = *seen->time;
    seen->left = seen->lines;
}

bool ath_log_seen_knows(struct ath_log_seen *seen, const char *line)
{
    bool has_time = ath_starts_with(line, "time=");
    int order = has_time ? strncmp(line, seen->time, strlen(seen->time)) : 0;
    bool is_reached = seen->left < seen->lines || (has_time && !order);

    if (seen->is_resumed && (order > 0 || (is_reached && !seen->left)))
        seen->is_resumed = false;
    if (seen->is_resumed && is_reached && order == 0)
        seen->left--;
    return seen->is_resumed;
}

enum ath_level ath_logs_level_of(const char *line)
{
    static const char before[] = " level=";
    enum ath_level level = ATH_LEVEL_ERROR;
    const char *at = ath_starts_with(line, "time=") ? strchr(line, ' ') : NULL;

    if (ath_starts_with(line, "listening on "))
        return ATH_LEVEL_INFO;
    if (!at || strncmp(at, before, strlen(before)) != 0)
        return level;
    at += strlen(before);
    ath_auto_free char *word = ath_xasprintf("%.*s", (int)strcspn(at, " "), at);
    (void)ath_level_read("level", word, &level, NULL);
    return level;
}

/* ---- output ---- */

#define AT(member) ATH_AT(struct ath_node_log, member), .find = find_log
static const void *find_log(const void *object)
{
    return ((const struct ath_logs_item *)object)->log;
}

static const struct ath_field item_fields[] = {
    ATH_FIELD("id", AT(id), .help = "id of the NUMA entry", .rules = ATH_AT_LEAST_0),
    ATH_FIELD("engine", AT(engine), .words = ath_words_engines),
    ATH_FIELD("name", AT(name), .help = "name of the container or process"),
    ATH_FIELD("place", AT(place), .help = "id of the container, or path of the log file"),
    ATH_FIELD("lines", ATH_AT(struct ath_logs_item, lines), .help = "oldest first"),
    { .name = NULL },
};
#undef AT

static const struct ath_field fields[] = {
    ATH_FIELD("logs", ATH_AT_LIST(struct ath_logs_report, items, count), .fields = item_fields),
    { .name = NULL },
};

void ath_logs_print_line(const struct ath_style *style, FILE *out, const struct ath_node_log *log,
                         bool is_one_of_several, const char *line)
{
    ath_auto_free char *clean = ath_clean(line, style->is_utf8);
    if (is_one_of_several)
        fprintf(out, "%sNUMA%d |%s ", ath_style_on(style, ATH_ROLE_DIM), log->id,
                ath_style_off(style, ATH_ROLE_DIM));
    fprintf(out, "%s\n", clean);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_logs_report *report = data;
    for (size_t i = 0; i < report->count; i++)
        for (size_t j = 0; j < report->items[i].lines.count; j++)
            ath_logs_print_line(style, out, report->items[i].log, report->count > 1,
                                report->items[i].lines.items[j]);
}

const struct ath_view ath_logs_view = {
    .schema = "aitherion.logs/1",
    .title = "Output of `aitherion logs --json`",
    .fields = fields,
    .to_text = to_text,
};
