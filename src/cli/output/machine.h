/* Showing a struct ath_machine, for `aitherion discover`. */
#pragma once
#include "cli/output/output.h"

/* Takes a finished struct ath_machine; has every format. */
extern const struct ath_view ath_machine_view;

/* Its formats, one file each. */
json_t *ath_machine_to_json(const void *machine);
void ath_machine_to_text(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_matrix(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_dot(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_svg(const struct ath_style *style, FILE *out, const void *machine);
