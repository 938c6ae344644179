/*
 * Answers that were given once and hold until something forgets them, by the whole message that
 * asked. Any thread.
 */
#pragma once
#include <stdint.h>

#include "proto/cuda-methods.h"
#include "runtime/wire/frame.h"

/* Copies the answer to a message into *answer; false where there is none. */
bool ath_cuda_cache_find(const uint8_t *message, size_t length, struct ath_frame *answer);

/* Remembers an answer, unless something was forgotten since ath_cuda_cache_age() gave age. */
void ath_cuda_cache_add(enum ath_cuda_method method, const uint8_t *message, size_t length,
                        const struct ath_frame *answer, uint64_t age);
uint64_t ath_cuda_cache_age(void);

/* Whether an answer hangs on what is set of a kernel or function: attributes and occupancy do,
 * names and handles do not. */
bool ath_cuda_cache_has_of_settings(enum ath_cuda_method method);

/* Forgets what a method that succeeded makes stale; says whether that was everything. */
bool ath_cuda_cache_forget(enum ath_cuda_method method);
void ath_cuda_cache_clear(void);
