/*
 * Counts the calls that a program sends to its server. With AITHERION_CUDA_LOG=summary the library
 * prints the counts on standard error when the program ends or unloads the library: one line for
 * each function, the longest waits first. Calls that the client answers itself are not counted. On
 * a slow line more lines say which answers about code the next start has to wait for again, and
 * why (code_facts.h). Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-methods.h"

/* Returns whether AITHERION_CUDA_LOG asks for the summary. The environment is read once. */
bool ath_cuda_call_summary_is_wanted(void);

/* Counts a call that was sent with so many bytes. */
void ath_cuda_call_summary_sent(enum ath_cuda_method method, size_t bytes);

/* A wait for the answer to a call with this number begins. Returns whether it takes a round trip:
 * the call was sent after the last wait ended. Other answers arrive with the last one. If several
 * threads wait at the same time, they share round trips. */
bool ath_cuda_call_summary_waits(uint64_t number);

/* Counts an answer, and the time that a thread waited for it. */
void ath_cuda_call_summary_answered(enum ath_cuda_method method, size_t bytes, uint64_t waited_ns,
                                    bool is_round_trip);

/* Why an answer about code is not kept. */
enum ath_cuda_not_kept {
    ATH_CUDA_NOT_KEPT_CONTEXT,
    ATH_CUDA_NOT_KEPT_HANDLE,
    ATH_CUDA_NOT_KEPT_SETTINGS,
    ATH_CUDA_NOT_KEPT_CHANGED,
    ATH_CUDA_NOT_KEPT_FAILED,
    ATH_CUDA_NOT_KEPT_REASONS
};
void ath_cuda_call_summary_not_kept(enum ath_cuda_method method, enum ath_cuda_not_kept why);
