/* Rows of text in columns. The cells of a row are separated by tabs. Private to tui. */
#pragma once
#include <stddef.h>

enum { ATH_COLUMNS_MAX = 8 };

/* The widest cell of each column. A row's last cell does not count, since nothing follows it. */
struct ath_columns {
    size_t widths[ATH_COLUMNS_MAX];
};

/* Makes the columns wide enough for a row. */
void ath_columns_fit(struct ath_columns *columns, const char *row);

/* Returns the row with its cells padded; columns that are empty in all rows take no room. The
 * caller frees it. */
char *ath_columns_pad(const struct ath_columns *columns, const char *row);
