/* The shared table of sessions. */
#include "config.h"

#include "runtime/session_board.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

struct ath_session_board *ath_session_board_make(void)
{
    struct ath_session_board *board =
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

struct ath_session_board_entry *ath_session_board_add(struct ath_session_board *board, size_t slot,
                                                      uint64_t id, const char *peer)
{
    struct ath_session_board_entry *entry = &board->entries[slot];
    entry->started_ms = ath_now_ms();
    snprintf(entry->peer, sizeof entry->peer, "%s", peer);
    atomic_store(&entry->is_proven, false);
    atomic_store(&entry->purpose, 0);
    entry->identity[0] = '\0';
    entry->program[0] = '\0';
    for (size_t device = 0; device < ATH_DEVICES_MAX; device++) {
        atomic_store(&entry->used_bytes[device], 0);
        atomic_store(&entry->limit_bytes[device], -1);
    }
    atomic_store(&entry->devices, 0);
    atomic_store(&entry->id, id);
    return entry;
}

static void drop_all(struct ath_session_board *board, struct ath_session_board_entry *entry);

void ath_session_board_remove(struct ath_session_board *board, size_t slot)
{
    drop_all(board, &board->entries[slot]);
    atomic_store(&board->entries[slot].id, 0);
}

struct ath_session_board_entry *ath_session_board_find(struct ath_session_board *board, uint64_t id)
{
    for (size_t i = 0; id && i < ATH_SESSION_BOARD_MAX; i++)
        if (atomic_load(&board->entries[i].id) == id)
            return &board->entries[i];
    return NULL;
}

/* The slot may be given to another session during the copy; its id differs then. */
bool ath_session_board_read(struct ath_session_board *board, size_t slot,
                            struct ath_session_board_entry *out)
{
    struct ath_session_board_entry *entry = &board->entries[slot];
    uint64_t id = atomic_load(&entry->id);
    if (!id)
        return false;
    out->id = id;
    out->started_ms = entry->started_ms;
    memcpy(out->peer, entry->peer, sizeof out->peer);
    out->peer[sizeof out->peer - 1] = '\0';
    out->is_proven = atomic_load(&entry->is_proven);
    out->purpose = atomic_load(&entry->purpose);
    memcpy(out->identity, entry->identity, sizeof out->identity);
    out->identity[sizeof out->identity - 1] = '\0';
    memcpy(out->program, entry->program, sizeof out->program);
    out->program[sizeof out->program - 1] = '\0';
    for (size_t device = 0; device < ATH_DEVICES_MAX; device++) {
        atomic_store(&out->used_bytes[device], atomic_load(&entry->used_bytes[device]));
        atomic_store(&out->limit_bytes[device], atomic_load(&entry->limit_bytes[device]));
    }
    atomic_store(&out->devices, atomic_load(&entry->devices));
    return atomic_load(&entry->id) == id;
}

int64_t ath_session_board_memory(const struct ath_session_board *board, size_t device,
                                 uint32_t *out_sessions)
{
    int64_t bytes = 0;
    uint32_t sessions = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        const struct ath_session_board_entry *entry = &board->entries[i];
        if (!atomic_load(&entry->id))
            continue;
        bytes += atomic_load(&entry->used_bytes[device]);
        sessions += (uint32_t)(atomic_load(&entry->devices) >> device & 1);
    }
    if (out_sessions)
        *out_sessions = sessions;
    return bytes;
}

/* A session that died with the lock has left nothing half done: each change of a count is one
 * store, and an interrupted change leaves too little counted rather than too much. */
static void lock_memory(struct ath_session_board *board)
{
    if (pthread_mutex_lock(&board->memory_lock) == EOWNERDEAD)
        pthread_mutex_consistent(&board->memory_lock);
}

