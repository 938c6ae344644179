/*
 * The copy that a mirror is compared with: as much as the mirror, yet only the pages that are
 * written cost memory. Managed memory may be larger than what the host has, and Linux would refuse
 * as much of it again in one piece (Documentation/mm/overcommit-accounting: mode 0 does not count
 * MAP_NORESERVE). Any thread.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* All zeros; NULL where there is no such room. For ath_cuda_same_free() with the same bytes. */
uint8_t *ath_cuda_same_make(size_t bytes);

/* NULL is none. */
void ath_cuda_same_free(uint8_t *same, size_t bytes);
