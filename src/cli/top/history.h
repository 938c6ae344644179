/* The last values of a figure. Unknown values are ATH_UNKNOWN. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The last values of a figure, one for each sample. */
enum { ATH_HISTORY = 256 };
struct ath_history {
    int64_t values[ATH_HISTORY]; /* a ring */
    size_t count;                /* of all values since the beginning */
};

void ath_history_add(struct ath_history *history, int64_t value);

/* Returns the value of `age` samples ago, 0 for the last one; ATH_UNKNOWN before the first one. */
int64_t ath_history_at(const struct ath_history *history, size_t age);

/* Returns the greatest of the last `count` values; ATH_UNKNOWN if none of them is known. */
int64_t ath_history_greatest(const struct ath_history *history, size_t count);
