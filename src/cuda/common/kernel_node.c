/* Reads and writes the parameters of a kernel node in messages. */
#include "config.h"

#include "cuda/common/kernel_node.h"
#include "proto/cuda-wire.h"

void ath_cuda_put_kernel_node(struct ath_cuda_side *side,
                              struct ath_cuda_wire_kernel_node_params_builder to,
                              const CUDA_KERNEL_NODE_PARAMS *from, uint64_t function,
                              struct ath_wire_bytes parameters)
{
    ath_cuda_wire_kernel_node_params_set_function(to, function);
    ath_cuda_wire_kernel_node_params_set_kernel(
        to, ath_cuda_to_wire(side, ATH_CUDA_KIND_KERNEL, (uintptr_t)from->kern));
    ath_cuda_wire_kernel_node_params_set_context(
        to, ath_cuda_to_wire(side, ATH_CUDA_KIND_CONTEXT, (uintptr_t)from->ctx));
    ath_cuda_wire_kernel_node_params_set_grid_dim_x(to, from->gridDimX);
    ath_cuda_wire_kernel_node_params_set_grid_dim_y(to, from->gridDimY);
    ath_cuda_wire_kernel_node_params_set_grid_dim_z(to, from->gridDimZ);
    ath_cuda_wire_kernel_node_params_set_block_dim_x(to, from->blockDimX);
    ath_cuda_wire_kernel_node_params_set_block_dim_y(to, from->blockDimY);
    ath_cuda_wire_kernel_node_params_set_block_dim_z(to, from->blockDimZ);
    ath_cuda_wire_kernel_node_params_set_shared_mem_bytes(to, from->sharedMemBytes);
    ath_cuda_wire_kernel_node_params_set_parameters(to, parameters);
}

CUDA_KERNEL_NODE_PARAMS ath_cuda_kernel_node(struct ath_cuda_side *side,
                                             struct ath_cuda_wire_kernel_node_params from,
                                             CUfunction function)
{
    /* "will only be referenced if func is NULL" (cuda.h) */
    bool is_read = !side->is_server || !function;
    uint64_t kernel = is_read ? ath_cuda_wire_kernel_node_params_kernel(from) : 0;
    uint64_t context = is_read ? ath_cuda_wire_kernel_node_params_context(from) : 0;
    return (CUDA_KERNEL_NODE_PARAMS){
        .func = function,
        .gridDimX = ath_cuda_wire_kernel_node_params_grid_dim_x(from),
        .gridDimY = ath_cuda_wire_kernel_node_params_grid_dim_y(from),
        .gridDimZ = ath_cuda_wire_kernel_node_params_grid_dim_z(from),
        .blockDimX = ath_cuda_wire_kernel_node_params_block_dim_x(from),
        .blockDimY = ath_cuda_wire_kernel_node_params_block_dim_y(from),
        .blockDimZ = ath_cuda_wire_kernel_node_params_block_dim_z(from),
        .sharedMemBytes = ath_cuda_wire_kernel_node_params_shared_mem_bytes(from),
        .kern = (CUkernel)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_KERNEL, kernel),
        .ctx = (CUcontext)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_CONTEXT, context),
    };
}
