/* The formats that a machine can be shown in. */
#include "config.h"

#include "cli/output/machine.h"

#include "base/alloc.h"

static const struct ath_picture pictures[] = {
    { ATH_FORMAT_MATRIX, ath_machine_to_matrix },
    { ATH_FORMAT_DOT, ath_machine_to_dot },
    { ATH_FORMAT_SVG, ath_machine_to_svg },
};

const struct ath_view ath_machine_view = {
    .schema = "aitherion.machine/1",
    .to_json = ath_machine_to_json,
    .to_text = ath_machine_to_text,
    .pictures = pictures,
    .picture_count = ATH_COUNT(pictures),
};
