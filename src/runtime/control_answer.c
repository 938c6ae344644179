/* Answering the questions of a control session: a table of questions, and the health of the
 * server. */
#include "config.h"

#include "runtime/control_answer_parts.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "nvml/server/server.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"
#include "runtime/identities.h"
#include "runtime/memory_limits.h"
#include "runtime/memory_room.h"
#include "runtime/server_keys.h"

void ath_control_answer_failure(struct ath_control_message_builder answer,
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
    ath_gpu_device_set_is_reserved(to, ath_session_board_is_reserved(server->board, number));
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
    { "sessions", ATH_CONTROL_MESSAGE_GET_SESSIONS, ath_control_answer_sessions },
    { "figures", ATH_CONTROL_MESSAGE_GET_FIGURES, ath_control_answer_figures },
    { "end-session", ATH_CONTROL_MESSAGE_END_SESSION, ath_control_answer_end },
    { "limit-session", ATH_CONTROL_MESSAGE_LIMIT_SESSION, ath_control_answer_limit },
    { "change-claim", ATH_CONTROL_MESSAGE_CHANGE_CLAIM, ath_control_answer_claim },
    { "reserve", ATH_CONTROL_MESSAGE_RESERVE, ath_control_answer_reserve },
    { "limit-server", ATH_CONTROL_MESSAGE_LIMIT_SERVER, ath_control_answer_server_limit },
    { "nvml", ATH_CONTROL_MESSAGE_NVML, answer_nvml },
};

static void log_question(const struct ath_server *server, const char *name)
{
    ath_event_log(ATH_EVENT_DEBUG, "question", "peer", server->entry ? server->entry->peer : NULL,
                  "identity", *server->identity ? server->identity : NULL, "about", name, NULL);
}

/* Returns whether a message belongs to the handshake or is an answer, so that it cannot be a
 * question. */
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
    ath_control_answer_failure(answer, ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED,
                               "this server does not support that");
    return true;
}
