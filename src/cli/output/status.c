/* Running runtimes, as a table and as JSON. */
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
#include "cli/output/ending.h"
#include "cli/output/fields.h"
#include "cli/output/table.h"
#include "cli/output/words.h"
#include "health/runtimes.h"

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

ATH_FIELD_WORD(state_word, enum ath_node_state, ath_node_state_word)

static const void *find_there(const void *object)
{
    const struct ath_node_macvlan *macvlan = object;
    return macvlan->is_there == 1 ? macvlan : NULL;
}

#define AT(member) ATH_AT(struct ath_node_macvlan, member)
static const struct ath_field macvlan_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("is_there", ATH_AT_AS(ATH_FIELD_FLAG, struct ath_node_macvlan, is_there),
              .help = "whether the runtime's network has the macvlan"),
    ATH_FIELD("is_up", AT(is_up), .is_nullable = true, .find = find_there),
    ATH_FIELD("address", AT(address), .is_nullable = true),
    ATH_FIELD("mtu", AT(mtu), .is_nullable = true),
    { .name = NULL },
};
#undef AT

static const void *find_limited(const void *object)
{
    const struct ath_node_status *status = object;
    return status->memlock_bytes == INT64_MAX ? NULL : status;
}

static const void *find_memory_limited(const void *object)
{
    const struct ath_node_status *status = object;
    return status->memory_limit_bytes == INT64_MAX ? NULL : status;
}

static json_t *make_is_memlock_limited(const void *object)
{
    const struct ath_node_status *status = object;
    return status->memlock_bytes == ATH_UNKNOWN ? json_null()
                                                : json_boolean(find_limited(status) != NULL);
}

#define AT(member) ATH_AT(struct ath_node_status, member)
static const struct ath_field process_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("container_id", AT(container_id), .is_nullable = true),
    ATH_FIELD("pause_name", AT(pause_name), .is_nullable = true),
    ATH_FIELD("pause_id", AT(pause_id), .is_nullable = true),
    ATH_FIELD("image", AT(image), .help = "image that the container was started with",
              .is_nullable = true),
    ATH_FIELD("image_id", AT(image_id), .is_nullable = true),
    ATH_FIELD("started_at", AT(started_at), .help = "time of the start, RFC 3339, UTC",
              .is_nullable = true),
    ATH_FIELD("document", AT(document), .help = "document that the runtime was started from",
              .is_nullable = true),
    ATH_FIELD("socket", AT(socket), .is_nullable = true),
    ATH_FIELD("network", AT(network_mode),
              .help = "network of the runtime: bridge, host, container:ID, namespace",
              .is_nullable = true),
    ATH_FIELD("cpus", AT(cpus), .help = "CPUs that the kernel allows the process to use",
              .is_nullable = true),
    ATH_FIELD("memory_nodes", AT(memory_nodes),
              .help = "NUMA nodes whose memory the kernel allows the process to use",
              .is_nullable = true),
    ATH_FIELD("limits", AT(limits),
              .help = "settings that the system did not allow the process engine to make",
              .is_nullable = true),
    ATH_FIELD("problem", AT(problem), .is_nullable = true),
    ATH_FIELD("hint", AT(hint), .is_nullable = true),
    ATH_FIELD("pid", AT(pid), .is_nullable = true),
    ATH_FIELD("pause_pid", AT(pause_pid), .is_nullable = true),
    ATH_FIELD("supervisor_pid", AT(supervisor_pid), .is_nullable = true),
    ATH_FIELD("restarts", AT(restarts), .is_nullable = true),
    ATH_FIELD("exit_code", AT(exit_code), .help = "exit code of the last run", .is_nullable = true),
    ATH_FIELD("is_oom_killed", ATH_AT_AS(ATH_FIELD_FLAG, struct ath_node_status, is_oom_killed)),
    ATH_FIELD("is_image_old", AT(is_image_old),
              .help = "true if the image's name now belongs to another image"),
    ATH_FIELD("ports", AT(ports), .help = "ports published by Docker"),
    ATH_FIELD("listening", AT(listening),
              .help = "addresses on which the process listens, in its network; with /udp where it "
                      "takes datagrams"),
    ATH_FIELD("macvlans", ATH_AT_LIST(struct ath_node_status, macvlans, macvlan_count),
              .fields = macvlan_fields),
    ATH_FIELD("log_file", AT(log_file),
              .help = "file of the log, which `aitherion logs` shows; null if Docker keeps the log",
              .is_nullable = true),
    ATH_FIELD("log", AT(log), .help = "last lines of the log, if the runtime has a problem"),
    ATH_FIELD("memory_limit_bytes", AT(memory_limit_bytes),
              .help = "memory that the runtime and its sessions may use together; null if there is "
                      "no limit, or if it is not known",
              .is_nullable = true, .find = find_memory_limited),
    ATH_FIELD("memlock_bytes", AT(memlock_bytes),
              .help = "limit of locked memory; null if there is no limit, or if it is not known "
                      "(is_memlock_limited)",
              .is_nullable = true, .find = find_limited),
    ATH_FIELD("is_memlock_limited", ATH_OF(ATH_FIELD_BOOL), .is_nullable = true,
              .make = make_is_memlock_limited),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_runtime_problem, member)
