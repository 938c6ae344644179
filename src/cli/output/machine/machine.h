/* Shows a struct ath_machine, for `aitherion discover`. */
#pragma once
#include "cli/output/fields.h"
#include "cli/output/output.h"
#include "numa/machine.h"

/* A view of a finished struct ath_machine, in every format. */
extern const struct ath_view ath_machine_view;

extern const struct ath_field ath_machine_fields[]; /* of the same, for JSON */

/* The other formats, one file each. */
void ath_machine_to_text(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_matrix(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_dot(const struct ath_style *style, FILE *out, const void *machine);
void ath_machine_to_svg(const struct ath_style *style, FILE *out, const void *machine);

/* The pictures, in which marked GPUs stand out. marks may be NULL. */
struct ath_marks;
void ath_machine_draw_matrix(const struct ath_style *style, FILE *out,
                             const struct ath_machine *machine, const struct ath_marks *marks);
void ath_machine_draw_dot(FILE *out, const struct ath_machine *machine,
                          const struct ath_marks *marks);
void ath_machine_draw_svg(FILE *out, const struct ath_machine *machine,
                          const struct ath_marks *marks);
