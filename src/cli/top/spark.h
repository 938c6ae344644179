/* Histories and shares as characters: sparklines, charts of several rows, bars of parts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/top/history.h"

/*
 * Returns the last values as one character each, the newest at the right; unknown values are blank.
 * greatest: the value of a full character, above 0. The caller frees it.
 */
char *ath_spark(const struct ath_history *history, int width, int64_t greatest, bool is_utf8);

/* The same for row `row` (0: the highest) of a chart with so many rows. */
char *ath_chart_row(const struct ath_history *history, int width, int64_t greatest, int rows,
                    int row, bool is_utf8);

/*
 * Fits parts of a whole into the cells of a bar. shares: of the whole, 0 to 1; all together may be
 * more, and then the rest is cut. Stores the end of each part in cells, and the eighths of the last
 * cell that the parts fill beyond these ends (0 to 7).
 */
void ath_bar_fit(const double *shares, size_t count, int width, int *out_ends, int *out_eighths);

/* The characters of a bar: a full cell of part `index`, a cell filled by 1 to 7 eighths, an empty
 * cell. Without colour the parts differ by their characters. */
const char *ath_bar_full(size_t index, bool is_color, bool is_utf8);
const char *ath_bar_eighths(size_t index, int eighths, bool is_color, bool is_utf8);
const char *ath_bar_empty(bool is_utf8);

/* Returns a round number, at least `least`, that is not below value: the height of a chart of
 * values without a natural limit. It has one of few values, so that the chart seldom jumps. */
int64_t ath_chart_height(int64_t value, int64_t least);
