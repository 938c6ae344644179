/* Connects, proves the key, and asks questions. */
#include "config.h"

#include "remote/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"

/* The state of a handshake until the proofs are made. Its frames are the transcript. */
struct handshake {
    struct ath_session *session;
    const struct ath_secret *secret;
    bool is_program;
    uint64_t deadline_ms;
    struct ath_frame hello, challenge;
    struct ath_binding binding; /* of an encrypted connection */
    struct ath_transcript transcript;
    uint8_t proof[ATH_PROOF_BYTES];
};

static void handshake_free(struct handshake *handshake)
{
    explicit_bzero(&handshake->binding, sizeof handshake->binding);
    ath_frame_free(&handshake->hello);
    ath_frame_free(&handshake->challenge);
}

static int report_no_encryption(struct ath_err *err)
{
    ath_err_set(err, -EPERM, ATH_E_NOT_ENCRYPTED, _("the server does not encrypt"));
    return ath_err_hint(
        err, -EPERM,
        _("start the server without `--encrypt off`; or send everything in the open: "
          "AITHERION_ENCRYPT=off, or `aitherion run --encrypt off`"));
}

static int report_refusal(struct ath_control_refusal refusal, struct ath_err *err)
{
    ath_auto_free char *text = ath_clean(ath_control_refusal_message(refusal), true);
    switch (ath_control_refusal_reason(refusal)) {
    case ATH_CONTROL_REASON_KEY_WRONG:
        return ath_err_set(err, -EACCES, ATH_E_KEY_REFUSED, _("the server has another key"));
    case ATH_CONTROL_REASON_KEY_WANTED:
        return ath_err_set(err, -EACCES, ATH_E_KEY_REFUSED,
                           _("the server wants a key, and this side has none"));
    case ATH_CONTROL_REASON_KEY_NOT_WANTED:
        ath_err_set(err, -ENOKEY, ATH_E_KEY_REFUSED,
                    _("the server has no key, so it cannot prove that it is the right server"));
        return ath_err_hint(err, -ENOKEY,
                            _("start the server with a key, or trust any server at this address: "
                              "an empty AITHERION_KEY_FILE= means no key"));
    case ATH_CONTROL_REASON_PROTOCOL:
        ath_err_set(err, -ENOTSUP, ATH_E_UNSUPPORTED, _("the server refused: %s"), text);
        return ath_err_hint(err, -ENOTSUP,
                            _("install the same version of aitherion on both machines"));
    case ATH_CONTROL_REASON_ENCRYPTION_WANTED:
        ath_err_set(err, -EPERM, ATH_E_NOT_ENCRYPTED,
                    _("the server wants this connection to be encrypted"));
        return ath_err_hint(err, -EPERM,
                            _("give this side the server's key, and no `--encrypt off` or "
                              "AITHERION_ENCRYPT=off"));
    case ATH_CONTROL_REASON_ENCRYPTION_NOT_SERVED:
        return report_no_encryption(err);
    case ATH_CONTROL_REASON_NOT_SERVED:
        return ath_err_set(err, -ENOTSUP, ATH_E_UNSUPPORTED, _("the server refused: %s"), text);
    default:
        return ath_err_set(err, -ECONNREFUSED, ATH_E_PEER_FAILED, _("the server refused: %s"),
                           text);
    }
}

static int report_failure(struct ath_common_failure failure, struct ath_err *err)
{
    ath_auto_free char *text = ath_clean(ath_common_failure_message(failure), true);
    switch (ath_common_failure_code(failure)) {
    case ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED:
        return ath_err_set(err, -ENOTSUP, ATH_E_UNSUPPORTED, _("the server could not do it: %s"),
                           text);
    case ATH_COMMON_FAILURE_CODE_NOT_FOUND:
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("the server could not do it: %s"),
                           text);
    default:
        return ath_err_set(err, -EREMOTEIO, ATH_E_PEER_FAILED, _("the server could not do it: %s"),
                           text);
    }
}

static int report_wrong_message(struct ath_err *err)
{
    return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                       _("the server sent a message that is not valid here"));
}

