/*
 * One end of a TLS connection.
 *
 * GnuTLS asks for the five bytes of a record's head and then for the rest, and each would be a
 * system call. So bytes are read ahead: a small record comes with one call, and several large ones
 * do, too. Records that follow each other are sent with MSG_MORE, so that the kernel makes large
 * packets of them.
 */
#include "config.h"

#include "remote/tls/tls.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "remote/tls/certificate.h"
#include "remote/tls/gnutls.h"
#include "remote/tls/priorities.h"
#include "remote/tls/socket.h"

enum {
    READ_AHEAD = 64 * 1024,
    DIRECT = 4096,          /* from these bytes on a copy costs more than a longer system call */
    RECORD_BYTES = 16384,   /* the most that a record carries (RFC 8446, 5.1) */
    HELLO_BYTES_MAX = 16384 /* of a message of the handshake */
};

struct ath_tls {
    int fd;
    bool is_server;
    gnutls_session_t session;
    gnutls_psk_client_credentials_t client;        /* NULL at a server */
    gnutls_psk_server_credentials_t server;        /* NULL at a client */
    gnutls_certificate_credentials_t certificates; /* the server's, or a client's authorities */
    ath_tls_find_key *find;
    void *context;
    struct ath_tls_trust trust; /* of a client that wants a certificate */
    gnutls_typed_vdata_st checked[2];
    char identity[ATH_TLS_IDENTITY_BYTES];

    /* of the thread that receives */
    bool has_answer, is_frame, is_at_end;
    int pull_flags, pull_error;
    size_t begin, end; /* of the bytes that were read ahead */
    uint8_t ahead[READ_AHEAD];

    /* of the thread that sends */
    int push_flags, push_error;
    bool has_more; /* another record follows the next one at once */
    size_t unsent; /* bytes of a record that was made and did not go yet */
    uint8_t gathered[RECORD_BYTES];
};

/* ---- the socket ---- */

static ssize_t note_received(struct ath_tls *tls, ssize_t got)
{
    tls->pull_error = got < 0 ? errno : 0;
    tls->is_at_end = tls->is_at_end || !got;
    return got;
}

/* Receives a record's rest to its place, and what is behind it ahead. Returns the bytes at `to`. */
static ssize_t receive_rest(struct ath_tls *tls, void *to, size_t length)
{
    struct iovec places[] = { { to, length }, { tls->ahead, sizeof tls->ahead } };
    struct msghdr message = { .msg_iov = places, .msg_iovlen = 2 };
    ssize_t got = note_received(tls, recvmsg(tls->fd, &message, tls->pull_flags));
    if (got <= (ssize_t)length)
        return got;
    tls->begin = 0;
    tls->end = (size_t)got - length;
    return (ssize_t)length;
}

/* Whether the server's first answer is a frame and no TLS: a refusal in plain words. Sets errno if
 * nothing has come yet. */
static bool answers_frame(struct ath_tls *tls)
{
    uint8_t first = ATH_TLS_FIRST_BYTE;
    if (tls->has_answer || tls->is_server)
        return false;
    tls->has_answer = recv(tls->fd, &first, 1, MSG_PEEK | tls->pull_flags) == 1;
    tls->is_frame = tls->has_answer && first == 0;
    return tls->is_frame;
}

static ssize_t pull(gnutls_transport_ptr_t context, void *to, size_t length)
{
    struct ath_tls *tls = context;
    if (tls->begin == tls->end) {
        if (answers_frame(tls)) {
            errno = EPROTONOSUPPORT;
            return -1;
        }
        if (length >= DIRECT)
            return receive_rest(tls, to, length);
        ssize_t got =
            note_received(tls, recv(tls->fd, tls->ahead, sizeof tls->ahead, tls->pull_flags));
        if (got <= 0)
            return got;
        tls->begin = 0;
        tls->end = (size_t)got;
    }
    size_t taken = tls->end - tls->begin < length ? tls->end - tls->begin : length;
    memcpy(to, tls->ahead + tls->begin, taken);
    tls->begin += taken;
    return (ssize_t)taken;
}

