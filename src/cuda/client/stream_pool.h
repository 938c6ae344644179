/*
 * Objects that programs make many of (streams, events). When one is asked for, more are asked for
 * with it. Their answers are kept for the next calls with the same message, which then need no
 * round trip, or share one. Each answer is given out once.
 *
 * Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"
#include "remote/wire/frame.h"

enum { ATH_CUDA_STREAM_POOL_MOST = 16 /* objects of a kind that a call asks for, at most */ };

/* Takes an unused answer to a message (without its number) that makes an object in a context.
 * Returns false if there is none; *out_count is then the number of objects to ask for, including
 * the caller's. */
bool ath_cuda_stream_pool_take(const uint8_t *message, size_t length, CUcontext context,
                               struct ath_frame *answer, size_t *out_count);

/* Keeps an answer and takes over its frame. age: ath_cuda_stream_pool_age() before the question. */
void ath_cuda_stream_pool_keep(const uint8_t *message, size_t length, CUcontext context,
                               struct ath_frame *answer, uint64_t age);
uint64_t ath_cuda_stream_pool_age(void);

/* Drops the objects of a context that ended. */
void ath_cuda_stream_pool_end(CUcontext context);

void ath_cuda_stream_pool_clear(void);
