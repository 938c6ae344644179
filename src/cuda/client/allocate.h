/* Memory inside other people's programs: being out of memory must not end them, as it ends
 * aitherion. */
#pragma once
#include <stddef.h>

/* Zeroed memory, or NULL. The caller frees it. Any thread. */
void *ath_cuda_allocate(size_t bytes);
