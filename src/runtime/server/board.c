/* The shared table of sessions. */
#include "config.h"

#include "runtime/server/board.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

struct ath_board *ath_board_make(void)
{
    struct ath_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return NULL;
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&board->memory_lock, &shared);
    pthread_mutexattr_destroy(&shared);
    return board;
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
        entry->program[0] = '\0';
        for (size_t device = 0; device < ATH_DEVICES_MAX; device++) {
            atomic_store(&entry->used_bytes[device], 0);
            atomic_store(&entry->limit_bytes[device], -1);
        }
        atomic_store(&entry->devices, 0);
        atomic_store(&entry->id, ++board->last_id);
        return entry;
    }
    return NULL;
}

static void drop_all(struct ath_board *board, struct ath_board_entry *entry);

bool ath_board_remove(struct ath_board *board, pid_t pid)
{
    for (size_t i = 0; i < ATH_BOARD_MAX; i++) {
        if (atomic_load(&board->entries[i].id) && board->entries[i].pid == pid) {
            drop_all(board, &board->entries[i]);
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
    memcpy(out->program, entry->program, sizeof out->program);
    out->program[sizeof out->program - 1] = '\0';
    for (size_t device = 0; device < ATH_DEVICES_MAX; device++) {
        atomic_store(&out->used_bytes[device], atomic_load(&entry->used_bytes[device]));
        atomic_store(&out->limit_bytes[device], atomic_load(&entry->limit_bytes[device]));
    }
    atomic_store(&out->devices, atomic_load(&entry->devices));
    return atomic_load(&entry->id) == id;
}

int64_t ath_board_memory(const struct ath_board *board, size_t device, uint32_t *out_sessions)
{
    int64_t bytes = 0;
    uint32_t sessions = 0;
    for (size_t i = 0; i < ATH_BOARD_MAX; i++) {
        const struct ath_board_entry *entry = &board->entries[i];
        if (!atomic_load(&entry->id))
            continue;
        bytes += atomic_load(&entry->used_bytes[device]);
        sessions += (uint32_t)(atomic_load(&entry->devices) >> device & 1);
    }
    if (out_sessions)
        *out_sessions = sessions;
    return bytes;
}

/* A session that died in between has left nothing half done: of what counts there is one store at a
 * time, and each leaves too little counted rather than too much. */
static void lock_memory(struct ath_board *board)
{
    if (pthread_mutex_lock(&board->memory_lock) == EOWNERDEAD)
        pthread_mutex_consistent(&board->memory_lock);
}

bool ath_board_take_memory(struct ath_board *board, struct ath_board_entry *entry, size_t device,
                           int64_t bytes, int64_t limit_bytes)
{
    lock_memory(board);
    int64_t free_bytes =
        limit_bytes < 0 ? bytes : limit_bytes - ath_board_memory(board, device, NULL);
    int64_t own_bytes = atomic_load(&entry->limit_bytes[device]);
    bool is_taken = bytes <= free_bytes &&
                    (own_bytes < 0 || bytes <= own_bytes - atomic_load(&entry->used_bytes[device]));
    if (is_taken) {
        atomic_fetch_add(&entry->used_bytes[device], bytes);
        atomic_fetch_or(&entry->devices, UINT64_C(1) << device);
    }
    pthread_mutex_unlock(&board->memory_lock);
    return is_taken;
}

bool ath_board_is_beyond(struct ath_board_entry *entry, size_t device)
{
    int64_t limit_bytes = atomic_load(&entry->limit_bytes[device]);
    return limit_bytes >= 0 && atomic_load(&entry->used_bytes[device]) > limit_bytes;
}

void ath_board_give_memory(struct ath_board_entry *entry, size_t device, int64_t bytes)
{
    atomic_fetch_sub(&entry->used_bytes[device], bytes);
}

/* ---- shares ---- */

/* The caller has the lock, in all of these. */
static struct ath_board_share *find_share(struct ath_board *board, uint64_t id)
{
    size_t place = (size_t)(id & 0xffff);
    bool is_known = place && place <= ATH_BOARD_SHARES && board->shares[place - 1].id == id;
    return is_known ? &board->shares[place - 1] : NULL;
}

/* Where a session (0: nobody) is among the holders; NULL: nowhere. */
static uint64_t *find_holder(struct ath_board_share *share, uint64_t session)
{
    for (size_t i = 0; i < ATH_BOARD_HOLDERS; i++)
        if (share->holders[i] == session)
            return &share->holders[i];
    return NULL;
}

/* A session that still runs; one that is about to be removed has dropped what it held. */
static struct ath_board_entry *next_payer(struct ath_board *board,
                                          const struct ath_board_share *share)
{
    for (size_t i = 0; i < ATH_BOARD_HOLDERS; i++) {
        struct ath_board_entry *entry = ath_board_find(board, share->holders[i]);
        if (entry)
            return entry;
    }
    return NULL;
}

static void pass_on(struct ath_board *board, struct ath_board_share *share,
                    struct ath_board_entry *payer)
{
    struct ath_board_entry *next = next_payer(board, share);
    share->payer = next ? atomic_load(&next->id) : 0;
    ath_board_give_memory(payer, share->device, share->bytes);
    if (!next) {
        share->id = 0;
        return;
    }
    ath_board_give_memory(next, share->device, -share->bytes);
    atomic_fetch_or(&next->devices, UINT64_C(1) << share->device);
}

static void drop(struct ath_board *board, struct ath_board_share *share,
                 struct ath_board_entry *entry)
{
    uint64_t session = atomic_load(&entry->id);
    uint64_t *holder = find_holder(share, session);
    if (!holder)
        return;
    *holder = 0;
    if (share->payer == session && !find_holder(share, session))
        pass_on(board, share, entry);
}

static void drop_all(struct ath_board *board, struct ath_board_entry *entry)
{
    lock_memory(board);
    for (size_t i = 0; i < ATH_BOARD_SHARES; i++)
        while (board->shares[i].id && find_holder(&board->shares[i], atomic_load(&entry->id)))
            drop(board, &board->shares[i], entry);
    pthread_mutex_unlock(&board->memory_lock);
}

uint64_t ath_board_share(struct ath_board *board, struct ath_board_entry *entry, size_t device,
                         int64_t bytes)
{
    uint64_t id = 0;
    lock_memory(board);
    for (size_t i = 0; !id && i < ATH_BOARD_SHARES; i++) {
        if (board->shares[i].id)
            continue;
        id = ++board->last_share << 16 | (i + 1);
        board->shares[i] = (struct ath_board_share){ .id = id,
                                                     .device = device,
                                                     .bytes = bytes,
                                                     .payer = atomic_load(&entry->id),
                                                     .holders = { atomic_load(&entry->id) } };
    }
    pthread_mutex_unlock(&board->memory_lock);
    return id;
}

bool ath_board_share_hold(struct ath_board *board, struct ath_board_entry *entry, uint64_t id)
{
    lock_memory(board);
    struct ath_board_share *share = find_share(board, id);
    uint64_t *place = share ? find_holder(share, 0) : NULL;
    if (place)
        *place = atomic_load(&entry->id);
    pthread_mutex_unlock(&board->memory_lock);
    return place;
}

void ath_board_share_drop(struct ath_board *board, struct ath_board_entry *entry, uint64_t id)
{
    lock_memory(board);
    struct ath_board_share *share = find_share(board, id);
    if (share)
        drop(board, share, entry);
    pthread_mutex_unlock(&board->memory_lock);
}
