/* Threads of the switch's own, which wait so that no other needs to: see copies.h. Any thread. */
#pragma once
#include "runtime/several/several.h"

struct ath_several_job {
    struct ath_several_job *next;
    void (*run)(struct ath_several_job *job); /* ends with ath_several_job_done() */
    bool is_done, is_left;                    /* to itself */
};

/* Sees to it that there is a thread at all; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult ath_several_hire(void);

/* A job is run at once, by a thread that does nothing else meanwhile. After ath_several_hire(). */
void ath_several_hand_over(struct ath_several_job *job);

/* By the caller of ath_several_hand_over(), or who had it called: whether the job was done within a
 * second; then the caller frees it. Otherwise it is freed when it is done. */
bool ath_several_is_done_soon(struct ath_several_job *job);
void ath_several_job_done(struct ath_several_job *job);