static struct ath_socket socket_of(const struct ath_session *session)
{
    return (struct ath_socket){ session->fd, session->tls };
}

static int read_wanted(struct ath_session *session, size_t max_bytes, uint64_t deadline_ms,
                       enum ath_control_message_which wanted, struct ath_control_message *out,
                       struct ath_err *err)
{
    int status =
        ath_frame_receive(socket_of(session), max_bytes, deadline_ms, &session->frame, err);
    if (status)
        return status;
    if (ath_control_message_open(ath_frame_message(&session->frame),
                                 ath_frame_message_length(&session->frame), out))
        return report_wrong_message(err);
    enum ath_control_message_which which = ath_control_message_which(*out);
    if (which == ATH_CONTROL_MESSAGE_REFUSAL) {
        struct ath_control_refusal refusal = ath_control_message_refusal(*out);
        session->is_tls_wanted =
            ath_control_refusal_reason(refusal) == ATH_CONTROL_REASON_ENCRYPTION_WANTED;
        return report_refusal(refusal, err);
    }
    if (which == ATH_CONTROL_MESSAGE_FAILURE)
        return report_failure(ath_control_message_failure(*out), err);
    return which == wanted ? 0 : report_wrong_message(err);
}

/* Sends the message in the builder, and copies it to *transcript unless that is NULL. */
static int send_message(struct ath_session *session, uint64_t deadline_ms,
                        struct ath_frame *transcript, struct ath_err *err)
{
    size_t length;
    int status;
    const uint8_t *bytes = ath_wire_finish(&session->builder, &length, &status);
    if (!status && transcript)
        status = ath_frame_copy(transcript, bytes, length);
    if (status)
        return ath_err_system(err, status, "%s", _("a message could not be made"));
    return ath_frame_send(socket_of(session), bytes, length, deadline_ms, err);
}

struct ath_stripes_owner ath_session_as_owner(const struct ath_session *session)
{
    return (struct ath_stripes_owner){ .fd = session->fd,
                                       .is_encrypted = session->tls != NULL,
                                       .must_not_leak = session->must_not_leak,
                                       .session = session->id,
                                       .ticket = &session->ticket };
}

struct ath_control_message_builder ath_session_begin(struct ath_session *session)
{
    return ath_control_message_start(&session->builder);
}

