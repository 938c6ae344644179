/* The questions of gpu-control about sessions. */
#include "config.h"

#include "remote/session/sessions.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clean.h"

static void take_use(struct ath_gpu_device_use from, struct ath_runtime_use *to)
{
    int64_t used = ath_gpu_device_use_memory_used_bytes(from);
    int64_t limit = ath_gpu_device_use_memory_limit_bytes(from);
    int64_t part = ath_gpu_device_use_processors(from);
    int64_t whole = ath_gpu_device_use_processors_total(from);
    *to = (struct ath_runtime_use){ .device = ath_gpu_device_use_device(from),
                                    .memory_used_bytes = used < 0 ? ATH_UNKNOWN : used,
                                    .memory_limit_bytes = limit < 0 ? ATH_UNKNOWN : limit,
                                    .limit_source = ath_gpu_device_use_memory_limit_source(from),
                                    .is_limit_enforced = ath_gpu_device_use_is_limit_enforced(from),
                                    .processors = part ? part : ATH_UNKNOWN,
                                    .processors_total = part ? whole : ATH_UNKNOWN };
}

struct ath_time_claim ath_claim_take(struct ath_gpu_claim from)
{
    uint32_t percent = ath_gpu_claim_share_percent(from);
    uint32_t part = ath_gpu_claim_sm_percent(from);
    enum ath_time_priority priority = (enum ath_time_priority)ath_gpu_claim_priority(from);

    return (struct ath_time_claim){
        .share_percent = percent <= ATH_SHARE_PERCENT_MAX ? (int)percent : 0,
        .is_capped = ath_gpu_claim_is_capped(from),
        .priority = ath_time_priority_word((int)priority) ? priority : ATH_TIME_UNSET,
        .sm_percent = part <= ATH_SHARE_PERCENT_MAX ? (int)part : 0
    };
}

static void take_turn(struct ath_gpu_turn from, struct ath_runtime_turn *to)
{
    double percent = ath_gpu_turn_share_percent(from);
    int64_t state_ms = ath_gpu_turn_state_ms(from);
    uint32_t of_key = ath_gpu_turn_key_percent(from);
    *to =
        (struct ath_runtime_turn){ .state = ath_gpu_turn_state(from),
                                   .waits_for = ath_gpu_turn_waits_for(from),
                                   .state_ms = state_ms >= 0 ? state_ms : ATH_UNKNOWN,
                                   .share_percent =
                                       percent >= 0 && percent <= 100 ? percent : ATH_UNKNOWN,
                                   .claim = ath_claim_take(ath_gpu_turn_claim(from)),
                                   .key_percent = of_key <= ATH_SHARE_PERCENT_MAX ? (int)of_key : 0,
                                   .is_key_capped = ath_gpu_turn_is_key_capped(from),
                                   .share_source = ath_gpu_turn_share_source(from),
                                   .priority_source = ath_gpu_turn_priority_source(from) };
}

static char *text_of(const char *text)
{
    return *text ? ath_clean(text, true) : NULL;
}

static int64_t count_of(int64_t count)
{
    return count < 0 ? ATH_UNKNOWN : count;
}

static void take_channel(struct ath_gpu_session_channel from, struct ath_runtime_channel *to)
{
    *to = (struct ath_runtime_channel){
        .local = text_of(ath_gpu_session_channel_local(from)),
        .peer = text_of(ath_gpu_session_channel_peer(from)),
        .transport = text_of(ath_gpu_session_channel_transport(from)),
        .sent_bytes = count_of(ath_gpu_session_channel_sent_bytes(from)),
        .received_bytes = count_of(ath_gpu_session_channel_received_bytes(from)),
        .sent_again = count_of(ath_gpu_session_channel_sent_again(from)),
        .is_lost = ath_gpu_session_channel_is_lost(from),
#define X(name) .datagrams_##name = count_of(ath_gpu_session_channel_datagrams_##name(from)),
        ATH_UDP_CHANNEL_COUNTS(X)
#undef X
    };
}

static void take_path(struct ath_gpu_session_path from, struct ath_runtime_path *to)
{
    *to = (struct ath_runtime_path){
        .transport = text_of(ath_gpu_session_path_transport(from)),
        .reason = ath_gpu_session_path_reason(from),
        .connections = ath_gpu_session_path_connections(from),
        .least_bytes = ath_gpu_session_path_least_bytes(from),
        .latency_ns = count_of(ath_gpu_session_path_latency_ns(from)),
        .bytes_per_s = count_of(ath_gpu_session_path_bytes_per_s(from)),
    };
}

static void take_session(struct ath_gpu_session from, struct ath_runtime_session *to)
{
    struct ath_wire_list uses = ath_gpu_session_devices(from);
    struct ath_wire_list channels = ath_gpu_session_channels(from);
    struct ath_wire_list paths = ath_gpu_session_paths(from);
    const char *program = ath_gpu_session_program(from);
    const char *identity = ath_gpu_session_identity(from);
    const char *host = ath_gpu_session_host(from);

    *to = (struct ath_runtime_session){ .id = ath_gpu_session_id(from),
                                        .program = *program ? ath_clean(program, true) : NULL,
                                        .identity = *identity ? ath_clean(identity, true) : NULL,
                                        .host = *host ? ath_clean(host, true) : NULL,
                                        .process = ath_gpu_session_process(from),
                                        .peer = ath_clean(ath_gpu_session_peer(from), true),
                                        .is_encrypted = ath_gpu_session_is_encrypted(from),
                                        .age_ms = ath_gpu_session_age_ms(from) };
    take_turn(ath_gpu_session_turn(from), &to->turn);
    for (uint32_t i = 0; i < uses.count; i++)
        take_use(ath_gpu_device_use_item(uses, i),
                 ath_push(&to->uses, &to->use_count, sizeof *to->uses));
    for (uint32_t i = 0; i < channels.count; i++)
        take_channel(ath_gpu_session_channel_item(channels, i),
                     ath_push(&to->channels, &to->channel_count, sizeof *to->channels));
    for (uint32_t i = 0; i < paths.count; i++)
        take_path(ath_gpu_session_path_item(paths, i),
                  ath_push(&to->paths, &to->path_count, sizeof *to->paths));
}

