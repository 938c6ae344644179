/* The columns of the table of sessions. */
#include "config.h"

#include "cli/top/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "cli/top/short.h"

const char *const ath_top_sort_words[] = {
    [ATH_TOP_ID] = "session",    [ATH_TOP_PROGRAM] = "program", [ATH_TOP_IDENTITY] = "key",
    [ATH_TOP_FROM] = "host",     [ATH_TOP_SERVER] = "runtime",  [ATH_TOP_GPU] = "gpu",
    [ATH_TOP_MEMORY] = "memory", [ATH_TOP_BUSY] = "busy",       [ATH_TOP_GPU_TIME] = "time",
    [ATH_TOP_CALLS] = "calls",   [ATH_TOP_TRAFFIC] = "bytes",   [ATH_TOP_WAIT] = "wait",
    [ATH_TOP_SHARE] = "share",   [ATH_TOP_HELD] = "held",       [ATH_TOP_QUEUED] = "queued",
    [ATH_TOP_AGE] = "age",       [ATH_TOP_SORT_COUNT] = NULL
};

/* ---- texts ---- */

static char *text_id(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_xasprintf("%" PRIu64, session->id);
}

static char *text_program(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_xstrdup(session->facts->program ? session->facts->program : "?");
}

static char *text_identity(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_xstrdup(session->facts->identity ? session->facts->identity : "-");
}

/* The host as the program says; a process of this machine says its own. */
static char *text_from(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    const char *from = ath_top_from(session);
    return ath_xstrdup(from ? from : "?");
}

static char *text_process(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return session->facts->process ? ath_xasprintf("%u", session->facts->process)
                                   : ath_xstrdup("?");
}

static char *text_server(const struct ath_top *top, const struct ath_top_session *session)
{
    return ath_xstrdup(top->servers[session->server].name);
}

static char *text_gpu(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return session->gpu < 0
               ? ath_xstrdup("-")
               : ath_xasprintf("%d%s", session->gpu, session->is_on_several ? "+" : "");
}

static char *text_memory(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_size(session->memory_bytes);
}

static char *text_limit(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return session->limit_bytes < 0 ? ath_xstrdup("-") : ath_short_size(session->limit_bytes);
}

static char *text_busy(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_percent(session->busy_percent);
}

static char *text_gpu_time(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_time(session->gpu_time_us);
}

static char *text_calls(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_rate(session->calls_s);
}

static char *text_traffic(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_rate(session->traffic_bytes_s);
}

static char *text_wait(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return session->wait_us < 0 && session->before.waits >= 0 ? ath_xstrdup("-")
                                                              : ath_short_wait(session->wait_us);
}

/* "25%", "25% max", with "high" or "low" behind. */
static char *text_share(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    struct ath_text text = { 0 };
    const struct ath_time_claim *claim = &session->facts->turn.claim;
    if (claim->share_percent)
        ath_text_add(&text, claim->is_capped ? _("%d%% max") : "%d%%", claim->share_percent);
    if (claim->priority == ATH_TIME_HIGH || claim->priority == ATH_TIME_LOW)
        ath_text_add_part(&text, " ", "%s", ath_time_priority_word((int)claim->priority));
    return text.data ? ath_text_take(&text) : ath_xstrdup("-");
}

static char *text_held(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_percent(session->held_percent);
}

static char *text_queued(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_percent(session->queued_percent);
}

static char *text_transport(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    const char *transport = session->transport ? session->transport : "?";
    return ath_xasprintf("%s%s", transport, session->facts->is_encrypted ? "+tls" : "");
}

/* A number that is known, else "-". */
static char *text_number(int64_t number)
{
    return number < 0 ? ath_xstrdup("-") : ath_xasprintf("%" PRId64, number);
}

/* TCP segments and datagrams that the runtime sent more than once, by all connections for large
 * copies together. */
static char *text_resent(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    const struct ath_runtime_session *facts = session->facts;
    int64_t sum = facts->channel_count ? 0 : ATH_UNKNOWN;
    for (size_t i = 0; i < facts->channel_count && sum >= 0; i++) {
        int64_t one = facts->channels[i].sent_again;
        sum = one < 0 ? ATH_UNKNOWN : sum + one;
    }
    return text_number(sum);
}

