/* A server's certificate, and the authorities that a client trusts. For this folder only, except
 * struct ath_tls_certificate (tls.h). */
#pragma once
#include "remote/tls/gnutls.h"
#include "remote/tls/tls.h"

/* Reads a server's certificate and its private key, or a client's authorities. The caller frees
 * *out with ath_tls_certificates_free(). Until then GnuTLS overwrites all that it frees, if there
 * is a private key; so the process must have one thread. Returns 0, or a negative errno with err
 * "certificate-invalid", "not-found", "no-access" or "io-error". */
int ath_tls_certificate_load(const struct ath_tls_certificate *certificate,
                             gnutls_certificate_credentials_t *out, struct ath_err *err);
int ath_tls_authorities_load(const char *file, gnutls_certificate_credentials_t *out,
                             struct ath_err *err);

/* Frees certificates, and overwrites their key. NULL is allowed. */
void ath_tls_certificates_free(gnutls_certificate_credentials_t certificates);

/* Fills err for a certificate that a client refuses. status has the bits of
 * gnutls_certificate_status_t. Returns -EKEYREJECTED. */
int ath_tls_certificate_refuse(unsigned int status, const struct ath_tls_trust *trust,
                               struct ath_err *err);
