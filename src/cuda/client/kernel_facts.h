/* All attributes of a kernel, asked behind the first question about it. CUDA's runtime and cuDNN
 * ask for each one separately, before a launch and after each setting. One thread for each
 * exchange. */
#pragma once
#include "cuda/client/client.h"
#include "proto/cuda-wire-types.h"
#include "remote/wire/frame.h"

/* Asks cuKernelGetAttribute() or cuKernelGetFunction() as ath_cuda_ask() does, and behind it for
 * all other attributes of the kernel, in one round trip. The other answers go to the answer cache.
 * message is the exchange's own. */
CUresult ath_cuda_ask_kernel_facts(struct ath_cuda_exchange *exchange,
                                   const struct ath_frame *message);

/* Learns the facts that came with a kernel. age is the answer cache's when the kernel was asked
 * for. */
void ath_cuda_kernel_facts_learn(CUkernel kernel,
                                 struct ath_cuda_wire_library_get_kernel_result from, uint64_t age);
