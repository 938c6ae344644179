/* The listening process's own table of session processes. */
#include "config.h"

#include "runtime/process_table.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proto/gpu-control.h"

size_t ath_process_table_slot(const struct ath_process_table *processes,
                              const struct ath_process *process)
{
    return (size_t)(process - processes->items);
}

static bool is_stranger(const struct ath_process *process)
{
    return !process->is_proven && !process->is_trusted && !process->is_ending;
}

bool ath_process_table_is_crowded(struct ath_process_table *processes, int way,
                                  struct ath_process **out_oldest)
{
    struct ath_process *oldest = NULL;
    size_t count = 0;

    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_process *process = &processes->items[i];
        if (!process->session || !is_stranger(process) || process->way != way)
            continue;
        count++;
        if (!oldest || process->started_ms < oldest->started_ms)
            oldest = process;
    }
    bool is_old = oldest && ath_now_ms() - oldest->started_ms >= ATH_SESSION_BOARD_UNPROVEN_MS;
    *out_oldest = is_old ? oldest : NULL;
    return count >= ATH_SESSION_BOARD_UNPROVEN;
}

struct ath_process *ath_process_table_add(struct ath_process_table *processes, const char *peer,
                                          int way, bool is_trusted)
{
    struct ath_process *unused, *free_place = ath_process_table_find(processes, 0);
    if (!free_place || (!is_trusted && ath_process_table_is_crowded(processes, way, &unused)))
        return NULL;
    *free_place = (struct ath_process){ .session = ++processes->last_session,
                                        .started_ms = ath_now_ms(),
                                        .way = way,
                                        .report_fd = -1,
                                        .is_trusted = is_trusted };
    snprintf(free_place->peer, sizeof free_place->peer, "%s", peer);
    ath_session_board_add(processes->board, ath_process_table_slot(processes, free_place),
                          free_place->session, peer);
    return free_place;
}

bool ath_process_table_note(struct ath_process *process, const struct ath_session_report *report)
{
    if (process->is_proven)
        return false;
    process->is_proven = true;
    process->purpose = report->purpose;
    process->version = report->version;
    snprintf(process->identity, sizeof process->identity, "%s", report->identity);
    return true;
}

int ath_process_table_count(const struct ath_process_table *processes, const char *identity)
{
    int count = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        const struct ath_process *process = &processes->items[i];
        count += process->session && process->is_proven && !process->is_ending &&
                 process->purpose == ATH_GPU_PURPOSE_CUDA && !strcmp(process->identity, identity);
    }
    return count;
}

struct ath_process *ath_process_table_find(struct ath_process_table *processes, uint64_t session)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (processes->items[i].session == session)
            return &processes->items[i];
    return NULL;
}

struct ath_process *ath_process_table_find_pid(struct ath_process_table *processes, pid_t pid)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (processes->items[i].session && processes->items[i].pid == pid)
            return &processes->items[i];
    return NULL;
}

void ath_process_table_remove(struct ath_process_table *processes, struct ath_process *process)
{
    ath_session_board_remove(processes->board, ath_process_table_slot(processes, process));
    process->session = 0;
}
