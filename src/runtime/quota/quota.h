/*
 * The share of each GPU's memory that all sessions of a server together may have, and the limit of
 * each session.
 *
 * Every function of the driver that takes GPU memory or gives it back is wrapped. The board has
 * what each session holds. A request beyond the share or the limit gets CUDA_ERROR_OUT_OF_MEMORY.
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
 * by subject (wrappers.h). ledger.h has what the session holds, room.h takes memory on the board.
 */
#pragma once
#include <stdint.h>

#include "base/memory_limit.h"
#include "cuda/server/server.h"
#include "proto/cuda-server.h"
#include "runtime/server.h"

/*
 * Puts the wrapping functions into the driver's table. Call it once, in the session's process.
 *
 * devices  the server's number of each device that the session's driver has, in the driver's order
 * session  whose calls are counted; its books are set, for memory that it shares with other
 * sessions, and the driver without the wrapping functions
 */
void ath_quota_wrap(const struct ath_server *server, struct ath_session_board_entry *entry,
                    const size_t *devices, size_t count, struct ath_cuda_session *session,
                    struct ath_cuda_driver *driver);

/*
 * Limits a session from its first allocation on: to what its program asks for. Call it before the
 * driver is loaded.
 *
 * devices  the server's number of each device that the session may use
 */
void ath_quota_begin(const struct ath_server *server, struct ath_session_board_entry *entry,
                     const size_t *devices, size_t count, const struct ath_memory_limit *asked);

/* The part of each GPU's memory for all sessions together. */
double ath_quota_fraction(const struct ath_server *server);

/* The bytes of a device that all sessions together may have. ATH_UNKNOWN (-1): no limit, or the
 * device's memory is unknown. */
int64_t ath_quota_limit(const struct ath_server *server, size_t device);

/* The bytes of a device that all sessions together have, and those that they may have. */
void ath_quota_of_device(const struct ath_server *server, size_t device, int64_t *out_used_bytes,
                         int64_t *out_limit_bytes);
