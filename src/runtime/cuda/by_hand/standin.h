/*
 * Memory that stands for a function of the server's, for libraries which look into what a
 * CUfunction points to. Any thread.
 */
#pragma once
#include <stdint.h>

#include "runtime/cuda/cuda_api.h"

/* One for a module's first function, always the same. */
CUresult ath_cuda_stand_in(CUmodule module, CUfunction *out);

/* The function that such memory stands for; any other as it is. */
uint64_t ath_cuda_stood_for(uint64_t function);
