/* Figures of GPUs in words, for the outputs of `aitherion fingerprint`. */
#pragma once
#include <stdint.h>

#include "place/equivalent.h"

/* The word of a figure for programs: "memory", "memory_bandwidth", "fp16". Static. */
const char *ath_gpu_figure_word(enum ath_gpu_figure figure);

/* The name of a figure for users, translated: "memory", "memory bandwidth", "FP16". Static. */
const char *ath_gpu_figure_title(enum ath_gpu_figure figure);

/* An amount with its unit: "80.0 GiB", "2039 GB/s", "312 TFLOPS", "432"; "not known" below 0. The
 * caller frees it. */
char *ath_gpu_figure_amount(enum ath_gpu_figure figure, int64_t amount);

/* "fits", "unknown", "never". Static. */
const char *ath_equivalent_state_word(enum ath_equivalent_state state);
