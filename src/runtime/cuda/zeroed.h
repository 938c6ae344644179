/* Memory in a program of others, which must not end for want of it as aitherion does. */
#pragma once
#include <stddef.h>

/* Zeroed, or NULL where there is none. The caller frees it. Any thread. */
void *ath_cuda_zeroed(size_t bytes);