static int say_hello(struct handshake *handshake, enum ath_gpu_purpose purpose, struct ath_err *err)
{
    uint8_t nonce[ATH_NONCE_BYTES];
    int status = ath_nonce_make(nonce, err);
    if (status)
        return status;
    struct ath_control_hello_builder hello =
        ath_control_message_init_hello(ath_session_begin(handshake->session));
    ath_control_hello_set_protocol(hello, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_hello_set_protocol_min(hello, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_hello_set_software(hello, PACKAGE_STRING);
    ath_control_hello_set_purpose(hello, purpose);
    ath_control_hello_set_nonce(hello, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_hello_set_has_key(hello, handshake->secret != NULL);
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    ath_control_hello_set_host(hello, host);
    ath_control_hello_set_process(hello, (uint32_t)getpid());
    if (handshake->secret)
        ath_control_hello_set_key_name(hello, handshake->secret->name);
    return send_message(handshake->session, handshake->deadline_ms, &handshake->hello, err);
}

static bool wants_udp(const struct ath_session *session)
{
    return ath_path_is_wanted(ATH_CONTROL_TRANSPORT_UDP, &session->paths);
}

/* Most servers have no data addresses: their connections are made while the challenge comes. */
static void begin_own_stripes(const struct handshake *handshake)
{
    const struct ath_stripes_owner owner = ath_session_as_owner(handshake->session);
    if (handshake->is_program && !wants_udp(handshake->session))
        ath_stripes_begin(&owner, "", &handshake->session->stripes);
}

static void note_paths(struct ath_session *session, struct ath_control_challenge challenge)
{
    struct ath_path_facts *paths = &session->paths;
    paths->has_data_addresses = *ath_control_challenge_data_addresses(challenge);
    paths->udp_port = paths->has_data_addresses ? 0 : ath_control_challenge_udp_port(challenge);
    paths->serves_udp = paths->udp_port || (paths->has_data_addresses &&
                                            ath_control_challenge_has_data_udp(challenge));
    paths->would_leak = session->must_not_leak && !session->tls;
}

/* Begins further connections by UDP if the table of paths has it first. */
static bool begin_udp(struct ath_session *session, const struct ath_stripes_owner *owner,
                      const char *addresses)
{
    struct ath_path_facts *paths = &session->paths;
    char reason[ATH_PATH_REASON_BYTES];
    if (!ath_path_reason(ATH_CONTROL_TRANSPORT_UDP, paths, reason))
        paths->udp_status =
            ath_stripes_begin_udp(owner, addresses, paths->udp_port, &session->stripes);
    if (!ath_path_reason(ATH_CONTROL_TRANSPORT_UDP, paths, reason))
        return true;
    ath_log(ATH_LOG_NORMAL, _("large data goes by TCP: %s"), reason);
    return false;
}

/* Begins other connections if the challenge names other ways. */
static void begin_stripes(struct handshake *handshake, struct ath_control_challenge challenge)
{
    struct ath_session *session = handshake->session;
    const struct ath_stripes_owner owner = ath_session_as_owner(session);
    const char *addresses = ath_control_challenge_data_addresses(challenge);
    note_paths(session, challenge);
    if (wants_udp(session) && begin_udp(session, &owner, addresses))
        return;
    if (*addresses)
        ath_stripes_free(&session->stripes);
    if (!session->stripes.count)
        ath_stripes_begin(&owner, addresses, &session->stripes);
    session->stripes.may_change = ath_path_may_change(&session->paths);
}

static int read_challenge(struct handshake *handshake, struct ath_err *err)
{
    struct ath_session *session = handshake->session;
    struct ath_control_message message;
    int status = read_wanted(session, ATH_CONTROL_HELLO_FRAME_BYTES, handshake->deadline_ms,
                             ATH_CONTROL_MESSAGE_CHALLENGE, &message, err);
    if (status)
        return status;
    struct ath_control_challenge challenge = ath_control_message_challenge(message);
    if (ath_control_challenge_protocol(challenge) != ATH_CONTROL_PROTOCOL_VERSION ||
        ath_control_challenge_nonce(challenge).length != ATH_NONCE_BYTES ||
        ath_control_challenge_wants_key(challenge) != (handshake->secret != NULL))
        return report_wrong_message(err);
    status = ath_frame_copy(&handshake->challenge, session->frame.bytes, session->frame.length);
    if (status)
        return ath_err_system(err, status, "%s", _("a message could not be kept"));
    handshake->transcript =
        (struct ath_transcript){ .hello = &handshake->hello,
                                 .challenge = &handshake->challenge,
                                 .binding = session->tls ? &handshake->binding : NULL };
    session->id = ath_control_challenge_session(challenge);
    ath_ticket_make(handshake->secret ? handshake->secret : &(struct ath_secret){ 0 },
                    &handshake->hello, &handshake->challenge, handshake->transcript.binding,
                    &session->ticket);
    if (!session->id) /* joining needs the session's number */
        ath_stripes_free(&session->stripes);
    else if (handshake->is_program)
        begin_stripes(handshake, challenge);
    return 0;
}

static int send_proof(struct handshake *handshake, struct ath_err *err)
{
    struct ath_control_proof_builder proof =
        ath_control_message_init_proof(ath_session_begin(handshake->session));
    if (handshake->secret) {
        ath_secret_prove(handshake->secret, ATH_SIDE_CLIENT, &handshake->transcript,
                         handshake->proof);
        ath_control_proof_set_mac(
            proof, (struct ath_wire_bytes){ handshake->proof, sizeof handshake->proof });
    }
    return send_message(handshake->session, handshake->deadline_ms, NULL, err);
}

/* The server does not say which of the two it is, so that a client cannot try names. */
static int report_key(const struct ath_secret *secret, struct ath_err *err)
{
    if (!*secret->name)
        return -EACCES;
    return ath_err_set(err, -EACCES, ATH_E_KEY_REFUSED,
                       _("the server has another key, or none called '%s'"), secret->name);
}

static int read_welcome(struct handshake *handshake, struct ath_err *err)
{
    struct ath_control_message message;
    int status = read_wanted(handshake->session, ATH_CONTROL_HELLO_FRAME_BYTES,
                             handshake->deadline_ms, ATH_CONTROL_MESSAGE_WELCOME, &message, err);
    if (status)
        return status == -EACCES && handshake->secret ? report_key(handshake->secret, err) : status;
    struct ath_control_welcome welcome = ath_control_message_welcome(message);
    struct ath_wire_bytes mac = ath_control_welcome_mac(welcome);
    handshake->transcript.client_proof = handshake->proof;
    if (handshake->secret && !ath_secret_check(handshake->secret, ATH_SIDE_SERVER,
                                               &handshake->transcript, mac.data, mac.length))
        return ath_err_set(err, -EACCES, ATH_E_KEY_REFUSED,
                           _("the server cannot prove that it has the key"));
    handshake->session->id = ath_control_welcome_session(welcome);
    return 0;
}

/* ---- encryption ---- */

/* The server answered TLS with a frame, which can only be a refusal. The server has not proven its
 * key, so the refusal only explains why this connection ends. */
static int read_plain_refusal(struct ath_session *session, uint64_t deadline_ms,
                              struct ath_err *err)
{
    struct ath_control_message message;
    ath_tls_free(session->tls);
    session->tls = NULL;
    int status = read_wanted(session, ATH_CONTROL_HELLO_FRAME_BYTES, deadline_ms,
                             ATH_CONTROL_MESSAGE_REFUSAL, &message, err);
    return status ? status : report_wrong_message(err);
}

/* Servers of version 0.1.0 close the connection as soon as TLS begins. */
static int explain_closed(int status, struct ath_err *err)
{
    return status == -ENODATA || status == -ECONNRESET
               ? ath_err_hint(err, status,
                              _("a server of version 0.1.0 cannot encrypt: install the same "
                                "version of aitherion on both machines"))
               : status;
}

/* The server proves the key in the handshake, or before it by a certificate. */
static int make_tls(struct ath_session *session, const struct ath_endpoint *endpoint,
                    const struct ath_secret *secret, const char *authorities, struct ath_err *err)
{
    struct ath_tls_key key;
    if (authorities)
        return ath_tls_make_certified_client(session->fd,
                                             &(struct ath_tls_trust){ authorities, endpoint->host },
                                             &session->tls, err);
    ath_secret_tls_key(secret, &key);
    int status = ath_tls_make_client(session->fd, ATH_TLS_FORWARD, &key, &session->tls, err);
    explicit_bzero(&key, sizeof key);
    return status;
}

static int begin_tls(struct ath_session *session, const struct ath_endpoint *endpoint,
                     const struct ath_secret *secret, const char *authorities, uint64_t deadline_ms,
                     struct ath_err *err)
{
    if (!secret)
        return ath_err_set(err, -ENOKEY, ATH_E_KEY_REFUSED,
                           _("encryption needs the server's key, and this side has none"));
    int status = make_tls(session, endpoint, secret, authorities, err);
    if (status)
        return status;
    status = ath_tls_handshake(session->tls, deadline_ms, err);
    return status == -EPROTONOSUPPORT ? read_plain_refusal(session, deadline_ms, err)
                                      : explain_closed(status, err);
}

/* ---- opening ---- */

static int shake_hands(struct ath_session *session, const struct ath_secret *secret,
                       const struct ath_session_first *first, uint64_t deadline_ms,
                       struct ath_err *err)
{
    ATH_AUTO(handshake)
    handshake = {
        .session = session, .secret = secret, .is_program = first, .deadline_ms = deadline_ms
    };
    uint64_t begin_ns = ath_now_ns(), proof_ns;
    if (session->tls && ath_binding_find(session->tls, &handshake.binding))
        return report_wrong_message(err);
    int status = say_hello(&handshake, first ? ATH_GPU_PURPOSE_CUDA : ATH_GPU_PURPOSE_CONTROL, err);
    if (!status)
        begin_own_stripes(&handshake);
    if (!status)
        status = read_challenge(&handshake, err);
    proof_ns = ath_now_ns();
    session->round_trip_ns = proof_ns - begin_ns;
    if (!status)
        status = send_proof(&handshake, err);
    if (!status && first)
        status = first->send(session, first->context, err);
    if (!status)
        status = read_welcome(&handshake, err);
    uint64_t second_ns = ath_now_ns() - proof_ns;
    if (second_ns < session->round_trip_ns)
        session->round_trip_ns = second_ns;
    return status;
}

static void note_trace(struct ath_session *session, const struct ath_endpoint *endpoint,
                       const struct ath_secret *secret, const char *authorities)
{
    char address[ATH_ENDPOINT_TEXT];
    ath_secret_trace(secret, session->tls && authorities ? endpoint->host : NULL,
                     ath_endpoint_format(endpoint, address), &session->trace);
}

static int open_once(const struct ath_endpoint *endpoint, const struct ath_secret *secret,
                     struct ath_encryption encryption, const struct ath_session_first *first,
                     uint64_t deadline_ms, struct ath_session *session, struct ath_err *err)
{
    int status = ath_endpoint_connect(endpoint, deadline_ms, &session->fd, err);
    session->must_not_leak = secret && encryption.policy == ATH_ENCRYPT_AUTO;
    session->paths = (struct ath_path_facts){ .wanted = first ? first->transport : NULL,
                                              .is_unix = endpoint->is_unix };
    if (!status && ath_encrypt_wants(encryption.policy, session->fd, secret != NULL))
        status = begin_tls(session, endpoint, secret, encryption.authorities, deadline_ms, err);
    note_trace(session, endpoint, secret, encryption.authorities);
    return status ? status : shake_hands(session, secret, first, deadline_ms, err);
}

int ath_session_open(const struct ath_endpoint *endpoint, const struct ath_secret *secret,
                     struct ath_encryption encryption, const struct ath_session_first *first,
                     int timeout_ms, struct ath_session *out, struct ath_err *err)
{
    uint64_t deadline_ms = ath_now_ms() + (uint64_t)timeout_ms;
    const struct ath_session fresh = { .fd = -1,
                                       .timeout_ms = timeout_ms,
                                       .builder.max_bytes = ATH_CONTROL_ANSWER_FRAME_BYTES };
    ATH_AUTO(ath_session) session = fresh;
    int status = open_once(endpoint, secret, encryption, first, deadline_ms, &session, err);
    /* A forwarded port may look like this host here and like a network at the server. */
    if (status && session.is_tls_wanted && encryption.policy == ATH_ENCRYPT_AUTO && secret) {
        ath_session_free(&session);
        session = fresh;
        encryption.policy = ATH_ENCRYPT_ON;
        status = open_once(endpoint, secret, encryption, first, deadline_ms, &session, err);
    }
    if (status)
        return status;
    *out = session;
    session = (struct ath_session){ .fd = -1 };
    return 0;
}

void ath_session_free(struct ath_session *session)
{
    if (!session)
        return;
    ath_tls_free(session->tls);
    if (session->fd >= 0)
        close(session->fd);
    ath_stripes_free(&session->stripes);
    ath_wire_builder_free(&session->builder);
    ath_frame_free(&session->frame);
    *session = (struct ath_session){ .fd = -1 };
}

int ath_session_ask(struct ath_session *session, enum ath_control_message_which wanted,
                    struct ath_control_message *out, struct ath_err *err)
{
    int status = ath_session_send(session, err);
    return status ? status : ath_session_await(session, wanted, out, err);
}

int ath_session_send(struct ath_session *session, struct ath_err *err)
{
    return send_message(session, ath_now_ms() + (uint64_t)session->timeout_ms, NULL, err);
}

int ath_session_await(struct ath_session *session, enum ath_control_message_which wanted,
                      struct ath_control_message *out, struct ath_err *err)
{
    return read_wanted(session, ATH_CONTROL_ANSWER_FRAME_BYTES,
                       ath_now_ms() + (uint64_t)session->timeout_ms, wanted, out, err);
}
