/* The captures of this process: whether any stream captures, and which events end a capture. Any
 * thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"

bool ath_cuda_is_any_capturing(void);

/* Returns whether the thread with this number began a capture that is under way. */
bool ath_cuda_is_thread_capturing(uint32_t thread);

/* A destroyed stream ends its capture. */
void ath_cuda_capture_state_end_stream(CUstream stream);

/* A destroyed context ends its captures; NULL means all contexts. */
void ath_cuda_capture_state_end_context(CUcontext context);
