/* A table of one place for each hash. */
#include "config.h"

#include "runtime/cuda/memo.h"

#include <stdatomic.h>
#include <string.h>

#include "runtime/cuda/client.h"
#include "runtime/switches.h"

static atomic_ullong age = 1;

static size_t place_of(const struct ath_cuda_memo *memo)
{
    uint64_t hash = (uintptr_t)memo->context ^ (uint64_t)memo->method << 40;
    for (size_t i = 0; i < ATH_CUDA_MEMO_GIVEN; i++)
        hash = (hash ^ memo->given[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) % ATH_CUDA_MEMOS;
}

static bool is_same(const struct ath_cuda_memo *a, const struct ath_cuda_memo *b)
{
    return a->age == b->age && a->method == b->method && a->context == b->context &&
           !memcmp(a->given, b->given, sizeof a->given);
}

bool ath_cuda_memo_find(struct ath_cuda_memo *memo)
{
    const struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread || thread->is_in_callback)
        return false;
    memo->context = ath_cuda_thread_context(thread);
    memo->age = atomic_load_explicit(&age, memory_order_acquire);
    const struct ath_cuda_memo *kept = &thread->memos[place_of(memo)];
    if (!is_same(kept, memo))
        return false;
    memcpy(memo->taken, kept->taken, sizeof memo->taken);
    return true;
}

void ath_cuda_memo_keep(const struct ath_cuda_memo *memo)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread && memo->age && !ath_is_off(ATH_SWITCH_CACHES))
        thread->memos[place_of(memo)] = *memo;
}

void ath_cuda_memo_forget(void)
{
    atomic_fetch_add_explicit(&age, 1, memory_order_release);
}
