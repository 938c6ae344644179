/* Results that outlive their call: texts, lists that the program points to, and the kernels that it
 * received. Any thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda-methods.h"

/* Takes over blocks of ath_cuda_room() for a method and a value, and frees the earlier blocks. */
void ath_cuda_lasting_results_replace(enum ath_cuda_method method, uint64_t value, void *blocks);

void ath_cuda_kernel_add(uint64_t kernel);
void ath_cuda_kernel_remove(uint64_t handle); /* the handle's value was reused for a function */
void ath_cuda_lasting_results_clear(void);
