/* Answers of the server that hold until a later call makes them stale. The key is the whole message
 * of the question. Any thread. */
#pragma once
#include <stdint.h>

#include "proto/cuda-methods.h"
#include "remote/wire/frame.h"

/* Copies the answer to a message into *answer. Returns false if the cache has none. */
bool ath_cuda_answer_cache_find(const uint8_t *message, size_t length, struct ath_frame *answer);

/* Adds an answer, unless an answer was forgotten since ath_cuda_answer_cache_age() returned age. */
void ath_cuda_answer_cache_add(enum ath_cuda_method method, const uint8_t *message, size_t length,
                               const struct ath_frame *answer, uint64_t age);
uint64_t ath_cuda_answer_cache_age(void);

/* Forgets the answers that a successful call of a method makes stale. Returns whether all were
 * forgotten. */
bool ath_cuda_answer_cache_forget(enum ath_cuda_method method);
void ath_cuda_answer_cache_clear(void);
