/* Rows in columns. */
#include "config.h"

#include "cli/tui/columns.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

enum { GAP = 2 };

/* Returns the next cell, and moves *row behind its tab, or to NULL after the last cell. The caller
 * frees it. */
static char *next_cell(const char **row)
{
    size_t length = strcspn(*row, "\t");
    char *cell = ath_xasprintf("%.*s", (int)length, *row);
    *row = (*row)[length] ? *row + length + 1 : NULL;
    return cell;
}

void ath_columns_fit(struct ath_columns *columns, const char *row)
{
    for (size_t i = 0; row && i < ATH_COLUMNS_MAX; i++) {
        ath_auto_free char *cell = next_cell(&row);
        size_t width = ath_text_width(cell);
        if (row && width > columns->widths[i])
            columns->widths[i] = width;
    }
}

char *ath_columns_pad(const struct ath_columns *columns, const char *row)
{
    struct ath_text line = { 0 };

    for (size_t i = 0; row; i++) {
        ath_auto_free char *cell = next_cell(&row);
        size_t width = ath_text_width(cell), column = i < ATH_COLUMNS_MAX ? columns->widths[i] : 0;
        ath_text_add(&line, "%s", cell);
        if (row && column)
            ath_text_add(&line, "%*s", (int)((column > width ? column - width : 0) + GAP), "");
    }
    return ath_text_take(&line);
}
