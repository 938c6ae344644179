/* aitherion logs: shows what the runtimes wrote, whatever their engine. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/level.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/nodes.h"
#include "cli/output/logs.h"
#include "cli/watch.h"

enum { LINES_MAX = 1000000000, FOLLOWED_LINES = 10 };

struct options {
    bool is_followed;
    const char *since, *lines;
    const char *level; /* one of ath_level_names; NULL: all lines */
};

struct work {
    struct ath_nodes nodes;
    struct ath_engines engines;
    struct ath_node_logs logs; /* those that are wanted */
    struct ath_log_wanted wanted;
    enum ath_level level; /* the least important one that is shown */
    int last;             /* only so many lines of that level; ATH_UNKNOWN: all */
};

static void work_free(struct work *work)
{
    ath_node_logs_free(&work->logs);
    ath_engines_free(&work->engines);
    ath_nodes_free(&work->nodes);
}

/* ---- options ---- */

/* Reads "90s", "15m", "2h" or "3d" before now. Returns 0 or -EINVAL. */
static int read_age(const char *text, int64_t *out)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    size_t length = strlen(text);
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)(length ? length - 1 : 0), text);
    int count;

    for (size_t i = 0; length && i < ATH_COUNT(units); i++)
        if (text[length - 1] == units[i].letter && !ath_parse_int(digits, 0, LINES_MAX, &count)) {
            *out = (int64_t)time(NULL) - count * units[i].seconds;
            return 0;
        }
    return -EINVAL;
}

/* Reads "2026-11-21", "2026-11-21T03:44:27" in local time, or with a "Z" in UTC. Returns 0 or
 * -EINVAL. */
static int read_time(const char *text, int64_t *out)
{
    static const char *const formats[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
                                           "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S" };

    for (size_t i = 0; i < ATH_COUNT(formats); i++) {
        struct tm parts = { .tm_isdst = -1 };
        const char *rest = strptime(text, formats[i], &parts);
        if (!rest || (*rest && strcmp(rest, "Z") != 0))
            continue;
        *out = *rest ? (int64_t)timegm(&parts) : (int64_t)mktime(&parts);
        return 0;
    }
    return -EINVAL;
}

static int refuse(const char *option, const char *value, const char *hint, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), value, option);
    return ath_err_hint(err, -EINVAL, "%s", hint);
}

/* The engine counts lines of all levels. So lines of a level are counted here, except in a log that
 * is followed, which has no end. */
static void take_level(const char *level, struct work *work)
{
    work->level = ATH_LEVEL_DEBUG;
    work->last = ATH_UNKNOWN;
    if (!level)
        return;
    (void)ath_level_read("--level", level, &work->level, NULL); /* it is one */
    if (work->wanted.is_followed)
        return;
    work->last = work->wanted.lines;
    work->wanted.lines = ATH_UNKNOWN;
}

static int read_options(const struct ath_cli *cli, const struct options *options,
                        struct ath_log_wanted *out, struct ath_err *err)
{
    *out = (struct ath_log_wanted){ .lines = options->is_followed ? FOLLOWED_LINES : ATH_UNKNOWN,
                                    .is_followed = options->is_followed };
    if (options->is_followed && ath_cli_format(cli) != ATH_FORMAT_TEXT) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--follow' prints text only"));
        return ath_err_hint(err, -EINVAL, "aitherion logs --json");
    }
    if (options->lines && strcmp(options->lines, "all") != 0 &&
        ath_parse_int(options->lines, 0, LINES_MAX, &out->lines))
        return refuse("lines", options->lines, _("a whole number, or all"), err);
    if (options->lines && !strcmp(options->lines, "all"))
        out->lines = ATH_UNKNOWN;
    if (options->since && read_age(options->since, &out->since_s) &&
        read_time(options->since, &out->since_s))
        return refuse("since", options->since,
                      _("an age like 90s, 15m, 2h or 3d, or a time like 2026-11-21T03:44:27Z"),
                      err);
    return 0;
}

/* ---- finding ---- */

static int by_id(const void *a, const void *b)
{
    const struct ath_node_log *one = a, *other = b;
    return (one->id > other->id) - (one->id < other->id);
}

static bool has_log(const struct work *work, int id)
{
    for (size_t i = 0; i < work->logs.count; i++)
        if (work->logs.items[i].id == id)
            return true;
    return false;
}

static int report_none(const struct work *work, int id, struct ath_err *err)
{
    int status = ath_nodes_check_docker(&work->nodes, &work->engines, err);
    if (status)
        return status;
    if (id == ATH_UNKNOWN)
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                    _("there are no logs: no runtime was started here"));
    else
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                    _("there is no log of NUMA%d: no runtime of this entry was started here"), id);
    return ath_err_hint(err, -ENOENT, "aitherion status");
}

