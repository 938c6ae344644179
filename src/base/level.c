/* The names of the levels. */
#include "config.h"

#include "base/level.h"

#include <errno.h>
#include <string.h>

#include "base/i18n.h"
#include "base/text.h"

const char *const ath_level_names[ATH_LEVEL_COUNT + 1] = {
    [ATH_LEVEL_ERROR] = "error",
    [ATH_LEVEL_WARNING] = "warning",
    [ATH_LEVEL_INFO] = "info",
    [ATH_LEVEL_DEBUG] = "debug",
};

int ath_level_read(const char *what, const char *text, enum ath_level *out, struct ath_err *err)
{
    for (size_t i = 0; i < ATH_LEVEL_COUNT; i++)
        if (!strcmp(ath_level_names[i], text)) {
            *out = (enum ath_level)i;
            return 0;
        }
    const char *nearest = ath_text_nearest(text, ath_level_names, ATH_LEVEL_COUNT);
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("%s is '%s'; it can be error, warning, info or debug"),
                what, text);
    return nearest ? ath_err_hint(err, -EINVAL, _("did you mean '%s'?"), nearest) : -EINVAL;
}
