/*
 * Room within the limits: takes memory in the books for the session, before the driver is asked.
 * Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/quota/ledger.h"

/* Takes bytes of a device (the server's number) and returns a holding for them, which the caller
 * settles or gives. Returns NULL if a limit has no room or there is no memory for the holding.
 * With SIZE_MAX for the device nothing is counted: the driver reports the program's mistake. */
struct ath_holding *ath_room_take(size_t device, uint64_t bytes, CUcontext context);

/* The same without a holding. */
bool ath_room_make(size_t device, uint64_t bytes);

/* The same without any attempt to make room, and without a word in the log. */
bool ath_room_take_bytes(size_t device, int64_t bytes);

/* Returns whether a device has more than a limit allows: the session's own, or that of all
 * sessions. Always false if the server only counts. */
bool ath_room_is_beyond(size_t device);

/* Logs that a limit has no room, once for each session: programs try again and again. */
void ath_room_log_full(size_t device, uint64_t asked_bytes);
