/* A program's request for a channel: its variables, devices, limits and claim. */
#include "config.h"

#include "runtime/program_session_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/time_claim.h"
#include "base/unknown.h"
#include "remote/session/visible_devices.h"
#include "remote/switches.h"
#include "runtime/event_log.h"
#include "runtime/memory_limits.h"

/* Variables of the program that the driver must see. None of them names a file of the server. */
static const char *const taken_over[] = {
    "CUDA_LAUNCH_BLOCKING",     "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_FORCE_PTX_JIT",       "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_JIT",           "CUDA_DISABLE_JIT",
    "CUDA_AUTO_BOOST",          "CUDA_SCALE_LAUNCH_QUEUES",
};

void ath_program_session_read_request(struct ath_program_session *program,
                                      struct ath_control_open_channel *out)
{
    struct ath_control_message message;
    struct ath_err err;
    int status = ath_frame_receive(program->socket, ATH_CONTROL_ANSWER_FRAME_BYTES,
                                   ath_now_ms() + (uint64_t)program->server->handshake_ms,
                                   &program->question, &err);
    if (status)
        ath_program_session_end(program, status);
    if (ath_control_message_open(ath_frame_message(&program->question),
                                 ath_frame_message_length(&program->question), &message) ||
        ath_control_message_which(message) != ATH_CONTROL_MESSAGE_OPEN_CHANNEL)
        ath_program_session_end(program, -EBADMSG);
    *out = ath_control_message_open_channel(message);
}

const char *ath_program_session_variable(struct ath_control_open_channel question, const char *name)
{
    struct ath_wire_list list = ath_control_open_channel_environment(question);
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_control_variable one = ath_control_variable_item(list, i);
        if (!strcmp(ath_control_variable_name(one), name))
            return ath_control_variable_value(one);
    }
    return NULL;
}

/* Chooses among the devices that the identity may use; their numbers begin at 0, as if there were
 * no others. */
static size_t choose_devices(const struct ath_server *server, const char *wanted, bool by_pci,
                             size_t out[ATH_DEVICES_MAX])
{
    static struct ath_devices allowed; /* of this process, which has one thread now */
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    size_t numbers[ATH_DEVICES_MAX];
    allowed.count = 0;
    for (size_t i = 0; i < server->devices.count; i++) {
        if (!ath_identity_has_gpu(row, server->devices.items[i].pci))
            continue;
        numbers[allowed.count] = i;
        allowed.items[allowed.count++] = server->devices.items[i];
    }
    size_t count = ath_visible_devices(&allowed, wanted, by_pci, out);
    for (size_t i = 0; i < count; i++)
        out[i] = numbers[out[i]];
    return count;
}

/* Returns whether the server has GPUs that the identity may not use. */
static bool has_other_gpus(const struct ath_server *server)
{
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    bool has_others = false;
    for (size_t i = 0; i < server->devices.count; i++)
        has_others = has_others || !ath_identity_has_gpu(row, server->devices.items[i].pci);
    return has_others;
}

static void take_switches(struct ath_control_open_channel question)
{
    uint32_t off;
    if (!ath_switches_read(ath_program_session_variable(question, "AITHERION_DISABLE"), &off, NULL))
        ath_switches_off = off;
}

static void take_program_environment(struct ath_program_session *program,
                                     struct ath_control_open_channel question)
{
    const char *order = ath_program_session_variable(question, "CUDA_DEVICE_ORDER");
    program->device_count = choose_devices(
        program->server, ath_program_session_variable(question, "CUDA_VISIBLE_DEVICES"),
        order && !strcmp(order, "PCI_BUS_ID"), program->devices);
    ath_auto_free char *visible =
        ath_visible_value(&program->server->devices, program->devices, program->device_count);
    if (visible)
        setenv("CUDA_VISIBLE_DEVICES", visible, true);
    else if (has_other_gpus(program->server))
        ath_program_session_refuse(
            program, "a GPU has no UUID, by which the GPUs of others could be hidden");
    for (size_t i = 0; i < ATH_COUNT(taken_over); i++) {
        const char *value = ath_program_session_variable(question, taken_over[i]);
        if (value)
            setenv(taken_over[i], value, true);
    }
}

/* Logs the most that the program may have of a GPU, and all programs together. */
static void log_limit(const struct ath_program_session *program, size_t device)
{
    char number[24], own[24], all[24];
    int64_t own_bytes = atomic_load(&program->entry->limit_bytes[device]);
    int64_t all_bytes = ath_memory_limits_all(program->server, device);
    snprintf(number, sizeof number, "%zu", device);
    snprintf(own, sizeof own, "%" PRId64, own_bytes);
    snprintf(all, sizeof all, "%" PRId64, all_bytes);
    ath_event_log(ATH_EVENT_DEBUG, "limit", "peer", program->entry->peer, "device", number, "pci",
                  program->server->devices.items[device].pci, "session_bytes",
                  own_bytes >= 0 ? own : "none", "all_bytes",
                  all_bytes == ATH_UNKNOWN ? "none" : all, NULL);
}

/* Sets the program's limit before the driver is loaded, so that it holds from the first allocation
 * on. */
static void take_memory_limit(const struct ath_program_session *program,
                              struct ath_control_open_channel question)
{
    const struct ath_memory_limit asked = {
        .bytes = ath_control_open_channel_memory_limit_bytes(question),
        .fraction = ath_control_open_channel_memory_limit_fraction(question)
    };
    ath_memory_limits_begin(program->server, program->entry, program->devices,
                            program->device_count, &asked);
    for (size_t i = 0; i < program->device_count; i++)
        log_limit(program, program->devices[i]);
}

/* Notes for the arbiter what the program asks for of the GPUs' time. A client may say anything. */
static void take_time_claim(struct ath_session_board_entry *entry,
                            struct ath_control_open_channel question)
{
    struct ath_gpu_claim claim = ath_control_open_channel_claim(question);
    uint32_t percent = ath_gpu_claim_share_percent(claim);
    int priority = (int)ath_gpu_claim_priority(claim);

    if (percent > ATH_SHARE_PERCENT_MAX)
        percent = ATH_SHARE_PERCENT_MAX;
    atomic_store(&entry->asked_share, (int)percent);
    atomic_store(&entry->asked_cap, percent && ath_gpu_claim_is_capped(claim));
    atomic_store(&entry->asked_priority,
                 ath_time_priority_word(priority) ? priority : ATH_GPU_PRIORITY_UNSET);
}

/* The row of the program's identity bounds the part. */
static int part_of(const struct ath_server *server, struct ath_control_open_channel question)
{
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    uint32_t percent = ath_gpu_claim_sm_percent(ath_control_open_channel_claim(question));
    struct ath_time_claim asked = { .sm_percent = percent <= ATH_SHARE_PERCENT_MAX
                                                      ? (int)percent
                                                      : ATH_SHARE_PERCENT_MAX };
    if (row)
        ath_time_claim_bound(&asked, &row->time);
    return asked.sm_percent;
}

void ath_program_session_take_request(struct ath_program_session *program,
                                      struct ath_control_open_channel question)
{
    struct ath_session_board_entry *entry = program->entry;
    program->transport = ath_control_open_channel_transport(question);
    snprintf(entry->program, sizeof entry->program, "%s",
             ath_control_open_channel_program(question));
    take_switches(question);
    program->is_net_test = ath_control_open_channel_is_net_test(question);
    if (!program->is_net_test)
        take_program_environment(program, question);
    take_memory_limit(program, question);
    take_time_claim(entry, question);
    program->sm_percent = part_of(program->server, question);
}
