/* The answer to a program's request for a channel. */
#include "config.h"

#include "runtime/program_session_state.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "remote/session/visible_devices.h"
#include "remote/switches.h"
#include "remote/transport/shm.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"

/* Every program asks for the version first, and may do so before cuInit(). */
static uint32_t driver_version(const struct ath_cuda_driver *driver)
{
    int version;
    return driver->cuDriverGetVersion && !driver->cuDriverGetVersion(&version) && version > 0
               ? (uint32_t)version
               : 0;
}

static void put_driver_fingerprint(const struct ath_program_session *program,
                                   struct ath_control_channel_builder to)
{
    const struct ath_cuda_driver *driver = &program->driver;
    struct ath_fingerprint_value print;
    if (ath_driver_library_fingerprint((const void *)(uintptr_t)driver->cuInit,
                                       driver_version(driver), &print))
        ath_control_channel_set_driver_fingerprint(
            to, (struct ath_wire_bytes){ (const uint8_t *)&print, sizeof print });
}

/* The devices for the program's own driver, as take_program_environment() chose them. */
static void put_devices(const struct ath_program_session *program,
                        struct ath_control_channel_builder to)
{
    ath_auto_free char *visible =
        ath_visible_value(&program->server->devices, program->devices, program->device_count);
    struct ath_wire_array numbers =
        ath_control_channel_init_device_numbers(to, (uint32_t)program->device_count);
    for (uint32_t i = 0; i < numbers.count; i++)
        ath_wire_array_set_bits(numbers, i, program->devices[i]);
    if (visible)
        ath_control_channel_set_visible_devices(to, visible);
    ath_control_channel_set_takes_counts(to, true);
    ath_control_channel_set_only_counts(to, program->server->only_counts);
    ath_control_channel_set_has_turns(to, program->server->turns_fd >= 0);
    ath_control_channel_set_sm_percent(to, (uint32_t)program->sm_percent);
}

void ath_program_session_answer(struct ath_program_session *program, int memory)
{
    struct ath_control_channel_builder answer =
        ath_control_message_init_channel(ath_control_message_start(&program->answer));
    size_t length;
    int status;
    struct ath_err err;

    ath_control_channel_set_transport(answer, program->transport);
    ath_control_channel_set_devices(answer, (uint32_t)program->device_count);
    ath_control_channel_set_stripes(answer, (uint32_t)program->stripes.count);
    ath_control_channel_set_has_pieces(answer, program->stripes.way == ATH_STRIPES_PIECES);
    ath_control_channel_set_is_net_test(answer, program->is_net_test);
    ath_control_channel_set_driver_version(answer, driver_version(&program->driver));
    ath_control_channel_set_is_simulated(answer, program->server->is_simulated);
    if (program->transport == ATH_CONTROL_TRANSPORT_LOCAL)
        put_devices(program, answer);
    else if (!program->is_net_test)
        put_driver_fingerprint(program, answer);
    const uint8_t *bytes = ath_wire_finish(&program->answer, &length, &status);
    if (bytes)
        status = ath_frame_send(program->socket, bytes, length,
                                ath_now_ms() + (uint64_t)program->server->answer_ms, &err);
    if (!status && memory >= 0)
        status = ath_shm_send(program->socket.fd, "", 1, memory);
    if (status)
        ath_program_session_end(program, status);
}

void ath_program_session_log_open(const struct ath_program_session *program,
                                  struct ath_control_open_channel question)
{
    const char *name = ath_control_open_channel_program(question);
    ath_auto_free char *devices = ath_xasprintf("%zu", program->device_count);
    ath_auto_free char *connections = ath_xasprintf("%zu", 1 + program->stripes.count);
    ath_auto_free char *id =
        ath_xasprintf("%llu", (unsigned long long)atomic_load(&program->entry->id));
    ath_auto_free char *process = ath_xasprintf("%u", program->entry->process);
    ath_event_log(ATH_EVENT_INFO, "session-opened", "peer", program->entry->peer, "identity",
                  *program->server->identity ? program->server->identity : NULL, "host",
                  *program->entry->host ? program->entry->host : NULL, "process",
                  program->entry->process ? process : NULL, "session", id, "connections",
                  connections, "transport", ath_control_transport_word(program->transport),
                  "encrypted", program->socket.tls ? "yes" : "no", "devices", devices, "program",
                  *name ? name : NULL, "disabled",
                  ath_switches_off ? ath_program_session_variable(question, "AITHERION_DISABLE")
                                   : NULL,
                  NULL);
}
