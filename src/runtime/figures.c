#include "config.h"

#include "runtime/figures.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/unknown.h"
#include "proto/gpu-control.h"
#include "runtime/quota/quota.h"

static void collect_device(const struct ath_server *server, size_t number,
                           struct ath_device_figures *out)
{
    const struct ath_device *device = &server->devices.items[number];
    int64_t limit_bytes = ath_quota_limit(server, number);
    uint32_t sessions;

    ath_device_figures_init(out);
    out->memory_used_bytes = ath_session_board_memory(server->board, number, &sessions);
    out->sessions = sessions;
    out->memory_limit_bytes = limit_bytes == ATH_UNKNOWN ? device->memory_total_bytes : limit_bytes;
    out->memory_total_bytes = device->memory_total_bytes;
}

static void collect_session(const struct ath_session_board_entry *entry,
                            struct ath_session_figures *out)
{
    ath_session_figures_init(out);
    out->id = entry->id;
}

static int by_id(const void *a, const void *b)
{
    const struct ath_session_figures *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

void ath_figures_collect(const struct ath_server *server, struct ath_figures *out)
{
    struct ath_session_board_entry entry;
    *out = (struct ath_figures){
        .sampled_ms_ago = ATH_UNKNOWN,
        .accepted = (int64_t)atomic_load(&server->board->accepted),
        .refused = (int64_t)ath_session_board_refused(server->board),
        .broken = (int64_t)ath_session_board_broken(server->board),
    };
    for (size_t i = 0; i < server->devices.count; i++)
        collect_device(server, i,
                       ath_push(&out->devices, &out->device_count, sizeof *out->devices));
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (ath_session_board_read(server->board, i, &entry) && entry.is_proven &&
            entry.purpose == ATH_GPU_PURPOSE_CUDA)
            collect_session(&entry,
                            ath_push(&out->sessions, &out->session_count, sizeof *out->sessions));
    if (out->session_count)
        qsort(out->sessions, out->session_count, sizeof *out->sessions, by_id);
}
