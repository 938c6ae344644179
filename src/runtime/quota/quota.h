/*
 * The share of each GPU's memory that all sessions of a server together may have, and the limit of
 * each session.
 *
 * Every function of the driver that takes GPU memory or gives it back is wrapped. The books
 * (books.h) have what each session holds. A request beyond the share or the limit gets
 * CUDA_ERROR_OUT_OF_MEMORY.
 *
 * Memory that the driver needs for itself counts, too: contexts and the kernels' stacks, heap and
 * printf() buffer (context_memory.h), modules and libraries with their variables and code
 * (modules.c). Pools count with the memory that they keep (pool_usage.h), and graphs with the
 * memory that the driver reserves for them when they are launched (graphs.h). Memory that several
 * sessions have by a file descriptor or an IPC handle counts once: to its maker, then to another
 * holder. Memory shared by a fabric handle may come from another machine and counts to its maker
 * alone.
 *
 * quota.c puts the wrapping functions into the driver's table; the other files have the functions
 * by subject (wrappers.h). ledger.h has what the session holds, room.h takes memory in the books.
 */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-server.h"
#include "runtime/quota/books.h"

/*
 * Puts the wrapping functions into the driver's table. Call it once, in the process that has the
 * driver. captures is the number of captures that are under way. Returns the driver's own
 * functions.
 */
const struct ath_cuda_driver *ath_quota_wrap(const atomic_uint *captures,
                                             struct ath_cuda_driver *driver);

/*
 * Says where memory is counted. Call it once, before the driver is initialized.
 *
 * devices  the server's number of each device that the session's driver has, in the driver's order
 */
void ath_quota_set_devices(const struct ath_books *books, const size_t *devices, size_t count);

/* Count memory that a handle leaves to other sessions, and a handle of theirs (struct
 * ath_cuda_books in cuda/server/server.h; ath_ledger_drop_share() is its third function). */
CUresult ath_quota_exported(CUmemGenericAllocationHandle handle, uint64_t *out_share);
CUresult ath_quota_imported(CUmemGenericAllocationHandle handle, uint64_t share);
