/*
 * Things that programs make many of, one like the other (streams, events): while one is asked for,
 * some more are, and their answers are kept for the next calls with the same message. A call costs
 * no round trip then, or a part of one. Each answer is given out once.
 *
 * Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda-methods.h"
#include "runtime/cuda/cuda_api.h"
#include "runtime/wire/frame.h"

enum { ATH_CUDA_SPARES_MOST = 16 /* asked for at once */ };

/* Whether a method makes such things. */
bool ath_cuda_spares_may(enum ath_cuda_method method);

/* Takes a spare's answer to a message (without its number) that makes them in a context. false:
 * there is none, and *out_count is how many are worth asking for, the caller's own among them. */
bool ath_cuda_spares_take(const uint8_t *message, size_t length, CUcontext context,
                          struct ath_frame *answer, size_t *out_count);

/* Keeps an answer; the frame changes hands. age: ath_cuda_spares_age() from before it was asked. */
void ath_cuda_spares_keep(const uint8_t *message, size_t length, struct ath_frame *answer,
                          uint64_t age);
uint64_t ath_cuda_spares_age(void);

/* A context has ended, and what was kept of it with it. */
void ath_cuda_spares_end(CUcontext context);

/* A call of a method has succeeded: where it may have ended a context, and nobody says which, all
 * that was kept is let go of. */
void ath_cuda_spares_forget(enum ath_cuda_method method);
void ath_cuda_spares_clear(void);
