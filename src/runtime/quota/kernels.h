/* Counts the local memory that kernels need, before a program can launch them. Any thread. */
#pragma once
#include "proto/cuda-server.h"

/* Count a function of the current context, and a library's kernel, which any context may launch,
 * for a device. Return CUDA_ERROR_OUT_OF_MEMORY if a limit has no room for it. */
CUresult ath_kernels_count_function(CUfunction function);
CUresult ath_kernels_count_kernel(CUkernel kernel, CUdevice device);

/* Returns how many places of an array an enumeration fills if so many kernels exist. */
static inline unsigned int ath_kernels_filled(unsigned int places, unsigned int exist)
{
    return exist < places ? exist : places;
}
