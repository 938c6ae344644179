/* Batches of copies of one dimension, for the libraries of one server and of several. */
#pragma once
#include "cuda/api/cuda_api.h"

/* Returns 0, or if the stream captures the error of a function that cannot be captured, after
 * which the capture is broken: driver 580 captures no batch of copies. Each library has its own. */
CUresult ath_cuda_refuse_capture(CUstream stream);
