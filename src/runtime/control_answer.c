/* Answering the questions of a control session: a table of questions. */
#include "config.h"

#include "runtime/control_answer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "nvml/server/server.h"
#include "runtime/claims.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"
#include "runtime/figures.h"
#include "runtime/identities.h"
#include "runtime/memory_limits.h"
#include "runtime/memory_room.h"
#include "runtime/server_keys.h"
#include "runtime/session_report.h"

enum { END_WAIT_MS = 8000 }; /* the driver takes seconds for a GPU full of memory */

static void answer_failure(struct ath_control_message_builder answer,
                           enum ath_common_failure_code code, const char *message)
{
    struct ath_common_failure_builder failure = ath_control_message_init_failure(answer);
    ath_common_failure_set_code(failure, code);
    ath_common_failure_set_message(failure, message);
}

static void put_device(const struct ath_server *server, size_t number,
                       struct ath_gpu_device_builder to)
{
    const struct ath_device *device = &server->devices.items[number];
    int64_t limit_bytes = ath_memory_limits_all(server, number);
    uint32_t sessions;

    ath_gpu_device_set_pci(to, device->pci);
    ath_gpu_device_set_uuid(to, device->uuid);
    ath_gpu_device_set_name(to, device->name);
    ath_gpu_device_set_is_simulated(to, device->is_simulated);
    ath_gpu_device_set_memory_total_bytes(to, device->memory_total_bytes);
    ath_gpu_device_set_memory_used_bytes(
        to, ath_session_board_memory(server->board, number, &sessions));
    ath_gpu_device_set_sessions(to, sessions);
    ath_gpu_device_set_memory_limit_bytes(
        to, limit_bytes == ATH_UNKNOWN ? device->memory_total_bytes : limit_bytes);
    ath_gpu_device_set_is_forbidden(
        to, !ath_identity_has_gpu(ath_identities_find(server->identities, server->identity),
                                  device->pci));
}

static void put_devices(const struct ath_server *server, struct ath_wire_array array)
{
    for (size_t i = 0; i < server->devices.count; i++)
        put_device(server, i, ath_gpu_device_place(array, (uint32_t)i));
}

static void put_problems(const struct ath_devices *devices, struct ath_wire_array array)
{
    for (size_t i = 0; i < devices->problem_count; i++) {
        const struct ath_problem *problem = &devices->problems[i];
        struct ath_control_problem_builder to = ath_control_problem_place(array, (uint32_t)i);
        ath_control_problem_set_severity(to, problem->is_fault ? ATH_CONTROL_SEVERITY_FAULT
                                                               : ATH_CONTROL_SEVERITY_NOTE);
        ath_control_problem_set_code(to, problem->code);
        ath_control_problem_set_object(to, problem->object);
        ath_control_problem_set_message(to, problem->message);
    }
}

/* Counts the sessions of programs. */
static uint32_t count_programs(const struct ath_server *server)
{
    uint32_t count = 0;
    struct ath_session_board_entry entry;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        count += ath_session_board_read(server->board, i, &entry) && entry.is_proven &&
                 entry.purpose != ATH_GPU_PURPOSE_CONTROL;
    return count;
}

/* The most that a session of the client's identity may claim. */
static void put_claim(const struct ath_server *server, struct ath_gpu_claim_builder to)
{
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);

    ath_gpu_claim_set_share_percent(to, row ? (uint32_t)row->time.share_percent : 0);
    ath_gpu_claim_set_is_capped(to, row && row->time.is_capped);
    ath_gpu_claim_set_priority(to, row ? (enum ath_gpu_priority)row->time.priority
                                       : ATH_GPU_PRIORITY_UNSET);
    ath_gpu_claim_set_sm_percent(to, row ? (uint32_t)row->time.sm_percent : 0);
}

