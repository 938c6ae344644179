/* The most GPU memory that sessions may have: all together, and one from its first allocation
 * on. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_limit.h"
#include "runtime/server.h"

/*
 * Limits a session from its first allocation on: to what its program asks for. Call it before the
 * driver is loaded.
 *
 * devices  the server's number of each device that the session may use
 */
void ath_memory_limits_begin(const struct ath_server *server, struct ath_session_board_entry *entry,
                             const size_t *devices, size_t count,
                             const struct ath_memory_limit *asked);

/* The part of each GPU's memory for all sessions together. */
double ath_memory_limits_fraction(const struct ath_server *server);

/* The bytes of a device that all sessions together may have. ATH_UNKNOWN (-1): no limit, or the
 * device's memory is unknown. */
int64_t ath_memory_limits_all(const struct ath_server *server, size_t device);

/* The bytes of a device that all sessions together have, and those that they may have. */
void ath_memory_limits_of_device(const struct ath_server *server, size_t device,
                                 int64_t *out_used_bytes, int64_t *out_limit_bytes);
