/* An authority that signs one certificate and is then forgotten: for a webhook's server. */
#pragma once
#include "base/err.h"

/* PEM texts. The key is a secret. */
struct ath_kube_certificate {
    char *authority;         /* the certificate of the authority */
    char *certificate, *key; /* of the server */
};

void ath_kube_certificate_free(struct ath_kube_certificate *certificate);

/*
 * Makes an authority with an own key, and a certificate that it signs for a server with this DNS
 * name, both on P-256 and valid from an hour ago for `days`. The authority's key is not kept.
 * Returns 0, or a negative errno with err.
 */
int ath_kube_certificate_make(const char *name, int days, struct ath_kube_certificate *out,
                              struct ath_err *err);
