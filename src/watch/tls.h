/* TLS of the HTTP servers by libmicrohttpd, as a file of web settings asks for it (watch/web.h):
 * the options of the daemon, and the certificates of clients. */
#pragma once
#include <microhttpd.h>
#include <stdbool.h>

#include "watch/web.h"

enum { ATH_METRICS_TLS_OPTIONS = 5 };

/* Loads GnuTLS, which libmicrohttpd uses, if clients need certificates. web may be NULL. Only one
 * thread at a time. Returns 0, or a negative errno with err: "library-missing". */
int ath_metrics_tls_load(const struct ath_metrics_web *web, struct ath_err *err);

/* Fills in the options for MHD_OPTION_ARRAY. Their texts are web's, which may be NULL. Returns the
 * daemon's flags: MHD_USE_TLS if there is a certificate, or 0. Any thread. */
unsigned int ath_metrics_tls_options(const struct ath_metrics_web *web,
                                     struct MHD_OptionItem out[ATH_METRICS_TLS_OPTIONS]);

/*
 * Returns whether the client of a connection has a certificate that one of the authorities has
 * signed. info: the answer to MHD_CONNECTION_INFO_GNUTLS_SESSION; NULL: the connection has no TLS.
 * ath_metrics_tls_load() has loaded GnuTLS. Any thread.
 */
bool ath_metrics_tls_is_signed(const union MHD_ConnectionInfo *info);
