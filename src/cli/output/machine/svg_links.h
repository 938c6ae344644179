/* Draws lines between the devices of a scene. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "cli/output/machine/svg_scene.h"

/* Draws links between GPUs as arcs, or only their labels, which cover the devices. */
void ath_svg_arcs(FILE *out, const struct ath_scene *scene, bool are_labels);

/* Draws the bars that connect all GPUs, for a scene with ATH_SCENE_FABRIC. */
/* Returns whether the bar of links joins all GPUs. */
bool ath_svg_joins_all(const struct ath_scene *scene);

void ath_svg_fabric(FILE *out, const struct ath_scene *scene);

/* Draws lines from GPUs to their nearest ports, labelled with the PCI class. */
void ath_svg_buses(FILE *out, const struct ath_scene *scene);

/* The style-sheet class of a line for a PCI class. */
const char *ath_svg_pair_class(enum ath_pci_class class);
