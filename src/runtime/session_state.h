/*
 * One client's session at the server: its state, and what session.c, session_handshake.c,
 * session_messages.c and session_tls.c share. Private to them.
 *
 * A function that returns an int returns 0, or a negative errno if the session ends; the function
 * has logged the reason then, and has told the client if the client can hear.
 */
#pragma once
#include "remote/transport/stream.h"
#include "runtime/server_keys.h"
#include "runtime/session.h"

struct ath_server_session {
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

static inline struct ath_socket ath_server_session_socket(const struct ath_server_session *session)
{
    return (struct ath_socket){ session->fd, session->tls };
}

static inline const struct ath_binding *ath_server_session_binding(
    const struct ath_server_session *session)
{
    return session->tls ? &session->binding : NULL;
}

/* ---- session_messages.c ---- */

/* Logs why the connection is of no more use. Returns -EPROTO. */
int ath_server_session_give_up(struct ath_server_session *session, const char *what,
                               const char *reason);

/* Logs a step of the handshake that is done. */
void ath_server_session_log_step(const struct ath_server_session *session, const char *step);

/* Sends the message in the builder. `what`: the part of the session, for the log. transcript: gets
 * a copy of the message, if it is not NULL. */
int ath_server_session_send(struct ath_server_session *session, const char *what,
                            struct ath_frame *transcript);

/* Sends a refusal if the client takes it. Returns -EACCES. */
int ath_server_session_refuse(struct ath_server_session *session, enum ath_control_reason reason,
                              const char *message);

/* Reads a message of the handshake, which must be the wanted one. */
int ath_server_session_read(struct ath_server_session *session,
                            enum ath_control_message_which wanted, struct ath_control_message *out);

/* ---- session_tls.c ---- */

/* Returns whether the client begins with TLS. A plain client's first byte is 0. */
bool ath_server_session_begins_tls(const struct ath_server_session *session);

/* Encrypts the connection. */
int ath_server_session_begin_tls(struct ath_server_session *session);

/* ---- session_handshake.c ---- */

/* Proves the client and the server to each other, and has the session admitted. */
int ath_server_session_shake_hands(struct ath_server_session *session);
