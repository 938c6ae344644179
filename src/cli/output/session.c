/* The list of sessions, as a table and as JSON. */
#include "config.h"

#include "cli/output/session.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "cli/output/session_paths.h"
#include "cli/output/session_words.h"
#include "cli/output/table.h"
#include "cli/output/words.h"
#include "config/schema.h"

void ath_session_group_free(struct ath_session_group *group)
{
    ath_runtime_health_free(&group->health);
    ath_runtime_sessions_free(&group->sessions);
    ath_figures_free(&group->figures);
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

static const char *const sources[] = { "asked", "identity", "set", NULL };

/* Returns NULL for no limit, and for a source that this version does not know. */
static const char *source_word(int source)
{
    return source > ATH_GPU_LIMIT_SOURCE_NONE && source <= ATH_GPU_LIMIT_SOURCE_SET
               ? sources[source - ATH_GPU_LIMIT_SOURCE_ASKED]
               : NULL;
}

#define AT(member) ATH_AT(struct ath_runtime_use, member)
static const struct ath_field use_fields[] = {
    ATH_FIELD("device", AT(device), .help = "index in the runtime's list of GPUs"),
    ATH_FIELD("memory_used_bytes", AT(memory_used_bytes), .is_nullable = true),
    ATH_FIELD("memory_limit_bytes", AT(memory_limit_bytes),
              .help = "limit of this session; null for no limit", .is_nullable = true),
    ATH_FIELD("memory_limit_source", AT(limit_source),
              .help = "who set the limit: the program asked for it, its identity may have no more, "
                      "or an operator set it later; null for no limit",
              .word = source_word, .words = sources, .is_nullable = true),
    ATH_FIELD("is_limit_enforced", AT(is_limit_enforced),
              .help = "false if the runtime only counts, and lets sessions go beyond limits"),
    ATH_FIELD("multiprocessors", AT(processors),
              .help = "that the session has for itself (run --sm-share); null for no part",
              .is_nullable = true),
    ATH_FIELD("multiprocessors_total", AT(processors_total),
              .help = "of the whole GPU; null for no part", .is_nullable = true),
    { .name = NULL },
};
#undef AT

static const char *const states[] = { "idle", "free", "holds", "waits", NULL };

static const char *state_word(int state)
{
    return state > ATH_GPU_TURN_STATE_UNKNOWN && state <= ATH_GPU_TURN_STATE_WAITS
               ? states[state - ATH_GPU_TURN_STATE_IDLE]
               : NULL;
}

static const char *const reasons[] = { "turn", "priority", "cap", "next", NULL };

static const char *reason_word(int reason)
{
    return reason > ATH_WAIT_NONE && reason < ATH_WAIT_REASONS ? reasons[reason - ATH_WAIT_TURN]
                                                               : NULL;
}

static const void *find_turn(const void *object)
{
    const struct ath_runtime_session *session = object;
    return session->turn.claim.priority ? &session->turn : NULL; /* newer servers always say */
}

static const void *find_other(const void *object)
{
    return ((const struct ath_runtime_turn *)object)->waits_for ? object : NULL;
}

static const void *find_share(const void *object)
{
    return ((const struct ath_runtime_turn *)object)->claim.share_percent ? object : NULL;
}

static const void *find_key_share(const void *object)
{
    return ((const struct ath_runtime_turn *)object)->key_percent ? object : NULL;
}

#define AT(member) ATH_AT(struct ath_runtime_turn, member)
static const struct ath_field turn_fields[] = {
    ATH_FIELD("state", AT(state),
              .help =
                  "idle: has nothing for a GPU to do; free: uses it at the same time as others; "
                  "holds: has its turn; waits: for its turn",
              .word = state_word, .words = states, .is_nullable = true),
    ATH_FIELD("state_ms", AT(state_ms), .help = "for how long it has been in this state",
              .is_nullable = true),
    ATH_FIELD("waits_for", AT(waits_for),
              .help = "id of the session that has its turn meanwhile; null for none",
              .is_nullable = true, .find = find_other),
    ATH_FIELD("reason", AT(reason),
              .help =
                  "why it waits: another session has its turn, or one of a higher priority; its "
                  "cap; or it is next; null if it does not wait",
              .word = reason_word, .words = reasons, .is_nullable = true),
    ATH_FIELD("share_percent", AT(claim.share_percent),
              .help = "that it claims of its GPUs' time; null for none", .is_nullable = true,
              .find = find_share),
    ATH_FIELD("share_source", AT(share_source),
              .help = "who claimed it, as memory_limit_source; null for no share",
              .word = source_word, .words = sources, .is_nullable = true),
    ATH_FIELD("key_share_percent", AT(key_percent),
              .help = "that all sessions of its key have together; null for no such share",
              .is_nullable = true, .find = find_key_share),
    ATH_FIELD("is_capped", AT(claim.is_capped), .help = "never more than its share"),
    ATH_FIELD("priority", AT(claim.priority), .word = ath_time_priority_word,
              .words = ath_time_priorities, .is_nullable = true),
    ATH_FIELD("priority_source", AT(priority_source), .word = source_word, .words = sources,
              .is_nullable = true),
    ATH_FIELD("due_percent", AT(share_percent),
              .help = "of its GPUs' time that it gets if all that used them lately want them",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_runtime_channel, member)
static const struct ath_field channel_fields[] = {
    ATH_FIELD("local", AT(local), .help = "the runtime's address, which tells its network port",
              .is_nullable = true),
    ATH_FIELD("peer", AT(peer), .help = "the client's address", .is_nullable = true),
    ATH_FIELD("transport", AT(transport), .help = "tcp or udp", .is_nullable = true),
    ATH_FIELD("sent_bytes", AT(sent_bytes), .help = "of large copies, by the runtime",
              .is_nullable = true),
    ATH_FIELD("received_bytes", AT(received_bytes), .help = "of large copies, by the runtime",
              .is_nullable = true),
    ATH_FIELD("sent_again", AT(sent_again),
              .help = "TCP segments or datagrams that the runtime sent more than once",
              .is_nullable = true),
    ATH_FIELD("datagrams_sent", AT(datagrams_sent),
              .help = "by the runtime; null by TCP, as the next four", .is_nullable = true),
    ATH_FIELD("datagrams_received", AT(datagrams_received), .help = "by the runtime",
              .is_nullable = true),
    ATH_FIELD("datagrams_lost", AT(datagrams_lost),
              .help = "that the runtime sent and took for lost", .is_nullable = true),
    ATH_FIELD("datagrams_duplicates", AT(datagrams_duplicates),
              .help = "that the runtime received more than once", .is_nullable = true),
    ATH_FIELD("datagrams_damaged", AT(datagrams_damaged),
              .help = "that the runtime received with a wrong sum", .is_nullable = true),
    ATH_FIELD("is_lost", AT(is_lost),
              .help = "it broke, and the others carry its part until it comes again"),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_runtime_session, member)
const struct ath_field ath_session_fields[] = {
    ATH_FIELD("id", AT(id), .help = "id of the session; a runtime never uses an id twice",
              .rules = ATH_AT_LEAST_1),
    ATH_FIELD("program", AT(program), .help = "name that the program gave itself",
              .is_nullable = true),
    ATH_FIELD("identity", AT(identity), .help = "name of the client's key; null without keys",
              .is_nullable = true),
    ATH_FIELD("peer", AT(peer),
              .help = "address of the client: 10.0.0.7:41234, or unix:PID:UID of a process on the "
                      "runtime's machine"),
    ATH_FIELD("host", AT(host), .help = "host of the client's process, as it says",
              .is_nullable = true),
    ATH_FIELD("process", AT(process),
              .help = "the client's process on that host, as it says; 0 if it is "
                      "unknown",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("is_encrypted", AT(is_encrypted), .help = "by TLS"),
    ATH_FIELD("age_ms", AT(age_ms), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("devices", ATH_AT_LIST(struct ath_runtime_session, uses, use_count),
              .help = "GPUs on which the session uses memory or has a limit", .fields = use_fields),
    ATH_FIELD("channels", ATH_AT_LIST(struct ath_runtime_session, channels, channel_count),
              .help = "connections for large copies beside that of the calls, as they were at most "
                      "two seconds ago; none over shm",
              .fields = channel_fields),
    ATH_FIELD("paths", ATH_AT_LIST(struct ath_runtime_session, paths, path_count),
              .help = "paths between the program and its GPUs, as they were at most two seconds "
                      "ago; none if the runtime is too old to say",
              .fields = ath_session_path_fields),
    ATH_FIELD("turn", ATH_OF(ATH_FIELD_OBJECT),
              .help = "its part of the GPUs' time; null if the runtime is too old to say",
              .is_nullable = true, .fields = turn_fields, .find = find_turn),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_runtime_device, member)
static const struct ath_field device_fields[] = {
    ATH_FIELD("pci", AT(pci), .is_nullable = true),
    ATH_FIELD("name", AT(name), .is_nullable = true),
    ATH_FIELD("is_simulated", AT(is_simulated)),
    ATH_FIELD("memory_total_bytes", AT(memory_total_bytes), .is_nullable = true),
    ATH_FIELD("memory_used_bytes", AT(memory_used_bytes), .help = "memory used by all sessions",
              .is_nullable = true),
    ATH_FIELD("memory_limit_bytes", AT(memory_limit_bytes),
              .help = "limit for all sessions together", .is_nullable = true),
    ATH_FIELD("sessions", AT(sessions), .help = "number of sessions that use the GPU",
              .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

static const void *find_driver(const void *object)
{
    const struct ath_session_group *group = object;
    return group->health.driver_version ? &group->health : NULL;
}

#define AT(member) ATH_AT(struct ath_session_group, member)
const struct ath_field ath_session_group_fields[] = {
    ATH_FIELD("id", AT(id),
              .help = "id of the runtime's entry; null if the user named the runtime by its "
                      "address",
              .is_nullable = true),
    ATH_FIELD("server", AT(server),
              .help = "address of the runtime, HOST:PORT or unix:PATH; null if it has none",
              .is_nullable = true),
    ATH_FIELD("error", ATH_AT(struct ath_session_group, err),
              .help = "why the runtime could not be asked; null if it answered",
              .failed = ATH_FAILED(struct ath_session_group, status), .fields = ath_error_fields),
    ATH_FIELD("driver_version", ATH_AT(struct ath_runtime_health, driver_version),
              .help = "newest CUDA version that the driver supports, 13000 for 13.0; null without "
                      "a driver",
              .is_nullable = true, .find = find_driver),
    ATH_FIELD("devices", ATH_AT_LIST(struct ath_session_group, health.devices, health.device_count),
              .help = "GPUs in CUDA's order", .fields = device_fields),
    ATH_FIELD("sessions", ATH_AT_LIST(struct ath_session_group, sessions.items, sessions.count),
              .help = "sessions of programs", .fields = ath_session_fields),
    { .name = NULL },
};
#undef AT

static const struct ath_field list_fields[] = {
    ATH_FIELD("runtimes", ATH_AT_LIST(struct ath_session_report, items, count),
              .fields = ath_session_group_fields),
    { .name = NULL },
};

/* ---- the table ---- */

/* PEER is the widest: a narrow screen of the menus cuts the end of it only. */
enum { RUNTIME, ID, PROGRAM, IDENTITY, MEMORY, AGE, PEER, COLUMN_COUNT };

static const char *const titles[COLUMN_COUNT] = {
    [RUNTIME] = N_("Runtime"), [ID] = N_("Session"),    [PROGRAM] = N_("Program"),
    [IDENTITY] = N_("Key"),    [MEMORY] = N_("Memory"), [AGE] = N_("Age"),
    [PEER] = N_("From"),
};

/* The same, if a session has a share or waits. */
enum { SHARE = PEER, PEER_BEHIND_SHARE, LONG_COUNT };

static const char *const long_titles[LONG_COUNT] = {
    [RUNTIME] = N_("Runtime"),        [ID] = N_("Session"),
    [PROGRAM] = N_("Program"),        [IDENTITY] = N_("Key"),
    [MEMORY] = N_("Memory"),          [AGE] = N_("Age"),
    [SHARE] = N_("Share of the GPU"), [PEER_BEHIND_SHARE] = N_("From"),
};

static bool has_shares(const struct ath_session_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < groups[i].sessions.count; j++) {
            ath_auto_free char *words = ath_session_turn_words(&groups[i].sessions.items[j].turn);
            if (words)
                return true;
        }
    return false;
}

/* The kernel knows the process behind a unix socket; behind TCP only the client does. */
static char *origin_words(const struct ath_session_group *group,
                          const struct ath_runtime_session *session)
{
    ath_auto_free char *address = ath_session_peer_words(group, session->peer);
    ath_auto_free char *peer = ath_xasprintf("%s%s", address, session->is_encrypted ? ", TLS" : "");
    if (!session->process || !session->host || ath_starts_with(session->peer, "unix:"))
        return ath_steal(&peer);
    return ath_xasprintf(_("%s, process %u of %s"), peer, session->process, session->host);
}

/* Programs and peers choose their names: the table cleans them. */
static void add_rows(const struct ath_session_group *group, struct ath_table *table)
{
    for (size_t i = 0; i < group->sessions.count; i++) {
        const struct ath_runtime_session *one = &group->sessions.items[i];
        struct ath_table_cell *row = ath_table_add_row(table);
        row[RUNTIME].text = ath_session_group_name(group);
        row[ID].text = ath_xasprintf("%" PRIu64, one->id);
        row[ID].role = ATH_ROLE_NAME;
        row[PROGRAM].text = ath_xstrdup(one->program);
        row[IDENTITY].text = ath_xstrdup(one->identity);
        if (table->column_count == LONG_COUNT)
            row[SHARE].text = ath_session_turn_words(&one->turn);
        row[table->column_count - 1].text = origin_words(group, one);
        row[MEMORY].text = ath_session_memory_words(one);
        row[AGE].text = ath_words_duration((int64_t)(one->age_ms / 1000));
    }
}

void ath_sessions_table(const struct ath_session_group *groups, size_t count, struct ath_table *out)
{
    bool is_long = has_shares(groups, count);
    *out = (struct ath_table){ .titles = is_long ? long_titles : titles,
                               .column_count = is_long ? LONG_COUNT : COLUMN_COUNT };
    for (size_t i = 0; i < count; i++)
        add_rows(&groups[i], out);
}

void ath_sessions_print(const struct ath_style *style, FILE *out,
                        const struct ath_session_group *groups, size_t count)
{
    ATH_AUTO(ath_table) table = { 0 };
    ath_sessions_table(groups, count, &table);
    if (table.row_count)
        ath_table_print(&table, style, out);
}

static void print_error(const struct ath_style *style, FILE *out,
                        const struct ath_session_group *group)
{
    ath_auto_free char *name = ath_session_group_name(group);
    ath_auto_free char *message = ath_clean(group->err.message, style->is_utf8);
    ath_auto_free char *hint = ath_style_hint(style, group->err.hint);
    fprintf(out, "%s%s: %s%s\n", ath_style_on(style, ATH_ROLE_BAD), name ? name : "", message,
            ath_style_off(style, ATH_ROLE_BAD));
    if (hint)
        ath_style_print(style, out, &(struct ath_paragraph){ .prefix = "  ", .text = hint });
}

/* Prints a sentence about a session, which it frees, behind the runtime's name if there are
 * several. Returns whether there was one. */
static bool say(const struct ath_style *style, FILE *out, const struct ath_session_group *group,
                bool has_name, char *sentence)
{
    ath_auto_free char *words = sentence;
    ath_auto_free char *name = has_name ? ath_session_group_name(group) : NULL;
    ath_auto_free char *text = words && name ? ath_xasprintf("%s: %s", name, words) : NULL;
    if (words)
        ath_style_print(style, out, &(struct ath_paragraph){ .text = text ? text : words });
    return words != NULL;
}

void ath_sessions_explain(const struct ath_style *style, FILE *out,
                          const struct ath_session_group *groups, size_t group_count)
{
    size_t count = 0;
    for (size_t i = 0; i < group_count; i++)
        for (size_t j = 0; j < groups[i].sessions.count; j++)
            count += say(style, out, &groups[i], group_count > 1,
                         ath_session_wait_words(&groups[i].sessions, &groups[i].sessions.items[j]));
    if (!count)
        fprintf(out, "%s\n", _("no program waits for a GPU now"));
    for (size_t i = 0; i < group_count; i++)
        for (size_t j = 0; j < groups[i].sessions.count; j++)
            say(style, out, &groups[i], group_count > 1,
                ath_session_held_words(&groups[i], &groups[i].sessions.items[j]));
}

static char *count_words(int64_t count)
{
    return count < 0 ? ath_xstrdup("-") : ath_xasprintf("%" PRId64, count);
}

static void add_channels(const struct ath_session_group *group,
                         const struct ath_runtime_session *session, struct ath_table *table)
{
    for (size_t i = 0; i < session->channel_count; i++) {
        const struct ath_runtime_channel *channel = &session->channels[i];
        struct ath_table_cell *row = ath_table_add_row(table);
        row[0].text = ath_session_group_name(group);
        row[1].text = ath_xasprintf("%" PRIu64, session->id);
        row[2].text = ath_xasprintf("%zu", i + 1);
        row[3].text = ath_xstrdup(channel->is_lost ? _("lost") : channel->transport);
        row[3].role = channel->is_lost ? ATH_ROLE_BAD : ATH_ROLE_PLAIN;
        row[4].text = ath_xstrdup(channel->local ? channel->local : "-");
        row[5].text = ath_xstrdup(channel->peer ? channel->peer : "-");
        row[6].text = ath_words_size(channel->sent_bytes);
        row[7].text = ath_words_size(channel->received_bytes);
        row[8].text = count_words(channel->sent_again);
        row[9].text = count_words(channel->datagrams_damaged);
    }
}

/* The connections for large copies, a row for each. */
static void print_channels(const struct ath_style *style, FILE *out,
                           const struct ath_session_report *report)
{
    static const char *const channel_titles[] = { N_("Runtime"), N_("Session"),  N_("Channel"),
                                                  N_("Via"),     N_("Address"),  N_("From"),
                                                  N_("Sent"),    N_("Received"), N_("Sent again"),
                                                  N_("Damaged") };
    ATH_AUTO(ath_table)
    table = { .titles = channel_titles, .column_count = ATH_COUNT(channel_titles) };

    for (size_t i = 0; i < report->count; i++)
        for (size_t j = 0; j < report->items[i].sessions.count; j++)
            add_channels(&report->items[i], &report->items[i].sessions.items[j], &table);
    if (table.row_count)
        ath_table_print(&table, style, out);
}

static void list_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_session_report *report = data;
    bool has_answer = false;
    size_t count = 0;

    for (size_t i = 0; i < report->count; i++) {
        count += report->items[i].sessions.count;
        has_answer = has_answer || !report->items[i].status;
    }
    ath_sessions_print(style, out, report->items, report->count);
    if (report->shows_channels) {
        ath_session_paths_print(style, out, report);
        print_channels(style, out, report);
    }
    if (!report->count)
        fprintf(out, "%s\n", _("no runtime runs here"));
    else if (!count && has_answer)
        fprintf(out, "%s\n", _("no program uses a runtime now"));
    else if (report->is_explained)
        ath_sessions_explain(style, out, report->items, report->count);
    for (size_t i = 0; i < report->count; i++)
        if (report->items[i].status)
            print_error(style, out, &report->items[i]);
}

const char *const ath_session_clocks[] = { "age_ms", "state_ms", NULL };

const struct ath_view ath_session_list_view = {
    .schema = "aitherion.session-list/1",
    .title = "Output of `aitherion session list --json`",
    .fields = list_fields,
    .clocks = ath_session_clocks,
    .to_text = list_to_text,
};
