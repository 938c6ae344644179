/* What runs, as a table and as data. */
#include "config.h"

#include "cli/output/status.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"

void ath_status_report_free(struct ath_status_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->count; i++) {
        free(report->items[i].drift);
        ath_texts_free(&report->items[i].gpus);
    }
    free(report->items);
    *report = (struct ath_status_report){ 0 };
}

/* ---- data ---- */

static json_t *flag_to_json(int flag)
{
    return flag == ATH_UNKNOWN ? json_null() : json_boolean(flag);
}

static json_t *macvlans_to_json(const struct ath_node_status *status)
{
    json_t *list = json_array();
    for (size_t i = 0; i < status->macvlan_count; i++) {
        const struct ath_node_macvlan *macvlan = &status->macvlans[i];
        bool is_there = macvlan->is_there == 1;
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", ath_json_text(macvlan->name),
                            "is_there", flag_to_json(macvlan->is_there), "is_up",
                            is_there ? json_boolean(macvlan->is_up) : json_null(), "address",
                            ath_json_text(macvlan->address), "mtu", ath_json_number(macvlan->mtu)));
    }
    return list;
}

/* No limit is no number of bytes: null, and is_memlock_limited says which null it is. */
static void add_memlock(json_t *node, const struct ath_node_status *status)
{
    int64_t bytes = status->memlock_bytes;
    json_object_set_new(node, "memlock_bytes",
                        bytes == INT64_MAX ? json_null() : ath_json_number(bytes));
    json_object_set_new(node, "is_memlock_limited",
                        bytes == ATH_UNKNOWN ? json_null() : json_boolean(bytes != INT64_MAX));
}

static void add_process(json_t *node, const struct ath_node_status *status)
{
    const struct {
        const char *key;
        const char *text;
    } texts[] = {
        { "name", status->name },
        { "container_id", status->container_id },
        { "pause_name", status->pause_name },
        { "pause_id", status->pause_id },
        { "image", status->image },
        { "image_id", status->image_id },
        { "started_at", status->started_at },
        { "document", status->document },
        { "socket", status->socket },
        { "network", status->network_mode },
        { "cpus", status->cpus },
        { "memory_nodes", status->memory_nodes },
        { "limits", status->limits },
        { "problem", status->problem },
        { "hint", status->hint },
    };
    const struct {
        const char *key;
        int64_t number;
    } numbers[] = {
        { "pid", status->pid },
        { "pause_pid", status->pause_pid },
        { "supervisor_pid", status->supervisor_pid },
        { "restarts", status->restarts },
        { "exit_code", status->exit_code },
    };
    for (size_t i = 0; i < ATH_COUNT(texts); i++)
        json_object_set_new(node, texts[i].key, ath_json_text(texts[i].text));
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        json_object_set_new(node, numbers[i].key, ath_json_number(numbers[i].number));
    json_object_set_new(node, "is_oom_killed", flag_to_json(status->is_oom_killed));
    json_object_set_new(node, "is_image_old", json_boolean(status->is_image_old));
    json_object_set_new(node, "ports", ath_json_texts(&status->ports));
    json_object_set_new(node, "listening", ath_json_texts(&status->listening));
    json_object_set_new(node, "macvlans", macvlans_to_json(status));
    json_object_set_new(node, "log", ath_json_texts(&status->log));
    add_memlock(node, status);
}

static json_t *item_to_json(const struct ath_status_item *item)
{
    const struct ath_node_status *status = item->status;
    enum ath_node_state state = status ? status->state : ATH_NODE_ABSENT;
    json_t *node = json_pack("{s:i, s:b, s:s, s:o, s:o, s:o}", "id", item->id, "is_recorded",
                             item->is_recorded, "state", ath_node_state_word(state), "engine",
                             ath_json_text(status ? status->engine : NULL), "gpus",
                             ath_json_texts(&item->gpus), "drift", ath_json_text(item->drift));
    json_t *process = status ? json_object() : json_null();
    if (status)
        add_process(process, status);
    json_object_set_new(node, "process", process);
    json_object_set_new(node, "service",
                        item->service ? ath_session_group_to_json(item->service) : json_null());
    return node;
}

