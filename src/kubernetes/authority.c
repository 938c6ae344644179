/* Makes the authority and the certificate by GnuTLS, and forgets the authority's key. */
#include "config.h"

#include "kubernetes/authority.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/late.h"

enum { HOUR_S = 3600, DAY_S = 24 * 3600, SERIAL_BYTES = 16 };

#define GNUTLS_FUNCTIONS(F)                                                                        \
    F(gnutls_free)                                                                                 \
    F(gnutls_strerror)                                                                             \
    F(gnutls_x509_privkey_init)                                                                    \
    F(gnutls_x509_privkey_deinit)                                                                  \
    F(gnutls_x509_privkey_generate)                                                                \
    F(gnutls_x509_privkey_export2)                                                                 \
    F(gnutls_x509_crt_init)                                                                        \
    F(gnutls_x509_crt_deinit)                                                                      \
    F(gnutls_x509_crt_set_version)                                                                 \
    F(gnutls_x509_crt_set_serial)                                                                  \
    F(gnutls_x509_crt_set_activation_time)                                                         \
    F(gnutls_x509_crt_set_expiration_time)                                                         \
    F(gnutls_x509_crt_set_dn_by_oid)                                                               \
    F(gnutls_x509_crt_set_subject_alt_name)                                                        \
    F(gnutls_x509_crt_set_key)                                                                     \
    F(gnutls_x509_crt_set_basic_constraints)                                                       \
    F(gnutls_x509_crt_set_key_usage)                                                               \
    F(gnutls_x509_crt_set_key_purpose_oid)                                                         \
    F(gnutls_x509_crt_sign2)                                                                       \
    F(gnutls_x509_crt_export2)

static struct {
    GNUTLS_FUNCTIONS(ATH_LATE_MEMBER)
} gnutls;

/* A certificate with its private key. */
struct identity {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
};

static void identity_free(struct identity *identity)
{
    if (identity->certificate)
        gnutls.gnutls_x509_crt_deinit(identity->certificate);
    if (identity->key)
        gnutls.gnutls_x509_privkey_deinit(identity->key);
}

void ath_kube_certificate_free(struct ath_kube_certificate *certificate)
{
    if (!certificate)
        return;
    if (certificate->key)
        explicit_bzero(certificate->key, strlen(certificate->key));
    free(certificate->authority);
    free(certificate->certificate);
    free(certificate->key);
    *certificate = (struct ath_kube_certificate){ 0 };
}

/* Returns 0, or -EIO with err for a failure of GnuTLS. */
static int check(int result, struct ath_err *err)
{
    return result >= 0
               ? 0
               : ath_err_set(err, -EIO, ATH_E_CERTIFICATE, "GnuTLS makes no certificate: %s",
                             gnutls.gnutls_strerror(result));
}

/* ---- one certificate ---- */

static int set_names(gnutls_x509_crt_t certificate, const char *name, bool is_authority)
{
    const char *common = is_authority ? "aitherion webhook authority" : "aitherion webhook";
    int result = gnutls.gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                      common, (unsigned int)strlen(common));
    if (result >= 0 && !is_authority)
        result = gnutls.gnutls_x509_crt_set_subject_alt_name(
            certificate, GNUTLS_SAN_DNSNAME, name, (unsigned int)strlen(name), GNUTLS_FSAN_SET);
    return result;
}

static int set_times(gnutls_x509_crt_t certificate, int days)
{
    time_t begin = time(NULL) - HOUR_S; /* for clocks that are behind */
    int result = gnutls.gnutls_x509_crt_set_activation_time(certificate, begin);
    if (result >= 0)
        result = gnutls.gnutls_x509_crt_set_expiration_time(certificate,
                                                            begin + HOUR_S + (time_t)days * DAY_S);
    return result;
}

static int set_serial(gnutls_x509_crt_t certificate)
{
    uint8_t serial[SERIAL_BYTES];

    if (getrandom(serial, sizeof serial, 0) != (ssize_t)sizeof serial)
        return GNUTLS_E_RANDOM_FAILED;
    serial[0] = (uint8_t)((serial[0] & 0x7f) | 1); /* positive, and not 0 */
    return gnutls.gnutls_x509_crt_set_serial(certificate, serial, sizeof serial);
}

static int set_usage(gnutls_x509_crt_t certificate, bool is_authority)
{
    int result = gnutls.gnutls_x509_crt_set_basic_constraints(certificate, is_authority, -1);
    if (result >= 0)
        result = gnutls.gnutls_x509_crt_set_key_usage(
            certificate, is_authority ? GNUTLS_KEY_KEY_CERT_SIGN : GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (result >= 0 && !is_authority)
        result =
            gnutls.gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER, 0);
    return result;
}

/* issuer: NULL signs with the own key, as an authority does. */
static int make(const char *name, int days, const struct identity *issuer, struct identity *out)
{
    int result = gnutls.gnutls_x509_privkey_init(&out->key);
    if (result >= 0)
        result = gnutls.gnutls_x509_privkey_generate(
            out->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (result >= 0)
        result = gnutls.gnutls_x509_crt_init(&out->certificate);
    if (result >= 0)
        result = gnutls.gnutls_x509_crt_set_version(out->certificate, 3);
    if (result >= 0)
        result = set_serial(out->certificate);
    if (result >= 0)
        result = set_names(out->certificate, name, !issuer);
    if (result >= 0)
        result = set_times(out->certificate, days);
    if (result >= 0)
        result = set_usage(out->certificate, !issuer);
    if (result >= 0)
        result = gnutls.gnutls_x509_crt_set_key(out->certificate, out->key);
    if (result < 0)
        return result;
    const struct identity *signer = issuer ? issuer : out;
    return gnutls.gnutls_x509_crt_sign2(out->certificate, signer->certificate, signer->key,
                                        GNUTLS_DIG_SHA256, 0);
}

/* ---- texts ---- */

/* Copies a text of GnuTLS, and wipes it. */
static char *take_text(gnutls_datum_t *datum)
{
    char *text = ath_xasprintf("%.*s", (int)datum->size, (const char *)datum->data);
    explicit_bzero(datum->data, datum->size);
    (*gnutls.gnutls_free)(datum->data);
    return text;
}

static int write_certificate(gnutls_x509_crt_t certificate, char **out)
{
    gnutls_datum_t datum = { 0 };
    int result = gnutls.gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &datum);
    if (result >= 0)
        *out = take_text(&datum);
    return result;
}

static int write_key(gnutls_x509_privkey_t key, char **out)
{
    gnutls_datum_t datum = { 0 };
    int result = gnutls.gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &datum);
    if (result >= 0)
        *out = take_text(&datum);
    return result;
}

int ath_kube_certificate_make(const char *name, int days, struct ath_kube_certificate *out,
                              struct ath_err *err)
{
    static const char *const names[] = { GNUTLS_FUNCTIONS(ATH_LATE_NAME) NULL };
    ATH_AUTO(identity) authority = { 0 }, server = { 0 };

    *out = (struct ath_kube_certificate){ 0 };
    int status = ath_late_load("libgnutls.so.30", "libgnutls30", names, &gnutls, err);
    if (status)
        return status;
    int result = make(name, days, NULL, &authority);
    if (result >= 0)
        result = make(name, days, &authority, &server);
    if (result >= 0)
        result = write_certificate(authority.certificate, &out->authority);
    if (result >= 0)
        result = write_certificate(server.certificate, &out->certificate);
    if (result >= 0)
        result = write_key(server.key, &out->key);
    status = check(result, err);
    if (status)
        ath_kube_certificate_free(out);
    return status;
}
