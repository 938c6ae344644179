/* Shows a struct ath_machine, for `aitherion discover`. */
#pragma once
#include "cli/output/fields.h"
#include "cli/output/output.h"

/* A view of a finished struct ath_machine, in every format. */
extern const struct ath_view ath_machine_view;

extern const struct ath_field ath_machine_fields[]; /* of the same, for JSON */

/* The other formats, one file each. */
void ath_machine_to_text(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_matrix(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_dot(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_svg(const struct ath_style *style, FILE *out, const void *machine);
