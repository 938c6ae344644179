/* Sessions, as a table and as JSON. */
#include "config.h"

#include "cli/output/session.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/time_claim.h"
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

/* ---- words ---- */

/* Returns where a limit or a share comes from; NULL if there is none. */
static const char *source_words(enum ath_gpu_limit_source source)
{
    static const char *const words[] = { [ATH_GPU_LIMIT_SOURCE_NONE] = NULL,
                                         [ATH_GPU_LIMIT_SOURCE_ASKED] = N_("asked for"),
                                         [ATH_GPU_LIMIT_SOURCE_IDENTITY] = N_("of its key"),
                                         [ATH_GPU_LIMIT_SOURCE_SET] = N_("set later") };
    return source_word((int)source) ? _(words[source]) : NULL;
}

/* Returns what kind of limit a session has, NULL if it has none. */
static const char *limit_words(const struct ath_runtime_use *use)
{
    return use->memory_limit_bytes != ATH_UNKNOWN ? source_words(use->limit_source) : NULL;
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

/* Returns what a session is due if that is less than its share, else NULL. Below 10 % with tenths.
 * The caller frees it. */
static char *less_due_words(const struct ath_runtime_turn *turn)
{
    double due = turn->share_percent;
    if (due == ATH_UNKNOWN || due > turn->claim.share_percent - 0.1)
        return NULL;
    return ath_xasprintf("%.*f", due < 9.95 && fabs(due - round(due)) >= 0.05, due);
}

static void add_share(struct ath_text *text, const struct ath_runtime_turn *turn)
{
    const char *source = source_words(turn->share_source);
    ath_auto_free char *due = less_due_words(turn);
    if (!turn->claim.share_percent)
        return;
    ath_auto_free char *share = ath_xasprintf(
        turn->claim.is_capped ? _("%d %% at most") : _("%d %%"), turn->claim.share_percent);
    if (due && turn->share_source == ATH_GPU_LIMIT_SOURCE_IDENTITY) {
        ath_text_add(text, _("%s %% of its key's %s"), due, share);
        return;
    }
    ath_text_add(text, "%s", share);
    if (source)
        ath_text_add(text, _(" (%s)"), source);
    if (due)
        ath_text_add_part(text, _(", "), _("due %s %%"), due);
}

static void add_state(struct ath_text *text, const struct ath_runtime_turn *turn)
{
    if (turn->state == ATH_GPU_TURN_STATE_HOLDS)
        ath_text_add_part(text, _(", "), "%s", _("has its turn"));
    else if (turn->reason == ATH_WAIT_CAP)
        ath_text_add_part(text, _(", "), "%s", _("waits for its cap"));
    else if (turn->waits_for)
        ath_text_add_part(text, _(", "), _("waits for session %" PRIu64), turn->waits_for);
    else if (turn->state == ATH_GPU_TURN_STATE_WAITS)
        ath_text_add_part(text, _(", "), "%s", _("waits"));
}

char *ath_session_turn_words(const struct ath_runtime_turn *turn)
{
    struct ath_text text = { 0 };
    add_share(&text, turn);
    if (turn->claim.priority == ATH_TIME_HIGH || turn->claim.priority == ATH_TIME_LOW)
        ath_text_add_part(&text, _(", "), _("priority %s"),
                          ath_time_priority_word((int)turn->claim.priority));
    add_state(&text, turn);
    return text.data ? ath_text_take(&text) : NULL;
}

/* Returns "session 7 (train.py, key alice)", or "session 7" for one that this user may not see. */
static char *session_words(const struct ath_runtime_sessions *sessions, uint64_t id)
{
    const struct ath_runtime_session *one = sessions->items, *end = one + sessions->count;
    while (one < end && one->id != id)
        one++;
    if (one < end && one->program && one->identity)
        return ath_xasprintf(_("session %" PRIu64 " (%s, key %s)"), id, one->program,
                             one->identity);
    if (one < end && one->program)
        return ath_xasprintf(_("session %" PRIu64 " (%s)"), id, one->program);
    if (one < end && one->identity)
        return ath_xasprintf(_("session %" PRIu64 " (key %s)"), id, one->identity);
    return ath_xasprintf(_("session %" PRIu64), id);
}

/* Returns "has waited for 1.234 s". The caller frees it. */
static char *waited_words(int64_t state_ms)
{
    if (state_ms < 0)
        return ath_xstrdup(_("waits"));
    return state_ms ? ath_xasprintf(_("has waited for %.3f s"), (double)state_ms / 1000)
                    : ath_xstrdup(_("just began to wait"));
}

char *ath_session_wait_words(const struct ath_runtime_sessions *sessions,
                             const struct ath_runtime_session *session)
{
    const struct ath_runtime_turn *turn = &session->turn;
    ath_auto_free char *own = session_words(sessions, session->id);
    ath_auto_free char *other = session_words(sessions, turn->waits_for);
    ath_auto_free char *waits = waited_words(turn->state_ms);

    switch (turn->reason) {
    case ATH_WAIT_TURN:
        return ath_xasprintf(_("%s %s for %s, which has its turn"), own, waits, other);
    case ATH_WAIT_PRIORITY:
        return ath_xasprintf(_("%s %s for %s, which has a higher priority"), own, waits, other);
    case ATH_WAIT_CAP:
        return ath_xasprintf(_("%s %s for its own cap: it has had its %d "
                               "percent for now"),
                             own, waits, turn->claim.share_percent);
    case ATH_WAIT_NEXT:
        return ath_xasprintf(_("%s %s, for no other session: its turn comes "
                               "next"),
                             own, waits);
    default:
        return NULL;
    }
}

char *ath_session_held_words(const struct ath_session_group *group,
                             const struct ath_runtime_session *session)
{
    const struct ath_figures *figures = &group->figures;
    const struct ath_session_figures *one = figures->sessions, *end = one + figures->session_count;
    while (one < end && one->id != session->id)
        one++;
    if (one == end || one->held_us == ATH_UNKNOWN || session->turn.share_percent == ATH_UNKNOWN ||
        !session->age_ms)
        return NULL;
    ath_auto_free char *own = session_words(&group->sessions, session->id);
    double held = (double)one->held_us / 10 / (double)session->age_ms;
    return ath_xasprintf(_("%s has held its GPUs for %.0f %% of the time since it began; its part "
                           "is %.0f %%"),
                         own, held < 100 ? held : 100, session->turn.share_percent);
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
        if (table->column_count == LONG_COUNT)
            row[SHARE].text = ath_session_turn_words(&one->turn);
        row[table->column_count - 1].text = origin_words(group, one);
        row[MEMORY].text = memory_words(one);
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
    ath_auto_free char *name = name_of(group);
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
    ath_auto_free char *name = has_name ? name_of(group) : NULL;
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

/* ---- changes ---- */

static const char *const actions[] = {
    [ATH_SESSION_END] = "end", [ATH_SESSION_LIMIT] = "limit", NULL
};

static const char *action_word(int action)
{
    return actions[action];
}

static const void *find_claim(const void *object)
{
    return ((const struct ath_session_change *)object)->action == ATH_SESSION_LIMIT ? object : NULL;
}

static const void *find_changed_key_share(const void *object)
{
    return ((const struct ath_session_change *)object)->key_percent ? object : NULL;
}

#define AT(member) ATH_AT(struct ath_session_change, member)
static const struct ath_field change_fields[] = {
    ATH_FIELD("action", AT(action), .word = action_word, .words = actions),
    ATH_FIELD("is_dry_run", AT(is_dry_run), .help = "true if nothing was changed"),
    ATH_FIELD("server", AT(server), .help = "address of the runtime, HOST:PORT or unix:PATH"),
    ATH_FIELD("sessions", ATH_AT_LIST(struct ath_session_change, ids, id_count),
              .help = "ids of the changed sessions",
              .rules = "{\"items\": {\"type\": \"integer\", \"minimum\": 1}, \"minItems\": 1}"),
    ATH_FIELD("device", AT(device),
              .help = "for a limit of memory: index of the GPU in the runtime's list",
              .is_nullable = true),
    ATH_FIELD("memory_limit_bytes", AT(limit_bytes), .help = "null for no limit",
              .is_nullable = true),
    ATH_FIELD("memory_used_bytes", AT(used_bytes),
              .help = "for a limit: memory that the session uses on the GPU", .is_nullable = true),
    ATH_FIELD("share_percent", AT(claim.share_percent), .find = find_claim,
              .help = "the new share of the GPUs' time, 0 for none; null if it was not changed",
              .is_nullable = true),
    ATH_FIELD("key_share_percent", AT(key_percent), .find = find_changed_key_share,
              .help = "that all sessions of its key have together, among which share_percent is a "
                      "weight; null for no such share",
              .is_nullable = true),
    ATH_FIELD("is_capped", ATH_AT_AS(ATH_FIELD_FLAG, struct ath_session_change, claim.cap),
              .find = find_claim, .help = "null if it was not changed", .is_nullable = true),
    ATH_FIELD("priority", AT(claim.priority), .word = ath_time_priority_word,
              .words = ath_time_priorities, .help = "null if it was not changed",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

static void print_share(FILE *out, const struct ath_session_change *change, const char *id)
{
    static const char *const shares[] = {
        N_("session %s has %d percent of its GPUs' time while others want them\n"),
        N_("would give session %s %d percent of its GPUs' time while others want them\n"),
    };
    static const char *const weights[] = {
        N_("session %s has the share %d\nnote: all sessions of its key together have %d percent; "
           "among them it weighs %d\n"),
        N_("would give session %s the share %d\nnote: all sessions of its key together have %d "
           "percent; among them it weighs %d\n"),
    };
    static const char *const none[] = { N_("session %s has no share of its own\n"),
                                        N_("would leave session %s no share of its own\n") };
    int share = change->claim.share_percent;
    if (share > 0 && change->key_percent)
        fprintf(out, _(weights[change->is_dry_run]), id, share, change->key_percent, share);
    else if (change->claim.share_percent > 0)
        fprintf(out, _(shares[change->is_dry_run]), id, change->claim.share_percent);
    else if (!change->claim.share_percent)
        fprintf(out, _(none[change->is_dry_run]), id);
}

static void print_claim(FILE *out, const struct ath_session_change *change, const char *id)
{
    static const char *const caps[][2] = {
        { N_("session %s may use time that others leave\n"),
          N_("would let session %s use time that others leave\n") },
        { N_("session %s gets no more than its share\n"),
          N_("would give session %s no more than its share\n") },
    };
    static const char *const priorities[] = { N_("session %s has the priority '%s'\n"),
                                              N_("would give session %s the priority '%s'\n") };
    enum ath_time_priority got =
        change->got_priority ? change->got_priority : change->claim.priority;

    print_share(out, change, id);
    if (change->keeps_cap)
        fprintf(out, _("note: its cap stays; `session limit %s --no-cap` removes it\n"), id);
    if (change->claim.cap != ATH_UNKNOWN)
        fprintf(out, _(caps[change->claim.cap][change->is_dry_run]), id);
    if (!change->claim.priority)
        return;
    fprintf(out, _(priorities[change->is_dry_run]), id, ath_time_priority_word((int)got));
    if (got != change->claim.priority)
        fprintf(out, _("note: its key allows no priority above '%s'\n"),
                ath_time_priority_word((int)got));
}

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
    if (change->action == ATH_SESSION_END) {
        fprintf(out, _(ends[change->is_dry_run]), id);
        return;
    }
    print_claim(out, change, id);
    if (change->device != ATH_UNKNOWN)
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
