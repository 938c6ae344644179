/* Values that libraries keep with a context. */
#pragma once
#include "runtime/cuda/cuda_api.h"

/* A context ended: calls what was given for that with each value, and forgets them. Any thread. */
void ath_cuda_locals_end(CUcontext context);
