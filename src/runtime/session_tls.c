/* The encryption of a session by the key or by the server's certificate. */
#include "config.h"

#include "runtime/session_state.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "runtime/event_log.h"

bool ath_server_session_begins_tls(const struct ath_server_session *session)
{
    uint8_t first = 0;
    return ath_encrypt_can(session->fd) &&
           !ath_socket_wait(session->fd, POLLIN, session->deadline_ms) &&
           recv(session->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
           first == ATH_TLS_FIRST_BYTE;
}

static bool find_tls_key(void *context, const char *identity, uint8_t out[ATH_TLS_KEY_BYTES])
{
    struct ath_server_session *session = context;
    ATH_AUTO(ath_secret) secret = { 0 };
    struct ath_key_version version;
    struct ath_tls_key key;
    struct ath_err err;
    if (ath_server_keys_find(session->server, identity, &secret, session->tls_identity, &version,
                             &err))
        return false;
    ath_secret_tls_key(&secret, &key);
    memcpy(out, key.bytes, sizeof key.bytes);
    explicit_bzero(&key, sizeof key);
    return true;
}

/* Logs a client whose key is wrong. TLS has told the client. Returns -EACCES. */
static int refuse_key(const struct ath_server_session *session, const char *detail)
{
    atomic_store(&session->entry->refused, 1 + (uint64_t)ATH_CONTROL_REASON_KEY_WRONG);
    ath_event_log(ATH_EVENT_WARNING, "session-refused", "peer", session->entry->peer, "reason",
                  ath_control_reason_word(ATH_CONTROL_REASON_KEY_WRONG), "detail", detail, NULL);
    return -EACCES;
}

/*
 * The client chooses: the key or a certificate proves the server. With a certificate the client
 * names its key in the hello only. A certificate that cannot be read, as in the moment of its
 * renewal, keeps out only the clients that want one.
 */
static int make_tls(struct ath_server_session *session, struct ath_err *err)
{
    const struct ath_tls_certificate *certificate = &session->server->certificate;
    if (certificate->file) {
        int status = ath_tls_make_certified_server(session->fd, find_tls_key, session, certificate,
                                                   &session->tls, err);
        if (!status)
            return 0;
        ath_event_log(ATH_EVENT_ERROR, "certificate-unusable", "reason", err->message, NULL);
    }
    return ath_tls_make_server(session->fd, ATH_TLS_FORWARD, find_tls_key, session, &session->tls,
                               err);
}

int ath_server_session_begin_tls(struct ath_server_session *session)
{
    struct ath_err err;
    /* The client reads a refusal in place of TLS's answer. */
    if (!ath_server_wants_key(session->server))
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_KEY_NOT_WANTED,
                                         "this server has no key to prove");
    if (session->server->encrypt == ATH_ENCRYPT_OFF)
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_ENCRYPTION_NOT_SERVED,
                                         "this server encrypts no connection");
    int status = make_tls(session, &err);
    if (!status)
        status = ath_tls_handshake(session->tls, session->deadline_ms, &err);
    if (status == -EACCES)
        return refuse_key(session, err.message);
    if (status)
        return ath_server_session_give_up(session, "encryption", err.message);
    if (ath_binding_find(session->tls, &session->binding))
        return ath_server_session_give_up(session, "encryption", "TLS exports nothing");
    atomic_store(&session->entry->is_encrypted, true);
    return 0;
}
