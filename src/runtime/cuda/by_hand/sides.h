/* Whose memory an address is of. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "runtime/cuda/cuda_api.h"

/* Whether these bytes are the program's, and nothing that the server reaches by their address. */
bool ath_cuda_is_program_memory(CUdeviceptr address, size_t bytes);
