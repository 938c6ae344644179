/*
 * Asks the listening process for changes of shares (share_table.h; quota/books.h says what each
 * does). Any thread; each call waits for the answer. Without a listening process (tests) there are
 * no shares.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/server.h"

/* The bytes are the session's until then, and leave its entry. */
uint64_t ath_share_request_make(const struct ath_server *server, size_t device, int64_t bytes);
void ath_share_request_name(const struct ath_server *server, uint64_t share, uint64_t name);
uint64_t ath_share_request_find(const struct ath_server *server, uint64_t name);
bool ath_share_request_hold(const struct ath_server *server, uint64_t share);
void ath_share_request_drop(const struct ath_server *server, uint64_t share);
