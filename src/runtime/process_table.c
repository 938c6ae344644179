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

/* ---- unproven clients ---- */

struct strangers {
    size_t all, of_source;
    struct ath_process *oldest, *oldest_of_source;
};

static bool is_older(const struct ath_process *process, const struct ath_process *than)
{
    return !than || process->started_ms < than->started_ms;
}

/* Counts the unproven clients of a listening socket, and those of the newcomer's source. */
static struct strangers count_strangers(struct ath_process_table *processes,
                                        const struct ath_newcomer *newcomer)
{
    struct strangers found = { .all = 0 };
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_process *process = &processes->items[i];
        if (!process->session || !is_stranger(process) || process->way != newcomer->way)
            continue;
        found.all++;
        if (is_older(process, found.oldest))
            found.oldest = process;
        if (!ath_source_is(process->source, newcomer->source))
            continue;
        found.of_source++;
        if (is_older(process, found.oldest_of_source))
            found.oldest_of_source = process;
    }
    return found;
}

/* A client that has been silent for a while is less likely to have the key than a new one. */
static bool may_leave(const struct ath_process *process)
{
    return process && ath_now_ms() - process->started_ms >= ATH_SESSION_BOARD_UNPROVEN_MS;
}

/* Returns whether a newcomer is refused although there is room, more often the less room there
 * is. */
static bool is_dropped_early(const struct strangers *found, uint32_t random)
{
    const size_t begin = ATH_SESSION_BOARD_UNPROVEN / 2;
    if (found->all < begin || found->of_source < ATH_SESSION_BOARD_UNPROVEN_FEW)
        return false;
    return random % begin < found->all - begin + 1;
}

/* Decides about an unproven newcomer. Returns false if there is no room. */
static bool has_room(struct ath_process_table *processes, const struct ath_newcomer *newcomer,
                     uint32_t random, struct ath_process **out_leaves)
{
    struct strangers found = count_strangers(processes, newcomer);
    struct ath_process *leaves = NULL;
    if (found.of_source >= ATH_SESSION_BOARD_UNPROVEN_OF_SOURCE)
        leaves = found.oldest_of_source;
    else if (found.all >= ATH_SESSION_BOARD_UNPROVEN)
        leaves = found.oldest;
    else
        return !is_dropped_early(&found, random);
    if (!may_leave(leaves))
        return false;
    leaves->is_ending = true;
    *out_leaves = leaves;
    return true;
}

/* ---- slots ---- */

struct slots {
    size_t all, of_source;
};

/* Counts slots that are taken, except those that administrators keep. */
static struct slots count_slots(const struct ath_process_table *processes, struct ath_source source)
{
    struct slots taken = { 0 };
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        const struct ath_process *process = &processes->items[i];
        if (!process->session || process->is_kept)
            continue;
        taken.all++;
        taken.of_source += ath_source_is(process->source, source);
    }
    return taken;
}

enum ath_place ath_process_table_add(struct ath_process_table *processes,
                                     const struct ath_newcomer *newcomer, uint32_t random,
                                     struct ath_process **out, struct ath_process **out_leaves)
{
    struct slots taken = count_slots(processes, newcomer->source);
    bool is_full = taken.all >= ATH_SESSION_BOARD_MAX - ATH_SESSION_BOARD_KEPT;
    struct ath_process *process = ath_process_table_find(processes, 0);

    *out_leaves = NULL;
    if (!process || (is_full && !newcomer->is_trusted))
        return ATH_PLACE_FULL;
    if (!newcomer->is_trusted && taken.of_source >= processes->most_of_source)
        return ATH_PLACE_SOURCE_FULL;
    if (!newcomer->is_trusted && !has_room(processes, newcomer, random, out_leaves))
        return ATH_PLACE_CROWDED;
    *process = (struct ath_process){ .session = ++processes->last_session,
                                     .started_ms = ath_now_ms(),
                                     .source = newcomer->source,
                                     .way = newcomer->way,
                                     .report_fd = -1,
                                     .is_trusted = newcomer->is_trusted,
                                     .is_kept = is_full };
    snprintf(process->peer, sizeof process->peer, "%s", newcomer->peer);
    ath_session_board_add(processes->board, ath_process_table_slot(processes, process),
                          process->session, newcomer->peer);
    *out = process;
    return ATH_PLACE_GIVEN;
}

static bool is_beyond(const struct ath_process_table *processes, const struct ath_process *process)
{
    size_t count = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        const struct ath_process *one = &processes->items[i];
        count += one->session && one->is_proven && !one->is_trusted &&
                 !strcmp(one->identity, process->identity);
    }
    return count > processes->most_of_source;
}

enum ath_verdict ath_process_table_judge(const struct ath_process_table *processes,
                                         const struct ath_process *process)
{
    if (process->is_kept && process->purpose == ATH_GPU_PURPOSE_CUDA)
        return ATH_VERDICT_FULL;
    return processes->limits_identities && !process->is_trusted && is_beyond(processes, process)
               ? ATH_VERDICT_IDENTITY_FULL
               : ATH_VERDICT_GO_ON;
}

bool ath_process_table_note(struct ath_process *process, const struct ath_session_report *report)
{
    if (process->is_proven)
        return false;
    process->is_proven = true;
    process->purpose = report->purpose;
    process->version = report->version;
    process->ticket = report->ticket;
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

void ath_process_table_wipe_tickets(struct ath_process_table *processes)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        explicit_bzero(&processes->items[i].ticket, sizeof processes->items[i].ticket);
}

void ath_process_table_remove(struct ath_process_table *processes, struct ath_process *process)
{
    ath_session_board_remove(processes->board, ath_process_table_slot(processes, process));
    explicit_bzero(&process->ticket, sizeof process->ticket);
    process->session = 0;
}
