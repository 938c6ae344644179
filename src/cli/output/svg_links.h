/* Lines between the devices of a scene. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "cli/output/svg_scene.h"

/* Links between GPUs as arcs, or the labels of these, which go above the devices. */
void ath_svg_arcs(FILE *out, const struct ath_scene *scene, bool are_labels);

/* The bars that all GPUs hang on, where the scene has ATH_SCENE_FABRIC. */
void ath_svg_fabric(FILE *out, const struct ath_scene *scene);

/* Lines from GPUs to their nearest ports, with the class of the way. */
void ath_svg_buses(FILE *out, const struct ath_scene *scene);

/* The style of a line of such a class. */
const char *ath_svg_pair_class(enum ath_pci_class class);
