/* The legend of a scene. */
#pragma once
#include <stdio.h>

#include "cli/output/svg_scene.h"

/* Draws it from y on downwards, in a picture of such a width. */
void ath_svg_legend(FILE *out, const struct ath_scene *scene, int width, int y);

/* How high it is. */
int ath_svg_legend_height(const struct ath_scene *scene, int width);
