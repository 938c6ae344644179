/* The pictures of a machine in which chosen GPUs stand out, of a struct ath_place_report. */
#pragma once
#include "cli/output/machine/marks.h"

enum { ATH_PLACED_PICTURES = 3 };

extern const struct ath_picture ath_placed_pictures[ATH_PLACED_PICTURES];
