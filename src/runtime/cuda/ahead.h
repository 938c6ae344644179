/*
 * Questions that a program is about to ask one by one, asked one behind the other before the first
 * answer is waited for: all of them together take one round trip. The answers go to the cache,
 * where ath_cuda_ask_cached() finds them.
 *
 *     ATH_AUTO(ath_cuda_ahead) ahead = { 0 };
 *     while (!ath_cuda_begin(&exchange, METHOD)) {
 *         ...set the parameters as the method's function does...
 *         ath_cuda_ahead_ask(&ahead, &exchange);
 *     }
 *     ath_cuda_ahead_wait(&ahead);
 *
 * One thread; that there is no such thing (CUDA_ERROR_INVALID_VALUE) is an answer,
 * whatever else fails is asked again when the program does.
 */
#pragma once
#include <stddef.h>

#include "runtime/cuda/client.h"

struct ath_cuda_ahead {
    struct ath_cuda_asked *asked;
    size_t count, capacity;
};

/* Ends the exchange. What the cache has is not asked again. */
void ath_cuda_ahead_ask(struct ath_cuda_ahead *ahead, struct ath_cuda_exchange *exchange);

/* Waits for all answers. What was asked must be waited for. */
void ath_cuda_ahead_wait(struct ath_cuda_ahead *ahead);
void ath_cuda_ahead_free(struct ath_cuda_ahead *ahead);
