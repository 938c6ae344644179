/*
 * Asks the listening process for changes of shares (share_table.h). Any thread; each call waits for
 * the answer. Without a listening process (tests) there are no shares.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes a share of memory that this session has taken: the bytes count to the share from now on.
 * Returns its id, or 0 if there are too many shares. */
uint64_t ath_share_request_make(size_t device, int64_t bytes);

/* Name 0 removes the name. ath_share_request_find() returns 0 if no share has the name. */
void ath_share_request_name(uint64_t share, uint64_t name);
uint64_t ath_share_request_find(uint64_t name);

/* Holds a share. Returns false if there is no such share any more. */
bool ath_share_request_hold(uint64_t share);
void ath_share_request_drop(uint64_t share);
