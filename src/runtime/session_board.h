/*
 * The board of sessions: a table in memory that the listening process shares with the processes of
 * sessions. Only the listening process adds and removes entries. A session's process writes the
 * claims of its own entry and reads the others. The listening process believes nothing on the board
 * by which a session could harm another process (process_table.h).
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/key_name.h"
#include "runtime/devices.h"

/*
 * Unproven clients may have a quarter of the slots for each listening socket, and keep a slot for
 * this many milliseconds when others want it. So clients without the key do not keep out those that
 * have it.
 */
enum {
    ATH_SESSION_BOARD_MAX = 512,
    ATH_SESSION_BOARD_UNPROVEN = ATH_SESSION_BOARD_MAX / 4,
    ATH_SESSION_BOARD_UNPROVEN_MS = 500,
    ATH_SESSION_BOARD_PEER = 96,
    ATH_SESSION_BOARD_PROGRAM = 64,
    ATH_SESSION_BOARD_SHARES = 16384
};

struct ath_session_board_entry {
    _Atomic uint64_t id; /* of the session; 0: the slot is free */
    uint64_t started_ms; /* ath_now_ms() */
    char peer[ATH_SESSION_BOARD_PEER];
    atomic_bool is_proven;                   /* the handshake is over */
    atomic_int purpose;                      /* enum ath_gpu_purpose, once proven */
    char identity[ATH_KEY_NAME_BYTES];       /* for people; set before is_proven */
    char program[ATH_SESSION_BOARD_PROGRAM]; /* its name, as the program says; set by the session's
                                              * process
                                              */
    /* For a program, by the server's number of a device: bytes that it holds, bytes that it may
     * hold (negative: no limit of its own), and a bit for each device of which it holds any. */
    _Atomic int64_t used_bytes[ATH_DEVICES_MAX], limit_bytes[ATH_DEVICES_MAX];
    _Atomic uint64_t devices;
};

/* Memory that a session has shared with others. It counts once, to one of the holders. */
struct ath_session_board_share {
    uint64_t id;   /* 0: the slot is free; otherwise the slot + 1 is in the low 16 bits */
    uint64_t name; /* by which other sessions find it; 0: it has only its id */
    size_t device;
    int64_t bytes;
    size_t payer;                                 /* the holder to whose entry it counts */
    uint64_t holders[ATH_SESSION_BOARD_MAX / 64]; /* a bit for each entry */
};

struct ath_session_board {
    struct ath_session_board_entry entries[ATH_SESSION_BOARD_MAX];
    _Atomic uint64_t accepted, refused, broken; /* connections since the start */
    _Atomic uint64_t missing_lines;             /* event_log.h */
    _Atomic double vram_fraction;               /* set while the server runs; 0: as at its start */
    pthread_mutex_t
        memory_lock; /* for taking memory and for shares; survives the death of its holder */
    struct ath_session_board_share shares[ATH_SESSION_BOARD_SHARES];
    uint64_t last_share;
};

/* Makes a board in memory that all processes forked later share. Returns NULL if memory
 * runs out. */
struct ath_session_board *ath_session_board_make(void);

/* Makes the entry of a new session at a free slot. */
struct ath_session_board_entry *ath_session_board_add(struct ath_session_board *board, size_t slot,
                                                      uint64_t id, const char *peer);

/* Removes the entry of a session whose process has ended. */
void ath_session_board_remove(struct ath_session_board *board, size_t slot);

/* The entry of a session; NULL if there is none. */
struct ath_session_board_entry *ath_session_board_find(struct ath_session_board *board,
                                                       uint64_t id);

/* Copies the entry at a slot. Returns false if the slot is free. */
bool ath_session_board_read(struct ath_session_board *board, size_t slot,
                            struct ath_session_board_entry *out);

/*
 * Takes bytes of a device for a session. Returns false if all sessions together would have more
 * than limit_bytes (negative: no limit), or this session more than its own limit. Memory of a
 * session that has ended is free again with its entry.
 */
bool ath_session_board_take_memory(struct ath_session_board *board,
                                   struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes, int64_t limit_bytes);
void ath_session_board_give_memory(struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes);

/*
 * Makes a share of memory that a session has taken. Returns its id, or 0 if there are too many
 * shares. Each session that gets the memory holds the share, as its maker does, until it drops it;
 * holding it twice is the same as once. When the payer drops the share, its bytes pass to another
 * holder even beyond that holder's limit, because the memory exists. When the last holder drops it,
 * the bytes are free. A session that ends drops its shares.
 */
uint64_t ath_session_board_share(struct ath_session_board *board,
                                 struct ath_session_board_entry *entry, size_t device,
                                 int64_t bytes);
/* Name 0 removes the name. ath_session_board_share_named() returns 0 if no share has the name, and
 * any one of them if several do. */
void ath_session_board_share_name(struct ath_session_board *board, uint64_t share, uint64_t name);
uint64_t ath_session_board_share_named(struct ath_session_board *board, uint64_t name);
/* Adds a holder. Returns false if there is no such share any more. */
bool ath_session_board_share_hold(struct ath_session_board *board,
                                  struct ath_session_board_entry *entry, uint64_t share);
void ath_session_board_share_drop(struct ath_session_board *board,
                                  struct ath_session_board_entry *entry, uint64_t share);

/* Whether a session has more of a device than its limit, which was set when it already had that
 * much. */
bool ath_session_board_is_beyond(struct ath_session_board_entry *entry, size_t device);

/* The bytes of a device that all sessions have. *out_sessions is the number of sessions that
 * have any; NULL: not wanted. */
int64_t ath_session_board_memory(const struct ath_session_board *board, size_t device,
                                 uint32_t *out_sessions);