static json_t *docker_to_json(const struct ath_err *err)
{
    if (!err)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "code", ath_error_word(err->code), "message",
                     ath_json_text(err->message), "hint",
                     ath_json_text(*err->hint ? err->hint : NULL));
}

static json_t *to_json(const void *data)
{
    const struct ath_status_report *report = data;
    json_t *nodes = json_array();

    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(nodes, item_to_json(&report->items[i]));
    return json_pack("{s:o, s:o, s:o}", "file", ath_json_text(report->document), "docker_error",
                     docker_to_json(report->docker_err), "nodes", nodes);
}

/* ---- words ---- */

char *ath_status_age(const char *started_at)
{
    struct tm parts = { 0 };
    const char *rest = started_at ? strptime(started_at, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (!rest)
        return NULL;
    int64_t seconds = (int64_t)time(NULL) - (int64_t)timegm(&parts);
    int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;

    if (seconds < 0)
        return NULL;
    if (days)
        return ath_xasprintf(_("%d d %d h"), (int)days, (int)(hours % 24));
    if (hours)
        return ath_xasprintf(_("%d h %d min"), (int)hours, (int)(minutes % 60));
    if (minutes)
        return ath_xasprintf(_("%d min"), (int)minutes);
    return ath_xasprintf(_("%d s"), (int)seconds);
}

char *ath_status_reach(const struct ath_node_status *status)
{
    const struct ath_texts *texts = status->ports.count ? &status->ports : &status->listening;
    struct ath_text text = { 0 };

    for (size_t i = 0; i < texts->count; i++)
        ath_text_add_part(&text, ", ", "%s", texts->items[i]);
    for (size_t i = 0; i < status->macvlan_count; i++)
        if (status->macvlans[i].address)
            ath_text_add_part(&text, ", ", "%s (%s)", status->macvlans[i].address,
                              status->macvlans[i].name);
    if (text.length)
        return ath_text_take(&text);
    ath_text_free(&text);
    return NULL;
}

static enum ath_role role_of(enum ath_node_state state)
{
    static const enum ath_role roles[ATH_NODE_STATE_COUNT] = {
        [ATH_NODE_ABSENT] = ATH_ROLE_DIM,      [ATH_NODE_STOPPED] = ATH_ROLE_DIM,
        [ATH_NODE_STARTING] = ATH_ROLE_WARN,   [ATH_NODE_RUNNING] = ATH_ROLE_GOOD,
        [ATH_NODE_UNHEALTHY] = ATH_ROLE_BAD,   [ATH_NODE_RESTARTING] = ATH_ROLE_BAD,
        [ATH_NODE_LOST_NETWORK] = ATH_ROLE_BAD
    };
    return roles[state];
}

/* ---- the table ---- */

enum { ID, STATE, ENGINE, ADDRESS, CPUS, MEMORY, GPUS, SINCE, COLUMN_COUNT };

static const char *const titles[COLUMN_COUNT] = {
    [ID] = N_("Node"),         [STATE] = N_("State"), [ENGINE] = N_("Engine"),
    [ADDRESS] = N_("Address"), [CPUS] = N_("CPUs"),   [MEMORY] = N_("Memory nodes"),
    [GPUS] = N_("GPUs"),       [SINCE] = N_("Since"),
};

struct row {
    char *cells[COLUMN_COUNT];
    enum ath_role role; /* of the state */
};

static void row_free(struct row *row)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        free(row->cells[column]);
}

static char *joined(const struct ath_texts *texts)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < texts->count; i++)
        ath_text_add_part(&text, ", ", "%s", texts->items[i]);
    return ath_text_take(&text);
}

/* What Docker or a process says is somebody else's text. */
static void make_harmless(const struct ath_style *style, struct row *row)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        char *strange = row->cells[column];
        row->cells[column] = ath_clean(strange, style->is_utf8);
        free(strange);
    }
}

