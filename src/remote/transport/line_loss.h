/*
 * Judges whether the line of a TCP connection loses segments, by the kernel's figures of copies
 * that were made anyway. Losses of a queue that fills are no sign of that: TCP makes these itself,
 * and gives way. Nor are segments that TCP repeats although the peer has them. A line loses if of
 * 2,000 segments more than one in 200 was sent again because it was lost, and if a look meanwhile
 * has found round trips without a queue.
 */
#pragma once
#include <stdbool.h>

#include "remote/transport/stream.h"

/* A connection, since the last judgement. {} is one that was not looked at. */
struct ath_line_loss {
    int64_t segments, sent_again, needless;
    int64_t latency_ns; /* the least one that a look has found */
    bool has_begun;
};

/* Looks at a connection. Returns true, and the part of its segments that was lost, if its line
 * loses. */
bool ath_line_loss_look(struct ath_line_loss *loss, const struct ath_stripe_state *state,
                        double *out_part);
