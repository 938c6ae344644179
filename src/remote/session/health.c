/* Copies a health answer out of its message. */
#include "config.h"

#include "remote/session/health.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "remote/session/sessions.h"

/* Returns a harmless copy of a server's text. */
static char *copy(const char *text)
{
    return ath_clean(text, true);
}

/* The same for a text that may be unknown: an empty text of the wire is NULL here. */
static char *known(const char *text)
{
    return *text ? copy(text) : NULL;
}

static int64_t bytes(int64_t value)
{
    return value < 0 ? ATH_UNKNOWN : value;
}

static void take_device(struct ath_gpu_device from, struct ath_runtime_device *to)
{
    *to = (struct ath_runtime_device){
        .pci = known(ath_gpu_device_pci(from)),
        .uuid = known(ath_gpu_device_uuid(from)),
        .name = copy(ath_gpu_device_name(from)),
        .is_simulated = ath_gpu_device_is_simulated(from),
        .memory_total_bytes = bytes(ath_gpu_device_memory_total_bytes(from)),
        .memory_used_bytes = bytes(ath_gpu_device_memory_used_bytes(from)),
        .memory_limit_bytes = bytes(ath_gpu_device_memory_limit_bytes(from)),
        .sessions = ath_gpu_device_sessions(from),
        .is_reserved = ath_gpu_device_is_reserved(from),
        .is_forbidden = ath_gpu_device_is_forbidden(from),
    };
}

/* Translates a server's English message if the catalogue has it. */
static char *in_own_words(const char *message)
{
    return copy(*message ? _(message) : "");
}

static void take_problem(struct ath_control_problem from, struct ath_runtime_problem *to)
{
    *to = (struct ath_runtime_problem){
        .is_fault = ath_control_problem_severity(from) != ATH_CONTROL_SEVERITY_NOTE,
        .code = copy(ath_control_problem_code(from)),
        .object = known(ath_control_problem_object(from)),
        .message = in_own_words(ath_control_problem_message(from)),
    };
}

static void take_health(struct ath_control_health from, struct ath_runtime_health *to)
{
    struct ath_wire_list devices = ath_control_health_devices(from);
    struct ath_wire_list problems = ath_control_health_problems(from);

    *to = (struct ath_runtime_health){
        .software = copy(ath_control_health_software(from)),
        .protocol = ath_control_health_protocol(from),
        .uptime_ms = ath_control_health_uptime_ms(from),
        .node = known(ath_control_health_node(from)),
        .hostname = known(ath_control_health_hostname(from)),
        .address = known(ath_control_health_address(from)),
        .boot_id = known(ath_control_health_boot_id(from)),
        .net_namespace = ath_control_health_net_namespace(from),
        .is_simulated = ath_control_health_is_simulated(from),
        .wants_key = ath_control_health_wants_key(from),
        .vram_fraction = ath_control_health_vram_fraction(from),
        .sessions = ath_control_health_sessions(from),
        .sharing = ath_control_health_sharing(from),
        .claim = ath_claim_take(ath_control_health_claim(from)),
        .driver_version = ath_control_health_driver_version(from),
    };
    for (uint32_t i = 0; i < devices.count; i++)
        take_device(ath_gpu_device_item(devices, i),
                    ath_push(&to->devices, &to->device_count, sizeof *to->devices));
    for (uint32_t i = 0; i < problems.count; i++)
        take_problem(ath_control_problem_item(problems, i),
                     ath_push(&to->problems, &to->problem_count, sizeof *to->problems));
}

int ath_session_health(struct ath_session *session, struct ath_runtime_health *out,
                       struct ath_err *err)
{
    struct ath_control_message answer;

    ath_control_message_set_get_health(ath_session_begin(session));
    int status = ath_session_ask(session, ATH_CONTROL_MESSAGE_HEALTH, &answer, err);
    if (!status)
        take_health(ath_control_message_health(answer), out);
    return status;
}

void ath_runtime_health_free(struct ath_runtime_health *health)
{
    if (!health)
        return;
    for (size_t i = 0; i < health->device_count; i++) {
        free(health->devices[i].pci);
        free(health->devices[i].uuid);
        free(health->devices[i].name);
    }
    for (size_t i = 0; i < health->problem_count; i++) {
        free(health->problems[i].code);
        free(health->problems[i].object);
        free(health->problems[i].message);
    }
    free(health->devices);
    free(health->problems);
    free(health->software);
    free(health->node);
    free(health->hostname);
    free(health->address);
    free(health->boot_id);
    *health = (struct ath_runtime_health){ 0 };
}

bool ath_runtime_health_has_fault(const struct ath_runtime_health *health)
{
    for (size_t i = 0; i < health->problem_count; i++)
        if (health->problems[i].is_fault)
            return true;
    return false;
}
