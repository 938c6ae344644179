/* Sessions, as a table and as JSON. */
#include "config.h"

#include "cli/output/session.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/table.h"
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

/* ---- words ---- */

/* Returns what kind of limit a session has, NULL if it has none. */
static const char *limit_words(const struct ath_runtime_use *use)
{
    static const char *const words[] = { [ATH_GPU_LIMIT_SOURCE_NONE] = NULL,
                                         [ATH_GPU_LIMIT_SOURCE_ASKED] = N_("asked for"),
                                         [ATH_GPU_LIMIT_SOURCE_IDENTITY] = N_("of its key"),
                                         [ATH_GPU_LIMIT_SOURCE_SET] = N_("set later") };
    return use->memory_limit_bytes != ATH_UNKNOWN && source_word((int)use->limit_source)
               ? _(words[use->limit_source])
               : NULL;
}

static void add_use(struct ath_text *text, const struct ath_runtime_use *use)
{
    const char *words = limit_words(use);
    ath_auto_free char *used =
        ath_words_size(use->memory_used_bytes == ATH_UNKNOWN ? 0 : use->memory_used_bytes);
    ath_auto_free char *limit =
        use->memory_limit_bytes == ATH_UNKNOWN ? NULL : ath_words_size(use->memory_limit_bytes);
    if (!limit) {
        ath_text_add_part(text, _(", "), _("GPU %d: %s"), (int)use->device, used);
        return;
    }
    ath_text_add_part(text, _(", "), _("GPU %d: %s of %s"), (int)use->device, used, limit);
    if (words && use->is_limit_enforced)
        ath_text_add(text, _(" (%s)"), words);
    else if (words)
        ath_text_add(text, _(" (%s, not enforced)"), words);
}

static char *memory_words(const struct ath_runtime_session *session)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < session->use_count; i++)
        add_use(&text, &session->uses[i]);
    return text.data ? ath_text_take(&text) : NULL;
}

static char *name_of(const struct ath_session_group *group)
{
    return group->id == ATH_UNSET ? ath_xstrdup(group->server) : ath_xasprintf("NUMA%d", group->id);
}

/* ---- the table ---- */

/* PEER is the widest: a narrow screen of the menus cuts the end of it only. */
enum { RUNTIME, ID, PROGRAM, IDENTITY, MEMORY, AGE, PEER, COLUMN_COUNT };

static const char *const titles[COLUMN_COUNT] = {
    [RUNTIME] = N_("Runtime"), [ID] = N_("Session"),    [PROGRAM] = N_("Program"),
    [IDENTITY] = N_("Key"),    [MEMORY] = N_("Memory"), [AGE] = N_("Age"),
    [PEER] = N_("From"),
};

/* Returns the name of a user of the runtime's machine if that is this one, else the id. */
static char *user_words(const struct ath_session_group *group, unsigned int uid)
{
    bool is_here = group->id != ATH_UNSET || ath_starts_with(group->server, "unix:");
    const struct passwd *user = is_here ? getpwuid(uid) : NULL;
    return user ? ath_xstrdup(user->pw_name) : ath_xasprintf("%u", uid);
}

/* The kernel says process 0 if the process is in a namespace that the runtime cannot see. */
char *ath_session_peer_words(const struct ath_session_group *group, const char *peer)
{
    const char *numbers = peer && ath_starts_with(peer, "unix:") ? peer + strlen("unix:") : NULL;
    char *rest = NULL;
    unsigned long pid = numbers ? strtoul(numbers, &rest, 10) : 0;

    if (!rest || rest == numbers || *rest != ':')
        return ath_xstrdup(peer);
    ath_auto_free char *user = user_words(group, (unsigned int)strtoul(rest + 1, NULL, 10));
    return pid ? ath_xasprintf(_("process %lu, user %s"), pid, user)
               : ath_xasprintf(_("user %s"), user);
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
        row[RUNTIME].text = name_of(group);
        row[ID].text = ath_xasprintf("%" PRIu64, one->id);
        row[ID].role = ATH_ROLE_NAME;
        row[PROGRAM].text = ath_xstrdup(one->program);
        row[IDENTITY].text = ath_xstrdup(one->identity);
        row[PEER].text = origin_words(group, one);
        row[MEMORY].text = memory_words(one);
        row[AGE].text = ath_words_duration((int64_t)(one->age_ms / 1000));
    }
}