static void fill_row(const struct ath_status_item *item, struct row *out)
{
    const struct ath_node_status *status = item->status;
    enum ath_node_state state = status ? status->state : ATH_NODE_ABSENT;

    out->role = role_of(state);
    out->cells[ID] = ath_xasprintf("NUMA%d", item->id);
    out->cells[STATE] = ath_xstrdup(_(ath_node_state_meaning(state)));
    out->cells[GPUS] = joined(&item->gpus);
    if (!status)
        return;
    out->cells[ENGINE] = ath_xstrdup(status->engine);
    out->cells[ADDRESS] = ath_status_reach(status);
    out->cells[CPUS] = ath_xstrdup(status->cpus);
    out->cells[MEMORY] = ath_xstrdup(status->memory_nodes);
    if (state > ATH_NODE_STOPPED)
        out->cells[SINCE] = ath_status_age(status->started_at);
}

static const char *cell(const struct row *row, int column)
{
    const char *text = row->cells[column];
    return text && *text ? text : "-";
}

static enum ath_role role_of_cell(const struct row *row, int column)
{
    if (column == STATE)
        return row->role;
    return column == ID ? ATH_ROLE_NAME : ATH_ROLE_PLAIN;
}

/* The headings where row is NULL. The last column is not padded. */
static void print_row(const struct ath_style *style, FILE *out, const struct row *row,
                      const size_t widths[COLUMN_COUNT])
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        const char *text = row ? cell(row, column) : _(titles[column]);
        enum ath_role role = row ? role_of_cell(row, column) : ATH_ROLE_HEADING;
        size_t width = ath_style_width(style, text);
        bool is_last = column + 1 == COLUMN_COUNT;
        int padding = is_last || widths[column] < width ? 0 : (int)(widths[column] - width) + 2;
        fprintf(out, "%s%s%s%*s", ath_style_on(style, role), text, ath_style_off(style, role),
                padding, "");
    }
    fputc('\n', out);
}

static void print_table(const struct ath_style *style, FILE *out, const struct row *rows,
                        size_t count)
{
    size_t widths[COLUMN_COUNT];

    for (int column = 0; column < COLUMN_COUNT; column++) {
        widths[column] = ath_style_width(style, _(titles[column]));
        for (size_t i = 0; i < count; i++) {
            size_t width = ath_style_width(style, cell(&rows[i], column));
            widths[column] = width > widths[column] ? width : widths[column];
        }
    }
    print_row(style, out, NULL, widths);
    for (size_t i = 0; i < count; i++)
        print_row(style, out, &rows[i], widths);
}

/* A block for each node, where the table is wider than the terminal. */
static void print_block(const struct ath_style *style, FILE *out, const struct row *row)
{
    size_t columns = 0;

    for (int column = STATE; column < COLUMN_COUNT; column++) {
        size_t width = ath_style_width(style, _(titles[column]));
        columns = width > columns ? width : columns;
    }
    fprintf(out, "%s%s%s\n", ath_style_on(style, ATH_ROLE_NAME), row->cells[ID],
            ath_style_off(style, ATH_ROLE_NAME));
    for (int column = STATE; column < COLUMN_COUNT; column++)
        if (row->cells[column] && *row->cells[column])
            ath_style_print(
                style, out,
                &(struct ath_paragraph){ .prefix = "  ",
                                         .next_prefix = "  ",
                                         .label = _(titles[column]),
                                         .label_role = ATH_ROLE_DIM,
                                         .label_columns = columns,
                                         .text = row->cells[column],
                                         .role = column == STATE ? row->role : ATH_ROLE_PLAIN });
}

static bool fits(const struct ath_style *style, const struct row *rows, size_t count)
{
    size_t sum = 0;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        size_t widest = ath_style_width(style, _(titles[column]));
        for (size_t i = 0; i < count; i++) {
            size_t width = ath_style_width(style, cell(&rows[i], column));
            widest = width > widest ? width : widest;
        }
        sum += widest + 2;
    }
    return !style->columns || sum - 2 <= (size_t)style->columns;
}

