/* Distances between the NUMA nodes of a scene. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "cli/output/svg_scene.h"

/* Lines from node to node, and whether there are any. */
void ath_svg_distance_lines(FILE *out, const struct ath_scene *scene);
bool ath_svg_has_distances(const struct ath_scene *scene);

/* A table from y on downwards, and how high it is; 0 where lines say all. */
void ath_svg_distance_table(FILE *out, const struct ath_scene *scene, int y);
int ath_svg_distance_table_height(const struct ath_scene *scene);
