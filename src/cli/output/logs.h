/* Shows the logs of runtimes. */
#pragma once
#include "base/level.h"
#include "cli/output/output.h"
#include "config/schema.h"
#include "container/engine/engine.h"

struct ath_logs_item {
    const struct ath_node_log *log; /* not owned */
    struct ath_texts lines;         /* without their newlines, tabs and carriage returns */
};

struct ath_logs_report {
    struct ath_logs_item *items;
    size_t count;
};
void ath_logs_report_free(struct ath_logs_report *report);

extern const struct ath_view ath_logs_view; /* of a struct ath_logs_report */

/* Prints one line; with the name of its entry if is_one_of_several is true. */
void ath_logs_print_line(const struct ath_style *style, FILE *out, const struct ath_node_log *log,
                         bool is_one_of_several, const char *line);

/* Returns the level of a line. A line without one, as of a driver or a crash, counts as an error,
 * except the runtime's own "listening on". */
enum ath_level ath_logs_level_of(const char *line);

/* Splits the pieces of a log into lines. A zeroed struct is empty. */
struct ath_log_lines {
    struct ath_text rest; /* a line that has no end yet */
};
void ath_log_lines_free(struct ath_log_lines *lines);

/* Calls take for each line that the piece completes; length 0: for a last line without an end. */
void ath_log_lines_add(struct ath_log_lines *lines, const char *bytes, size_t length,
                       void (*take)(void *context, const char *line), void *context);

/*
 * The place up to which a followed log was shown: a log that is read again goes on with the first
 * line that was not. Times are texts that can be compared; lines without a time belong to the line
 * before. A zeroed struct has seen nothing.
 */
struct ath_log_seen {
    char time[sizeof "time=2026-11-21T03:44:27.120Z"]; /* of the last line that has one */
    size_t lines;                                      /* from the first line of that time on */
    size_t left;                                       /* of these lines, while they come again */
    bool is_resumed;
};

void ath_log_seen_note(struct ath_log_seen *seen, const char *line);

/* Called when the log is read again, from a line not behind the last one that has a time. */
void ath_log_seen_resume(struct ath_log_seen *seen);

/* Returns whether a line of the log that is read again was shown before. */
bool ath_log_seen_knows(struct ath_log_seen *seen, const char *line);
