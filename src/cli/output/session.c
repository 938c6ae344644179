/* Sessions as a table and as data. */
#include "config.h"

#include "cli/output/session.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"
#include "cli/output/words.h"
#include "config/schema.h"

void ath_session_group_free(struct ath_session_group *group)
{
    ath_runtime_health_free(&group->health);
    ath_runtime_sessions_free(&group->sessions);
}

void ath_session_report_free(struct ath_session_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->count; i++)
        ath_session_group_free(&report->items[i]);
    free(report->items);
    *report = (struct ath_session_report){ 0 };
}

/* ---- data ---- */

static json_t *uses_to_json(const struct ath_runtime_session *session)
{
    json_t *list = json_array();
    for (size_t i = 0; i < session->use_count; i++) {
        const struct ath_runtime_use *use = &session->uses[i];
        json_array_append_new(
            list, json_pack("{s:i, s:o, s:o}", "device", (int)use->device, "memory_used_bytes",
                            ath_json_number(use->memory_used_bytes), "memory_limit_bytes",
                            ath_json_number(use->memory_limit_bytes)));
    }
    return list;
}

static json_t *sessions_to_json(const struct ath_runtime_sessions *sessions)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sessions->count; i++) {
        const struct ath_runtime_session *one = &sessions->items[i];
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:o, s:I, s:o}", "id", (json_int_t)one->id, "program",
                            ath_json_text(one->program), "peer", ath_json_text(one->peer), "age_ms",
                            (json_int_t)one->age_ms, "devices", uses_to_json(one)));
    }
    return list;
}

static json_t *devices_to_json(const struct ath_runtime_health *health)
{
    json_t *list = json_array();
    for (size_t i = 0; i < health->device_count; i++) {
        const struct ath_runtime_device *device = &health->devices[i];
        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:i}", "pci", ath_json_text(device->pci),
                      "name", ath_json_text(device->name), "is_simulated", device->is_simulated,
                      "memory_total_bytes", ath_json_number(device->memory_total_bytes),
                      "memory_used_bytes", ath_json_number(device->memory_used_bytes),
                      "memory_limit_bytes", ath_json_number(device->memory_limit_bytes), "sessions",
                      (int)device->sessions));
    }
    return list;
}

static json_t *error_to_json(const struct ath_session_group *group)
{
    if (!group->status)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "code", ath_error_word(group->err.code), "message",
                     ath_json_text(group->err.message), "hint",
                     ath_json_text(*group->err.hint ? group->err.hint : NULL));
}

json_t *ath_session_group_to_json(const struct ath_session_group *group)
{
    uint32_t version = group->health.driver_version;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "id",
                     group->id == ATH_UNSET ? json_null() : json_integer(group->id), "server",
                     ath_json_text(group->server), "error", error_to_json(group), "driver_version",
                     version ? json_integer(version) : json_null(), "devices",
                     devices_to_json(&group->health), "sessions",
                     sessions_to_json(&group->sessions));
}

static json_t *list_to_json(const void *data)
{
    const struct ath_session_report *report = data;
    json_t *runtimes = json_array();

    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(runtimes, ath_session_group_to_json(&report->items[i]));
    return json_pack("{s:o}", "runtimes", runtimes);
}

/* ---- words ---- */

static char *memory_words(const struct ath_runtime_session *session)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < session->use_count; i++) {
        const struct ath_runtime_use *use = &session->uses[i];
        ath_auto_free char *used =
            ath_words_size(use->memory_used_bytes == ATH_UNKNOWN ? 0 : use->memory_used_bytes);
        ath_auto_free char *limit =
            use->memory_limit_bytes == ATH_UNKNOWN ? NULL : ath_words_size(use->memory_limit_bytes);
        if (limit)
            ath_text_add_part(&text, ", ", _("GPU %d: %s of %s"), (int)use->device, used, limit);
        else
            ath_text_add_part(&text, ", ", _("GPU %d: %s"), (int)use->device, used);
    }
    return text.data ? ath_text_take(&text) : NULL;
}

static char *name_of(const struct ath_session_group *group)
{
    return group->id == ATH_UNSET ? ath_xstrdup(group->server) : ath_xasprintf("NUMA%d", group->id);
}

static char *age_words(uint64_t ms)
{
    uint64_t minutes = ms / 60000, hours = minutes / 60;
    return hours     ? ath_xasprintf(_("%d h %d min"), (int)hours, (int)(minutes % 60))
           : minutes ? ath_xasprintf(_("%d min"), (int)minutes)
                     : ath_xasprintf(_("%d s"), (int)(ms / 1000));
}

/* ---- the table ---- */

enum { RUNTIME, ID, PROGRAM, PEER, MEMORY, AGE, COLUMN_COUNT };

static const char *const titles[COLUMN_COUNT] = {
    [RUNTIME] = N_("Runtime"), [ID] = N_("Session"),    [PROGRAM] = N_("Program"),
    [PEER] = N_("From"),       [MEMORY] = N_("Memory"), [AGE] = N_("For"),
};

struct table {
    char *(*rows)[COLUMN_COUNT];
    size_t count;
};

static void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        for (int column = 0; column < COLUMN_COUNT; column++)
            free(table->rows[i][column]);
    free(table->rows);
}

