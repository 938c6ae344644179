/* Reading options that claim the time of GPUs. */
#include "config.h"

#include "cli/claim_options.h"

#include <errno.h>
#include <string.h>

#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"

static int refuse_share(const char *share, const char *hint, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no share of the GPUs' time"), share);
    return ath_err_hint(err, -EINVAL, "%s", hint);
}

/* Reads "25" or "25%". */
static int parse_percent(const char *share, int *out)
{
    struct ath_time_claim claim = { 0 };
    int status = strchr(share, ',') ? -EINVAL : ath_time_share_parse(share, &claim);
    if (status || !claim.share_percent)
        return status ? status : -EINVAL;
    *out = claim.share_percent;
    return 0;
}

int ath_claim_options_new_share(const char *share, int *out, struct ath_err *err)
{
    if (!share || !strcmp(share, "none")) {
        *out = share ? 0 : ATH_UNKNOWN;
        return 0;
    }
    return parse_percent(share, out)
               ? refuse_share(share, _("give a percentage from 1 to 100, or none"), err)
               : 0;
}

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
    if (parse_percent(share, &percent))
        return refuse_share(share, _("give a percentage from 1 to 100, such as 25"), err);
    out->share_percent = percent;
    out->is_capped = is_capped;
    return 0;
}

int ath_claim_options_part(const char *text, int *out, struct ath_err *err)
{
    if (!ath_sm_share_parse(text, out))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no part of the multiprocessors"), text);
    return ath_err_hint(err, -EINVAL, "%s", _("give a percentage from 1 to 100, such as 25"));
}
