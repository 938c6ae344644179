/*
 * The server's side of proto/control.capnp.
 *
 * Until the client is proven, frames are small and one deadline holds for the whole handshake, so
 * an unproven client costs little for a short time. No part of a message is used before the whole
 * message has been checked.
 */
#include "config.h"

#include "runtime/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "remote/transport/stream.h"
#include "runtime/control_answer.h"
#include "runtime/event_log.h"
#include "runtime/lock_in.h"
#include "runtime/process_table.h"
#include "runtime/program_session.h"
#include "runtime/server_keys.h"
#include "runtime/session_report.h"

struct session {
    int fd;
    struct ath_tls *tls;        /* NULL: the connection is plain */
    struct ath_binding binding; /* with TLS */
    struct ath_server *server;
    struct ath_session_board_entry *entry;
    uint64_t deadline_ms;   /* of the current step */
    struct ath_frame hello; /* kept for the transcript, as challenge is */
    struct ath_frame challenge;
    struct ath_frame frame;          /* the last frame that was read */
    struct ath_wire_builder builder; /* the next message to write */
    enum ath_gpu_purpose purpose;
    struct ath_secret secret;          /* that the client must prove; no bytes: none is needed */
    char identity[ATH_KEY_NAME_BYTES]; /* the secret's name; empty without one */
    struct ath_key_version version;
    char tls_identity[ATH_KEY_NAME_BYTES]; /* of the key that TLS has proven; empty if none */
};

static void session_free(struct session *session)
{
    ath_tls_free(session->tls);
    explicit_bzero(&session->binding, sizeof session->binding);
    ath_frame_free(&session->hello);
    ath_frame_free(&session->challenge);
    ath_frame_free(&session->frame);
    ath_wire_builder_free(&session->builder);
    ath_secret_free(&session->secret);
}

static struct ath_socket socket_of(const struct session *session)
{
    return (struct ath_socket){ session->fd, session->tls };
}

static const struct ath_binding *binding_of(const struct session *session)
{
    return session->tls ? &session->binding : NULL;
}

/* Logs why the connection is of no more use. Returns -EPROTO. */
static int give_up(struct session *session, const char *what, const char *reason)
{
    atomic_fetch_add(&session->entry->broken, 1);
    ath_event_log(ATH_EVENT_WARNING, "session-broken", "peer", session->entry->peer, "during", what,
                  "reason", reason, NULL);
    return -EPROTO;
}

/* Logs a step of the handshake that is done. */
static void log_step(const struct session *session, const char *step)
{
    char process[16];
    bool is_hello = session->hello.length > 0;
    if (!ath_event_log_has(ATH_EVENT_DEBUG))
        return;
    snprintf(process, sizeof process, "%u", session->entry->process);
    ath_event_log(ATH_EVENT_DEBUG, "handshake", "peer", session->entry->peer, "step", step,
                  "identity", *session->identity ? session->identity : NULL, "purpose",
                  is_hello ? ath_gpu_purpose_word(session->purpose) : NULL, "host",
                  is_hello && *session->entry->host ? session->entry->host : NULL, "process",
                  is_hello ? process : NULL, NULL);
}

static int send_built(struct session *session, const char *what, struct ath_frame *transcript)
{
    size_t length;
    int status;
    struct ath_err err;
    const uint8_t *bytes = ath_wire_finish(&session->builder, &length, &status);

    if (!status && transcript)
        status = ath_frame_copy(transcript, bytes, length);
    if (status)
        return give_up(session, what, strerror(-status));
    if (ath_frame_send(socket_of(session), bytes, length, session->deadline_ms, &err))
        return give_up(session, what, err.message);
    return 0;
}

/* Waits until the client closes the connection. Closing a connection with unread bytes resets it
 * (RFC 2525, 2.17), and the client might miss the last message. Bytes that come meanwhile are
 * ignored. */
