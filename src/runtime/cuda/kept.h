/* What outlives a call on the client: texts, lists that the program has pointers to, the kernels
 * that it knows. Any thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda-methods.h"

/* Takes over blocks of ath_cuda_room() for a method and a value, and frees those from before. */
void ath_cuda_kept_replace(enum ath_cuda_method method, uint64_t value, void *blocks);

void ath_cuda_kernel_add(uint64_t kernel);
void ath_cuda_kernel_remove(uint64_t handle); /* it came as a function: handles come again */
void ath_cuda_kept_clear(void);
