/* Makes the ends of TLS connections, with the proofs of each. */
#include "config.h"

#include "remote/tls/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "remote/tls/certificate.h"
#include "remote/tls/gnutls.h"
#include "remote/tls/priorities.h"
#include "remote/tls/tls_internal.h"

enum { HELLO_BYTES_MAX = 16384 /* of a message of the handshake */ };

static const enum ath_tls_way ways[] = {
    [ATH_TLS_FORWARD] = ATH_TLS_BY_KEY, [ATH_TLS_QUICK] = ATH_TLS_BY_FRESH_KEY
};

/* Returns GnuTLS's 1 for an identity that has no key: then it goes on with a random one, so that a
 * stranger does not learn which names exist. */
static int give_key(gnutls_session_t session, const char *identity, gnutls_datum_t *out)
{
    struct ath_tls *tls = ath_gnutls.gnutls_session_get_ptr(session);
    uint8_t key[ATH_TLS_KEY_BYTES];
    size_t length = strlen(identity);
    if (length >= sizeof tls->identity || !tls->find(tls->context, identity, key))
        return 1;
    memcpy(tls->identity, identity, length + 1);
    out->data = malloc(sizeof key); /* GnuTLS frees it with free() */
    out->size = sizeof key;
    if (out->data)
        memcpy(out->data, key, sizeof key);
    explicit_bzero(key, sizeof key);
    return out->data ? 0 : -1;
}

static int set_client_key(struct ath_tls *tls, const struct ath_tls_key *key)
{
    uint8_t bytes[ATH_TLS_KEY_BYTES];
    const gnutls_datum_t datum = { bytes, sizeof bytes };
    int code = ath_gnutls.gnutls_psk_allocate_client_credentials(&tls->client);
    if (code)
        return code;
    memcpy(bytes, key->bytes, sizeof bytes);
    code = ath_gnutls.gnutls_psk_set_client_credentials(tls->client, key->identity, &datum,
                                                        GNUTLS_PSK_KEY_RAW);
    explicit_bzero(bytes, sizeof bytes);
    return code ? code
                : ath_gnutls.gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->client);
}

static int set_server_keys(struct ath_tls *tls)
{
    int code = ath_gnutls.gnutls_psk_allocate_server_credentials(&tls->server);
    if (code)
        return code;
    ath_gnutls.gnutls_psk_set_server_credentials_function(tls->server, give_key);
    return ath_gnutls.gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->server);
}

static int begin(struct ath_tls *tls, enum ath_tls_way way)
{
    char words[ATH_TLS_PRIORITIES_BYTES];
    unsigned int side = tls->is_server ? GNUTLS_SERVER : GNUTLS_CLIENT;
    int code = ath_gnutls.gnutls_init(&tls->session, side | GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS);
    if (code)
        return code;
    ath_gnutls.gnutls_session_set_ptr(tls->session, tls);
    ath_gnutls.gnutls_handshake_set_max_packet_length(tls->session, HELLO_BYTES_MAX);
    ath_gnutls.gnutls_transport_set_ptr(tls->session, tls);
    ath_gnutls.gnutls_transport_set_pull_function(tls->session, ath_tls_pull);
    ath_gnutls.gnutls_transport_set_vec_push_function(tls->session, ath_tls_push);
    return ath_gnutls.gnutls_priority_set_direct(
        tls->session, ath_tls_priorities(way, ath_tls_has_aes(), words), NULL);
}

static int report_making(int code, struct ath_err *err)
{
    ath_err_set(err, -EPROTO, ATH_E_PEER_FAILED, _("cannot encrypt: %s"),
                ath_gnutls.gnutls_strerror(code));
    return -EPROTO;
}

static void tls_free(struct ath_tls **tls)
{
    ath_tls_free(*tls);
}

/* Makes an end without proofs. */
static int make(int fd, bool is_server, enum ath_tls_way way, struct ath_tls **out,
                struct ath_err *err)
{
    int status = ath_tls_load(err);
    if (status) {
        ath_err_wrap(err, status, _("cannot encrypt"));
        return status;
    }
    struct ath_tls *tls = calloc(1, sizeof *tls);
    if (!tls) {
        ath_err_system(err, -ENOMEM, "%s", _("cannot encrypt"));
        return -ENOMEM;
    }
    tls->fd = fd;
    tls->is_server = is_server;
    int code = begin(tls, way);
    if (code) {
        ath_tls_free(tls);
        return report_making(code, err);
    }
    *out = tls;
    return 0;
}

