/*
 * Calls that make objects of which programs need many (streams, events). When one is asked for,
 * more are asked for with it, and wait for the program in the pool (stream_pool.h). On a slow line
 * all that the program's last start made (start_plan.h) are asked for once, with the first question
 * for an object or for memory.
 *
 * AITHERION_DISABLE=spares switches it off. Any thread.
 */
#pragma once
#include "cuda/client/client.h"

/* As ath_cuda_ask(), for a method that is stocked. */
CUresult ath_cuda_ask_stocked(struct ath_cuda_exchange *exchange);

/* Questions for what the last start made, which are under way. */
struct ath_cuda_start_stock;

/* Sends the questions, once for a program. Returns NULL if there are none. The thread's exchange,
 * if any, must have been sent. */
struct ath_cuda_start_stock *ath_cuda_start_stock_begin(void);

/* Waits for the answers, keeps them in the pool and frees the memory. NULL: nothing. */
void ath_cuda_start_stock_end(struct ath_cuda_start_stock *stock);

void ath_cuda_start_stock_clear(void);
