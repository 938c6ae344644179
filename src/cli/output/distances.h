/* Distances between NUMA nodes, in words and as a table. */
#pragma once
#include <stdio.h>

#include "cli/output/style.h"
#include "numa/machine.h"

/* "10 the node itself, 40 another CPU node, 80 a GPU's memory"; NULL where none is known. The
 * caller frees it. */
char *ath_distances_words(const struct ath_machine *machine);

/* The table, node by node, and how many columns it takes. */
void ath_distances_print(const struct ath_machine *machine, const struct ath_style *style,
                         FILE *out);
size_t ath_distances_table_width(const struct ath_machine *machine);
