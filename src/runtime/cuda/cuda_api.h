/* CUDA's driver interface in our own words: numbers, types and functions. */
#pragma once
#include "runtime/cuda/cuda_enums.h"     /* IWYU pragma: export */
#include "runtime/cuda/cuda_functions.h" /* IWYU pragma: export */
#include "runtime/cuda/cuda_types.h"     /* IWYU pragma: export */