static const struct ath_field problem_fields[] = {
    ATH_FIELD("is_fault", AT(is_fault), .help = "false for a note"),
    ATH_FIELD("code", AT(code)),
    ATH_FIELD("object", AT(object), .is_nullable = true),
    ATH_FIELD("message", AT(message)),
    { .name = NULL },
};
#undef AT

/* Returns the health of a runtime; an empty one if it was not asked or has not answered. */
static const void *find_health(const void *object)
{
    static const struct ath_runtime_health unknown;
    const struct ath_status_item *item = object;
    return item->service && !item->service->status ? &item->service->health : &unknown;
}

static const void *find_status(const void *object)
{
    static const struct ath_node_status absent = { .state = ATH_NODE_ABSENT };
    const struct ath_status_item *item = object;
    return item->status ? item->status : &absent;
}

#define AT(member) ATH_AT(struct ath_status_item, member)
static const struct ath_field item_fields[] = {
    ATH_FIELD("id", AT(id)),
    ATH_FIELD("is_recorded", AT(is_recorded), .help = "whether the document has the entry"),
    ATH_FIELD("state", ATH_AT(struct ath_node_status, state), .word = state_word,
              .word_count = ATH_NODE_STATE_COUNT, .find = find_status),
    ATH_FIELD("engine", ATH_AT(struct ath_node_status, engine), .is_nullable = true,
              .words = ath_words_engines, .find = find_status),
    ATH_FIELD("gpus", AT(gpus), .help = "PCI addresses of the entry's GPUs in the document"),
    ATH_FIELD("metrics_port", AT(metrics_port),
              .help = "port of the entry's metrics in the document; null for none",
              .is_nullable = true, .rules = "{\"minimum\": 1, \"maximum\": 65535}"),
    ATH_FIELD("data_port", AT(data_port),
              .help = "port of the entry's data interfaces in the document; null for none",
              .is_nullable = true, .rules = "{\"minimum\": 1, \"maximum\": 65535}"),
    ATH_FIELD("drift", AT(drift),
              .help = "how the runtime differs from the document; null if it does not",
              .is_nullable = true),
    ATH_FIELD("needs_restart", AT(needs_restart),
              .help = "whether `start` must restart the runtime to remove the drift; otherwise it "
                      "changes the settings while the runtime runs"),
    ATH_FIELD("problems", ATH_AT_LIST(struct ath_runtime_health, problems, problem_count),
              .help = "what is wrong, as the runtime reports it", .fields = problem_fields,
              .find = find_health),
    ATH_FIELD("process", AT(status), .help = "null if there is neither process nor container",
              .is_nullable = true, .fields = process_fields),
    ATH_FIELD("service", AT(service),
              .help = "what the runtime reports about itself; null if it does not run",
              .is_nullable = true, .fields = ath_session_group_fields),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_status_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("file", AT(document), .help = "path of the document; null if there is none",
              .is_nullable = true),
    ATH_FIELD("docker_error", AT(docker_err),
              .help = "why Docker could not be asked; null if it was asked, or if this machine has "
                      "no Docker",
              .is_nullable = true, .fields = ath_error_fields),
    ATH_FIELD("nodes", ATH_AT_LIST(struct ath_status_report, items, count), .fields = item_fields),
    { .name = NULL },
};
#undef AT

/* ---- words ---- */

