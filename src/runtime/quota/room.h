/*
 * Room within the share: takes memory on the board for the session, before the driver is asked.
 * Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/quota/ledger.h"

/* Takes bytes of a device (the server's number) and returns a holding for them, which the caller
 * settles or gives. Returns NULL if the share has no room or there is no memory for the holding.
 * With SIZE_MAX for the device nothing is counted: the driver reports the program's mistake. */
struct ath_holding *ath_room_take(size_t device, uint64_t bytes, CUcontext context);

/* The same without a holding, and without any attempt to make room. */
bool ath_room_take_bytes(size_t device, int64_t bytes);

/* Logs that the share has no room, once for each session: programs try again and again. */
void ath_room_log_full(size_t device, uint64_t asked_bytes);
