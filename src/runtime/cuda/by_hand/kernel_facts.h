/*
 * What a CUDA runtime asks of a kernel, one by one: all its attributes, and its function. One
 * thread for each exchange.
 */
#pragma once
#include "runtime/cuda/client.h"
#include "runtime/wire/frame.h"

/* Asks for an attribute, as ath_cuda_ask() does, and for all others behind it: one round trip for
 * all of a kernel, whose other answers go to the cache. message is the exchange's own. */
CUresult ath_cuda_ask_kernel_facts(struct ath_cuda_exchange *exchange,
                                   const struct ath_frame *message);
