/*
 * Libraries and kernels without a context, as the CUDA runtime uses them since CUDA 12. The program
 * gets one handle, and each server loads the code when it first needs it.
 *
 * Such a handle has 31 in place of a server's number.
 */
#pragma once
#include "cuda/several/several.h"

/* Convert a handle to the one on a server. A server's own handles stay unchanged. */
CUresult ath_several_library_there(struct ath_several *to, CUlibrary *library);
CUresult ath_several_kernel_there(struct ath_several *to, CUkernel *kernel);
/* Also for a kernel in the place of a function. */
CUresult ath_several_function_there(struct ath_several *to, CUfunction *function);

/* Convert the handles in a node's parameters. If a handle changes, *params becomes *changed. */
CUresult ath_several_node_there(struct ath_several *to, const CUDA_KERNEL_NODE_PARAMS **params,
                                CUDA_KERNEL_NODE_PARAMS *changed);
CUresult ath_several_node_v1_there(struct ath_several *to,
                                   const CUDA_KERNEL_NODE_PARAMS_v1 **params,
                                   CUDA_KERNEL_NODE_PARAMS_v1 *changed);

/* Converts the handles in the program's own structure. ath_several_put_back() restores them. */
struct ath_several_put_back {
    CUgraphNodeParams *params; /* NULL: nothing was changed */
    CUfunction function;
    CUkernel kernel;
};
CUresult ath_several_params_there(struct ath_several *to, CUgraphNodeParams *params,
                                  struct ath_several_put_back *put_back);
void ath_several_put_back(struct ath_several_put_back *put_back);
