/*
 * The handshake of a session, from the client's hello to the server's welcome.
 *
 * Until the client is proven, frames are small and one deadline holds for the whole handshake, so
 * an unproven client costs little for a short time. No part of a message is used before the whole
 * message has been checked.
 */
#include "config.h"

#include "runtime/session_state.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/lock_in.h"
#include "runtime/process_table.h"
#include "runtime/session_report.h"

/* The client prints the text, also a client of another version. */
static int refuse_protocol(struct ath_server_session *session, uint32_t spoken)
{
    char text[96];
    snprintf(text, sizeof text, "this server speaks protocol %d, and the client %u",
             ATH_CONTROL_PROTOCOL_VERSION, (unsigned int)spoken);
    return ath_server_session_refuse(session, ATH_CONTROL_REASON_PROTOCOL, text);
}

static int find_key(struct ath_server_session *session, const char *name)
{
    struct ath_err err;
    if (ath_server_wants_key(session->server) &&
        ath_server_keys_find(session->server, name, &session->secret, session->identity,
                             &session->version, &err))
        return ath_server_session_give_up(session, "handshake", err.message);
    if (*session->tls_identity && strcmp(session->identity, session->tls_identity) != 0)
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_KEY_WRONG,
                                         "the client names another key than to TLS");
    return 0;
}

static int read_hello(struct ath_server_session *session)
{
    struct ath_control_message message;
    bool wants_key = ath_server_wants_key(session->server);
    int status = ath_server_session_read(session, ATH_CONTROL_MESSAGE_HELLO, &message);
    if (status)
        return status;
    struct ath_control_hello hello = ath_control_message_hello(message);
    if (ath_control_hello_protocol_min(hello) > ATH_CONTROL_PROTOCOL_VERSION ||
        ath_control_hello_protocol(hello) < ATH_CONTROL_PROTOCOL_VERSION)
        return refuse_protocol(session, ath_control_hello_protocol(hello));
    if (ath_control_hello_nonce(hello).length != ATH_NONCE_BYTES)
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE,
                                         "the nonce does not have 32 bytes");
    if (!session->tls && ath_encrypt_wants(session->server->encrypt, session->fd, wants_key))
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_ENCRYPTION_WANTED,
                                         "this connection must be encrypted");
    if (wants_key && !ath_control_hello_has_key(hello))
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_KEY_WANTED, "a key is wanted");
    if (!wants_key && ath_control_hello_has_key(hello))
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_KEY_NOT_WANTED,
                                         "this server has no key to prove");
    session->purpose = ath_control_hello_purpose(hello);
    if (ath_frame_copy(&session->hello, session->frame.bytes, session->frame.length))
        return ath_server_session_give_up(session, "handshake", "out of memory");
    snprintf(session->entry->host, sizeof session->entry->host, "%s",
             ath_control_hello_host(hello));
    session->entry->process = ath_control_hello_process(hello);
    return find_key(session, ath_control_hello_key_name(hello));
}

