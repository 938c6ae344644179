/* Collects the figures of devices, sessions and datagrams from the board. */
#include "config.h"

#include "runtime/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "proto/control.h"
#include "runtime/memory_limits.h"

static void collect_device(const struct ath_server *server, size_t number, bool is_sampled,
                           struct ath_device_figures *out)
{
    const struct ath_device *device = &server->devices.items[number];
    int64_t limit_bytes = ath_memory_limits_all(server, number);
    uint32_t sessions;

    if (is_sampled)
        ath_samples_device(&server->board->samples, number, out);
    else
        ath_device_figures_init(out);
    out->memory_used_bytes = ath_session_board_memory(server->board, number, &sessions);
    out->sessions = sessions;
    out->memory_limit_bytes = limit_bytes == ATH_UNKNOWN ? device->memory_total_bytes : limit_bytes;
    if (out->memory_total_bytes < 0)
        out->memory_total_bytes = device->memory_total_bytes;
}

/* A number that a session has written. No claim makes the sum of all sessions overflow. */
static int64_t claimed(const _Atomic uint64_t *count)
{
    static const uint64_t most = UINT64_C(1) << 53;
    uint64_t value = atomic_load_explicit(count, memory_order_relaxed);
    return (int64_t)(value < most ? value : most);
}

/* samples: NULL if there are none. */
static void collect_session(const struct ath_session_board_entry *entry,
                            const struct ath_turns_page *turns, const struct ath_samples *samples,
                            size_t slot, struct ath_session_figures *out)
{
    const struct ath_call_counts *counts = &entry->counts;
    ath_session_figures_init(out);
    out->id = entry->id;
    out->calls = claimed(&counts->calls);
    out->received_bytes = claimed(&counts->received_bytes);
    out->sent_bytes = claimed(&counts->sent_bytes);
    for (size_t i = 0; i < ATH_COUNT(out->waits); i++)
        out->waits[i] = claimed(&counts->waits[i]);
    out->waited_us = claimed(&counts->waited_us);
    ath_turns_page_figures(turns, slot, out);
    if (samples)
        ath_samples_session(samples, slot, out);
    out->transport =
        ath_xstrdup(ath_control_transport_word((unsigned int)atomic_load(&entry->transport) - 1));
}

/* Adds the counts of a socket to those of its address. */
static void collect_datagrams(const struct ath_udp_socket_counts *counts, struct ath_figures *out)
{
    size_t at = 0;
    while (at < out->datagram_count && strcmp(out->datagrams[at].address, counts->address) != 0)
        at++;
    if (at == out->datagram_count) {
        struct ath_datagram_figures *added =
            ath_push(&out->datagrams, &out->datagram_count, sizeof *added);
        *added = (struct ath_datagram_figures){ .address = ath_xstrdup(counts->address) };
    }
#define X(name) out->datagrams[at].name += claimed(&counts->name);
    ATH_UDP_COUNTS(X)
#undef X
}

static int by_id(const void *a, const void *b)
{
    const struct ath_session_figures *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

void ath_figures_collect_with(const struct ath_server *server, ath_figures_visit *visit,
                              void *context, struct ath_figures *out)
{
    const struct ath_samples *samples = &server->board->samples;
    struct ath_session_board_entry entry;
    uint64_t now_ms = ath_now_ms();
    int64_t age_ms = ath_samples_age_ms(samples, now_ms);
    if (server->entry)
        atomic_store(&server->entry->asked_ms, now_ms);
    *out = (struct ath_figures){
        .sampled_ms_ago = age_ms,
        .accepted = (int64_t)atomic_load(&server->board->accepted),
        .broken = (int64_t)ath_session_board_broken(server->board),
    };
    for (size_t i = 0; i < ATH_REFUSAL_REASONS; i++)
        out->refused[i] =
            (int64_t)ath_session_board_refused(server->board, (enum ath_control_reason)i);
    for (size_t i = 0; i < server->devices.count; i++)
        collect_device(server, i, age_ms >= 0,
                       ath_push(&out->devices, &out->device_count, sizeof *out->devices));
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        if (!ath_session_board_read(server->board, i, &entry) || !entry.is_proven ||
            entry.purpose != ATH_GPU_PURPOSE_CUDA)
            continue;
        collect_session(&entry, &server->board->turns, age_ms >= 0 ? samples : NULL, i,
                        ath_push(&out->sessions, &out->session_count, sizeof *out->sessions));
        if (visit)
            visit(context, i, &entry);
    }
    for (size_t i = 0; i < ATH_DATAGRAMS_SOCKETS_MAX; i++)
        if (*server->board->udp.sockets[i].address)
            collect_datagrams(&server->board->udp.sockets[i], out);
    if (out->session_count)
        qsort(out->sessions, out->session_count, sizeof *out->sessions, by_id);
}

void ath_figures_collect(const struct ath_server *server, struct ath_figures *out)
{
    ath_figures_collect_with(server, NULL, NULL, out);
}
