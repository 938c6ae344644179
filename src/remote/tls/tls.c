/*
 * One end of a TLS connection.
 *
 * GnuTLS asks for the five bytes of a record's head and then for the rest, and each would be a
 * system call. So a little is read ahead: a small record comes with one call, and most of a large
 * one still goes straight to its place.
 */
#include "config.h"

#include "remote/tls/tls.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "remote/tls/gnutls.h"
#include "remote/tls/socket.h"

enum {
    READ_AHEAD = 4096,
    RECORD_BYTES = 16384,   /* the most that a record carries (RFC 8446, 5.1) */
    HELLO_BYTES_MAX = 16384 /* of a message of the handshake */
};

/* GnuTLS wants a signature to be named, even if nothing is signed. */
#define SIGNATURE ":+SIGN-EDDSA-ED25519"

/* AES is in the processors. TLS 1.3 begins with SHA-256 for a key from outside (RFC 8446, 4.2.11),
 * so that the cipher suites with SHA-384 cannot be used. */
static const char *const priorities[] = {
    [ATH_TLS_FORWARD] = "NONE:+VERS-TLS1.3:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:+ECDHE-PSK:"
                        "+GROUP-X25519:+GROUP-SECP256R1" SIGNATURE,
    [ATH_TLS_QUICK] = "NONE:+VERS-TLS1.3:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:+PSK" SIGNATURE,
};

struct ath_tls {
    int fd;
    bool is_server;
    gnutls_session_t session;
    gnutls_psk_client_credentials_t client; /* NULL at a server */
    gnutls_psk_server_credentials_t server; /* NULL at a client */
    ath_tls_find_key *find;
    void *context;
    char identity[ATH_TLS_IDENTITY_BYTES];

    /* of the thread that receives */
    bool has_answer, is_frame, is_at_end;
    int pull_flags, pull_error;
    size_t begin, end; /* of the bytes that were read ahead */
    uint8_t ahead[READ_AHEAD];

    /* of the thread that sends */
    int push_flags, push_error;
    size_t unsent; /* bytes of a record that was made and did not go yet */
    uint8_t gathered[RECORD_BYTES];
};

/* ---- the socket ---- */

static ssize_t receive_raw(struct ath_tls *tls, void *to, size_t length)
{
    ssize_t got = recv(tls->fd, to, length, tls->pull_flags);
    tls->pull_error = got < 0 ? errno : 0;
    tls->is_at_end = tls->is_at_end || !got;
    return got;
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
        if (length >= READ_AHEAD)
            return receive_raw(tls, to, length);
        ssize_t got = receive_raw(tls, tls->ahead, sizeof tls->ahead);
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
    ssize_t sent = sendmsg(tls->fd, &message, MSG_NOSIGNAL | tls->push_flags);
    tls->push_error = sent < 0 ? errno : 0;
    return sent;
}

/* ---- making ---- */

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

/* key  of the client; NULL makes a server. */
static int begin(struct ath_tls *tls, enum ath_tls_secrecy secrecy, const struct ath_tls_key *key)
{
    unsigned int side = key ? GNUTLS_CLIENT : GNUTLS_SERVER;
    int code = ath_gnutls.gnutls_init(&tls->session, side | GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS);
    if (code)
        return code;
    ath_gnutls.gnutls_session_set_ptr(tls->session, tls);
    ath_gnutls.gnutls_handshake_set_max_packet_length(tls->session, HELLO_BYTES_MAX);
    ath_gnutls.gnutls_transport_set_ptr(tls->session, tls);
    ath_gnutls.gnutls_transport_set_pull_function(tls->session, pull);
    ath_gnutls.gnutls_transport_set_vec_push_function(tls->session, push);
    code = ath_gnutls.gnutls_priority_set_direct(tls->session, priorities[secrecy], NULL);
    if (code)
        return code;
    return key ? set_client_key(tls, key) : set_server_keys(tls);
}

static int make(struct ath_tls made, enum ath_tls_secrecy secrecy, const struct ath_tls_key *key,
                struct ath_tls **out, struct ath_err *err)
{
    int status = ath_tls_load(err);
    if (status)
        return ath_err_wrap(err, status, _("cannot encrypt"));
    struct ath_tls *tls = malloc(sizeof *tls);
    if (!tls)
        return ath_err_system(err, -ENOMEM, "%s", _("cannot encrypt"));
    *tls = made;
    int code = begin(tls, secrecy, key);
    if (code) {
        ath_tls_free(tls);
        return ath_err_set(err, -EPROTO, ATH_E_PEER_FAILED, _("cannot encrypt: %s"),
                           ath_gnutls.gnutls_strerror(code));
    }
    *out = tls;
    return 0;
}

int ath_tls_make_client(int fd, enum ath_tls_secrecy secrecy, const struct ath_tls_key *key,
                        struct ath_tls **out, struct ath_err *err)
{
    return make((struct ath_tls){ .fd = fd }, secrecy, key, out, err);
}

int ath_tls_make_server(int fd, enum ath_tls_secrecy secrecy, ath_tls_find_key *find, void *context,
                        struct ath_tls **out, struct ath_err *err)
{
    const struct ath_tls made = { .fd = fd, .is_server = true, .find = find, .context = context };
    return make(made, secrecy, NULL, out, err);
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

int ath_tls_handshake(struct ath_tls *tls, uint64_t deadline_ms, struct ath_err *err)
{
    tls->pull_flags = tls->push_flags = MSG_DONTWAIT;
    for (;;) {
        int code = ath_gnutls.gnutls_handshake(tls->session);
        if (!code)
            return 0;
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

/* The bytes of the next record: a part of its own if the first is large, or many small parts
 * together. */
static const void *next_record(struct ath_tls *tls, const struct iovec *parts, size_t count,
                               size_t *out_length)
{
    size_t length = 0;
    while (count && !parts->iov_len)
        parts++, count--;
    *out_length = RECORD_BYTES;
    if (count && parts->iov_len >= RECORD_BYTES)
        return parts->iov_base;
    for (size_t i = 0; i < count && length < RECORD_BYTES; i++) {
        size_t room = RECORD_BYTES - length;
        size_t taken = parts[i].iov_len < room ? parts[i].iov_len : room;
        if (taken) /* memcpy() takes no NULL, not even for nothing */
            memcpy(tls->gathered + length, parts[i].iov_base, taken);
        length += taken;
    }
    *out_length = length;
    return tls->gathered;
}

ssize_t ath_tls_send(struct ath_tls *tls, const struct iovec *parts, size_t count, int flags)
{
    size_t length = 0;
    const void *bytes = tls->unsent ? NULL : next_record(tls, parts, count, &length);
    if (!length && !tls->unsent)
        return 0;
    tls->push_flags = flags;
    ssize_t sent = ath_gnutls.gnutls_record_send(tls->session, bytes, length);
    if (sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED)
        tls->unsent = tls->unsent ? tls->unsent : length;
    else
        tls->unsent = 0;
    return sent >= 0 ? sent : fail(sent, tls->push_error);
}

bool ath_tls_has_bytes(const struct ath_tls *tls)
{
    return tls->begin < tls->end || ath_gnutls.gnutls_record_check_pending(tls->session) > 0;
}
