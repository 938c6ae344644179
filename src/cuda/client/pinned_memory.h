/* Pinned memory of the program: allocated or registered. Any thread. */
#pragma once
#include <stdint.h>

#include "cuda/api/cuda_api.h"

/* As cuMemHostAlloc() with valid arguments, but whether a capture forbids it is not asked. */
CUresult ath_cuda_host_alloc(void **memory, size_t bytes, unsigned int flags);

/* Frees or unregisters pinned memory by its first byte, here and on the server. No copy of the
 * memory may be under way. Returns CUDA_ERROR_INVALID_VALUE if there is none. */
CUresult ath_cuda_pinned_memory_end(uintptr_t address);
