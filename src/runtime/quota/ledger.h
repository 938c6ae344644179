/*
 * The ledger of a session's GPU memory: an entry, called a holding, for each allocation, handle,
 * array, mapping and opened IPC handle that the program has.
 *
 * Before the driver frees memory, the caller takes the holding out of the ledger. Otherwise another
 * thread could get the same address from the driver and find the old holding there.
 *
 * One ledger for the process, which has one session. Any thread; the functions lock the ledger
 * themselves.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "proto/cuda-server.h"

struct ath_pool;

enum ath_holding_kind {
    ATH_HOLDING_ADDRESS, /* an allocation; the value is its address */
    ATH_HOLDING_HANDLE,  /* of cuMemCreate() */
    ATH_HOLDING_ARRAY,
    ATH_HOLDING_MIPMAP,
    ATH_HOLDING_MODULE,
    ATH_HOLDING_MAPPED, /* of cuMemMap(); the value is its address */
    ATH_HOLDING_SHARED, /* memory that other sessions have, too; the value is the board's id */
    ATH_HOLDING_OPENED  /* of cuIpcOpenMemHandle(); the value is its address */
};

/* Returns a number of bytes as holdings and the board count it: at most INT64_MAX. */
static inline int64_t ath_ledger_bytes(uint64_t bytes)
{
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

struct ath_holding {
    struct ath_map_entry entry; /* by the value that belongs to the kind */
    enum ath_holding_kind kind;
    size_t device; /* the server's number */
    int64_t bytes; /* that the board counts for this holding */
    /* The context with which the holding ends; NULL: no context ends it. */
    CUcontext context;
    uint64_t references;
    /* The board's id of the shared memory, whose ATH_HOLDING_SHARED counts it; 0: the memory is
     * this session's alone. */
    uint64_t share;
    uint64_t size, handle; /* of a mapping; size also of an allocation from a pool */
    struct ath_pool *pool; /* that counts the allocation; NULL: no pool */
};

/* A holding outside the ledger, with one reference. The caller owns it until it settles or gives
 * it. bytes are on the board already. Returns NULL if memory
 * runs out. */
struct ath_holding *ath_holding_make(size_t device, int64_t bytes, CUcontext context);

/* Ends a holding that was never in the ledger: gives its bytes back to the board or its pool, and
 * frees it. NULL is allowed. */
void ath_holding_give(struct ath_holding *holding);

/* Enters a holding under the value that the driver gave. If the driver failed (status), gives the
 * holding instead. Returns status. */
CUresult ath_ledger_settle(struct ath_holding *holding, enum ath_holding_kind kind, uint64_t value,
                           CUresult status);

/* Takes a holding out of the ledger before the driver frees its memory. NULL: no such holding. */
struct ath_holding *ath_ledger_withdraw(enum ath_holding_kind kind, uint64_t value);

/* Ends a withdrawn holding (NULL is allowed); if the driver failed to free its memory (status),
 * enters the holding again. Returns status. */
CUresult ath_ledger_conclude(struct ath_holding *holding, CUresult status);

/* Adds a reference to a handle's holding, or takes one away; the last one ends the holding. */
void ath_ledger_retain_handle(uint64_t handle);
void ath_ledger_release_handle(uint64_t handle);

/* Ends the mappings that begin in a range, and their references to handles. */
void ath_ledger_unmap(CUdeviceptr address, size_t size);

/* Ends all holdings of a context. NULL is allowed. */
void ath_ledger_drop_context(CUcontext context);

/*
 * Shared memory. The board counts its bytes; the session has one reference for each holding and
 * each exported descriptor of it.
 */

/* Shares an allocation under a name, by which other sessions find it. Returns false if the board
 * has no room for it. An address without a holding is shared without being counted. */
bool ath_ledger_share_address(CUdeviceptr address, uint64_t name);

/* Shares a handle's memory. *out_share is then its id, with a reference of the caller's; it stays
 * as it is if the memory is not counted. Returns false if the board has no room for it. */
bool ath_ledger_share_handle(uint64_t handle, uint64_t *out_share);

/* Takes a reference to memory that another session shares. Returns false if that memory is gone. */
bool ath_ledger_hold_share(uint64_t share);
void ath_ledger_drop_share(uint64_t share);

/* Enters shared memory under the value that the driver gave. The driver may give a value that the
 * session has already; the holding then has one reference more. Returns false if the memory is
 * gone. */
bool ath_ledger_add_shared(enum ath_holding_kind kind, uint64_t value, CUcontext context,
                           uint64_t share);

/* Takes away one reference of an opened address before the driver closes it; with the last one the
 * holding leaves the ledger and is returned, else NULL. */
struct ath_holding *ath_ledger_withdraw_opened(CUdeviceptr address);

/* Undoes that: the driver did not close the address. */
void ath_ledger_restore_opened(CUdeviceptr address, struct ath_holding *withdrawn);
