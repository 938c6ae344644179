/*
 * The calling thread's cache of short answers, in front of the answer cache (answer_cache.h).
 * Libraries ask the same questions before each launch (which device, which attribute of a kernel),
 * millions of times a minute, and natively these cost nothing. Each thread has its own table,
 * without locks.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"

enum {
    ATH_CUDA_THREAD_CACHE_GIVEN = 4,
    ATH_CUDA_THREAD_CACHE_TAKEN = 2,
    ATH_CUDA_THREAD_CACHE_PLACES =
        256, /* in a thread; two questions with one place replace each other */
};

struct ath_cuda_thread_answer {
    uint64_t given[ATH_CUDA_THREAD_CACHE_GIVEN]; /* the question's numbers; 0 if it has fewer */
    CUcontext context;
    enum ath_cuda_method method;
    uint64_t age; /* see ath_cuda_thread_cache_forget(); never 0 in a valid entry */
    uint64_t taken[ATH_CUDA_THREAD_CACHE_TAKEN];
};

/* Looks up an answer; on success it is in memo->taken. Otherwise the caller may store the answer
 * that it finds out with the same memo. */
bool ath_cuda_thread_cache_find(struct ath_cuda_thread_answer *memo);
void ath_cuda_thread_cache_add(const struct ath_cuda_thread_answer *memo);

/* Makes all stored answers stale in every thread, also answers to questions that were asked
 * before. */
void ath_cuda_thread_cache_forget(void);