static void await_end(const struct session *session)
{
    enum { MOST = 16 };
    char nothing[ATH_CONTROL_HELLO_FRAME_BYTES];
    uint64_t now_ms;
    shutdown(session->fd, SHUT_WR);
    for (int i = 0; i < MOST && (now_ms = ath_now_ms()) < session->deadline_ms; i++) {
        struct pollfd one = { .fd = session->fd, .events = POLLIN };
        if (poll(&one, 1, (int)(session->deadline_ms - now_ms)) > 0 &&
            recv(session->fd, nothing, sizeof nothing, MSG_DONTWAIT) <= 0)
            return;
    }
}

/* Sends a refusal if the client takes it. Returns -EACCES. */
static int refuse(struct session *session, enum ath_control_reason reason, const char *message)
{
    struct ath_control_refusal_builder refusal =
        ath_control_message_init_refusal(ath_control_message_start(&session->builder));
    size_t length;
    int status;
    struct ath_err err;

    ath_control_refusal_set_reason(refusal, reason);
    ath_control_refusal_set_message(refusal, message);
    atomic_store(&session->entry->refused, 1 + (uint64_t)reason);
    ath_event_log(ATH_EVENT_WARNING, "session-refused", "peer", session->entry->peer, "reason",
                  ath_control_reason_word(reason), "detail", message, NULL);
    const uint8_t *bytes = ath_wire_finish(&session->builder, &length, &status);
    if (bytes && !ath_frame_send(socket_of(session), bytes, length, session->deadline_ms, &err))
        await_end(session);
    return -EACCES;
}

/* Reads any message of the handshake. */
static int read_frame(struct session *session, struct ath_control_message *out)
{
    struct ath_err err;
    if (ath_frame_receive(socket_of(session), ATH_CONTROL_HELLO_FRAME_BYTES, session->deadline_ms,
                          &session->frame, &err))
        return give_up(session, "handshake", err.message);
    if (ath_control_message_open(ath_frame_message(&session->frame),
                                 ath_frame_message_length(&session->frame), out))
        return refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE, "the message is not valid here");
    return 0;
}

/* Reads a message that must be the wanted one. */
static int read_message(struct session *session, enum ath_control_message_which wanted,
                        struct ath_control_message *out)
{
    int status = read_frame(session, out);
    if (!status && ath_control_message_which(*out) != wanted)
        return refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE, "the message is not valid here");
    return status;
}

/* The client prints the text, also a client of another version. */
static int refuse_protocol(struct session *session, uint32_t spoken)
{
    char text[96];
    snprintf(text, sizeof text, "this server speaks protocol %d, and the client %u",
             ATH_CONTROL_PROTOCOL_VERSION, (unsigned int)spoken);
    return refuse(session, ATH_CONTROL_REASON_PROTOCOL, text);
}

static int find_key(struct session *session, const char *name)
{
    struct ath_err err;
    if (ath_server_wants_key(session->server) &&
        ath_server_keys_find(session->server, name, &session->secret, session->identity,
                             &session->version, &err))
        return give_up(session, "handshake", err.message);
    if (*session->tls_identity && strcmp(session->identity, session->tls_identity) != 0)
        return refuse(session, ATH_CONTROL_REASON_KEY_WRONG,
                      "the client names another key than to TLS");
    return 0;
}

static int read_hello(struct session *session)
{
    struct ath_control_message message;
    bool wants_key = ath_server_wants_key(session->server);
    int status = read_message(session, ATH_CONTROL_MESSAGE_HELLO, &message);
    if (status)
        return status;
    struct ath_control_hello hello = ath_control_message_hello(message);
    if (ath_control_hello_protocol_min(hello) > ATH_CONTROL_PROTOCOL_VERSION ||
        ath_control_hello_protocol(hello) < ATH_CONTROL_PROTOCOL_VERSION)
        return refuse_protocol(session, ath_control_hello_protocol(hello));
    if (ath_control_hello_nonce(hello).length != ATH_NONCE_BYTES)
        return refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE, "the nonce does not have 32 bytes");
    if (!session->tls && ath_encrypt_wants(session->server->encrypt, session->fd, wants_key))
        return refuse(session, ATH_CONTROL_REASON_ENCRYPTION_WANTED,
                      "this connection must be encrypted");
    if (wants_key && !ath_control_hello_has_key(hello))
        return refuse(session, ATH_CONTROL_REASON_KEY_WANTED, "a key is wanted");
    if (!wants_key && ath_control_hello_has_key(hello))
        return refuse(session, ATH_CONTROL_REASON_KEY_NOT_WANTED,
                      "this server has no key to prove");
    session->purpose = ath_control_hello_purpose(hello);
    if (ath_frame_copy(&session->hello, session->frame.bytes, session->frame.length))
        return give_up(session, "handshake", "out of memory");
    snprintf(session->entry->host, sizeof session->entry->host, "%s",
             ath_control_hello_host(hello));
    session->entry->process = ath_control_hello_process(hello);
    return find_key(session, ath_control_hello_key_name(hello));
}

