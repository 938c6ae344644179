/* Whether the program captures on any stream, and what ends that by itself. Any thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/cuda/cuda_api.h"

bool ath_cuda_is_capturing(void);

/* Whether a thread, by its number, began a capture that is under way. */
bool ath_cuda_captures_of(uint32_t thread);

/* A stream is destroyed, and its capture with it. */
void ath_cuda_captures_end_with(CUstream stream);

/* A context has ended; NULL: all have. */
void ath_cuda_captures_end_in(CUcontext context);
