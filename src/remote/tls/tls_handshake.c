/* The handshake of TLS, and the reasons why one fails. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/i18n.h"
#include "remote/tls/certificate.h"
#include "remote/tls/gnutls.h"
#include "remote/tls/socket.h"
#include "remote/tls/tls.h"
#include "remote/tls/tls_internal.h"

/* Returns whether the code, or the peer's alert, says that the ends have different keys. GnuTLS
 * reports a wrong proof of the key (RFC 8446, PSK binder) as an illegal parameter. */
static bool is_wrong_key(const struct ath_tls *tls, int code)
{
    if (code != GNUTLS_E_FATAL_ALERT_RECEIVED)
        return code == GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER || code == GNUTLS_E_DECRYPTION_FAILED ||
               code == GNUTLS_E_INSUFFICIENT_CREDENTIALS;
    switch (ath_gnutls.gnutls_alert_get(tls->session)) {
    case GNUTLS_A_ILLEGAL_PARAMETER:
    case GNUTLS_A_DECRYPT_ERROR:
    case GNUTLS_A_BAD_RECORD_MAC:
    case GNUTLS_A_UNKNOWN_PSK_IDENTITY:
        return true;
    default:
        return false;
    }
}

/* Returns whether the peer's alert is about this server's certificate. */
static bool is_distrusted(const struct ath_tls *tls, int code)
{
    if (!tls->is_server || !tls->certificates || code != GNUTLS_E_FATAL_ALERT_RECEIVED)
        return false;
    switch (ath_gnutls.gnutls_alert_get(tls->session)) {
    case GNUTLS_A_BAD_CERTIFICATE:
    case GNUTLS_A_UNSUPPORTED_CERTIFICATE:
    case GNUTLS_A_CERTIFICATE_REVOKED:
    case GNUTLS_A_CERTIFICATE_EXPIRED:
    case GNUTLS_A_CERTIFICATE_UNKNOWN:
    case GNUTLS_A_UNKNOWN_CA:
        return true;
    default:
        return false;
    }
}

/* The error of a client that wants a certificate. */
static int report_certificate(const struct ath_tls *tls, int code, struct ath_err *err)
{
    if (code == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
        return ath_tls_certificate_refuse(
            ath_gnutls.gnutls_session_get_verify_cert_status(tls->session), &tls->trust, err);
    ath_err_set(err, -EKEYREJECTED, ATH_E_CERTIFICATE_REFUSED,
                _("the server '%s' shows no certificate that this client takes (%s)"),
                tls->trust.host, ath_gnutls.gnutls_strerror(code));
    return ath_err_hint(err, -EKEYREJECTED,
                        _("start the server with --tls-certificate and --tls-key, or name no "
                          "authorities here (AITHERION_TLS_CA)"));
}

static int report(const struct ath_tls *tls, int code, struct ath_err *err)
{
    if (tls->is_frame)
        return ath_err_set(err, -EPROTONOSUPPORT, ATH_E_PEER_PROTOCOL,
                           _("the server does not encrypt this connection"));
    if (tls->is_at_end)
        return ath_err_set(err, -ENODATA, ATH_E_PEER_FAILED,
                           _("the peer closed the connection when it should have been encrypted"));
    int error = code == GNUTLS_E_PUSH_ERROR ? tls->push_error : tls->pull_error;
    if (error)
        return ath_err_system(err, -error, "%s", _("the connection broke"));
    if (tls->trust.file)
        return report_certificate(tls, code, err);
    if (is_distrusted(tls, code))
        return ath_err_set(err, -EKEYREJECTED, ATH_E_CERTIFICATE_REFUSED,
                           _("the client does not trust this server's certificate"));
    if (is_wrong_key(tls, code))
        return ath_err_set(err, -EACCES, ATH_E_KEY_REFUSED, "%s",
                           tls->is_server ? _("the client has another key")
                                          : _("the server has another key"));
    return ath_err_set(err, -EPROTO, ATH_E_PEER_PROTOCOL,
                       _("the connection could not be encrypted: %s"),
                       ath_gnutls.gnutls_strerror(code));
}

/* Tells the peer why, if that needs no waiting. */
static int give_up(struct ath_tls *tls, int code, struct ath_err *err)
{
    if (!tls->is_frame && !tls->is_at_end)
        (void)ath_gnutls.gnutls_alert_send_appropriate(tls->session, code);
    return report(tls, code, err);
}

/* GnuTLS also says "again" when it has dealt with a message of its own. Then more may lie here. */
static bool must_wait(const struct ath_tls *tls)
{
    return tls->pull_error == EAGAIN || tls->push_error == EAGAIN;
}

/* The private key is of no use any more. */
static int finish(struct ath_tls *tls)
{
    if (tls->certificates)
        ath_gnutls.gnutls_credentials_clear(tls->session);
    ath_tls_certificates_free(tls->certificates);
    tls->certificates = NULL;
    return 0;
}

int ath_tls_handshake(struct ath_tls *tls, uint64_t deadline_ms, struct ath_err *err)
{
    tls->pull_flags = tls->push_flags = MSG_DONTWAIT;
    for (;;) {
        int code = ath_gnutls.gnutls_handshake(tls->session);
        if (!code)
            return finish(tls);
        if (code != GNUTLS_E_AGAIN && ath_gnutls.gnutls_error_is_fatal(code))
            return give_up(tls, code, err);
        if (code != GNUTLS_E_AGAIN || !must_wait(tls))
            continue;
        if (!deadline_ms)
            return -EAGAIN;
        short events = ath_gnutls.gnutls_record_get_direction(tls->session) ? POLLOUT : POLLIN;
        int status = ath_socket_wait(tls->fd, events, deadline_ms);
        if (status == -ETIMEDOUT)
            return ath_err_set(err, status, ATH_E_PEER_FAILED, _("the peer took too long"));
        if (status)
            return ath_err_system(err, status, "%s", _("the connection broke"));
    }
}
