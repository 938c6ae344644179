/* The listening process's own table. */
#include "config.h"

#include "runtime/server/processes.h"

#include <stdio.h>

#include "base/clock.h"

size_t ath_processes_place(const struct ath_processes *processes, const struct ath_process *process)
{
    return (size_t)(process - processes->items);
}

/* What the board says is believed once, and then kept. */
static bool is_stranger(struct ath_processes *processes, struct ath_process *process)
{
    size_t place = ath_processes_place(processes, process);
    process->is_proven =
        process->is_proven || atomic_load(&processes->board->entries[place].is_proven);
    return !process->is_proven && !process->is_trusted && !process->is_ending;
}

bool ath_processes_are_crowded(struct ath_processes *processes, int way,
                               struct ath_process **out_oldest)
{
    struct ath_process *oldest = NULL;
    size_t count = 0;

    for (size_t i = 0; i < ATH_BOARD_MAX; i++) {
        struct ath_process *process = &processes->items[i];
        if (!process->session || !is_stranger(processes, process) || process->way != way)
            continue;
        count++;
        if (!oldest || process->started_ms < oldest->started_ms)
            oldest = process;
    }
    bool is_old = oldest && ath_now_ms() - oldest->started_ms >= ATH_BOARD_STRANGER_MS;
    *out_oldest = is_old ? oldest : NULL;
    return count >= ATH_BOARD_STRANGERS;
}

struct ath_process *ath_processes_add(struct ath_processes *processes, const char *peer, int way,
                                      bool is_trusted)
{
    struct ath_process *unused, *free_place = ath_processes_find(processes, 0);
    if (!free_place || (!is_trusted && ath_processes_are_crowded(processes, way, &unused)))
        return NULL;
    *free_place = (struct ath_process){ .session = ++processes->last_session,
                                        .started_ms = ath_now_ms(),
                                        .way = way,
                                        .is_trusted = is_trusted };
    snprintf(free_place->peer, sizeof free_place->peer, "%s", peer);
    ath_board_add(processes->board, ath_processes_place(processes, free_place), free_place->session,
                  peer);
    return free_place;
}

struct ath_process *ath_processes_find(struct ath_processes *processes, uint64_t session)
{
    for (size_t i = 0; i < ATH_BOARD_MAX; i++)
        if (processes->items[i].session == session)
            return &processes->items[i];
    return NULL;
}

struct ath_process *ath_processes_of_pid(struct ath_processes *processes, pid_t pid)
{
    for (size_t i = 0; i < ATH_BOARD_MAX; i++)
        if (processes->items[i].session && processes->items[i].pid == pid)
            return &processes->items[i];
    return NULL;
}

void ath_processes_remove(struct ath_processes *processes, struct ath_process *process)
{
    ath_board_remove(processes->board, ath_processes_place(processes, process));
    process->session = 0;
}
