/* Threads of the switch that wait in place of the program's threads (copies.h). Any thread. */
#pragma once
#include "cuda/several/several.h"

struct ath_several_job {
    struct ath_several_job *next;
    void (*run)(struct ath_several_job *job); /* ends with ath_several_job_done() */
    bool is_done, is_left;                    /* internal */
};

/* Makes sure that at least one thread exists. Returns CUDA_ERROR_OUT_OF_MEMORY if not. */
CUresult ath_several_threads_start(void);

/* Starts a job at once, on a thread that does nothing else meanwhile. After
 * ath_several_threads_start(). */
void ath_several_job_start(struct ath_several_job *job);

/* Called by the caller of ath_several_job_start(), or on its behalf. Waits up to a second. Returns
 * true if the job is done; then the caller frees it. Otherwise the job is freed when it is done. */
bool ath_several_job_is_done_soon(struct ath_several_job *job);
void ath_several_job_done(struct ath_several_job *job);
