/* Tables of text. The last column is not padded. */
#include "config.h"

#include "cli/output/table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"

enum { GAP = 2 /* blanks between columns */ };

void ath_table_free(struct ath_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->row_count * table->column_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    table->cells = NULL;
    table->row_count = 0;
}

struct ath_table_cell *ath_table_add_row(struct ath_table *table)
{
    return ath_push(&table->cells, &table->row_count, table->column_count * sizeof *table->cells);
}

static const struct ath_table_cell *cell_at(const struct ath_table *table, size_t row,
                                            size_t column)
{
    return &table->cells[row * table->column_count + column];
}

static bool is_empty(const struct ath_table_cell *cell)
{
    return !cell->text || !*cell->text;
}

static const char *text_of(const struct ath_table_cell *cell)
{
    return is_empty(cell) ? "-" : cell->text;
}

static size_t column_width(const struct ath_table *table, const struct ath_style *style,
                           size_t column)
{
    size_t widest = ath_style_width(style, _(table->titles[column]));
    for (size_t row = 0; row < table->row_count; row++) {
        size_t width = ath_style_width(style, text_of(cell_at(table, row, column)));
        widest = width > widest ? width : widest;
    }
    return widest;
}

size_t ath_table_width(const struct ath_table *table, const struct ath_style *style)
{
    size_t sum = 0;
    for (size_t column = 0; column < table->column_count; column++)
        sum += column_width(table, style, column) + (column ? GAP : 0);
    return sum;
}

static void print_cell(const struct ath_style *style, FILE *out, enum ath_role role,
                       const char *text, size_t width)
{
    ath_auto_free char *clean = ath_clean(text, style->is_utf8);
    size_t taken = ath_style_width(style, clean);
    fprintf(out, "%s%s%s%*s", ath_style_on(style, role), clean, ath_style_off(style, role),
            taken < width ? (int)(width - taken) : 0, "");
}

void ath_table_print(const struct ath_table *table, const struct ath_style *style, FILE *out)
{
    ath_auto_free size_t *widths = ath_xalloc(table->column_count * sizeof *widths);

    for (size_t column = 0; column + 1 < table->column_count; column++)
        widths[column] = column_width(table, style, column) + GAP;
    for (size_t column = 0; column < table->column_count; column++)
        print_cell(style, out, ATH_ROLE_HEADING, _(table->titles[column]), widths[column]);
    fputc('\n', out);
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t column = 0; column < table->column_count; column++) {
            const struct ath_table_cell *cell = cell_at(table, row, column);
            print_cell(style, out, cell->role, text_of(cell), widths[column]);
        }
        fputc('\n', out);
    }
}

static void print_block(const struct ath_table *table, const struct ath_style *style, FILE *out,
                        size_t row, size_t label_columns)
{
    print_cell(style, out, cell_at(table, row, 0)->role, text_of(cell_at(table, row, 0)), 0);
    fputc('\n', out);
    for (size_t column = 1; column < table->column_count; column++) {
        const struct ath_table_cell *cell = cell_at(table, row, column);
        if (!is_empty(cell))
            ath_style_print(style, out,
                            &(struct ath_paragraph){ .prefix = "  ",
                                                     .next_prefix = "  ",
                                                     .label = _(table->titles[column]),
                                                     .label_role = ATH_ROLE_DIM,
                                                     .label_columns = label_columns,
                                                     .text = cell->text,
                                                     .role = cell->role });
    }
}

void ath_table_print_blocks(const struct ath_table *table, const struct ath_style *style, FILE *out)
{
    size_t widest = 0;

    for (size_t column = 1; column < table->column_count; column++) {
        size_t width = ath_style_width(style, _(table->titles[column]));
        widest = width > widest ? width : widest;
    }
    for (size_t row = 0; row < table->row_count; row++)
        print_block(table, style, out, row, widest);
}
