/* Arithmetic of counts that may be unknown (ATH_UNKNOWN). Private to top. */
#pragma once
#include <stdint.h>

/* Returns the difference of two counts for each second; unknown if a count is, or if the count
 * began again. */
int64_t ath_top_rate(int64_t before, int64_t now, uint64_t passed_ms);

/* Returns the percentage, rounded; unknown if a part of it is. */
int64_t ath_top_percent(int64_t part, int64_t whole);

/* Adds what is known; two unknown values stay unknown. */
int64_t ath_top_sum(int64_t a, int64_t b);