static int find_logs(struct work *work, struct ath_err *err)
{
    const struct ath_nodes *nodes = &work->nodes;
    ATH_AUTO(ath_node_logs) all = { 0 };

    for (size_t i = 0; i < work->engines.count; i++) {
        int status = ath_engine_logs(work->engines.items[i], &all, err);
        if (status)
            return status;
    }
    for (size_t i = 0; i < all.count; i++) {
        if (!ath_engine_wants(nodes->ids, nodes->id_count, all.items[i].id))
            continue;
        *(struct ath_node_log *)ath_push(&work->logs.items, &work->logs.count, sizeof *all.items) =
            all.items[i];
        all.items[i].name = all.items[i].place = NULL;
    }
    for (size_t i = 0; i < nodes->id_count; i++)
        if (!has_log(work, nodes->ids[i]))
            return report_none(work, nodes->ids[i], err);
    if (!work->logs.count)
        return report_none(work, ATH_UNKNOWN, err);
    qsort(work->logs.items, work->logs.count, sizeof *work->logs.items, by_id);
    return 0;
}

/* ---- all at once ---- */

/* One log that is being read. */
struct reading {
    struct work *work;
    const struct ath_node_log *log;
    struct ath_node_log next; /* of a runtime that was restarted; owned */
    struct ath_log_wanted wanted;
    struct ath_log_seen seen;
    struct ath_engine *engine;
    struct ath_log_lines lines;
    struct ath_texts *out; /* NULL: lines are printed as they come */
    pthread_mutex_t *stdout_lock;
    pthread_t thread;
    int status;
    struct ath_err err;
};

static void take_line(void *context, const char *line)
{
    struct reading *reading = context;
    const struct work *work = reading->work;

    if (ath_log_seen_knows(&reading->seen, line))
        return;
    ath_log_seen_note(&reading->seen, line);
    if (ath_logs_level_of(line) > work->level)
        return;
    if (reading->out) {
        ath_texts_add(reading->out, line);
        return;
    }
    pthread_mutex_lock(reading->stdout_lock);
    ath_logs_print_line(&work->nodes.cli->style, stdout, reading->log, work->logs.count > 1, line);
    fflush(stdout);
    pthread_mutex_unlock(reading->stdout_lock);
}

static void take_piece(void *context, const char *bytes, size_t length)
{
    struct reading *reading = context;
    ath_log_lines_add(&reading->lines, bytes, length, take_line, reading);
}

static int read_log(struct reading *reading, struct ath_err *err)
{
    int status = ath_engine_read_log(reading->engine, reading->log, &reading->wanted, take_piece,
                                     reading, err);
    ath_log_lines_add(&reading->lines, NULL, 0, take_line, reading);
    ath_log_lines_free(&reading->lines);
    return status;
}

static void keep_last(struct ath_texts *lines, int count)
{
    size_t kept =
        count == ATH_UNKNOWN || (size_t)count > lines->count ? lines->count : (size_t)count;
    size_t gone = lines->count - kept;
    for (size_t i = 0; i < gone; i++)
        free(lines->items[i]);
    for (size_t i = 0; i < kept; i++)
        lines->items[i] = lines->items[gone + i];
    lines->count = kept;
}

static int show(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_logs_report) report = { 0 };

    for (size_t i = 0; i < work->logs.count; i++) {
        struct ath_logs_item *item = ath_push(&report.items, &report.count, sizeof *item);
        item->log = &work->logs.items[i];
        struct reading reading = { .work = work,
                                   .log = item->log,
                                   .wanted = work->wanted,
                                   .engine = ath_engines_find(&work->engines, item->log->engine),
                                   .out = &item->lines };
        int status = read_log(&reading, err);
        if (status)
            return status;
        keep_last(&item->lines, work->last);
    }
    return ath_cli_show(work->nodes.cli, &ath_logs_view, &report, ath_cli_format(work->nodes.cli),
                        err);
}

/* ---- as they are written ---- */

/* Docker ends a log with its container's process. A restart goes on in the same container, or in
 * another one, all of whose log is new. */
static bool has_next(struct reading *reading)
{
    struct ath_node_log next;
    int64_t ended_s = (int64_t)time(NULL);
    if (ath_engine_next_log(reading->engine, reading->log, &next))
        return false;
    bool is_same = !strcmp(next.place, reading->log->place);
    if (is_same)
        ath_log_seen_resume(&reading->seen);
    else
        reading->seen = (struct ath_log_seen){ 0 };
    reading->wanted.lines = ATH_UNKNOWN;
    reading->wanted.since_s = is_same ? ended_s : 0;
    if (reading->seen.is_resumed) {
        ath_auto_free char *second = ath_xasprintf("%.19sZ", reading->seen.time + strlen("time="));
        (void)read_time(second, &reading->wanted.since_s);
    }
    free(reading->next.name);
    free(reading->next.place);
    reading->next = next;
    reading->log = &reading->next;
    return true;
}

