/*
 * Libraries and kernels without a context, as the CUDA runtime has them since CUDA 12: the program
 * gets one handle, and each server loads the code when it is first needed there.
 *
 * Such a handle has 31 in the place of a server's number.
 */
#pragma once
#include "runtime/several/several.h"

/* What a handle is called on a server; those that are a server's own stay. */
CUresult ath_several_library_there(struct ath_several *to, CUlibrary *library);
CUresult ath_several_kernel_there(struct ath_several *to, CUkernel *kernel);
/* Also of a kernel in the place of a function. */
CUresult ath_several_function_there(struct ath_several *to, CUfunction *function);

/* The same within a node's parameters: *params becomes *changed where there is something to do. */
CUresult ath_several_node_there(struct ath_several *to, const CUDA_KERNEL_NODE_PARAMS **params,
                                CUDA_KERNEL_NODE_PARAMS *changed);
CUresult ath_several_node_v1_there(struct ath_several *to,
                                   const CUDA_KERNEL_NODE_PARAMS_v1 **params,
                                   CUDA_KERNEL_NODE_PARAMS_v1 *changed);

/* Or in the program's own structure, which has what it had when this is put back. */
struct ath_several_put_back {
    CUgraphNodeParams *params; /* NULL: nothing was changed */
    CUfunction function;
    CUkernel kernel;
};
CUresult ath_several_params_there(struct ath_several *to, CUgraphNodeParams *params,
                                  struct ath_several_put_back *put_back);
void ath_several_put_back(struct ath_several_put_back *put_back);
