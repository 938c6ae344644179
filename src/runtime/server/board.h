/*
 * Who is connected: a table in memory that the listening process and the processes of its sessions
 * share. The listening one alone adds and removes entries; a session's process writes its own
 * entry's claims and reads the others'. The listening one believes nothing of it that another
 * process could be harmed by (processes.h).
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/server/devices.h"

/*
 * Who is not proven yet gets a quarter of the places, each way in for itself, and none for longer
 * than it takes others to want it: strangers do not keep those out who have the key.
 */
enum {
    ATH_BOARD_MAX = 512,
    ATH_BOARD_STRANGERS = ATH_BOARD_MAX / 4,
    ATH_BOARD_STRANGER_MS = 500,
    ATH_BOARD_PEER = 96,
    ATH_BOARD_PROGRAM = 64,
    ATH_BOARD_SHARES = 16384
};

struct ath_board_entry {
    _Atomic uint64_t id; /* of the session; 0: the place is free */
    uint64_t started_ms; /* ath_now_ms() */
    char peer[ATH_BOARD_PEER];
    atomic_bool is_proven;           /* the handshake is over */
    atomic_int purpose;              /* enum ath_gpu_purpose, once proven */
    char program[ATH_BOARD_PROGRAM]; /* its name, as it says; set by the session's process */
    /* Of a program, by the server's number of a device: what it holds, what it may hold (negative:
     * as much as there is for all), and (bits) where it has anything. */
    _Atomic int64_t used_bytes[ATH_DEVICES_MAX], limit_bytes[ATH_DEVICES_MAX];
    _Atomic uint64_t devices;
};

/* Memory that a session has handed to others: it is counted once, to one of those who hold it. */
struct ath_board_share {
    uint64_t id;   /* 0: the place is free; else its place + 1 in the low 16 bits */
    uint64_t name; /* by which others find it; 0: by its id alone */
    size_t device;
    int64_t bytes;
    size_t payer;                         /* the entry that it is counted to, one of: */
    uint64_t holders[ATH_BOARD_MAX / 64]; /* a bit for each entry */
};

struct ath_board {
    struct ath_board_entry entries[ATH_BOARD_MAX];
    _Atomic uint64_t accepted, refused, broken; /* connections since the start */
    _Atomic uint64_t missing_lines;             /* record.h */
    pthread_mutex_t memory_lock; /* of taking memory, and of shares; survives who dies with it */
    struct ath_board_share shares[ATH_BOARD_SHARES];
    uint64_t last_share;
};

/* Shared memory for all processes forked from here on; NULL without memory. */
struct ath_board *ath_board_make(void);

/* A new entry at a place that is free, for a session of that number. */
struct ath_board_entry *ath_board_add(struct ath_board *board, size_t place, uint64_t id,
                                      const char *peer);

/* Takes away the entry of a session whose process has ended. */
void ath_board_remove(struct ath_board *board, size_t place);

/* The entry of a session, or NULL. */
struct ath_board_entry *ath_board_find(struct ath_board *board, uint64_t id);

/* A copy of the entry at a place; false where there is none. */
bool ath_board_read(struct ath_board *board, size_t place, struct ath_board_entry *out);

/*
 * Takes memory of a device for a session: false where all sessions together would then have more
 * than limit_bytes (negative: no limit), or this one more than its own. What an ended session had
 * is free again with its entry.
 */
bool ath_board_take_memory(struct ath_board *board, struct ath_board_entry *entry, size_t device,
                           int64_t bytes, int64_t limit_bytes);
void ath_board_give_memory(struct ath_board_entry *entry, size_t device, int64_t bytes);

/*
 * Memory that a session has taken, and hands to others, as a share: returns its id, or 0 where
 * there are too many. Whoever gets it holds it from then on, as the maker does, until it drops it;
 * twice is once. When the payer drops it the bytes pass to another holder, whatever its limit (they
 * are there), and with the last of all they are free. A session that ends drops what it has.
 */
uint64_t ath_board_share(struct ath_board *board, struct ath_board_entry *entry, size_t device,
                         int64_t bytes);
/* name 0: it has none any more. The share of a name is 0 where there is none; of several, any. */
void ath_board_share_name(struct ath_board *board, uint64_t share, uint64_t name);
uint64_t ath_board_share_named(struct ath_board *board, uint64_t name);
/* False where there is no such share, or none any more. */
bool ath_board_share_hold(struct ath_board *board, struct ath_board_entry *entry, uint64_t share);
void ath_board_share_drop(struct ath_board *board, struct ath_board_entry *entry, uint64_t share);

/* Whether a session has more of a device than it may: its limit was set while it had that. */
bool ath_board_is_beyond(struct ath_board_entry *entry, size_t device);

/* What all sessions have of a device, and how many have anything of it (NULL: not asked). */
int64_t ath_board_memory(const struct ath_board *board, size_t device, uint32_t *out_sessions);
