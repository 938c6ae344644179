/*
 * What a program asked of its server, counted: AITHERION_CUDA_LOG=summary has it printed on
 * standard error when the program ends (or lets go of the library), a line for each function, that
 * with the longest waits first. Calls that were answered here are not counted. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-methods.h"

/* Whether it is wanted: looked up once. */
bool ath_cuda_summary_is_wanted(void);

/* A call of so many bytes went out. */
void ath_cuda_summary_sent(enum ath_cuda_method method, size_t bytes);

/* Its answer came, after a wait. */
void ath_cuda_summary_answered(enum ath_cuda_method method, size_t bytes, uint64_t waited_ns);
