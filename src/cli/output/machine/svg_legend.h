/* The legend of a scene. */
#pragma once
#include <stdio.h>

#include "cli/output/machine/svg_scene.h"

/* Draws the legend below y, in a picture of this width. */
void ath_svg_legend(FILE *out, const struct ath_scene *scene, int width, int y);

/* The height of the legend. */
int ath_svg_legend_height(const struct ath_scene *scene, int width);