static void answer_health(const struct ath_server *server, int fd,
                          struct ath_control_message question,
                          struct ath_control_message_builder answer)
{
    (void)fd;
    (void)question;
    struct ath_control_health_builder to = ath_control_message_init_health(answer);
    ath_control_health_set_software(to, PACKAGE_STRING);
    ath_control_health_set_protocol(to, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_health_set_uptime_ms(to, ath_now_ms() - server->started_ms);
    ath_control_health_set_node(to, server->node);
    ath_control_health_set_hostname(to, server->hostname);
    ath_control_health_set_address(to, server->address);
    ath_control_health_set_boot_id(to, server->boot_id);
    ath_control_health_set_net_namespace(to, server->net_namespace);
    ath_control_health_set_is_simulated(to, server->is_simulated);
    ath_control_health_set_wants_key(to, ath_server_wants_key(server));
    ath_control_health_set_vram_fraction(to, ath_memory_limits_fraction(server));
    ath_control_health_set_sessions(to, count_programs(server));
    ath_control_health_set_driver_version(to, server->devices.driver_version);
    ath_control_health_set_sharing(to, server->sharing);
    put_claim(server, ath_control_health_init_claim(to));
    put_devices(server, ath_control_health_init_devices(to, (uint32_t)server->devices.count));
    put_problems(&server->devices,
                 ath_control_health_init_problems(to, (uint32_t)server->devices.problem_count));
}

static void answer_devices(const struct ath_server *server, int fd,
                           struct ath_control_message question,
                           struct ath_control_message_builder answer)
{
    (void)fd;
    (void)question;
    struct ath_gpu_device_list_builder to = ath_control_message_init_devices(answer);
    put_devices(server, ath_gpu_device_list_init_devices(to, (uint32_t)server->devices.count));
}

/* A bit for each device of which the session has memory, or a limit that an operator has set. */
static uint64_t devices_of(const struct ath_session_board_entry *entry)
{
    uint64_t devices = atomic_load(&entry->devices);
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++)
        if (atomic_load(&entry->limit_source[i]) == ATH_GPU_LIMIT_SOURCE_SET)
            devices |= UINT64_C(1) << i;
    return devices;
}

/* The board is written by sessions: a number that is no source is none. */
static enum ath_gpu_limit_source source_of(const struct ath_session_board_entry *entry,
                                           uint32_t device)
{
    int source = atomic_load(&entry->limit_source[device]);
    return source >= ATH_GPU_LIMIT_SOURCE_NONE && source <= ATH_GPU_LIMIT_SOURCE_SET
               ? (enum ath_gpu_limit_source)source
               : ATH_GPU_LIMIT_SOURCE_NONE;
}

/* The session may have ended since its entry was copied; its slot is free or another one's then. */
static void put_turn(const struct ath_server *server, uint64_t session,
                     struct ath_gpu_turn_builder to)
{
    const struct ath_session_board_entry *entry = ath_session_board_find(server->board, session);
    size_t slot = entry ? ath_session_board_slot_of(server->board, entry) : 0;
    struct ath_session_claim claim;
    struct ath_turn_view view;
    ath_session_claim_read(server->board, slot, &claim);
    ath_turns_page_view(&server->board->turns, slot, session, ath_now_ms(), &view);
    if (!entry || ath_session_board_find(server->board, session) != entry)
        return;
    ath_gpu_turn_set_state(to, view.state);
    ath_gpu_turn_set_waits_for(to, view.waits_for);
    ath_gpu_turn_set_state_ms(to, view.state_ms);
    ath_gpu_turn_set_share_percent(to, view.share_percent);
    ath_gpu_turn_set_share_source(to, claim.share_source);
    ath_gpu_turn_set_priority_source(to, claim.priority_source);
    uint32_t percent = claim.share_percent ? claim.share_percent : claim.identity_share_percent;
    ath_gpu_turn_set_key_percent(to, claim.identity_share_percent);
    ath_gpu_turn_set_is_key_capped(to, claim.identity_share_percent && claim.is_identity_capped);
    struct ath_gpu_claim_builder held = ath_gpu_turn_init_claim(to);
    ath_gpu_claim_set_share_percent(held, percent);
    ath_gpu_claim_set_is_capped(
        held, claim.is_capped || (claim.identity_share_percent && claim.is_identity_capped));
    ath_gpu_claim_set_priority(held, claim.priority);
}

