/* Reading options that claim the time of GPUs. */
#include "config.h"

#include "cli/claim_options.h"

#include <errno.h>

#include "base/i18n.h"
#include "base/text.h"

int ath_claim_options_share(const char *share, bool is_capped, struct ath_time_claim *out,
                            struct ath_err *err)
{
    int percent;

    if (!share && is_capped) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("'--cap' needs '--share': it says of which share "
                      "the program gets no more"));
        return ath_err_hint(err, -EINVAL, "--share 25 --cap");
    }
    if (!share)
        return 0;
    if (ath_parse_int(share, 1, ATH_SHARE_PERCENT_MAX, &percent)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no share of the GPUs' time"), share);
        return ath_err_hint(err, -EINVAL, _("give a percentage from 1 to 100, such as 25"));
    }
    out->share_percent = percent;
    out->is_capped = is_capped;
    return 0;
}