/* Datagrams that came to the runtime with a wrong sum, by all of these connections that are UDP;
 * ATH_UNKNOWN: none is. */
static int64_t damaged_of(const struct ath_top_session *session)
{
    const struct ath_runtime_session *facts = session->facts;
    int64_t sum = ATH_UNKNOWN;
    for (size_t i = 0; i < facts->channel_count; i++) {
        int64_t one = facts->channels[i].datagrams_damaged;
        if (one >= 0)
            sum = sum < 0 ? one : sum + one;
    }
    return sum;
}

static char *text_damaged(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return text_number(damaged_of(session));
}

static char *text_age(const struct ath_top *top, const struct ath_top_session *session)
{
    (void)top;
    return ath_short_age((int64_t)session->facts->age_ms);
}

/* ---- roles, and columns that are not always of use ---- */

static enum ath_role role_name(const struct ath_top_session *session)
{
    (void)session;
    return ATH_ROLE_NAME;
}

static enum ath_role role_busy(const struct ath_top_session *session)
{
    return session->busy_percent > 0 ? ATH_ROLE_GOOD : ATH_ROLE_DIM;
}

/* Programs without calls in the last interval are dim. */
static enum ath_role role_calls(const struct ath_top_session *session)
{
    return session->calls_s > 0 ? ATH_ROLE_PLAIN : ATH_ROLE_DIM;
}

static enum ath_role role_traffic(const struct ath_top_session *session)
{
    return session->traffic_bytes_s > 0 ? ATH_ROLE_PLAIN : ATH_ROLE_DIM;
}

/* A program at nine tenths of its limit soon gets no more memory. */
static enum ath_role role_memory(const struct ath_top_session *session)
{
    return session->limit_bytes > 0 && session->memory_bytes >= session->limit_bytes ? ATH_ROLE_BAD
           : session->limit_bytes > 0 && session->memory_bytes / 9 >= session->limit_bytes / 10
               ? ATH_ROLE_WARN
               : ATH_ROLE_PLAIN;
}

static enum ath_role role_quiet(const struct ath_top_session *session)
{
    (void)session;
    return ATH_ROLE_DIM;
}

static bool has_several_servers(const struct ath_top *top)
{
    return top->server_count > 1;
}

static bool has_identities(const struct ath_top *top)
{
    for (size_t i = 0; i < top->session_count; i++)
        if (top->sessions[i].facts->identity)
            return true;
    return false;
}

static bool has_limits(const struct ath_top *top)
{
    for (size_t i = 0; i < top->session_count; i++)
        if (top->sessions[i].limit_bytes >= 0)
            return true;
    return false;
}

static bool has_channels(const struct ath_top *top)
{
    for (size_t i = 0; i < top->session_count; i++)
        if (top->sessions[i].facts->channel_count)
            return true;
    return false;
}

static bool has_datagrams(const struct ath_top *top)
{
    for (size_t i = 0; i < top->session_count; i++)
        if (damaged_of(&top->sessions[i]) >= 0)
            return true;
    return false;
}

/* Returns whether a session has a share or a priority, or takes turns because another one has. */
static bool has_turns(const struct ath_top *top)
{
    for (size_t i = 0; i < top->session_count; i++) {
        const struct ath_runtime_turn *turn = &top->sessions[i].facts->turn;
        if (turn->claim.share_percent || turn->claim.priority == ATH_TIME_HIGH ||
            turn->claim.priority == ATH_TIME_LOW || turn->state == ATH_GPU_TURN_STATE_HOLDS ||
            turn->state == ATH_GPU_TURN_STATE_WAITS)
            return true;
    }
    return false;
}

/* ---- the table ---- */

