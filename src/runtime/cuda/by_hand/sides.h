/* Whose memory an address is of. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda-methods.h"
#include "runtime/cuda/cuda_api.h"

/* Whether these bytes are the program's, and nothing that the server reaches by their address. */
bool ath_cuda_is_program_memory(CUdeviceptr address, size_t bytes);

/* What a call says before it looks at anything: whether it may be made, and in a context. */
CUresult ath_cuda_ready(enum ath_cuda_method method);

/* Whether the program has memory at all of these addresses. */
bool ath_cuda_is_all_mapped(const void *address, size_t bytes);

/*
 * Whether a copy to the GPU is to be refused before a byte of it is read, as a driver refuses one
 * that is larger than what it goes to. Looked at where the program does not have all of the bytes,
 * which is known cheaply: else the server finds out. Both are as long as from first to last byte.
 */
bool ath_cuda_is_too_much(CUdeviceptr to, size_t to_bytes, const void *from, size_t from_bytes);