static void put_session(const struct ath_server *server,
                        const struct ath_session_board_entry *entry,
                        struct ath_gpu_session_builder to)
{
    ath_gpu_session_set_id(to, entry->id);
    ath_gpu_session_set_purpose(to, (enum ath_gpu_purpose)entry->purpose);
    ath_gpu_session_set_peer(to, entry->peer);
    ath_gpu_session_set_program(to, entry->program);
    ath_gpu_session_set_identity(to, entry->identity);
    ath_gpu_session_set_host(to, entry->host);
    ath_gpu_session_set_process(to, entry->process);
    ath_gpu_session_set_is_encrypted(to, entry->is_encrypted != 0);
    ath_gpu_session_set_age_ms(to, ath_now_ms() - entry->started_ms);
    if (entry->purpose == ATH_GPU_PURPOSE_CUDA)
        put_turn(server, entry->id, ath_gpu_session_init_turn(to));
    uint64_t devices = devices_of(entry);
    struct ath_wire_array uses =
        ath_gpu_session_init_devices(to, (uint32_t)__builtin_popcountll(devices));
    for (uint32_t at = 0; devices; devices &= devices - 1, at++) {
        uint32_t device = (uint32_t)__builtin_ctzll(devices);
        struct ath_gpu_device_use_builder use = ath_gpu_device_use_place(uses, at);
        ath_gpu_device_use_set_device(use, device);
        ath_gpu_device_use_set_memory_used_bytes(use, atomic_load(&entry->used_bytes[device]));
        ath_gpu_device_use_set_memory_limit_bytes(use, atomic_load(&entry->limit_bytes[device]));
        ath_gpu_device_use_set_memory_limit_source(use, source_of(entry, device));
        ath_gpu_device_use_set_is_limit_enforced(use, !server->only_counts);
        ath_gpu_device_use_set_processors(use, atomic_load(&entry->processors[device]));
        ath_gpu_device_use_set_processors_total(use, atomic_load(&entry->processors_total[device]));
    }
}

/* Returns whether the peer is the server's own user or root, on the unix socket. Others with a key
 * may use the GPUs, and may not decide how much of them is served. */
static bool is_owner(const struct ath_server *server, int fd)
{
    struct ucred peer;
    int domain;
    socklen_t domain_length = sizeof domain, length = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_length) && domain == AF_UNIX &&
           !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
           (peer.uid == server->owner || peer.uid == 0);
}

/* Whether the client may see, limit and end a session: an administrator any, others their own. */
static bool may_reach(const struct ath_server *server, int fd,
                      const struct ath_session_board_entry *entry)
{
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    return !strcmp(entry->identity, server->identity) || (row && row->is_admin) ||
           is_owner(server, fd);
}

/* Copies the entry of a session that the client may reach. Returns false if there is none. */
static bool find_reachable(const struct ath_server *server, int fd, uint64_t id,
                           struct ath_session_board_entry *out)
{
    const struct ath_session_board_entry *entry = ath_session_board_find(server->board, id);
    return entry &&
           ath_session_board_read(server->board, ath_session_board_slot_of(server->board, entry),
                                  out) &&
           out->id == id && may_reach(server, fd, out);
}

static int by_id(const void *a, const void *b)
{
    const struct ath_session_board_entry *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

static void answer_sessions(const struct ath_server *server, int fd,
                            struct ath_control_message question,
                            struct ath_control_message_builder answer)
{
    static struct ath_session_board_entry
        entries[ATH_SESSION_BOARD_MAX]; /* of this process, which has one thread */
    uint32_t count = 0;

    (void)question;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        count += ath_session_board_read(server->board, i, &entries[count]) &&
                 entries[count].is_proven && may_reach(server, fd, &entries[count]);
    qsort(entries, count, sizeof *entries, by_id);
    struct ath_wire_array to =
        ath_gpu_session_list_init_sessions(ath_control_message_init_sessions(answer), count);
    for (uint32_t i = 0; i < count; i++)
        put_session(server, &entries[i], ath_gpu_session_place(to, i));
}

/* Leaves out the sessions that the client may not see. */
static void keep_reachable(const struct ath_server *server, int fd, struct ath_figures *figures)
{
    struct ath_session_board_entry entry;
    size_t count = 0;
    for (size_t i = 0; i < figures->session_count; i++)
        if (find_reachable(server, fd, figures->sessions[i].id, &entry))
            figures->sessions[count++] = figures->sessions[i];
        else
            free(figures->sessions[i].transport);
    figures->session_count = count;
}

static void answer_figures(const struct ath_server *server, int fd,
                           struct ath_control_message question,
                           struct ath_control_message_builder answer)
{
    ATH_AUTO(ath_figures) figures = { 0 };
    (void)question;
    ath_figures_collect(server, &figures);
    keep_reachable(server, fd, &figures);
    ath_figures_put(&figures, ath_control_message_init_figures(answer));
}

/* Asks the listening process to end the session. Only that process knows whether a process id
 * still belongs to a session. */
static void answer_end(const struct ath_server *server, int fd, struct ath_control_message question,
                       struct ath_control_message_builder answer)
{
    uint64_t id = ath_control_message_end_session(question);
    uint64_t end_ms = ath_now_ms() + END_WAIT_MS;
    struct ath_session_board_entry entry;

    if (!find_reachable(server, fd, id, &entry)) {
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND, "there is no such session");
        return;
    }
    const struct ath_session_report order = { .ends = id };
    if (server->report_fd < 0 || ath_session_report_send(server->report_fd, &order)) {
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL, "this server cannot end sessions");
        return;
    }
    while (ath_session_board_find(server->board, id) && ath_now_ms() < end_ms)
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    if (ath_session_board_find(server->board, id))
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL, "the session did not end in time");
    else
        ath_control_message_set_done(answer);
}

