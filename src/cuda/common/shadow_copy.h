/*
 * The copy that a mirror is compared with. It is as large as the mirror, but only pages that are
 * written take memory. Managed memory may be larger than the host's memory, and Linux refuses a
 * second range of that size in one piece (Documentation/mm/overcommit-accounting: mode 0 does not
 * count MAP_NORESERVE). Any thread.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Returns zeroed memory, or NULL if there is no such range. ath_cuda_shadow_copy_free() frees it,
 * given the same number of bytes. */
uint8_t *ath_cuda_shadow_copy_make(size_t bytes);

/* NULL is none. */
void ath_cuda_shadow_copy_free(uint8_t *same, size_t bytes);
