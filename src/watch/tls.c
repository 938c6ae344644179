/* Makes the options of TLS for libmicrohttpd, and checks certificates of clients by GnuTLS. */
#include "config.h"

#include "watch/tls.h"

#include <gnutls/gnutls.h>

#include "base/late.h"

#define GNUTLS_FUNCTIONS(F) F(gnutls_certificate_verify_peers2)
static struct {
    GNUTLS_FUNCTIONS(ATH_LATE_MEMBER)
} gnutls;

int ath_metrics_tls_load(const struct ath_metrics_web *web, struct ath_err *err)
{
    static const char *const names[] = { GNUTLS_FUNCTIONS(ATH_LATE_NAME) NULL };
    if (!web || !web->authorities || gnutls.gnutls_certificate_verify_peers2)
        return 0;
    return ath_late_load("libgnutls.so.30", "libgnutls30", names, &gnutls, err);
}

unsigned int ath_metrics_tls_options(const struct ath_metrics_web *web,
                                     struct MHD_OptionItem out[ATH_METRICS_TLS_OPTIONS])
{
    static const char tls13[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";
    static const char tls12[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
    size_t count = 0;

    if (web && web->certificate) {
        out[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, web->certificate };
        out[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, web->key };
        out[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES, 0,
                                                (void *)(web->needs_tls13 ? tls13 : tls12) };
        if (web->authorities)
            out[count++] =
                (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0, web->authorities };
    }
    out[count] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
    return count ? MHD_USE_TLS : 0;
}

bool ath_metrics_tls_is_signed(const union MHD_ConnectionInfo *info)
{
    unsigned int faults = 1;
    return info && !gnutls.gnutls_certificate_verify_peers2(info->tls_session, &faults) && !faults;
}