static int send_challenge(struct session *session)
{
    uint8_t nonce[ATH_NONCE_BYTES];
    struct ath_err err;
    if (ath_nonce_make(nonce, &err))
        return give_up(session, "handshake", err.message);
    struct ath_control_challenge_builder challenge =
        ath_control_message_init_challenge(ath_control_message_start(&session->builder));
    ath_control_challenge_set_protocol(challenge, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_challenge_set_software(challenge, PACKAGE_STRING);
    ath_control_challenge_set_nonce(challenge, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_challenge_set_wants_key(challenge, session->secret.length > 0);
    ath_control_challenge_set_session(challenge, atomic_load(&session->entry->id));
    if (session->purpose == ATH_GPU_PURPOSE_CUDA)
        ath_control_challenge_set_udp_port(challenge, session->server->udp_port);
    if (session->purpose == ATH_GPU_PURPOSE_CUDA && *session->server->data_addresses)
        ath_control_challenge_set_data_addresses(challenge, session->server->data_addresses);
    return send_built(session, "handshake", &session->challenge);
}

static int read_proof(struct session *session, uint8_t own_proof[ATH_PROOF_BYTES])
{
    const struct ath_secret *secret = &session->secret;
    struct ath_transcript transcript = { .hello = &session->hello,
                                         .challenge = &session->challenge,
                                         .binding = binding_of(session) };
    struct ath_control_message message;
    int status = read_message(session, ATH_CONTROL_MESSAGE_PROOF, &message);
    if (status || !secret->length)
        return status;
    struct ath_wire_bytes mac = ath_control_proof_mac(ath_control_message_proof(message));
    if (!ath_secret_check(secret, ATH_SIDE_CLIENT, &transcript, mac.data, mac.length))
        return refuse(session, ATH_CONTROL_REASON_KEY_WRONG, "the client has another key");
    transcript.client_proof = mac.data;
    ath_secret_prove(secret, ATH_SIDE_SERVER, &transcript, own_proof);
    return 0;
}

static int send_welcome(struct session *session, const uint8_t proof[ATH_PROOF_BYTES])
{
    struct ath_control_welcome_builder welcome =
        ath_control_message_init_welcome(ath_control_message_start(&session->builder));
    ath_control_welcome_set_session(welcome, atomic_load(&session->entry->id));
    if (session->secret.length)
        ath_control_welcome_set_mac(welcome, (struct ath_wire_bytes){ proof, ATH_PROOF_BYTES });
    return send_built(session, "handshake", NULL);
}

/* The listening process counts as well, and ends a session that came at the same time as another.
 * Its client connects again and gets this reason. */
static int check_count(struct session *session)
{
    const struct ath_identity *row =
        ath_identities_find(session->server->identities, session->identity);
    char text[160];
    int count = 0;
    if (!row || row->sessions == ATH_UNKNOWN || session->purpose != ATH_GPU_PURPOSE_CUDA)
        return 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_session_board_entry entry;
        count += ath_session_board_read(session->server->board, i, &entry) && entry.is_proven &&
                 entry.purpose == ATH_GPU_PURPOSE_CUDA && !strcmp(entry.identity, row->name);
    }
    if (count < row->sessions)
        return 0;
    snprintf(text, sizeof text, "'%s' may have %d sessions at a time", row->name, row->sessions);
    return refuse(session, ATH_CONTROL_REASON_BUSY, text);
}

/* Tells a proven client that it gets no session. */
static int refuse_place(struct session *session, uint64_t verdict)
{
    char text[32 + ATH_KEY_NAME_BYTES];
    bool is_identity = verdict == ATH_VERDICT_IDENTITY_FULL;
    snprintf(text, sizeof text, "too many sessions%s%s", is_identity ? " of " : "",
             is_identity ? session->identity : "");
    return refuse(session, ATH_CONTROL_REASON_BUSY, text);
}

/* Tells the listening process who has proven a key, and asks whether the session may go on. From
 * here on this process needs no key. */
static int report(struct session *session)
{
    static const struct ath_session_report question = { .asks = ATH_ASK_PLACE };
    struct ath_session_report report = { .purpose = (int32_t)session->purpose,
                                         .version = session->version };
    uint64_t verdict = ATH_VERDICT_NONE;
    if (session->server->report_fd < 0) {
        ath_session_board_note(session->server->board,
                               ath_session_board_slot_of(session->server->board, session->entry),
                               report.purpose, session->identity);
        return 0;
    }
    snprintf(report.identity, sizeof report.identity, "%s", session->identity);
    ath_ticket_make(&session->secret, &session->hello, &session->challenge, binding_of(session),
                    &report.ticket);
    int status = ath_session_report_send(session->server->report_fd, &report);
    explicit_bzero(&report.ticket, sizeof report.ticket);
    if (!status)
        status = ath_lock_in_find_user(session->server); /* answered after the report is noted */
    if (!status)
        status = ath_session_report_ask(session->server->report_fd, &question, &verdict);
    if (status)
        return give_up(session, "handshake", strerror(-status));
    ath_server_keys_forget(session->server);
    return verdict == ATH_VERDICT_GO_ON ? 0 : refuse_place(session, verdict);
}

/* ---- encryption ---- */

/* Whether the client begins with TLS. A plain client's first byte is 0. */
static bool begins_tls(const struct session *session)
{
    uint8_t first = 0;
    return ath_encrypt_can(session->fd) &&
           !ath_socket_wait(session->fd, POLLIN, session->deadline_ms) &&
           recv(session->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
           first == ATH_TLS_FIRST_BYTE;
}

static bool find_tls_key(void *context, const char *identity, uint8_t out[ATH_TLS_KEY_BYTES])
{
    struct session *session = context;
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
static int refuse_key(const struct session *session, const char *detail)
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
static int make_tls(struct session *session, struct ath_err *err)
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

static int begin_tls(struct session *session)
{
    struct ath_err err;
    /* The client reads a refusal in place of TLS's answer. */
    if (!ath_server_wants_key(session->server))
        return refuse(session, ATH_CONTROL_REASON_KEY_NOT_WANTED,
                      "this server has no key to prove");
    if (session->server->encrypt == ATH_ENCRYPT_OFF)
        return refuse(session, ATH_CONTROL_REASON_ENCRYPTION_NOT_SERVED,
                      "this server encrypts no connection");
    int status = make_tls(session, &err);
    if (!status)
        status = ath_tls_handshake(session->tls, session->deadline_ms, &err);
    if (status == -EACCES)
        return refuse_key(session, err.message);
    if (status)
        return give_up(session, "encryption", err.message);
    if (ath_binding_find(session->tls, &session->binding))
        return give_up(session, "encryption", "TLS exports nothing");
    atomic_store(&session->entry->is_encrypted, true);
    return 0;
}

/* ---- the whole handshake ---- */

static int shake_hands(struct session *session)
{
    uint8_t proof[ATH_PROOF_BYTES];
    session->deadline_ms = ath_now_ms() + (uint64_t)session->server->handshake_ms;
    int status = begins_tls(session) ? begin_tls(session) : 0;
    if (!status && session->tls)
        log_step(session, "encryption");
    if (!status)
        status = read_hello(session);
    if (!status)
        log_step(session, "hello");
    if (!status)
        status = send_challenge(session);
    if (!status)
        status = read_proof(session, proof);
    if (!status)
        log_step(session, "proof");
    /* An unproven client must not learn which purposes the server has. */
    if (!status && session->purpose != ATH_GPU_PURPOSE_CONTROL &&
        session->purpose != ATH_GPU_PURPOSE_CUDA)
        status = refuse(session, ATH_CONTROL_REASON_NOT_SERVED,
                        "this purpose is not served by this version");
    if (!status)
        status = check_count(session);
    if (status)
        return status;
    snprintf(session->server->identity, sizeof session->server->identity, "%s", session->identity);
    session->server->entry = session->entry;
    status = report(session);
    if (status)
        return status;
    snprintf(session->entry->identity, sizeof session->entry->identity, "%s", session->identity);
    atomic_store(&session->entry->purpose, (int)session->purpose);
    atomic_store(&session->entry->is_proven, true);
    if (session->server->fd_passing && session->purpose != ATH_GPU_PURPOSE_CUDA)
        ath_fd_passing_close(session->server->fd_passing);
    log_step(session, "welcome");
    return send_welcome(session, proof);
}

/*
 * Waits for a question. A client that has been silent for long loses its slot, which is no fault:
 * it connects again for its next question. A client that waits for events stays, because it would
 * miss them.
 */
static bool is_silent(const struct session *session)
{
    struct pollfd one = { .fd = session->fd, .events = POLLIN };
    int ready, patience_ms = ath_control_answer_awaits_events() ? -1 : session->server->idle_ms;
    if (session->tls && ath_tls_has_bytes(session->tls))
        return false;
    do
        ready = poll(&one, 1, patience_ms);
    while (ready < 0 && errno == EINTR);
    return !ready;
}

/* Answers one question. Returns 0, or a negative errno if the session ends (-ENODATA: the client
 * is done). */
static int converse(struct session *session)
{
    struct ath_control_message question;
    struct ath_err err;

    if (is_silent(session))
        return -ENODATA;
    session->deadline_ms = ath_now_ms() + (uint64_t)session->server->idle_ms;
    int status = ath_frame_receive(socket_of(session), ATH_CONTROL_ANSWER_FRAME_BYTES,
                                   session->deadline_ms, &session->frame, &err);
    if (status == -ENODATA)
        return status;
    if (status)
        return give_up(session, "session", err.message);
    session->deadline_ms = ath_now_ms() + (uint64_t)session->server->answer_ms;
    if (ath_control_message_open(ath_frame_message(&session->frame),
                                 ath_frame_message_length(&session->frame), &question) ||
        !ath_control_answer(session->server, session->fd, question,
                            ath_control_message_start(&session->builder)))
        return refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE, "the message is not valid here");
    return send_built(session, "session", NULL);
}

/* A control session loads the driver's NVML library. */
static int lock_in(struct session *session)
{
    struct ath_err err;
    int status =
        ath_lock_in(session->server, session->entry, session->fd, "libnvidia-ml.so.1", &err);
    return status ? give_up(session, "session", err.message) : 0;
}

void ath_session_serve(int fd, struct ath_server *server, struct ath_session_board_entry *entry)
{
    __attribute__((cleanup(session_free))) struct session session = {
        .fd = fd,
        .server = server,
        .entry = entry,
        .builder.max_bytes = ATH_CONTROL_ANSWER_FRAME_BYTES,
    };
    ath_tcp_tune(fd);
    int status = shake_hands(&session);
    if (!status && session.purpose == ATH_GPU_PURPOSE_CUDA) {
        struct ath_ticket ticket;
        ath_ticket_make(&session.secret, &session.hello, &session.challenge, binding_of(&session),
                        &ticket);
        ath_secret_free(&session.secret);
        ath_program_session_serve(socket_of(&session), server, entry, &ticket);
    }
    if (!status)
        status = lock_in(&session);
    while (!status)
        status = converse(&session);
}

void ath_session_turn_away(int fd, enum ath_control_reason reason, const char *message)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES };
    struct ath_control_refusal_builder refusal =
        ath_control_message_init_refusal(ath_control_message_start(&builder));
    uint8_t hello[ATH_CONTROL_HELLO_FRAME_BYTES];
    size_t length;
    int status;

    ath_control_refusal_set_reason(refusal, reason);
    ath_control_refusal_set_message(refusal, message);
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    (void)!recv(fd, hello, sizeof hello,
                MSG_DONTWAIT); /* unread bytes would reset the connection */
    if (bytes)
        (void)!send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}