char *ath_status_age(const char *started_at)
{
    struct tm parts = { 0 };
    const char *rest = started_at ? strptime(started_at, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (!rest)
        return NULL;
    int64_t seconds = (int64_t)time(NULL) - (int64_t)timegm(&parts);
    return seconds < 0 ? NULL : ath_words_duration(seconds);
}

char *ath_status_reach(const struct ath_node_status *status, int metrics_port, int data_port)
{
    const struct ath_texts *texts = status->ports.count ? &status->ports : &status->listening;
    struct ath_text text = { 0 };

    for (size_t i = 0; i < texts->count; i++) {
        ath_text_add_part(&text, _(", "), "%s", texts->items[i]);
        if (ath_node_address_has_port(texts->items[i], metrics_port))
            ath_text_add(&text, "%s", _(" (metrics)"));
        if (ath_node_address_has_port(texts->items[i], data_port))
            ath_text_add(&text, "%s", _(" (data)"));
    }
    for (size_t i = 0; i < status->macvlan_count; i++)
        if (status->macvlans[i].address)
            ath_text_add_part(&text, _(", "), "%s (%s)", status->macvlans[i].address,
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

/* The GPUs that the runtime serves if it answers, else those of the document. The caller frees
 * it. */
static char *gpus_of(const struct ath_status_item *item)
{
    const struct ath_session_group *service = item->service;
    struct ath_text text = { 0 };

    if (!service || service->status)
        return ath_texts_join(&item->gpus);
    if (service->health.is_simulated && service->health.device_count)
        return ath_xasprintf(_("%d simulated"), (int)service->health.device_count);
    for (size_t i = 0; i < service->health.device_count; i++) {
        const struct ath_runtime_device *device = &service->health.devices[i];
        ath_text_add_part(&text, _(", "), "%s", device->pci ? device->pci : device->name);
    }
    return ath_text_take(&text);
}

/* Docker, processes and runtimes supply some of these texts: the table cleans them. */
static void fill_row(const struct ath_status_item *item, struct ath_table_cell *row)
{
    const struct ath_node_status *status = item->status;
    enum ath_node_state state = status ? status->state : ATH_NODE_ABSENT;

    row[ID].text = ath_xasprintf("NUMA%d", item->id);
    row[ID].role = ATH_ROLE_NAME;
    row[STATE].text = ath_xstrdup(_(ath_node_state_meaning(state)));
    row[STATE].role = role_of(state);
    row[GPUS].text = gpus_of(item);
    if (!status)
        return;
    row[ENGINE].text = ath_xstrdup(status->engine);
    row[ADDRESS].text = ath_status_reach(status, item->metrics_port, item->data_port);
    row[CPUS].text = ath_xstrdup(status->cpus);
    row[MEMORY].text = ath_xstrdup(status->memory_nodes);
    if (state > ATH_NODE_STOPPED)
        row[SINCE].text = ath_status_age(status->started_at);
}

/* Prints a table, or blocks if the terminal is too narrow for it. */
static void print_rows(const struct ath_style *style, FILE *out,
                       const struct ath_status_report *report)
{
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = COLUMN_COUNT };

    for (size_t i = 0; i < report->count; i++)
        fill_row(&report->items[i], ath_table_add_row(&table));
    if (!style->columns || ath_table_width(&table, style) <= (size_t)style->columns)
        ath_table_print(&table, style, out);
    else
        ath_table_print_blocks(&table, style, out);
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
    ath_auto_free char *text = ath_style_hint(style, hint);
    if (text)
        ath_style_print(
            style, out,
            &(struct ath_paragraph){ .prefix = "  ", .text = text, .role = ATH_ROLE_DIM });
}

/* Says below a recommended command which programs it would end. */
static void print_cost(const struct ath_style *style, FILE *out, const struct ath_status_item *item)
{
    if (!item->service || !(item->service->status || item->service->sessions.count))
        return;
    const struct ath_session_report one = { .items = item->service, .count = 1 };
    ath_auto_free char *words = ath_ending_words(&one);
    ath_auto_free char *text =
        ath_xasprintf(_("it asks before it ends running programs: %s"), words);
    ath_style_print(style, out,
                    &(struct ath_paragraph){ .prefix = "  ", .text = text, .role = ATH_ROLE_WARN });
}

static void print_not_recorded(const struct ath_style *style, FILE *out,
                               const struct ath_status_item *item)
{
    ath_auto_free char *text =
        item->other ? ath_xasprintf(_("'%s' was started from another document, '%s'"),
                                    item->status->name, item->other)
                    : ath_xstrdup(_("the document has no entry with this id"));
    ath_auto_free char *hint = item->other ? ath_xasprintf("aitherion status -c '%s'", item->other)
                                           : ath_xasprintf("aitherion clean %d", item->id);
    print_note(style, out, item->id, text, hint);
    if (!item->other)
        print_cost(style, out, item);
}

/* Prints what the runtime itself reports, as `aitherion health` does. */
static void print_problems(const struct ath_style *style, FILE *out,
                           const struct ath_status_item *item)
{
    const struct ath_runtime_health *health = find_health(item);

    for (size_t i = 0; i < health->problem_count; i++) {
        const struct ath_runtime_problem *problem = &health->problems[i];
        const char *mend = ath_health_problem_mend(problem->code);
        ath_auto_free char *text =
            ath_xasprintf(_("it reports on '%s': %s"),
                          problem->object ? problem->object : problem->code, problem->message);
        ath_auto_free char *hint = mend ? ath_xasprintf(mend, item->id) : NULL;
        print_note(style, out, item->id, text, hint);
    }
}

/* Prints where the log is, for -v. */
static void print_log_place(const struct ath_style *style, FILE *out, int id,
                            const struct ath_node_status *status)
{
    ath_auto_free char *text = status->log_file ? ath_xasprintf(_("its log: %s"), status->log_file)
                                                : ath_xstrdup(_("its log: kept by Docker"));
    ath_auto_free char *hint = ath_xasprintf("aitherion logs %d", id);
    print_note(style, out, id, text, hint);
}

static void print_notes(const struct ath_style *style, FILE *out,
                        const struct ath_status_item *item, const char *start, bool shows_log)
{
    const struct ath_node_status *status = item->status;

    if (status && status->problem) {
        print_note(style, out, item->id, status->problem, status->hint);
        print_cost(style, out, item);
    }
    for (size_t i = 0; status && status->problem && i < status->log.count; i++) {
        ath_auto_free char *line = ath_xasprintf("| %s", status->log.items[i]);
        ath_style_print(
            style, out,
            &(struct ath_paragraph){ .prefix = "  ", .text = line, .role = ATH_ROLE_DIM });
    }
    if (shows_log && status && status->state != ATH_NODE_ABSENT)
        print_log_place(style, out, item->id, status);
    if (status && status->state > ATH_NODE_STOPPED && !status->problem && status->restarts > 0) {
        ath_auto_free char *text =
            ath_xasprintf(_("it ended and was started again (%d so far)"), status->restarts);
        ath_auto_free char *hint = ath_xasprintf("aitherion logs %d", item->id);
        print_note(style, out, item->id, text, hint);
    }
    ath_auto_free char *rights = ath_words_limits();
    if (status && status->limits)
        print_note(style, out, item->id, status->limits, rights);
    print_problems(style, out, item);
    if (item->drift) {
        ath_auto_free char *in_place = ath_xasprintf(_("%s (changes it without a restart)"), start);
        print_note(style, out, item->id, item->drift, item->needs_restart ? start : in_place);
    }
    if (item->drift && item->needs_restart)
        print_cost(style, out, item);
    if (status && (item->other || !item->is_recorded))
        print_not_recorded(style, out, item);
}

/* Returns whether only programs of this machine reach a node that runs. */
static bool is_local(const struct ath_node_status *status, int data_port)
{
    const struct ath_texts *texts = status->ports.count ? &status->ports : &status->listening;

    for (size_t i = 0; i < texts->count; i++)
        if (!ath_starts_with(texts->items[i], "127.") &&
            !ath_starts_with(texts->items[i], "[::1]") &&
            !ath_node_address_has_port(texts->items[i], data_port))
            return false;
    for (size_t i = 0; i < status->macvlan_count; i++)
        if (status->macvlans[i].address)
            return false;
    return status->state > ATH_NODE_STOPPED && texts->count;
}

/* Says how other machines would reach the running nodes. */
static void print_local(const struct ath_style *style, FILE *out,
                        const struct ath_status_report *report)
{
    ATH_AUTO(ath_text) names = { 0 };
    int first = ATH_UNKNOWN;

    for (size_t i = 0; i < report->count; i++) {
        const struct ath_status_item *item = &report->items[i];
        if (!item->status || !item->is_recorded || !is_local(item->status, item->data_port))
            continue;
        ath_text_add_part(&names, _(", "), "NUMA%d", item->id);
        first = first == ATH_UNKNOWN ? item->id : first;
    }
    if (first == ATH_UNKNOWN)
        return;
    ath_auto_free char *text = ath_words_only_here(style, names.data, first);
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
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

    if (report->count)
        print_rows(style, out, report);
    else
        fprintf(out, "%s\n", _("no runtime runs here"));
    for (size_t i = 0; i < report->count; i++)
        print_notes(style, out, &report->items[i], report->start, report->shows_more);
    print_local(style, out, report);
    if (has_sessions(report)) {
        fputc('\n', out);
        ath_sessions_print(style, out, report->services, report->service_count);
        if (report->shows_more)
            ath_sessions_explain(style, out, report->services, report->service_count);
    }
    if (report->docker_err)
        print_note(style, out, ATH_UNKNOWN, report->docker_err->message, report->docker_err->hint);
    if (report->is_start_next)
        fprintf(out, "%s %s\n", _("Next:"), report->start);
}

const struct ath_view ath_status_view = {
    .schema = "aitherion.status/1",
    .title = "Output of `aitherion status --json`",
    .fields = fields,
    .clocks = ath_session_clocks,
    .to_text = to_text,
};
