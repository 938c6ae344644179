/* The head of a call: which function, which thread of the client, and whether an answer is wanted.
 * The head tells how the call may be served. Any thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "remote/transport/stream.h"

struct ath_call_head {
    int method;      /* enum ath_cuda_method; -1: none */
    uint32_t thread; /* of the client */
    bool is_asked;   /* the client wants an answer */
};

/* Reads the head of a call. Returns false if the frame holds no call. */
bool ath_call_head_read(const struct ath_frame *frame, struct ath_call_head *out);

/* Returns whether a call may pass queued calls: a queued call may wait for the program's function
 * whose memory this call brings, or whose end it tells. */
bool ath_call_overtakes(const struct ath_call_head *head);

/* Returns whether changes of mirrors go ahead of the answer to a call. */
bool ath_call_brings_changes(const struct ath_frame *frame);

/* Returns whether another thread may serve a call beside the order. Calls that begin or end a
 * capture belong to the thread that captures. */
bool ath_call_leaves_order(const struct ath_call_head *head);

/* Returns whether a call may leave the order when it lasts. The client's thread waits for the
 * answer, so none of its later calls depends on this one yet. */
bool ath_call_may_last(const struct ath_call_head *head);
