/* How chosen GPUs look in the picture of a machine. */
#pragma once
#include "cli/output/machine/marks.h"
#include "cli/output/machine/svg_writer.h"

enum { ATH_SVG_CLASS = 32 };

/* Writes the styles of the marks, if there are any. */
void ath_svg_marks_style(FILE *out, const struct ath_marks *marks);

/* Return the class of a GPU's box, of the line between two GPUs, of the line from a GPU to the bar
 * that joins all, and of a port's box; out is room for the name. `plain` is the class without
 * marks. */
const char *ath_svg_gpu_class(const struct ath_marks *marks, size_t gpu, char out[ATH_SVG_CLASS]);
const char *ath_svg_link_class(const struct ath_marks *marks, size_t a, size_t b,
                               char out[ATH_SVG_CLASS]);
const char *ath_svg_stub_class(const struct ath_marks *marks, size_t gpu, char out[ATH_SVG_CLASS]);
const char *ath_svg_nic_class(const struct ath_marks *marks, size_t nic, const char *plain,
                              char out[ATH_SVG_CLASS]);

/* Writes the word of a GPU's group into the upper right corner of its box. */
void ath_svg_mark(FILE *out, const struct ath_marks *marks, size_t gpu,
                  const struct ath_svg_box *box);

/* Return the class of a group's boxes and of its ring, for a legend. */
const char *ath_svg_group_class(size_t group, char out[ATH_SVG_CLASS]);
const char *ath_svg_ring_class(size_t group, char out[ATH_SVG_CLASS]);