static void *follow_one(void *argument)
{
    struct reading *reading = argument;
    while (!(reading->status = read_log(reading, &reading->err)) && has_next(reading))
        ;
    return NULL;
}

/* Only one thread may use an engine, so each log gets an engine and a thread of its own. */
static int follow(struct work *work, struct ath_err *err)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct ath_engine_options options = ath_nodes_engine_options(&work->nodes);
    ath_auto_free struct reading *readings = ath_xalloc(work->logs.count * sizeof *readings);
    size_t count = 0;
    int status = 0;

    for (; count < work->logs.count && !status; count++) {
        struct reading *reading = &readings[count];
        const struct ath_node_log *log = &work->logs.items[count];
        enum ath_engine_kind kind =
            ath_engine_is_process(ath_engines_find(&work->engines, log->engine))
                ? ATH_ENGINE_PROCESS
                : ATH_ENGINE_DOCKER;
        *reading = (struct reading){
            .work = work, .log = log, .wanted = work->wanted, .stdout_lock = &lock
        };
        status = ath_engine_open(kind, &options, &reading->engine, err);
    }
    for (size_t i = 0; i < count && !status; i++)
        if (pthread_create(&readings[i].thread, NULL, follow_one, &readings[i])) {
            readings[i].thread = 0;
            follow_one(&readings[i]);
        }
    for (size_t i = 0; i < count; i++) {
        if (readings[i].thread)
            pthread_join(readings[i].thread, NULL);
        ath_engine_close(readings[i].engine);
        free(readings[i].next.name);
        free(readings[i].next.place);
        if (!status && readings[i].status && readings[i].status != -EINTR) {
            status = readings[i].status;
            ath_err_copy(err, &readings[i].err);
        }
    }
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *given = data;
    ATH_AUTO(work) work = { 0 };

    int status = read_options(cli, given, &work.wanted, err);
    take_level(given->level, &work);
    if (!status)
        status = ath_nodes_open(cli, false, &work.nodes, err);
    if (status)
        return status;
    ath_stop_catch();
    if (access(work.nodes.run_folder, F_OK)) /* logs of a start that failed are this user's own */
        ath_nodes_only_look(&work.nodes);
    struct ath_engine_options options = ath_nodes_engine_options(&work.nodes);
    ath_engines_open(ATH_ENGINE_AUTO, &options, &work.engines);
    status = find_logs(&work, err);
    if (status)
        return status;
    return given->is_followed ? follow(&work, err) : show(&work, err);
}

static const struct ath_option option_table[] = {
    { .name = "follow",
      .letter = 'f',
      .offset = offsetof(struct options, is_followed),
      .help = N_("print new lines as they are written, also after a restart, until the runtimes "
                 "are stopped or Ctrl-C") },
    { .name = "since",
      .type = ATH_OPTION_TEXT,
      .metavar = "TIME",
      .offset = offsetof(struct options, since),
      .help = N_("only lines since then: an age like 90s, 15m, 2h or 3d, or a time like "
                 "2026-11-21T03:44:27Z (without Z: local time)") },
    { .name = "level",
      .type = ATH_OPTION_TEXT,
      .choices = ath_level_names,
      .offset = offsetof(struct options, level),
      .help = N_("only lines of this level and of those before it; lines of programs and drivers, "
                 "which have no level, are shown too") },
    { .name = "lines",
      .letter = 'n',
      .type = ATH_OPTION_TEXT,
      .metavar = "LINES",
      .offset = offsetof(struct options, lines),
      .help = N_("only the last LINES of each log, or all (default: all; with --follow: 10, "
                 "counted before --level)") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion logs 0", N_("the log of NUMA0") },
    { "aitherion logs -f", N_("follow the logs of all runtimes") },
    { "aitherion logs --level warning", N_("what was refused or broke, of all runtimes") },
    { "aitherion logs 1 --since 15m -n 50", N_("at most 50 lines of the last 15 minutes") },
    { .command = NULL },
};

const struct ath_command ath_command_logs = {
    .name = "logs",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show the logs of the runtimes"),
    .description =
        N_("Shows what the runtimes of all entries wrote, or of those named: who connected, which "
           "sessions ended and why, errors. With several entries each line begins with the entry's "
           "name. A log stays when its runtime ends, until `aitherion clean` or a new container. "
           "Docker keeps the log of a container; the process engine keeps its logs in the run "
           "folder, at most a few MiB each.\n\n"
           "Control characters in the logs are replaced, because programs choose parts of the "
           "text."),
    .arguments = ath_nodes_arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
