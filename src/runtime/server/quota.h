/*
 * The share of each GPU's memory that a server's sessions may have, all together.
 *
 * Every function of the driver that takes or gives back GPU memory is wrapped: what a session holds
 * stands on the board, and what would go beyond the share is CUDA_ERROR_OUT_OF_MEMORY. What the
 * driver needs for itself (contexts, code with its variables, the heap of kernels) does not count.
 * Pools count with what they keep (pools.h), and graphs' own memory as the driver reserves it, when
 * they are launched. Memory that several sessions have by a file descriptor or an IPC handle counts
 * once: to its maker, then to one who holds it. By a fabric handle it may come from anywhere, and
 * counts to its maker alone.
 */
#pragma once
#include <stdint.h>

#include "proto/cuda-server.h"
#include "runtime/cuda/server.h"
#include "runtime/server/server.h"

/*
 * Puts the wrapping functions into the driver's table, in a session's process, once. devices: the
 * server's number of each device that the session's driver has, in its order. session: whose calls
 * they are; it gets the books of what it hands to other sessions.
 */
void ath_quota_wrap(const struct ath_server *server, struct ath_board_entry *entry,
                    const size_t *devices, size_t count, struct ath_cuda_session *session,
                    struct ath_cuda_driver *driver);

/* The most that all sessions together may have of a device; ATH_UNKNOWN (-1): as much as there is,
 * or it is not known how much that is. */
int64_t ath_quota_limit(const struct ath_server *server, size_t device);

/* What all sessions together have of a device, and may have. */
void ath_quota_of_device(const struct ath_server *server, size_t device, int64_t *out_used_bytes,
                         int64_t *out_limit_bytes);
