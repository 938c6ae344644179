/*
 * Memory that a stream frees is kept for the stream's next allocation of the same size, as the
 * driver's own pool would give it. Neither the free nor that allocation is sent.
 *
 * The free is sent ahead of the next call that could tell the difference: any call that waits for
 * an answer, except another allocation of this kind; the record of an event; the end of a stream.
 * An allocation for which there is too little memory sends the frees and is asked again.
 *
 * Any thread.
 */
#pragma once
#include <stdbool.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"

/* Sends the frees that a call of this method must follow. The caller holds the connection's `order`
 * and is about to send the call. */
void ath_cuda_memory_reuse_send(enum ath_cuda_method method, bool is_asked);

/* Returns whether a free is not sent yet. */
bool ath_cuda_memory_reuse_holds(void);

/* The program freed memory in another way. */
void ath_cuda_memory_reuse_forget(CUdeviceptr address);

void ath_cuda_memory_reuse_clear(void);
