/* The messages of a session: sent, read, refused, and logged. */
#include "config.h"

#include "runtime/session_state.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "runtime/event_log.h"

int ath_server_session_give_up(struct ath_server_session *session, const char *what,
                               const char *reason)
{
    atomic_fetch_add(&session->entry->broken, 1);
    ath_event_log(ATH_EVENT_WARNING, "session-broken", "peer", session->entry->peer, "during", what,
                  "reason", reason, NULL);
    return -EPROTO;
}

void ath_server_session_log_step(const struct ath_server_session *session, const char *step)
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

int ath_server_session_send(struct ath_server_session *session, const char *what,
                            struct ath_frame *transcript)
{
    size_t length;
    int status;
    struct ath_err err;
    const uint8_t *bytes = ath_wire_finish(&session->builder, &length, &status);

    if (!status && transcript)
        status = ath_frame_copy(transcript, bytes, length);
    if (status)
        return ath_server_session_give_up(session, what, strerror(-status));
    if (ath_frame_send(ath_server_session_socket(session), bytes, length, session->deadline_ms,
                       &err))
        return ath_server_session_give_up(session, what, err.message);
    return 0;
}

/* Waits until the client closes the connection. Closing a connection with unread bytes resets it
 * (RFC 2525, 2.17), and the client might miss the last message. Bytes that come meanwhile are
 * ignored. */
static void await_end(const struct ath_server_session *session)
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

int ath_server_session_refuse(struct ath_server_session *session, enum ath_control_reason reason,
                              const char *message)
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
    if (bytes && !ath_frame_send(ath_server_session_socket(session), bytes, length,
                                 session->deadline_ms, &err))
        await_end(session);
    return -EACCES;
}

/* Reads any message of the handshake. */
static int read_frame(struct ath_server_session *session, struct ath_control_message *out)
{
    struct ath_err err;
    if (ath_frame_receive(ath_server_session_socket(session), ATH_CONTROL_HELLO_FRAME_BYTES,
                          session->deadline_ms, &session->frame, &err))
        return ath_server_session_give_up(session, "handshake", err.message);
    if (ath_control_message_open(ath_frame_message(&session->frame),
                                 ath_frame_message_length(&session->frame), out))
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE,
                                         "the message is not valid here");
    return 0;
}

int ath_server_session_read(struct ath_server_session *session,
                            enum ath_control_message_which wanted, struct ath_control_message *out)
{
    int status = read_frame(session, out);
    if (!status && ath_control_message_which(*out) != wanted)
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE,
                                         "the message is not valid here");
    return status;
}
