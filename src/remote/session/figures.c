/* Figures of a server: their message, and the question for them. One table has the fields of each
 * kind. */
#include "config.h"

#include "remote/session/figures.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/i18n.h"

#define DEVICE_FIGURES(X)                                                                          \
    X(memory_used_bytes)                                                                           \
    X(memory_limit_bytes)                                                                          \
    X(sessions)                                                                                    \
    X(memory_total_bytes)                                                                          \
    X(memory_free_bytes)                                                                           \
    X(busy_percent)                                                                                \
    X(memory_busy_percent)                                                                         \
    X(temperature_c)                                                                               \
    X(power_mw)                                                                                    \
    X(power_limit_mw)                                                                              \
    X(sm_clock_mhz)                                                                                \
    X(memory_clock_mhz)                                                                            \
    X(throttle_reasons)                                                                            \
    X(ecc_corrected)                                                                               \
    X(ecc_uncorrected)                                                                             \
    X(remapped_rows)                                                                               \
    X(xids)                                                                                        \
    X(last_xid)                                                                                    \
    X(pcie_received_bytes_s)                                                                       \
    X(pcie_sent_bytes_s)                                                                           \
    X(nvlink_received_bytes)                                                                       \
    X(nvlink_sent_bytes)                                                                           \
    X(health_score)

#define SESSION_FIGURES(X)                                                                         \
    X(calls)                                                                                       \
    X(received_bytes)                                                                              \
    X(sent_bytes)                                                                                  \
    X(waited_us)                                                                                   \
    X(gpu_time_us)                                                                                 \
    X(busy_percent)                                                                                \
    X(held_us)                                                                                     \
    X(turn_waited_us)                                                                              \
    X(lent_us)                                                                                     \
    X(turns)

#define DATAGRAM_FIGURES(X)                                                                        \
    X(sent)                                                                                        \
    X(received)                                                                                    \
    X(sent_again)                                                                                  \
    X(lost)                                                                                        \
    X(duplicates)                                                                                  \
    X(damaged)                                                                                     \
    X(foreign)

/* No sum of what a server claims overflows. */
static int64_t known(int64_t value)
{
    static const int64_t most = (int64_t)1 << 53;
    return value < 0 || value > most ? ATH_UNKNOWN : value;
}

void ath_device_figures_init(struct ath_device_figures *out)
{
#define X(field) .field = ATH_UNKNOWN,
    *out = (struct ath_device_figures){ DEVICE_FIGURES(X) };
#undef X
}

void ath_session_figures_init(struct ath_session_figures *out)
{
#define X(field) .field = ATH_UNKNOWN,
    *out = (struct ath_session_figures){ SESSION_FIGURES(X) };
#undef X
    for (size_t i = 0; i < ATH_COUNT(out->waits); i++)
        out->waits[i] = ATH_UNKNOWN;
}

/* ---- to the wire ---- */

static void put_device(const struct ath_device_figures *from,
                       struct ath_gpu_device_figures_builder to)
{
#define X(field) ath_gpu_device_figures_set_##field(to, known(from->field));
    DEVICE_FIGURES(X)
#undef X
}

static void put_session(const struct ath_session_figures *from,
                        struct ath_gpu_session_figures_builder to)
{
    ath_gpu_session_figures_set_id(to, from->id);
#define X(field) ath_gpu_session_figures_set_##field(to, known(from->field));
    SESSION_FIGURES(X)
#undef X
    if (from->transport)
        ath_gpu_session_figures_set_transport(to, from->transport);
    if (from->waits[0] < 0)
        return;
    struct ath_wire_array waits =
        ath_gpu_session_figures_init_waits(to, (uint32_t)ATH_COUNT(from->waits));
    for (uint32_t i = 0; i < ATH_COUNT(from->waits); i++)
        ath_wire_array_set_bits(waits, i, (uint64_t)from->waits[i]);
}

static void put_datagrams(const struct ath_datagram_figures *from,
                          struct ath_gpu_datagram_figures_builder to)
{
    ath_gpu_datagram_figures_set_address(to, from->address);
#define X(field) ath_gpu_datagram_figures_set_##field(to, known(from->field));
    DATAGRAM_FIGURES(X)
#undef X
}

