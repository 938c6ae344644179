/*
 * A connection that is begun by a path (data_paths.h), of TCP or as a channel of UDP, until it is
 * made. A channel has a carrier of its own (remote/udp/carrier.h), so a thread of its own, which
 * ends with it.
 */
#pragma once
#include <stdint.h>

#include "remote/session/data_paths.h"

struct ath_carrier;

/* {} is no connection. */
struct ath_opening {
    int fd;                      /* the caller's from the begin on */
    struct ath_carrier *carrier; /* NULL if there is nothing to end */
    uint64_t number;             /* of the channel */
};

/* Begins a connection. Returns 0 or a negative errno. */
int ath_opening_begin(const struct ath_data_path *path, struct ath_opening *out);

/* Waits until it is made, until deadline_ms (of ath_now_ms()). Returns 0, -ETIMEDOUT, after which
 * it may be called again, or another negative errno. */
int ath_opening_await(struct ath_opening *opening, uint64_t deadline_ms);

/* Ends the waiting, if there is any. The descriptor stays open. */
void ath_opening_give_up(struct ath_opening *opening);