const struct ath_top_column ath_top_columns[] = {
    { N_("Session"), N_("number of the session"), ATH_TOP_ID, 7, 8, 98, .text = text_id },
    { N_("Program"), N_("program"), ATH_TOP_PROGRAM, 10, 28, 99, .is_left = true,
      .text = text_program, .role = role_name },
    { N_("Key"), N_("name of the key"), ATH_TOP_IDENTITY, 8, 14, 60, .importance_with_turns = 93,
      .is_left = true, .is_shown = has_identities, .text = text_identity },
    { N_("Host"), N_("host of the program"), ATH_TOP_FROM, 8, 24, 70, .is_left = true,
      .text = text_from, .is_address = true },
    { N_("Process"), NULL, ATH_TOP_SORT_COUNT, 7, 8, 25, .is_wide_only = true,
      .text = text_process },
    { N_("Runtime"), N_("runtime"), ATH_TOP_SERVER, 10, 21, 75, .is_left = true,
      .is_shown = has_several_servers, .text = text_server, .is_address = true },
    { N_("GPU"), N_("GPU with most of its memory"), ATH_TOP_GPU, 3, 4, 80, .text = text_gpu },
    { N_("Memory"), N_("GPU memory"), ATH_TOP_MEMORY, 6, 8, 95, .text = text_memory,
      .role = role_memory },
    { N_("Limit"), NULL, ATH_TOP_SORT_COUNT, 6, 8, 50, .is_shown = has_limits, .text = text_limit },
    { N_("Busy"), N_("share of the GPU's time"), ATH_TOP_BUSY, 5, 6, 94, .text = text_busy,
      .role = role_busy },
    { N_("Share"), N_("claimed share of the GPUs' time"), ATH_TOP_SHARE, 13, 13, 94,
      .is_shown = has_turns, .text = text_share },
    { N_("Held"), N_("time with its turn"), ATH_TOP_HELD, 5, 6, 92, .is_shown = has_turns,
      .text = text_held },
    { N_("Queued"), N_("time that it waited for its turn"), ATH_TOP_QUEUED, 6, 7, 91,
      .is_shown = has_turns, .text = text_queued },
    { N_("GPU time"), N_("GPU time"), ATH_TOP_GPU_TIME, 8, 9, 65, .text = text_gpu_time },
    { N_("Calls/s"), N_("calls in a second"), ATH_TOP_CALLS, 7, 8, 90, .text = text_calls,
      .role = role_calls },
    { N_("Bytes/s"), N_("bytes in a second, both ways"), ATH_TOP_TRAFFIC, 7, 8, 85,
      .text = text_traffic, .role = role_traffic },
    { N_("Wait"), N_("mean wait for the GPU"), ATH_TOP_WAIT, 7, 8, 40, .text = text_wait },
    { N_("Via"), NULL, ATH_TOP_SORT_COUNT, 7, 7, 20, .is_left = true, .is_wide_only = true,
      .text = text_transport, .role = role_quiet },
    { N_("Resent"), NULL, ATH_TOP_SORT_COUNT, 6, 8, 15, .is_wide_only = true,
      .is_shown = has_channels, .text = text_resent, .role = role_quiet },
    { N_("Damaged"), NULL, ATH_TOP_SORT_COUNT, 7, 8, 14, .is_wide_only = true,
      .is_shown = has_datagrams, .text = text_damaged, .role = role_quiet },
    { N_("Age"), N_("age of the session"), ATH_TOP_AGE, 4, 6, 45, .text = text_age },
    { .title = NULL },
};

int ath_top_column_importance(const struct ath_top_column *column, const struct ath_top *top)
{
    return column->importance_with_turns && has_turns(top) ? column->importance_with_turns
                                                           : column->importance;
}

const struct ath_top_column *ath_top_column(enum ath_top_sort key)
{
    const struct ath_top_column *column = ath_top_columns;
    while (column->title && column->key != key)
        column++;
    return column;
}

int ath_top_sort_parse(const char *word, enum ath_top_sort *out, struct ath_err *err)
{
    ATH_AUTO(ath_text) all = { 0 };

    for (int key = 0; key < ATH_TOP_SORT_COUNT; key++) {
        if (!strcmp(word, ath_top_sort_words[key])) {
            *out = (enum ath_top_sort)key;
            return 0;
        }
        ath_text_add_part(&all, ", ", "%s", ath_top_sort_words[key]);
    }
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), word, "sort");
    return ath_err_hint(err, -EINVAL, "%s", all.data);
}
