/* The parameters of a kernel node as they travel, which is the same in both directions but for the
 * function and the kernel's own parameters: these each side has in a way of its own. */
#pragma once
#include "proto/cuda-structs.h"
#include "runtime/cuda/side.h"

/* function: as it travels. */
void ath_cuda_put_kernel_node(struct ath_cuda_side *side,
                              struct ath_cuda_wire_kernel_node_params_builder to,
                              const CUDA_KERNEL_NODE_PARAMS *from, uint64_t function,
                              struct ath_wire_bytes parameters);

/* Without the kernel's parameters. function: this side's. */
CUDA_KERNEL_NODE_PARAMS ath_cuda_kernel_node(struct ath_cuda_side *side,
                                             struct ath_cuda_wire_kernel_node_params from,
                                             CUfunction function);
