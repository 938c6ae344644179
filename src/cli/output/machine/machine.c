/* The table of formats for a machine. */
#include "config.h"

#include "cli/output/machine/machine.h"

#include "base/alloc.h"

static const struct ath_picture pictures[] = {
    { ATH_FORMAT_MATRIX, ath_machine_to_matrix },
    { ATH_FORMAT_DOT, ath_machine_to_dot },
    { ATH_FORMAT_SVG, ath_machine_to_svg },
};

const struct ath_view ath_machine_view = {
    .schema = "aitherion.machine/1",
    .title = "A machine, as `aitherion discover --json` prints it",
    .about = "A value that is not known is null, never guessed. Keys may be added without a new "
             "schema number.",
    .fields = ath_machine_fields,
    .to_text = ath_machine_to_text,
    .pictures = pictures,
    .picture_count = ATH_COUNT(pictures),
};