/* The listening process sets limits, because it knows who asks. */
static bool set_limit(const struct ath_server *server, uint64_t session, uint32_t device,
                      int64_t bytes)
{
    const struct ath_session_report question = {
        .asks = ATH_ASK_LIMIT, .object = session, .device = device, .bytes = bytes
    };
    uint64_t answer;
    return !ath_session_report_ask(server->report_fd, &question, &answer) && answer;
}

static bool set_fraction(const struct ath_server *server, double fraction)
{
    const struct ath_session_report question = { .asks = ATH_ASK_FRACTION, .fraction = fraction };
    uint64_t answer;
    if (server->report_fd < 0) /* in tests this is the process that listens */
        atomic_store(&server->board->vram_fraction, fraction);
    return server->report_fd < 0 ||
           (!ath_session_report_ask(server->report_fd, &question, &answer) && answer);
}

static bool change_claim(const struct ath_server *server, struct ath_gpu_claim_change change)
{
    const struct ath_session_report question = {
        .asks = ATH_ASK_CLAIM,
        .object = ath_gpu_claim_change_id(change),
        .share = ath_gpu_claim_change_share_percent(change),
        .cap =
            ath_gpu_claim_change_changes_cap(change) ? ath_gpu_claim_change_is_capped(change) : -1,
        .priority = (int32_t)ath_gpu_claim_change_priority(change),
    };
    uint64_t answer;
    return !ath_session_report_ask(server->report_fd, &question, &answer) && answer;
}

/* Memory that the session has already stays. Requests beyond the limit are refused from now on. */
static void answer_limit(const struct ath_server *server, int fd,
                         struct ath_control_message question,
                         struct ath_control_message_builder answer)
{
    struct ath_gpu_session_limit limit = ath_control_message_limit_session(question);
    struct ath_session_board_entry entry;
    uint32_t device = ath_gpu_session_limit_device(limit);
    int64_t bytes = ath_gpu_session_limit_memory_limit_bytes(limit);

    if (!find_reachable(server, fd, ath_gpu_session_limit_id(limit), &entry) || !entry.is_proven ||
        entry.purpose != ATH_GPU_PURPOSE_CUDA)
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND,
                       "there is no such session of a program");
    else if (device >= server->devices.count)
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND, "there is no such device");
    else if (!set_limit(server, ath_gpu_session_limit_id(limit), device, bytes))
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
                       "only an administrator may limit the sessions of another identity");
    else
        ath_control_message_set_done(answer);
}

/* The row of the session's identity bounds what comes of it. */
static void answer_claim(const struct ath_server *server, int fd,
                         struct ath_control_message question,
                         struct ath_control_message_builder answer)
{
    struct ath_gpu_claim_change change = ath_control_message_change_claim(question);
    struct ath_session_board_entry entry;
    int priority = (int)ath_gpu_claim_change_priority(change);

    if (!find_reachable(server, fd, ath_gpu_claim_change_id(change), &entry) || !entry.is_proven ||
        entry.purpose != ATH_GPU_PURPOSE_CUDA)
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_FOUND,
                       "there is no such session of a program");
    else if (ath_gpu_claim_change_share_percent(change) > ATH_SHARE_PERCENT_MAX)
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL, "the share is above 100 percent");
    else if (priority && !ath_time_priority_word(priority))
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
                       "this server does not know that priority");
    else if (!change_claim(server, change))
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
                       "only an administrator may limit the sessions of another identity");
    else
        ath_control_message_set_done(answer);
}

/* Memory that sessions have already stays, as for the limit of a session. */
static void answer_server_limit(const struct ath_server *server, int fd,
                                struct ath_control_message question,
                                struct ath_control_message_builder answer)
{
    double fraction = ath_control_message_limit_server(question);

