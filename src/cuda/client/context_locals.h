/* Values that libraries store with a context, and the handle of a context that could not be
 * made. */
#pragma once
#include <stdbool.h>

#include "cuda/api/cuda_api.h"

/* The device of a primary context; false for any other context and for none. */
bool ath_cuda_device_of_primary(CUcontext context, CUdevice *device);

/* Calls the end function of each value of a context that ended, and forgets the values. Any
 * thread. */
void ath_cuda_locals_end(CUcontext context);

/* Returns the handle of a device's primary context that could not be made: the GPU was full. NULL
 * if there is no such device. */
CUcontext ath_cuda_unmade_primary(CUdevice device);
