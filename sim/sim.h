/*
 * The simulated driver: what all of its files use.
 *
 * The simulator has the interface of libcuda.so.1 (docs.nvidia.com/cuda/cuda-driver-api) and
 * computes on the CPU: for tests, and for trying the runtime on machines without a GPU.
 * `aitherion-runtime serve --sim` loads it like the real driver.
 *
 * Each noun has a header: device.h, context.h, stream.h and so on. All functions of these headers
 * need the lock (lock.h) unless they say otherwise; the functions of CUDA take it themselves.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "sim/lock.h"
#include "sim/object.h"

#define SIM_COUNT(array) (sizeof(array) / sizeof *(array))