    if (!is_owner(server, fd)) {
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
                       "only the user who runs this server may change its share, by its socket");
    } else if (!(fraction > 0 && fraction <= 1)) {
        answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL,
                       "the share is not above 0 and at most 1");
    } else {
        if (set_fraction(server, fraction))
            ath_control_message_set_done(answer);
        else
            answer_failure(answer, ATH_COMMON_FAILURE_CODE_INTERNAL,
                           "this server cannot change its share");
    }
}

static struct ath_nvml_server nvml; /* of this process, which has one session */

bool ath_control_answer_awaits_events(void)
{
    return ath_nvml_has_events(&nvml);
}

static int open_nvml(const void *data, const char *soname, void **out_library)
{
    const struct ath_server *server = data;
    struct ath_err err;
    int status = ath_driver_library_open(server->is_simulated, soname, out_library, &err);
    if (status)
        ath_event_log(ATH_EVENT_WARNING, "no-nvml", "message", err.message, NULL);
    return status;
}

static void answer_nvml(const struct ath_server *server, int fd,
                        struct ath_control_message question,
                        struct ath_control_message_builder answer)
{
    static struct ath_nvml_host host; /* of this process's one server */
    (void)fd;
    host = (struct ath_nvml_host){
        .devices = &server->devices,
        .open_library = open_nvml,
        .memory_room = ath_memory_room_find,
        .data = server,
    };
    nvml.host = &host;
    ath_nvml_serve(&nvml, ath_control_message_nvml(question),
                   ath_control_message_init_nvml_answers(answer));
}

static const struct {
    const char *name;
    enum ath_control_message_which question;
    void (*answer)(const struct ath_server *server, int fd, struct ath_control_message question,
                   struct ath_control_message_builder answer);
} questions[] = {
    { "health", ATH_CONTROL_MESSAGE_GET_HEALTH, answer_health },
    { "devices", ATH_CONTROL_MESSAGE_GET_DEVICES, answer_devices },
    { "sessions", ATH_CONTROL_MESSAGE_GET_SESSIONS, answer_sessions },
    { "figures", ATH_CONTROL_MESSAGE_GET_FIGURES, answer_figures },
    { "end-session", ATH_CONTROL_MESSAGE_END_SESSION, answer_end },
    { "limit-session", ATH_CONTROL_MESSAGE_LIMIT_SESSION, answer_limit },
    { "change-claim", ATH_CONTROL_MESSAGE_CHANGE_CLAIM, answer_claim },
    { "limit-server", ATH_CONTROL_MESSAGE_LIMIT_SERVER, answer_server_limit },
    { "nvml", ATH_CONTROL_MESSAGE_NVML, answer_nvml },
};

static void log_question(const struct ath_server *server, const char *name)
{
    ath_event_log(ATH_EVENT_DEBUG, "question", "peer", server->entry ? server->entry->peer : NULL,
                  "identity", *server->identity ? server->identity : NULL, "about", name, NULL);
}

/* Whether a message belongs to the handshake or is an answer, so that it cannot be a question. */
static bool is_out_of_place(enum ath_control_message_which which)
{
    switch (which) {
    case ATH_CONTROL_MESSAGE_NONE:
    case ATH_CONTROL_MESSAGE_HELLO:
    case ATH_CONTROL_MESSAGE_CHALLENGE:
    case ATH_CONTROL_MESSAGE_PROOF:
    case ATH_CONTROL_MESSAGE_WELCOME:
    case ATH_CONTROL_MESSAGE_REFUSAL:
    case ATH_CONTROL_MESSAGE_HEALTH:
    case ATH_CONTROL_MESSAGE_DEVICES:
    case ATH_CONTROL_MESSAGE_SESSIONS:
    case ATH_CONTROL_MESSAGE_FIGURES:
    case ATH_CONTROL_MESSAGE_DONE:
    case ATH_CONTROL_MESSAGE_FAILURE:
    case ATH_CONTROL_MESSAGE_NVML_ANSWERS:
        return true;
    default:
        return false;
    }
}

bool ath_control_answer(const struct ath_server *server, int fd,
                        struct ath_control_message question,
                        struct ath_control_message_builder answer)
{
    enum ath_control_message_which which = ath_control_message_which(question);

    if (is_out_of_place(which))
        return false;
    for (size_t i = 0; i < ATH_COUNT(questions); i++) {
        if (questions[i].question == which) {
            log_question(server, questions[i].name);
            questions[i].answer(server, fd, question, answer);
            return true;
        }
    }
    answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
                   "this server does not support that");
    return true;
}
