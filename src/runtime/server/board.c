/* The shared table of sessions. */
#include "config.h"

#include "runtime/server/board.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

struct ath_board *ath_board_make(void)
{
    struct ath_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return board == MAP_FAILED ? NULL : board;
}

bool ath_board_is_crowded(const struct ath_board *board, int way,
                          struct ath_board_entry **out_oldest)
{
    const struct ath_board_entry *oldest = NULL;
    size_t count = 0;

    for (size_t i = 0; i < ATH_BOARD_MAX; i++) {
        const struct ath_board_entry *entry = &board->entries[i];
        if (!atomic_load(&entry->id) || entry->way != way || entry->is_trusted ||
            entry->is_ending || atomic_load(&entry->is_proven))
            continue;
        count++;
        if (!oldest || entry->started_ms < oldest->started_ms)
            oldest = entry;
    }
    bool is_old = oldest && ath_now_ms() - oldest->started_ms >= ATH_BOARD_STRANGER_MS;
    *out_oldest = is_old ? (struct ath_board_entry *)oldest : NULL;
    return count >= ATH_BOARD_STRANGERS;
}

struct ath_board_entry *ath_board_add(struct ath_board *board, const char *peer, int way,
                                      bool is_trusted)
{
    struct ath_board_entry *unused;
    if (!is_trusted && ath_board_is_crowded(board, way, &unused))
        return NULL;
    for (size_t i = 0; i < ATH_BOARD_MAX; i++) {
        struct ath_board_entry *entry = &board->entries[i];
        if (atomic_load(&entry->id))
            continue;
        entry->pid = 0;
        entry->way = way;
        entry->is_trusted = is_trusted;
        entry->is_ending = false;
        entry->started_ms = ath_now_ms();
        snprintf(entry->peer, sizeof entry->peer, "%s", peer);
        atomic_store(&entry->is_proven, false);
        atomic_store(&entry->purpose, 0);
        atomic_store(&entry->id, ++board->last_id);
        return entry;
    }
    return NULL;
}

bool ath_board_remove(struct ath_board *board, pid_t pid)
{
    for (size_t i = 0; i < ATH_BOARD_MAX; i++) {
        if (atomic_load(&board->entries[i].id) && board->entries[i].pid == pid) {
            atomic_store(&board->entries[i].id, 0);
            return true;
        }
    }
    return false;
}

struct ath_board_entry *ath_board_find(struct ath_board *board, uint64_t id)
{
    for (size_t i = 0; id && i < ATH_BOARD_MAX; i++)
        if (atomic_load(&board->entries[i].id) == id)
            return &board->entries[i];
    return NULL;
}

/* The place may be given to another session while it is copied: then the id has changed. */
bool ath_board_read(struct ath_board *board, size_t place, struct ath_board_entry *out)
{
    struct ath_board_entry *entry = &board->entries[place];
    uint64_t id = atomic_load(&entry->id);
    if (!id)
        return false;
    out->id = id;
    out->pid = entry->pid;
    out->started_ms = entry->started_ms;
    memcpy(out->peer, entry->peer, sizeof out->peer);
    out->peer[sizeof out->peer - 1] = '\0';
    out->is_proven = atomic_load(&entry->is_proven);
    out->purpose = atomic_load(&entry->purpose);
    return atomic_load(&entry->id) == id;
}
