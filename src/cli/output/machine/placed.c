/* Draws a machine with the marks of a placement: as dot and as SVG. */
#include "config.h"

#include "cli/output/machine/placed.h"

#include "base/cleanup.h"
#include "cli/output/machine/machine.h"

static void to_matrix(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_place_report *report = data;
    ATH_AUTO(ath_marks) marks = { 0 };
    ath_marks_make(report, &marks);
    ath_machine_draw_matrix(style, out, report->machine, &marks);
}

static void to_dot(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_place_report *report = data;
    ATH_AUTO(ath_marks) marks = { 0 };
    (void)style;
    ath_marks_make(report, &marks);
    ath_machine_draw_dot(out, report->machine, &marks);
}

static void to_svg(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_place_report *report = data;
    ATH_AUTO(ath_marks) marks = { 0 };
    (void)style;
    ath_marks_make(report, &marks);
    ath_machine_draw_svg(out, report->machine, &marks);
}

const struct ath_picture ath_placed_pictures[ATH_PLACED_PICTURES] = {
    { ATH_FORMAT_MATRIX, to_matrix },
    { ATH_FORMAT_DOT, to_dot },
    { ATH_FORMAT_SVG, to_svg },
};