void ath_sessions_table(const struct ath_session_group *groups, size_t count, struct ath_table *out)
{
    *out = (struct ath_table){ .titles = titles, .column_count = COLUMN_COUNT };
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
    ath_auto_free char *name = name_of(group);
    ath_auto_free char *message = ath_clean(group->err.message, style->is_utf8);
    ath_auto_free char *hint = ath_style_hint(style, group->err.hint);
    fprintf(out, "%s%s: %s%s\n", ath_style_on(style, ATH_ROLE_BAD), name ? name : "", message,
            ath_style_off(style, ATH_ROLE_BAD));
    if (hint)
        ath_style_print(style, out, &(struct ath_paragraph){ .prefix = "  ", .text = hint });
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
    if (!report->count)
        fprintf(out, "%s\n", _("no runtime runs here"));
    else if (!count && has_answer)
        fprintf(out, "%s\n", _("no program uses a runtime now"));
    for (size_t i = 0; i < report->count; i++)
        if (report->items[i].status)
            print_error(style, out, &report->items[i]);
}

const struct ath_view ath_session_list_view = {
    .schema = "aitherion.session-list/1",
    .title = "Output of `aitherion session list --json`",
    .fields = list_fields,
    .clock = "age_ms",
    .to_text = list_to_text,
};

/* ---- changes ---- */

static const char *const actions[] = {
    [ATH_SESSION_END] = "end", [ATH_SESSION_LIMIT] = "limit", NULL
};

static const char *action_word(int action)
{
    return actions[action];
}

#define AT(member) ATH_AT(struct ath_session_change, member)
static const struct ath_field change_fields[] = {
    ATH_FIELD("action", AT(action), .word = action_word, .words = actions),
    ATH_FIELD("is_dry_run", AT(is_dry_run), .help = "true if nothing was changed"),
    ATH_FIELD("server", AT(server), .help = "address of the runtime, HOST:PORT or unix:PATH"),
    ATH_FIELD("sessions", ATH_AT_LIST(struct ath_session_change, ids, id_count),
              .help = "ids of the changed sessions",
              .rules = "{\"items\": {\"type\": \"integer\", \"minimum\": 1}, \"minItems\": 1}"),
    ATH_FIELD("device", AT(device), .help = "for a limit: index of the GPU in the runtime's list",
              .is_nullable = true),
    ATH_FIELD("memory_limit_bytes", AT(limit_bytes), .help = "null for no limit",
              .is_nullable = true),
    ATH_FIELD("memory_used_bytes", AT(used_bytes),
              .help = "for a limit: memory that the session uses on the GPU", .is_nullable = true),
    { .name = NULL },
};
#undef AT

static void print_change(FILE *out, const struct ath_session_change *change, const char *id)
{
    static const char *const ends[] = { N_("ended session %s\n"), N_("would end session %s\n") };
    static const char *const limits[] = {
        N_("session %s may use %s of GPU %d\n"),
        N_("would allow session %s to use %s of GPU %d\n"),
    };
    ath_auto_free char *size = change->limit_bytes == ATH_UNKNOWN
                                   ? ath_xstrdup(_("all served memory"))
                                   : ath_words_size(change->limit_bytes);
    if (change->action == ATH_SESSION_END)
        fprintf(out, _(ends[change->is_dry_run]), id);
    else
        fprintf(out, _(limits[change->is_dry_run]), id, size, change->device);
}

/* A limit takes no memory away. */
static void print_excess(const struct ath_style *style, FILE *out,
                         const struct ath_session_change *change)
{
    if (change->limit_bytes == ATH_UNKNOWN || change->used_bytes <= change->limit_bytes)
        return;
    ath_auto_free char *used = ath_words_size(change->used_bytes);
    ath_auto_free char *text =
        ath_xasprintf(_("note: it uses %s now and keeps them; it gets no more memory while it uses "
                        "more than its limit"),
                      used);
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
}

static void change_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_session_change *change = data;

    for (size_t i = 0; i < change->id_count; i++) {
        ath_auto_free char *id = ath_xasprintf("%" PRIu64, change->ids[i]);
        print_change(out, change, id);
    }
    print_excess(style, out, change);
}

const struct ath_view ath_session_change_view = {
    .schema = "aitherion.session-change/1",
    .title = "Output of `aitherion session end --json` and `aitherion session limit --json`",
    .fields = change_fields,
    .to_text = change_to_text,
};