/* Names are a stranger's. */
static void add_rows(const struct ath_style *style, const struct ath_session_group *group,
                     struct table *table)
{
    for (size_t i = 0; i < group->sessions.count; i++) {
        const struct ath_runtime_session *one = &group->sessions.items[i];
        char **row = ath_push(&table->rows, &table->count, sizeof *table->rows);
        row[RUNTIME] = name_of(group);
        row[ID] = ath_xasprintf("%" PRIu64, one->id);
        row[PROGRAM] = ath_clean(one->program ? one->program : "-", style->is_utf8);
        row[PEER] = ath_clean(one->peer, style->is_utf8);
        row[MEMORY] = memory_words(one);
        row[AGE] = age_words(one->age_ms);
        if (!row[MEMORY])
            row[MEMORY] = ath_xstrdup("-");
    }
}

static void print_cells(const struct ath_style *style, FILE *out, char *const *cells,
                        const size_t widths[COLUMN_COUNT])
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        const char *text = cells ? cells[column] : _(titles[column]);
        enum ath_role role = !cells         ? ATH_ROLE_HEADING
                             : column == ID ? ATH_ROLE_NAME
                                            : ATH_ROLE_PLAIN;
        bool is_last = column + 1 == COLUMN_COUNT;
        int padding = is_last ? 0 : (int)(widths[column] - ath_style_width(style, text)) + 2;
        fprintf(out, "%s%s%s%*s", ath_style_on(style, role), text, ath_style_off(style, role),
                padding, "");
    }
    fputc('\n', out);
}

static void print_table(const struct ath_style *style, FILE *out, const struct table *table)
{
    size_t widths[COLUMN_COUNT];
    for (int column = 0; column < COLUMN_COUNT; column++) {
        widths[column] = ath_style_width(style, _(titles[column]));
        for (size_t i = 0; i < table->count; i++) {
            size_t width = ath_style_width(style, table->rows[i][column]);
            widths[column] = width > widths[column] ? width : widths[column];
        }
    }
    print_cells(style, out, NULL, widths);
    for (size_t i = 0; i < table->count; i++)
        print_cells(style, out, table->rows[i], widths);
}

void ath_sessions_print(const struct ath_style *style, FILE *out,
                        const struct ath_session_group *groups, size_t count)
{
    __attribute__((cleanup(table_free))) struct table table = { 0 };
    for (size_t i = 0; i < count; i++)
        add_rows(style, &groups[i], &table);
    if (table.count)
        print_table(style, out, &table);
}

static void print_error(const struct ath_style *style, FILE *out,
                        const struct ath_session_group *group)
{
    ath_auto_free char *name = name_of(group);
    ath_auto_free char *message = ath_clean(group->err.message, style->is_utf8);
    ath_auto_free char *hint = ath_clean(group->err.hint, style->is_utf8);
    fprintf(out, "%s%s: %s%s\n", ath_style_on(style, ATH_ROLE_BAD), name ? name : "", message,
            ath_style_off(style, ATH_ROLE_BAD));
    if (*hint)
        fprintf(out, "  %s %s\n", _("hint:"), hint);
}

static void list_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_session_report *report = data;
    bool is_any_told = false;
    size_t count = 0;

    for (size_t i = 0; i < report->count; i++) {
        count += report->items[i].sessions.count;
        is_any_told = is_any_told || !report->items[i].status;
    }
    ath_sessions_print(style, out, report->items, report->count);
    if (!report->count)
        fprintf(out, "%s\n", _("no runtime runs here"));
    else if (!count && is_any_told)
        fprintf(out, "%s\n", _("no program uses a runtime now"));
    for (size_t i = 0; i < report->count; i++)
        if (report->items[i].status)
            print_error(style, out, &report->items[i]);
}

const struct ath_view ath_session_list_view = { "aitherion.session-list/1", list_to_json,
                                                list_to_text, NULL, 0 };

/* ---- changes ---- */

static json_t *change_to_json(const void *data)
{
    static const char *const actions[] = {
        [ATH_SESSION_END] = "end", [ATH_SESSION_LIMIT] = "limit"
    };
    const struct ath_session_change *change = data;
    bool is_limit = change->action == ATH_SESSION_LIMIT;
    json_t *ids = json_array();

    for (size_t i = 0; i < change->id_count; i++)
        json_array_append_new(ids, json_integer((json_int_t)change->ids[i]));
    return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "action", actions[change->action],
                     "is_dry_run", change->is_dry_run, "server", ath_json_text(change->server),
                     "sessions", ids, "device",
                     is_limit ? json_integer(change->device) : json_null(), "memory_limit_bytes",
                     is_limit ? ath_json_number(change->limit_bytes) : json_null());
}

static void print_change(FILE *out, const struct ath_session_change *change, const char *id)
{
    static const char *const ends[] = { N_("ended session %s\n"), N_("would end session %s\n") };
    static const char *const limits[] = {
        N_("session %s may take %s of GPU %d\n"),
        N_("session %s would be let take %s of GPU %d\n"),
    };
    ath_auto_free char *size = change->limit_bytes == ATH_UNKNOWN
                                   ? ath_xstrdup(_("all that is served"))
                                   : ath_words_size(change->limit_bytes);
    if (change->action == ATH_SESSION_END)
        fprintf(out, _(ends[change->is_dry_run]), id);
    else
        fprintf(out, _(limits[change->is_dry_run]), id, size, (int)change->device);
}

static void change_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_session_change *change = data;
    (void)style;
    for (size_t i = 0; i < change->id_count; i++) {
        ath_auto_free char *id = ath_xasprintf("%" PRIu64, change->ids[i]);
        print_change(out, change, id);
    }
}

const struct ath_view ath_session_change_view = { "aitherion.session-change/1", change_to_json,
                                                  change_to_text, NULL, 0 };
