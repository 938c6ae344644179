/* Draws the distances between the NUMA nodes of a scene, as lines or as a table. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "cli/output/machine/svg_scene.h"

/* Draws lines from node to node; the other function tells whether there are any. */
void ath_svg_distance_lines(FILE *out, const struct ath_scene *scene);
bool ath_svg_has_distances(const struct ath_scene *scene);

/* Draws a table below y; the other function returns its height, 0 if lines show all distances. */
void ath_svg_distance_table(FILE *out, const struct ath_scene *scene, int y);
int ath_svg_distance_table_height(const struct ath_scene *scene);
