/* Sessions of a server: their facts, their memory, and rates since the last answer. */
#include "config.h"

#include "cli/top/model_sessions.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cli/top/rate.h"

const struct ath_top_session *ath_top_find(const struct ath_top *top, size_t server, uint64_t id)
{
    for (size_t i = 0; i < top->session_count; i++)
        if (top->sessions[i].server == server && top->sessions[i].id == id)
            return &top->sessions[i];
    return NULL;
}

int64_t ath_top_memory_on(const struct ath_top_session *session, int gpu)
{
    for (size_t i = 0; i < session->facts->use_count; i++)
        if ((int)session->facts->uses[i].device == gpu)
            return session->facts->uses[i].memory_used_bytes;
    return 0;
}

static const struct ath_session_figures *figures_of(const struct ath_top_answer *answer,
                                                    uint64_t id)
{
    for (size_t i = 0; answer->has_figures && i < answer->figures.session_count; i++)
        if (answer->figures.sessions[i].id == id)
            return &answer->figures.sessions[i];
    return NULL;
}

static void add_use(struct ath_top_session *out, const struct ath_runtime_use *use,
                    int64_t *most_bytes)
{
    int64_t used = use->memory_used_bytes;

    if (used < 0 || out->memory_bytes < 0)
        out->memory_bytes = ATH_UNKNOWN;
    else
        out->memory_bytes += used;
    if (use->memory_limit_bytes >= 0)
        out->limit_bytes = ath_top_sum(out->limit_bytes, use->memory_limit_bytes);
    if (used <= 0)
        return;
    out->is_on_several = out->is_on_several || *most_bytes > 0;
    if (used > *most_bytes) {
        *most_bytes = used;
        out->gpu = (int)use->device;
    }
}

static void take_memory(struct ath_top_session *out)
{
    int64_t most_bytes = 0;

    out->memory_bytes = 0;
    out->limit_bytes = ATH_UNKNOWN;
    out->gpu = ATH_UNKNOWN;
    out->is_on_several = false;
    for (size_t i = 0; i < out->facts->use_count; i++)
        add_use(out, &out->facts->uses[i], &most_bytes);
}

/* A wait that no bucket counts is unknown, as are all of them. */
static int64_t waits_of(const struct ath_session_figures *figures)
{
    int64_t waits = 0;
    for (size_t i = 0; i < ATH_COUNT(figures->waits); i++)
        if (figures->waits[i] < 0)
            return ATH_UNKNOWN;
        else
            waits += figures->waits[i];
    return waits;
}

/* Takes the mean duration of the waits since the last answer. */
static int64_t mean_wait(const struct ath_top_session *out, const struct ath_session_figures *now,
                         int64_t waits)
{
    int64_t more = waits - out->before.waits;
    if (!out->before.at_ms || out->before.waits < 0 || out->before.waited_us < 0 || more <= 0 ||
        now->waited_us < out->before.waited_us)
        return ATH_UNKNOWN;
    return (now->waited_us - out->before.waited_us) / more;
}

/* The time that the GPUs worked is exact; a server without it may know its last sample. */
static int64_t busy_of(const struct ath_top_session *out, const struct ath_session_figures *now,
                       uint64_t passed_ms)
{
    int64_t us_per_s = ath_top_rate(out->before.gpu_time_us, now->gpu_time_us, passed_ms);
    return now->busy_percent >= 0 ? now->busy_percent
           : us_per_s >= 0        ? (us_per_s + 5000) / 10000
                                  : ATH_UNKNOWN;
}

/* Returns the percentage of the time that passed in which a count of microseconds grew. */
static int64_t part_of_time(int64_t before_us, int64_t now_us, uint64_t passed_ms)
{
    int64_t us_per_s = ath_top_rate(before_us, now_us, passed_ms);
    return us_per_s < 0 ? ATH_UNKNOWN : us_per_s > 1000000 ? 100 : (us_per_s + 5000) / 10000;
}

static void take_turns(struct ath_top_session *out, const struct ath_session_figures *now,
                       uint64_t passed_ms)
{
    const struct ath_time_claim *claim = &out->facts->turn.claim;
    bool is_known = passed_ms > 0;

    out->share_percent = claim->share_percent ? claim->share_percent : ATH_UNKNOWN;
    out->held_percent =
        is_known ? part_of_time(out->before.held_us, now->held_us, passed_ms) : ATH_UNKNOWN;
    out->queued_percent = is_known
                              ? part_of_time(out->before.queued_us, now->turn_waited_us, passed_ms)
                              : ATH_UNKNOWN;
    out->before.held_us = now->held_us;
    out->before.queued_us = now->turn_waited_us;
}

static void take_counts(struct ath_top_session *out, const struct ath_session_figures *now,
                        uint64_t at_ms)
{
    uint64_t passed_ms = out->before.at_ms ? at_ms - out->before.at_ms : 0;
    int64_t waits = waits_of(now);

    out->calls = now->calls;
    out->calls_s = ath_top_rate(out->before.calls, now->calls, passed_ms);
    out->received_bytes_s = ath_top_rate(out->before.received, now->received_bytes, passed_ms);
    out->sent_bytes_s = ath_top_rate(out->before.sent, now->sent_bytes, passed_ms);
    out->traffic_bytes_s = ath_top_sum(out->received_bytes_s, out->sent_bytes_s);
    out->gpu_time_us = now->gpu_time_us;
    out->busy_percent = busy_of(out, now, passed_ms);
    out->wait_us = mean_wait(out, now, waits);
    take_turns(out, now, passed_ms);
    out->transport = now->transport;
    out->before.at_ms = at_ms;
    out->before.calls = now->calls;
    out->before.received = now->received_bytes;
    out->before.sent = now->sent_bytes;
    out->before.gpu_time_us = now->gpu_time_us;
    out->before.waits = waits;
    out->before.waited_us = now->waited_us;
}

static void take_session(const struct ath_top *top, size_t server,
                         const struct ath_runtime_session *facts,
                         const struct ath_top_answer *answer, struct ath_top_session *out)
{
    const struct ath_top_session *old = ath_top_find(top, server, facts->id);
    const struct ath_session_figures *now = figures_of(answer, facts->id);
    struct ath_session_figures unknown;

    if (old)
        *out = *old;
    if (!now) {
        ath_session_figures_init(&unknown);
        now = &unknown;
    }
    out->server = server;
    out->runtime = top->servers[server].name;
    out->id = facts->id;
    out->facts = facts;
    take_memory(out);
    take_counts(out, now, answer->at_ms);
    ath_history_add(&out->busy, out->busy_percent);
}

void ath_top_take_sessions(struct ath_top *top, size_t server, const struct ath_top_answer *answer)
{
    const struct ath_runtime_sessions *list = &answer->group.sessions;
    struct ath_top_session *sessions = NULL;
    size_t count = 0, at = 0;

    for (; at < top->session_count && top->sessions[at].server < server; at++)
        *(struct ath_top_session *)ath_push(&sessions, &count, sizeof *sessions) =
            top->sessions[at];
    for (size_t i = 0; i < list->count; i++)
        take_session(top, server, &list->items[i], answer,
                     ath_push(&sessions, &count, sizeof *sessions));
    for (; at < top->session_count; at++)
        if (top->sessions[at].server != server)
            *(struct ath_top_session *)ath_push(&sessions, &count, sizeof *sessions) =
                top->sessions[at];
    free(top->sessions);
    top->sessions = sessions;
    top->session_count = count;
}
