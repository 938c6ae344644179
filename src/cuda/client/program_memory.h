/* Finds out whether memory is the program's, and whether the program may use it. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"

/* Returns whether these bytes are the program's memory, and the server cannot reach them by their
 * address. */
bool ath_cuda_is_program_memory(CUdeviceptr address, size_t bytes);

/* Checks that a call may be made and that the thread has a current context. Calls check this before
 * their parameters. Returns CUDA_SUCCESS or the error that the call returns. */
CUresult ath_cuda_ready(enum ath_cuda_method method);

/* The same for a call on a stream, which is checked too. */
CUresult ath_cuda_ready_on(enum ath_cuda_method method, CUstream stream);

/* Returns whether the program has mapped all of these addresses. */
bool ath_cuda_is_all_mapped(const void *address, size_t bytes);

/* Returns whether the program may read, or write, all of these bytes. Copies check this before they
 * touch pageable memory. Costs a system call or two; pages between the first and the last are only
 * checked to be mapped. */
bool ath_cuda_can_read(const void *address, size_t bytes);
bool ath_cuda_can_write(const void *address, size_t bytes);
