/* A table with one place for each hash. */
#include "config.h"

#include "cuda/client/thread_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "cuda/client/client.h"
#include "remote/switches.h"

static atomic_ullong age = 1;

static size_t place_of_question(const struct ath_cuda_thread_answer *memo)
{
    uint64_t hash = (uintptr_t)memo->context ^ (uint64_t)memo->method << 40;
    for (size_t i = 0; i < ATH_CUDA_THREAD_CACHE_GIVEN; i++)
        hash = (hash ^ memo->given[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) % ATH_CUDA_THREAD_CACHE_PLACES;
}

static bool is_same(const struct ath_cuda_thread_answer *a, const struct ath_cuda_thread_answer *b)
{
    return a->age == b->age && a->method == b->method && a->context == b->context &&
           !memcmp(a->given, b->given, sizeof a->given);
}

bool ath_cuda_thread_cache_find(struct ath_cuda_thread_answer *memo)
{
    const struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread || thread->is_in_callback)
        return false;
    memo->context = ath_cuda_thread_context(thread);
    memo->age = atomic_load_explicit(&age, memory_order_acquire);
    const struct ath_cuda_thread_answer *kept = &thread->memos[place_of_question(memo)];
    if (!is_same(kept, memo))
        return false;
    memcpy(memo->taken, kept->taken, sizeof memo->taken);
    return true;
}

void ath_cuda_thread_cache_add(const struct ath_cuda_thread_answer *memo)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread && memo->age && !ath_is_off(ATH_SWITCH_CACHES))
        thread->memos[place_of_question(memo)] = *memo;
}

void ath_cuda_thread_cache_forget(void)
{
    atomic_fetch_add_explicit(&age, 1, memory_order_release);
}
