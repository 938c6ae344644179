/* Memory that stands for a function of the server, for libraries that read the memory behind a
 * CUfunction. Any thread. */
#pragma once
#include <stdint.h>

#include "cuda/api/cuda_api.h"

/* Returns the proxy for a module's first function, always the same. */
CUresult ath_cuda_function_proxy(CUmodule module, CUfunction *out);

/* The function that a proxy stands for; any other function is returned unchanged. */
uint64_t ath_cuda_function_proxy_target(uint64_t function);
