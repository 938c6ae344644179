/*
 * All attributes of a kernel, asked behind the first question about it: CUDA's runtime and cuDNN
 * ask for each of them by itself, before a launch and after each setting. One thread for each
 * exchange.
 */
#pragma once
#include "runtime/cuda/client.h"
#include "runtime/wire/frame.h"

/* Asks cuKernelGetAttribute() or cuKernelGetFunction(), as ath_cuda_ask() does, and for all (other)
 * attributes behind it: one round trip for all of a kernel, whose other answers go to the cache.
 * message is the exchange's own. */
CUresult ath_cuda_ask_kernel_facts(struct ath_cuda_exchange *exchange,
                                   const struct ath_frame *message);