static ssize_t push(gnutls_transport_ptr_t context, const giovec_t *parts, int count)
{
    struct ath_tls *tls = context;
    struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count };
    int more = tls->has_more ? MSG_MORE : 0;
    ssize_t sent = sendmsg(tls->fd, &message, MSG_NOSIGNAL | tls->push_flags | more);
    tls->push_error = sent < 0 ? errno : 0;
    return sent;
}

/* ---- making ---- */

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
    ath_gnutls.gnutls_transport_set_pull_function(tls->session, pull);
    ath_gnutls.gnutls_transport_set_vec_push_function(tls->session, push);
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

/* ---- the handshake ---- */

/* Whether the code, or the peer's alert, says that the ends have different keys. GnuTLS reports a
 * wrong proof of the key (RFC 8446, PSK binder) as an illegal parameter. */
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

/* Whether the peer's alert is about this server's certificate. */
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

/* ---- bytes ---- */

/* Sets errno for a code of GnuTLS. error is the socket's own. Returns -1. */
static ssize_t fail(ssize_t code, int error)
{
    switch (code) {
    case GNUTLS_E_AGAIN:
        errno = EAGAIN;
        break;
    case GNUTLS_E_INTERRUPTED:
        errno = EINTR;
        break;
    case GNUTLS_E_INVALID_SESSION: /* the thread of the other direction has the reason */
        errno = ECONNRESET;
        break;
    default:
        errno = error ? error : EPROTO;
    }
    return -1;
}

ssize_t ath_tls_receive(struct ath_tls *tls, void *bytes, size_t length, int flags)
{
    ssize_t got;
    tls->pull_flags = flags;
    tls->pull_error = 0;
    do /* GnuTLS also says "again" when it has dealt with a message of its own */
        got = ath_gnutls.gnutls_record_recv(tls->session, bytes, length);
    while (got == GNUTLS_E_AGAIN && !tls->pull_error);
    if (got >= 0)
        return got;
    /* An end without TLS's own word for it is as good as one with it: frames have lengths. */
    if (tls->is_at_end)
        return 0;
    return fail(got, tls->pull_error);
}

/* The caller's parts that are left to send. */
struct rest {
    const struct iovec *part;
    size_t offset; /* in the part */
    size_t length; /* of all together */
};

static void skip(struct rest *rest, size_t length)
{
    rest->length -= length;
    while (rest->length && rest->part->iov_len - rest->offset <= length) {
        length -= rest->part->iov_len - rest->offset;
        rest->part++;
        rest->offset = 0;
    }
    rest->offset += length;
}

/* The bytes of the next record: from a part itself if that has all of them, or many small parts
 * together. */
static const void *next_record(struct ath_tls *tls, struct rest rest, size_t *out_length)
{
    size_t length = rest.length < RECORD_BYTES ? rest.length : RECORD_BYTES;
    *out_length = length;
    skip(&rest, 0); /* empty parts */
    if (rest.part->iov_len - rest.offset >= length)
        return (const uint8_t *)rest.part->iov_base + rest.offset;
    for (size_t at = 0, taken; at < length; at += taken) {
        size_t there = rest.part->iov_len - rest.offset;
        taken = there < length - at ? there : length - at;
        memcpy(tls->gathered + at, (const uint8_t *)rest.part->iov_base + rest.offset, taken);
        skip(&rest, taken);
    }
    return tls->gathered;
}

ssize_t ath_tls_send(struct ath_tls *tls, const struct iovec *parts, size_t count, int flags)
{
    struct rest rest = { .part = parts };
    size_t done = 0;
    for (size_t i = 0; i < count; i++)
        rest.length += parts[i].iov_len;
    tls->push_flags = flags;
    while (rest.length) {
        size_t length = tls->unsent;
        const void *bytes = length ? NULL : next_record(tls, rest, &length);
        tls->has_more = rest.length > length;
        ssize_t sent = ath_gnutls.gnutls_record_send(tls->session, bytes, bytes ? length : 0);
        bool must_repeat = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED;
        tls->unsent = must_repeat ? length : 0;
        if (sent < 0)
            return must_repeat && done ? (ssize_t)done : fail(sent, tls->push_error);
        skip(&rest, (size_t)sent);
        done += (size_t)sent;
    }
    return (ssize_t)done;
}

bool ath_tls_has_bytes(const struct ath_tls *tls)
{
    return tls->begin < tls->end || ath_gnutls.gnutls_record_check_pending(tls->session) > 0;
}
