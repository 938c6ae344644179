/*
 * Memory that sessions have shared with others. It counts once, to one of its holders: the payer.
 * The table lies in the listening process's own memory, and sessions ask for changes
 * (session_report.h), so that no session can spoil it. The bytes that each session pays for
 * stand on the board.
 *
 * Sessions share with sessions of the same identity only, as NVIDIA's driver lets processes of the
 * same user open each other's memory only.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "runtime/session_board.h"

enum { ATH_SHARES_MAX = 16384, ATH_SHARES_OF_SESSION = 4096 };

struct ath_share {
    uint64_t id;   /* 0: the slot is free; otherwise the slot + 1 is in the low 16 bits */
    uint64_t name; /* by which other sessions find it; 0: it has only its id */
    size_t device;
    int64_t bytes;
    size_t payer;                                 /* the slot of the holder that it counts to */
    uint64_t holders[ATH_SESSION_BOARD_MAX / 64]; /* a bit for each slot */
    char identity[ATH_KEY_NAME_BYTES];            /* of all holders */
};

/* {} with a board is an empty table. */
struct ath_share_table {
    struct ath_session_board *board;
    size_t used;                        /* all slots beyond are free */
    size_t first_free;                  /* all slots before are taken */
    size_t paid[ATH_SESSION_BOARD_MAX]; /* the number of shares that each session pays for */
    uint64_t last;
    struct ath_share items[ATH_SHARES_MAX];
};

/*
 * Makes a share of memory that the session at the slot holds. Returns its id, or 0 if the session
 * or all together have too many shares, or the memory is no possible amount. Each session that gets
 * the memory holds the share, as its maker does, until it drops it; holding it twice is the same as
 * once. When the payer drops the share, its bytes pass to another holder even beyond that holder's
 * limit, because the memory exists. When the last holder drops it, the bytes are free.
 */
uint64_t ath_share_table_make(struct ath_share_table *table, size_t slot, const char *identity,
                              size_t device, int64_t bytes);

/* Gives a share that the session holds a name; 0 removes the name. */
void ath_share_table_name(struct ath_share_table *table, size_t slot, uint64_t share,
                          uint64_t name);

/* A share of the identity by its name; 0 if there is none, and any one of them if several have the
 * name. */
uint64_t ath_share_table_find(const struct ath_share_table *table, const char *identity,
                              uint64_t name);

/* Adds a holder. Returns false if there is no such share of the identity. */
bool ath_share_table_hold(struct ath_share_table *table, size_t slot, const char *identity,
                          uint64_t share);
void ath_share_table_drop(struct ath_share_table *table, size_t slot, uint64_t share);

/* Drops all shares of a session that has ended. */
void ath_share_table_drop_all(struct ath_share_table *table, size_t slot);
