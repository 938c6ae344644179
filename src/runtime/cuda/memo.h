/*
 * What cached calls of a few numbers answered, in front of the cache (cache.h): libraries ask the
 * same things before each launch (which device, which attribute of a kernel), millions of times a
 * minute, and native answers cost them nothing. Each thread has its own, a table without locks.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda-methods.h"
#include "runtime/cuda/cuda_api.h"

enum {
    ATH_CUDA_MEMO_GIVEN = 4,
    ATH_CUDA_MEMO_TAKEN = 2,
    ATH_CUDA_MEMOS = 256, /* of a thread; two that want one place forget each other */
};

struct ath_cuda_memo {
    uint64_t given[ATH_CUDA_MEMO_GIVEN]; /* the call's numbers; 0 where it has fewer */
    CUcontext context;
    enum ath_cuda_method method;
    uint64_t age; /* see ath_cuda_memo_forget(); never 0 in one that holds */
    uint64_t taken[ATH_CUDA_MEMO_TAKEN];
};

/* Whether a call may be answered with what was kept: then its answer is in memo->taken. Else what
 * is found out now may be kept with the same memo. */
bool ath_cuda_memo_find(struct ath_cuda_memo *memo);
void ath_cuda_memo_keep(const struct ath_cuda_memo *memo);

/* Nothing that was kept, or that was asked for before this, holds any more. In every thread. */
void ath_cuda_memo_forget(void);