static const struct ath_runtime_session *find(const struct ath_runtime_sessions *sessions,
                                              uint64_t id)
{
    for (size_t i = 0; i < sessions->count; i++)
        if (sessions->items[i].id == id)
            return &sessions->items[i];
    return NULL;
}

enum ath_wait_reason ath_wait_reason(const struct ath_runtime_sessions *sessions,
                                     const struct ath_runtime_turn *turn)
{
    const struct ath_runtime_session *other =
        turn->waits_for ? find(sessions, turn->waits_for) : NULL;

    if (turn->state != ATH_GPU_TURN_STATE_WAITS)
        return ATH_WAIT_NONE;
    if (!turn->waits_for)
        return turn->claim.is_capped ? ATH_WAIT_CAP : ATH_WAIT_NEXT;
    return other && other->turn.claim.priority > turn->claim.priority ? ATH_WAIT_PRIORITY
                                                                      : ATH_WAIT_TURN;
}

int ath_session_list(struct ath_session *session, struct ath_runtime_sessions *out,
                     struct ath_err *err)
{
    struct ath_control_message answer;

    ath_control_message_set_get_sessions(ath_session_begin(session));
    int status = ath_session_ask(session, ATH_CONTROL_MESSAGE_SESSIONS, &answer, err);
    if (status)
        return status;
    struct ath_wire_list list = ath_gpu_session_list_sessions(ath_control_message_sessions(answer));
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_gpu_session one = ath_gpu_session_item(list, i);
        if (ath_gpu_session_purpose(one) == ATH_GPU_PURPOSE_CUDA)
            take_session(one, ath_push(&out->items, &out->count, sizeof *out->items));
    }
    for (size_t i = 0; i < out->count; i++)
        out->items[i].turn.reason = ath_wait_reason(out, &out->items[i].turn);
    return 0;
}

static void free_ways(struct ath_runtime_session *session)
{
    for (size_t i = 0; i < session->channel_count; i++) {
        free(session->channels[i].local);
        free(session->channels[i].peer);
        free(session->channels[i].transport);
    }
    free(session->channels);
    for (size_t i = 0; i < session->path_count; i++)
        free(session->paths[i].transport);
    free(session->paths);
}

void ath_runtime_sessions_free(struct ath_runtime_sessions *sessions)
{
    if (!sessions)
        return;
    for (size_t i = 0; i < sessions->count; i++) {
        free(sessions->items[i].program);
        free(sessions->items[i].identity);
        free(sessions->items[i].host);
        free(sessions->items[i].peer);
        free(sessions->items[i].uses);
        free_ways(&sessions->items[i]);
    }
    free(sessions->items);
    *sessions = (struct ath_runtime_sessions){ 0 };
}

int ath_session_end(struct ath_session *session, uint64_t id, struct ath_err *err)
{
    struct ath_control_message answer;
    ath_control_message_set_end_session(ath_session_begin(session), id);
    return ath_session_ask(session, ATH_CONTROL_MESSAGE_DONE, &answer, err);
}

int ath_session_reserve(struct ath_session *session, uint64_t devices, struct ath_err *err)
{
    struct ath_control_message answer;
    ath_control_message_set_reserve(ath_session_begin(session), devices);
    return ath_session_ask(session, ATH_CONTROL_MESSAGE_DONE, &answer, err);
}

int ath_session_limit(struct ath_session *session, uint64_t id, uint32_t device,
                      int64_t limit_bytes, struct ath_err *err)
{
    struct ath_control_message answer;
    struct ath_gpu_session_limit_builder limit =
        ath_control_message_init_limit_session(ath_session_begin(session));
    ath_gpu_session_limit_set_id(limit, id);
    ath_gpu_session_limit_set_device(limit, device);
    ath_gpu_session_limit_set_memory_limit_bytes(limit, limit_bytes < 0 ? -1 : limit_bytes);
    return ath_session_ask(session, ATH_CONTROL_MESSAGE_DONE, &answer, err);
}

int ath_session_change_claim(struct ath_session *session, uint64_t id,
                             const struct ath_claim_change *change, struct ath_err *err)
{
    struct ath_control_message answer;
    struct ath_gpu_claim_change_builder to =
        ath_control_message_init_change_claim(ath_session_begin(session));
    ath_gpu_claim_change_set_id(to, id);
    ath_gpu_claim_change_set_share_percent(to,
                                           change->share_percent < 0 ? -1 : change->share_percent);
    ath_gpu_claim_change_set_changes_cap(to, change->cap >= 0);
    ath_gpu_claim_change_set_is_capped(to, change->cap > 0);
    ath_gpu_claim_change_set_priority(to, (enum ath_gpu_priority)change->priority);
    return ath_session_ask(session, ATH_CONTROL_MESSAGE_DONE, &answer, err);
}

int ath_session_limit_server(struct ath_session *session, double fraction, struct ath_err *err)
{
    struct ath_control_message answer;
    ath_control_message_set_limit_server(ath_session_begin(session), fraction);
    return ath_session_ask(session, ATH_CONTROL_MESSAGE_DONE, &answer, err);
}