int ath_tls_make_client(int fd, enum ath_tls_secrecy secrecy, const struct ath_tls_key *key,
                        struct ath_tls **out, struct ath_err *err)
{
    __attribute__((cleanup(tls_free))) struct ath_tls *tls = NULL;
    int status = make(fd, false, ways[secrecy], &tls, err);
    if (status)
        return status;
    int code = set_client_key(tls, key);
    if (code)
        return report_making(code, err);
    *out = ath_steal(&tls);
    return 0;
}

static int make_server(int fd, enum ath_tls_way way, ath_tls_find_key *find, void *context,
                       struct ath_tls **out, struct ath_err *err)
{
    __attribute__((cleanup(tls_free))) struct ath_tls *tls = NULL;
    int status = make(fd, true, way, &tls, err);
    if (status)
        return status;
    tls->find = find;
    tls->context = context;
    int code = set_server_keys(tls);
    if (code)
        return report_making(code, err);
    *out = ath_steal(&tls);
    return 0;
}

int ath_tls_make_server(int fd, enum ath_tls_secrecy secrecy, ath_tls_find_key *find, void *context,
                        struct ath_tls **out, struct ath_err *err)
{
    return make_server(fd, ways[secrecy], find, context, out, err);
}

static int set_certificates(struct ath_tls *tls, struct ath_err *err)
{
    int code =
        ath_gnutls.gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, tls->certificates);
    return code ? report_making(code, err) : 0;
}

int ath_tls_make_certified_client(int fd, const struct ath_tls_trust *trust, struct ath_tls **out,
                                  struct ath_err *err)
{
    __attribute__((cleanup(tls_free))) struct ath_tls *tls = NULL;
    int status = make(fd, false, ATH_TLS_BY_CERTIFICATE, &tls, err);
    if (!status)
        status = ath_tls_authorities_load(trust->file, &tls->certificates, err);
    if (!status)
        status = set_certificates(tls, err);
    if (status)
        return status;
    tls->trust = *trust;
    tls->checked[0] = (gnutls_typed_vdata_st){ GNUTLS_DT_DNS_HOSTNAME,
                                               (unsigned char *)(uintptr_t)trust->host, 0 };
    tls->checked[1] = (gnutls_typed_vdata_st){ GNUTLS_DT_KEY_PURPOSE_OID,
                                               (unsigned char *)GNUTLS_KP_TLS_WWW_SERVER, 0 };
    ath_gnutls.gnutls_session_set_verify_cert2(tls->session, tls->checked, 2, 0);
    *out = ath_steal(&tls);
    return 0;
}

int ath_tls_make_certified_server(int fd, ath_tls_find_key *find, void *context,
                                  const struct ath_tls_certificate *certificate,
                                  struct ath_tls **out, struct ath_err *err)
{
    __attribute__((cleanup(tls_free))) struct ath_tls *tls = NULL;
    int status = make_server(fd, ATH_TLS_BY_EITHER, find, context, &tls, err);
    if (!status)
        status = ath_tls_certificate_load(certificate, &tls->certificates, err);
    if (!status)
        status = set_certificates(tls, err);
    if (status)
        return status;
    *out = ath_steal(&tls);
    return 0;
}

void ath_tls_free(struct ath_tls *tls)
{
    if (!tls)
        return;
    if (tls->session)
        ath_gnutls.gnutls_deinit(tls->session);
    if (tls->client)
        ath_gnutls.gnutls_psk_free_client_credentials(tls->client);
    if (tls->server)
        ath_gnutls.gnutls_psk_free_server_credentials(tls->server);
    ath_tls_certificates_free(tls->certificates);
    explicit_bzero(tls, sizeof *tls);
    free(tls);
}

const char *ath_tls_identity(const struct ath_tls *tls)
{
    return tls->identity;
}

int ath_tls_export(struct ath_tls *tls, const char *label, uint8_t out[ATH_TLS_EXPORT_BYTES])
{
    return ath_gnutls.gnutls_prf_rfc5705(tls->session, strlen(label), label, 0, NULL,
                                         ATH_TLS_EXPORT_BYTES, (char *)out)
               ? -EPROTO
               : 0;
}
