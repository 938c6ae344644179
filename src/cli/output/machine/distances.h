/* Distances between NUMA nodes, in words and as a table of text. */
#pragma once
#include <stdio.h>

#include "cli/output/style.h"
#include "numa/machine.h"

/*
 * The distances and their meaning: "10 the node itself, 40 another CPU node, 80 a GPU's memory".
 * NULL if no distance is known. The caller frees it.
 */
char *ath_distances_words(const struct ath_machine *machine);

/* Prints the table, without nodes that are empty. The other functions return its width in columns
 * and its number of nodes. */
void ath_distances_print(const struct ath_machine *machine, const struct ath_style *style,
                         FILE *out);
size_t ath_distances_table_width(const struct ath_machine *machine);
size_t ath_distances_table_nodes(const struct ath_machine *machine);
