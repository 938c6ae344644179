/* The places of all that a scene holds. */
#pragma once
#include "cli/output/svg_scene.h"

/* Fills in the rows and every box, in a scene whose nodes, ports and buses are chosen. */
void ath_scene_lay_out(struct ath_scene *scene);