static int send_challenge(struct ath_server_session *session)
{
    uint8_t nonce[ATH_NONCE_BYTES];
    struct ath_err err;
    if (ath_nonce_make(nonce, &err))
        return ath_server_session_give_up(session, "handshake", err.message);
    struct ath_control_challenge_builder challenge =
        ath_control_message_init_challenge(ath_control_message_start(&session->builder));
    ath_control_challenge_set_protocol(challenge, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_challenge_set_software(challenge, PACKAGE_STRING);
    ath_control_challenge_set_nonce(challenge, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_challenge_set_wants_key(challenge, session->secret.length > 0);
    ath_control_challenge_set_session(challenge, atomic_load(&session->entry->id));
    if (session->purpose == ATH_GPU_PURPOSE_CUDA)
        ath_control_challenge_set_udp_port(challenge, session->server->udp_port);
    if (session->purpose == ATH_GPU_PURPOSE_CUDA)
        ath_control_challenge_set_has_data_udp(challenge, session->server->has_data_udp);
    if (session->purpose == ATH_GPU_PURPOSE_CUDA && *session->server->data_addresses)
        ath_control_challenge_set_data_addresses(challenge, session->server->data_addresses);
    return ath_server_session_send(session, "handshake", &session->challenge);
}

static int read_proof(struct ath_server_session *session, uint8_t own_proof[ATH_PROOF_BYTES])
{
    const struct ath_secret *secret = &session->secret;
    struct ath_transcript transcript = { .hello = &session->hello,
                                         .challenge = &session->challenge,
                                         .binding = ath_server_session_binding(session) };
    struct ath_control_message message;
    int status = ath_server_session_read(session, ATH_CONTROL_MESSAGE_PROOF, &message);
    if (status || !secret->length)
        return status;
    struct ath_wire_bytes mac = ath_control_proof_mac(ath_control_message_proof(message));
    if (!ath_secret_check(secret, ATH_SIDE_CLIENT, &transcript, mac.data, mac.length))
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_KEY_WRONG,
                                         "the client has another key");
    transcript.client_proof = mac.data;
    ath_secret_prove(secret, ATH_SIDE_SERVER, &transcript, own_proof);
    return 0;
}

static int send_welcome(struct ath_server_session *session, const uint8_t proof[ATH_PROOF_BYTES])
{
    struct ath_control_welcome_builder welcome =
        ath_control_message_init_welcome(ath_control_message_start(&session->builder));
    ath_control_welcome_set_session(welcome, atomic_load(&session->entry->id));
    if (session->secret.length)
        ath_control_welcome_set_mac(welcome, (struct ath_wire_bytes){ proof, ATH_PROOF_BYTES });
    return ath_server_session_send(session, "handshake", NULL);
}

/* The listening process counts as well, and ends a session that came at the same time as another.
 * Its client connects again and gets this reason. */
static int check_count(struct ath_server_session *session)
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
    return ath_server_session_refuse(session, ATH_CONTROL_REASON_BUSY, text);
}

/* Tells a proven client that it gets no session. */
static int refuse_place(struct ath_server_session *session, uint64_t verdict)
{
    char text[32 + ATH_KEY_NAME_BYTES];
    bool is_identity = verdict == ATH_VERDICT_IDENTITY_FULL;
    snprintf(text, sizeof text, "too many sessions%s%s", is_identity ? " of " : "",
             is_identity ? session->identity : "");
    return ath_server_session_refuse(session, ATH_CONTROL_REASON_BUSY, text);
}

/* Tells the listening process who has proven a key, and asks whether the session may go on. From
 * here on this process needs no key. */
static int report(struct ath_server_session *session)
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
    ath_ticket_make(&session->secret, &session->hello, &session->challenge,
                    ath_server_session_binding(session), &report.ticket);
    int status = ath_session_report_send(session->server->report_fd, &report);
    explicit_bzero(&report.ticket, sizeof report.ticket);
    if (!status)
        status = ath_lock_in_find_user(session->server); /* answered after the report is noted */
    if (!status)
        status = ath_session_report_ask(session->server->report_fd, &question, &verdict);
    if (status)
        return ath_server_session_give_up(session, "handshake", strerror(-status));
    ath_server_keys_forget(session->server);
    return verdict == ATH_VERDICT_GO_ON ? 0 : refuse_place(session, verdict);
}

int ath_server_session_shake_hands(struct ath_server_session *session)
{
    uint8_t proof[ATH_PROOF_BYTES];
    session->deadline_ms = ath_now_ms() + (uint64_t)session->server->handshake_ms;
    int status = ath_server_session_begins_tls(session) ? ath_server_session_begin_tls(session) : 0;
    if (!status && session->tls)
        ath_server_session_log_step(session, "encryption");
    if (!status)
        status = read_hello(session);
    if (!status)
        ath_server_session_log_step(session, "hello");
    if (!status)
        status = send_challenge(session);
    if (!status)
        status = read_proof(session, proof);
    if (!status)
        ath_server_session_log_step(session, "proof");
    /* An unproven client must not learn which purposes the server has. */
    if (!status && session->purpose != ATH_GPU_PURPOSE_CONTROL &&
        session->purpose != ATH_GPU_PURPOSE_CUDA)
        status = ath_server_session_refuse(session, ATH_CONTROL_REASON_NOT_SERVED,
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
    ath_server_session_log_step(session, "welcome");
    return send_welcome(session, proof);
}
