/* The parameters of a kernel node as they travel. Both directions have the same form, except for
 * the function and the kernel's own parameters, which each side converts in its own way. */
#pragma once
#include "cuda/common/call_side.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire-types.h"

/* function: as it travels. */
void ath_cuda_put_kernel_node(struct ath_cuda_side *side,
                              struct ath_cuda_wire_kernel_node_params_builder to,
                              const CUDA_KERNEL_NODE_PARAMS *from, uint64_t function,
                              struct ath_wire_bytes parameters);

/* Leaves out the kernel's parameters. function: this side's. */
CUDA_KERNEL_NODE_PARAMS ath_cuda_kernel_node(struct ath_cuda_side *side,
                                             struct ath_cuda_wire_kernel_node_params from,
                                             CUfunction function);
