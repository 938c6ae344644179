/*
 * Asks questions that the program is about to ask one by one. All are sent before the first answer
 * is waited for, so that they take one round trip. The answers go to the answer cache, where
 * ath_cuda_ask_cached() finds them.
 *
 *     ATH_AUTO(ath_cuda_prefetch) ahead = { 0 };
 *     while (!ath_cuda_begin(&exchange, METHOD)) {
 *         ...set the parameters as the method's function does...
 *         ath_cuda_prefetch_ask(&ahead, &exchange);
 *     }
 *     ath_cuda_prefetch_wait(&ahead);
 *
 * An answer may also come with the answer to another question: ath_cuda_prefetch_told() then takes
 * the place of ath_cuda_prefetch_ask().
 *
 * One thread. CUDA_ERROR_INVALID_VALUE (the device has no such attribute) and
 * CUDA_ERROR_INVALID_CLUSTER_SIZE count as answers. After another error the program's own call asks
 * again.
 */
#pragma once
#include <stddef.h>

#include "cuda/client/client.h"

struct ath_cuda_prefetch {
    struct ath_cuda_prefetched *asked;
    size_t count, capacity;
};

/* Sends the question unless the answer cache has the answer. Ends the exchange. */
void ath_cuda_prefetch_ask(struct ath_cuda_prefetch *ahead, struct ath_cuda_exchange *exchange);

/* Waits for all answers. Must be called after ath_cuda_prefetch_ask(). */
void ath_cuda_prefetch_wait(struct ath_cuda_prefetch *ahead);
void ath_cuda_prefetch_free(struct ath_cuda_prefetch *ahead);

/* Adds an answer that came together with another question's answer to the answer cache. age is the
 * cache's age when that other question was sent. Ends the exchange. */
void ath_cuda_prefetch_told(struct ath_cuda_exchange *exchange, struct ath_wire_builder *answer,
                            uint64_t age);