void ath_figures_put(const struct ath_figures *figures, struct ath_gpu_figures_builder to)
{
    ath_gpu_figures_set_sampled_ms_ago(to, known(figures->sampled_ms_ago));
    ath_gpu_figures_set_accepted(to, known(figures->accepted));
    ath_gpu_figures_set_broken(to, known(figures->broken));
    struct ath_wire_array refused =
        ath_gpu_figures_init_refused(to, (uint32_t)ATH_COUNT(figures->refused));
    for (uint32_t i = 0; i < ATH_COUNT(figures->refused); i++)
        ath_wire_array_set_bits(refused, i, (uint64_t)figures->refused[i]);
    struct ath_wire_array devices =
        ath_gpu_figures_init_devices(to, (uint32_t)figures->device_count);
    for (uint32_t i = 0; i < figures->device_count; i++)
        put_device(&figures->devices[i], ath_gpu_device_figures_place(devices, i));
    struct ath_wire_array sessions =
        ath_gpu_figures_init_sessions(to, (uint32_t)figures->session_count);
    for (uint32_t i = 0; i < figures->session_count; i++)
        put_session(&figures->sessions[i], ath_gpu_session_figures_place(sessions, i));
    struct ath_wire_array datagrams =
        ath_gpu_figures_init_datagrams(to, (uint32_t)figures->datagram_count);
    for (uint32_t i = 0; i < figures->datagram_count; i++)
        put_datagrams(&figures->datagrams[i], ath_gpu_datagram_figures_place(datagrams, i));
}

/* ---- from the wire ---- */

static void take_device(struct ath_gpu_device_figures from, struct ath_device_figures *to)
{
#define X(field) .field = known(ath_gpu_device_figures_##field(from)),
    *to = (struct ath_device_figures){ DEVICE_FIGURES(X) };
#undef X
}

/* A server with other buckets, or other reasons, says nothing about ours. */
static void take_numbers(struct ath_wire_list from, int64_t *to, size_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] =
            from.count == count ? known(ath_wire_i64(ath_wire_item(from, i), 0, 0)) : ATH_UNKNOWN;
}

static void take_session(struct ath_gpu_session_figures from, struct ath_session_figures *to)
{
    const char *transport = ath_gpu_session_figures_transport(from);
#define X(field) .field = known(ath_gpu_session_figures_##field(from)),
    *to = (struct ath_session_figures){ SESSION_FIGURES(X) };
#undef X
    to->id = ath_gpu_session_figures_id(from);
    to->transport = *transport ? ath_clean(transport, true) : NULL;
    take_numbers(ath_gpu_session_figures_waits(from), to->waits, ATH_COUNT(to->waits));
}

static void take_datagrams(struct ath_gpu_datagram_figures from, struct ath_datagram_figures *to)
{
#define X(field) .field = known(ath_gpu_datagram_figures_##field(from)),
    *to = (struct ath_datagram_figures){ DATAGRAM_FIGURES(X) };
#undef X
    to->address = ath_clean(ath_gpu_datagram_figures_address(from), true);
}

void ath_figures_take(struct ath_gpu_figures from, struct ath_figures *out)
{
    struct ath_wire_list devices = ath_gpu_figures_devices(from);
    struct ath_wire_list sessions = ath_gpu_figures_sessions(from);
    struct ath_wire_list datagrams = ath_gpu_figures_datagrams(from);
    *out = (struct ath_figures){ .sampled_ms_ago = known(ath_gpu_figures_sampled_ms_ago(from)),
                                 .accepted = known(ath_gpu_figures_accepted(from)),
                                 .broken = known(ath_gpu_figures_broken(from)) };
    take_numbers(ath_gpu_figures_refused(from), out->refused, ATH_COUNT(out->refused));
    for (uint32_t i = 0; i < devices.count; i++)
        take_device(ath_gpu_device_figures_item(devices, i),
                    ath_push(&out->devices, &out->device_count, sizeof *out->devices));
    for (uint32_t i = 0; i < sessions.count; i++)
        take_session(ath_gpu_session_figures_item(sessions, i),
                     ath_push(&out->sessions, &out->session_count, sizeof *out->sessions));
    for (uint32_t i = 0; i < datagrams.count; i++)
        take_datagrams(ath_gpu_datagram_figures_item(datagrams, i),
                       ath_push(&out->datagrams, &out->datagram_count, sizeof *out->datagrams));
}

/* ---- the question ---- */

int ath_session_figures(struct ath_session *session, struct ath_figures *out, struct ath_err *err)
{
    struct ath_control_message answer;

    ath_control_message_set_get_figures(ath_session_begin(session));
    int status = ath_session_ask(session, ATH_CONTROL_MESSAGE_FIGURES, &answer, err);
    if (status == -ENOTSUP) {
        ath_err_set(err, status, ATH_E_UNSUPPORTED, "%s",
                    _("the server is too old to tell its figures"));
        return ath_err_hint(err, status,
                            _("install the same version of aitherion on both machines"));
    }
    if (!status)
        ath_figures_take(ath_control_message_figures(answer), out);
    return status;
}

void ath_figures_free(struct ath_figures *figures)
{
    if (!figures)
        return;
    for (size_t i = 0; i < figures->session_count; i++)
        free(figures->sessions[i].transport);
    for (size_t i = 0; i < figures->datagram_count; i++)
        free(figures->datagrams[i].address);
    free(figures->datagrams);
    free(figures->sessions);
    free(figures->devices);
    *figures = (struct ath_figures){ 0 };
}