static void print_note(const struct ath_style *style, FILE *out, int id, const char *message,
                       const char *hint)
{
    ath_auto_free char *label = id == ATH_UNKNOWN
                                    ? ath_xstrdup(ath_style_glyph(style, ATH_GLYPH_WARNING))
                                    : ath_xasprintf("NUMA%d:", id);
    ath_style_print(style, out,
                    &(struct ath_paragraph){ .label = label,
                                             .label_role = ATH_ROLE_WARN,
                                             .label_columns = ath_style_width(style, label),
                                             .text = message });
    if (!hint || !*hint)
        return;
    ath_auto_free char *text = ath_xasprintf(_("hint: %s"), hint);
    ath_style_print(style, out,
                    &(struct ath_paragraph){ .prefix = "  ", .text = text, .role = ATH_ROLE_DIM });
}

static void print_stranger(const struct ath_style *style, FILE *out,
                           const struct ath_status_item *item)
{
    ath_auto_free char *text =
        item->other ? ath_xasprintf(_("'%s' was started from another document, '%s'"),
                                    item->status->name, item->other)
                    : ath_xstrdup(_("the document has no such entry"));
    ath_auto_free char *hint = item->other ? ath_xasprintf("aitherion status -c '%s'", item->other)
                                           : ath_xasprintf("aitherion clean %d", item->id);
    print_note(style, out, item->id, text, hint);
}

static void print_notes(const struct ath_style *style, FILE *out,
                        const struct ath_status_item *item, const char *start)
{
    const struct ath_node_status *status = item->status;

    if (status && status->problem)
        print_note(style, out, item->id, status->problem, status->hint);
    for (size_t i = 0; status && status->problem && i < status->log.count; i++) {
        ath_auto_free char *line = ath_xasprintf("| %s", status->log.items[i]);
        ath_style_print(
            style, out,
            &(struct ath_paragraph){ .prefix = "  ", .text = line, .role = ATH_ROLE_DIM });
    }
    if (status && status->state > ATH_NODE_STOPPED && !status->problem && status->restarts > 0) {
        ath_auto_free char *text = ath_xasprintf(
            _("it ended by itself and was started again (%d so far); its log says why"),
            status->restarts);
        print_note(style, out, item->id, text, NULL);
    }
    if (status && status->limits)
        print_note(style, out, item->id, status->limits, NULL);
    if (item->drift)
        print_note(style, out, item->id, item->drift, start);
    if (status && (item->other || !item->is_recorded))
        print_stranger(style, out, item);
}

static bool has_sessions(const struct ath_status_report *report)
{
    for (size_t i = 0; i < report->service_count; i++)
        if (report->services[i].sessions.count)
            return true;
    return false;
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_status_report *report = data;
    struct row *rows = ath_xalloc(report->count * sizeof *rows);

    for (size_t i = 0; i < report->count; i++) {
        fill_row(&report->items[i], &rows[i]);
        make_harmless(style, &rows[i]);
    }
    if (!report->count)
        fprintf(out, "%s\n", _("nothing of aitherion's runs here"));
    else if (fits(style, rows, report->count))
        print_table(style, out, rows, report->count);
    else
        for (size_t i = 0; i < report->count; i++)
            print_block(style, out, &rows[i]);
    for (size_t i = 0; i < report->count; i++) {
        print_notes(style, out, &report->items[i], report->start);
        row_free(&rows[i]);
    }
    free(rows);
    if (has_sessions(report)) {
        fputc('\n', out);
        ath_sessions_print(style, out, report->services, report->service_count);
    }
    if (report->docker_err)
        print_note(style, out, ATH_UNKNOWN, report->docker_err->message, report->docker_err->hint);
    if (report->is_start_next)
        fprintf(out, "%s %s\n", _("Next:"), report->start);
}

const struct ath_view ath_status_view = { "aitherion.status/1", to_json, to_text, NULL, 0 };
