/* A table of text: a heading for each column, and rows of cells. */
#pragma once
#include <stddef.h>
#include <stdio.h>

#include "cli/output/style.h"

struct ath_table_cell {
    char *text; /* owned by the table; NULL and "" are printed as "-" */
    enum ath_role role;
};

struct ath_table {
    const char *const *titles; /* marked with N_() and translated here; not owned */
    size_t column_count;
    struct ath_table_cell *cells; /* row by row */
    size_t row_count;
};

/*
 * Adds a row and returns its cells, one for each column, for the caller to fill. The pointer is
 * valid until the next row is added. Cells may hold foreign text: it is cleaned when printed.
 */
struct ath_table_cell *ath_table_add_row(struct ath_table *table);

/* The width of the printed table, in columns. */
size_t ath_table_width(const struct ath_table *table, const struct ath_style *style);

/* Prints headings and rows. */
void ath_table_print(const struct ath_table *table, const struct ath_style *style, FILE *out);

/*
 * Prints each row as a block, for terminals that are narrower than the table: the first cell, and
 * below it a line for each other cell that is not empty.
 */
void ath_table_print_blocks(const struct ath_table *table, const struct ath_style *style,
                            FILE *out);

void ath_table_free(struct ath_table *table);