bool ath_session_board_take_memory(struct ath_session_board *board,
                                   struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes, int64_t limit_bytes)
{
    lock_memory(board);
    int64_t free_bytes =
        limit_bytes < 0 ? bytes : limit_bytes - ath_session_board_memory(board, device, NULL);
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

bool ath_session_board_is_beyond(struct ath_session_board_entry *entry, size_t device)
{
    int64_t limit_bytes = atomic_load(&entry->limit_bytes[device]);
    return limit_bytes >= 0 && atomic_load(&entry->used_bytes[device]) > limit_bytes;
}

void ath_session_board_give_memory(struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes)
{
    atomic_fetch_sub(&entry->used_bytes[device], bytes);
}

/* ---- shares ---- */

/* The caller has the lock in all functions of this part. */
static struct ath_session_board_share *find_share(struct ath_session_board *board, uint64_t id)
{
    size_t slot = (size_t)(id & 0xffff);
    bool is_known = slot && slot <= ATH_SESSION_BOARD_SHARES && board->shares[slot - 1].id == id;
    return is_known ? &board->shares[slot - 1] : NULL;
}

static size_t slot_of(const struct ath_session_board *board,
                      const struct ath_session_board_entry *entry)
{
    return (size_t)(entry - board->entries);
}

static void hold(struct ath_session_board_share *share, size_t slot)
{
    share->holders[slot / 64] |= UINT64_C(1) << slot % 64;
}

static bool is_holder(const struct ath_session_board_share *share, size_t slot)
{
    return share->holders[slot / 64] >> slot % 64 & 1;
}

/* Another entry that holds the share. An entry that is about to be removed has dropped its
 * shares before. */
static struct ath_session_board_entry *next_payer(struct ath_session_board *board,
                                                  const struct ath_session_board_share *share)
{
    size_t slot = 0;
    while (slot < ATH_SESSION_BOARD_MAX && !is_holder(share, slot))
        slot++;
    return slot < ATH_SESSION_BOARD_MAX ? &board->entries[slot] : NULL;
}

/* The listening process runs this, too, so no number on the board may lead outside of the board. */
static void pass_to_next_payer(struct ath_session_board *board,
                               struct ath_session_board_share *share,
                               struct ath_session_board_entry *payer)
{
    struct ath_session_board_entry *next = next_payer(board, share);
    size_t device = share->device % ATH_DEVICES_MAX;
    ath_session_board_give_memory(payer, device, share->bytes);
    if (!next) {
        share->id = 0;
        return;
    }
    share->payer = slot_of(board, next);
    ath_session_board_give_memory(next, device, -share->bytes);
    atomic_fetch_or(&next->devices, UINT64_C(1) << device);
}

static void drop_holder(struct ath_session_board *board, struct ath_session_board_share *share,
                        struct ath_session_board_entry *entry)
{
    size_t slot = slot_of(board, entry);
    if (!is_holder(share, slot))
        return;
    share->holders[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    if (share->payer == slot)
        pass_to_next_payer(board, share, entry);
}

static void drop_all(struct ath_session_board *board, struct ath_session_board_entry *entry)
{
    lock_memory(board);
    for (size_t i = 0; i < ATH_SESSION_BOARD_SHARES; i++)
        if (board->shares[i].id)
            drop_holder(board, &board->shares[i], entry);
    pthread_mutex_unlock(&board->memory_lock);
}

uint64_t ath_session_board_share(struct ath_session_board *board,
                                 struct ath_session_board_entry *entry, size_t device,
                                 int64_t bytes)
{
    uint64_t id = 0;
    lock_memory(board);
    for (size_t i = 0; !id && i < ATH_SESSION_BOARD_SHARES; i++) {
        if (board->shares[i].id)
            continue;
        id = ++board->last_share << 16 | (i + 1);
        board->shares[i] = (struct ath_session_board_share){
            .id = id, .device = device, .bytes = bytes, .payer = slot_of(board, entry)
        };
        hold(&board->shares[i], board->shares[i].payer);
    }
    pthread_mutex_unlock(&board->memory_lock);
    return id;
}

void ath_session_board_share_name(struct ath_session_board *board, uint64_t id, uint64_t name)
{
    lock_memory(board);
    struct ath_session_board_share *share = find_share(board, id);
    if (share)
        share->name = name;
    pthread_mutex_unlock(&board->memory_lock);
}

uint64_t ath_session_board_share_named(struct ath_session_board *board, uint64_t name)
{
    uint64_t id = 0;
    lock_memory(board);
    for (size_t i = 0; name && !id && i < ATH_SESSION_BOARD_SHARES; i++)
        if (board->shares[i].name == name)
            id = board->shares[i].id;
    pthread_mutex_unlock(&board->memory_lock);
    return id;
}

bool ath_session_board_share_hold(struct ath_session_board *board,
                                  struct ath_session_board_entry *entry, uint64_t id)
{
    lock_memory(board);
    struct ath_session_board_share *share = find_share(board, id);
    if (share)
        hold(share, slot_of(board, entry));
    pthread_mutex_unlock(&board->memory_lock);
    return share;
}

void ath_session_board_share_drop(struct ath_session_board *board,
                                  struct ath_session_board_entry *entry, uint64_t id)
{
    lock_memory(board);
    struct ath_session_board_share *share = find_share(board, id);
    if (share)
        drop_holder(board, share, entry);
    pthread_mutex_unlock(&board->memory_lock);
}
