/* Claims of sessions on the GPUs' time (turns/shares.h): the program asks, a user may set another
 * claim while the session runs, and the row of the identity bounds both. */
#pragma once
#include "proto/gpu-control.h"
#include "runtime/session_board.h"

struct ath_session_claim {
    uint32_t share_percent;          /* its own; 0: none */
    bool is_capped;                  /* it gets no more than its share, or its identity's */
    enum ath_gpu_priority priority;  /* never unset */
    uint32_t identity_share_percent; /* for all sessions of the identity together; 0: none */
    bool is_identity_capped;         /* they get no more than that */
    enum ath_gpu_priority highest;   /* of the identity's sessions */
    enum ath_gpu_limit_source share_source, priority_source;
};

/* Reads the claim of the session at a slot, in any process. A session may have written anything
 * into its entry; a value that does not exist is none. */
void ath_session_claim_read(const struct ath_session_board *board, size_t slot,
                            struct ath_session_claim *out);
