/* CUDA's driver interface, written by us: numbers, types and functions. */
#pragma once
#include "cuda/api/cuda_enums.h"     /* IWYU pragma: export */
#include "cuda/api/cuda_functions.h" /* IWYU pragma: export */
#include "cuda/api/cuda_types.h"     /* IWYU pragma: export */
