/* Positions and sizes in a scene. */
#pragma once
#include "cli/output/machine/svg_scene.h"

/* Sets the rows and all boxes of a scene whose nodes, ports and buses are chosen. */
void ath_scene_lay_out(struct ath_scene *scene);
