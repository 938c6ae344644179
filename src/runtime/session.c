/* One client's session: the handshake, then a program or the questions of a control session. */
#include "config.h"

#include "runtime/session_state.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "runtime/control_answer.h"
#include "runtime/lock_in.h"
#include "runtime/program_session.h"

static void session_free(struct ath_server_session *session)
{
    ath_tls_free(session->tls);
    explicit_bzero(&session->binding, sizeof session->binding);
    ath_frame_free(&session->hello);
    ath_frame_free(&session->challenge);
    ath_frame_free(&session->frame);
    ath_wire_builder_free(&session->builder);
    ath_secret_free(&session->secret);
}

/*
 * Waits for a question. A client that has been silent for long loses its slot, which is no fault:
 * it connects again for its next question. A client that waits for events stays, because it would
 * miss them.
 */
static bool is_silent(const struct ath_server_session *session)
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
static int converse(struct ath_server_session *session)
{
    struct ath_control_message question;
    struct ath_err err;

    if (is_silent(session))
        return -ENODATA;
    session->deadline_ms = ath_now_ms() + (uint64_t)session->server->idle_ms;
    int status =
        ath_frame_receive(ath_server_session_socket(session), ATH_CONTROL_ANSWER_FRAME_BYTES,
                          session->deadline_ms, &session->frame, &err);
    if (status == -ENODATA)
        return status;
    if (status)
        return ath_server_session_give_up(session, "session", err.message);
    session->deadline_ms = ath_now_ms() + (uint64_t)session->server->answer_ms;
    if (ath_control_message_open(ath_frame_message(&session->frame),
                                 ath_frame_message_length(&session->frame), &question) ||
        !ath_control_answer(session->server, session->fd, question,
                            ath_control_message_start(&session->builder)))
        return ath_server_session_refuse(session, ATH_CONTROL_REASON_BAD_MESSAGE,
                                         "the message is not valid here");
    return ath_server_session_send(session, "session", NULL);
}

/* A control session loads the driver's NVML library. */
static int lock_in(struct ath_server_session *session)
{
    struct ath_err err;
    int status =
        ath_lock_in(session->server, session->entry, session->fd, "libnvidia-ml.so.1", &err);
    return status ? ath_server_session_give_up(session, "session", err.message) : 0;
}

void ath_session_serve(int fd, struct ath_server *server, struct ath_session_board_entry *entry)
{
    __attribute__((cleanup(session_free))) struct ath_server_session session = {
        .fd = fd,
        .server = server,
        .entry = entry,
        .builder.max_bytes = ATH_CONTROL_ANSWER_FRAME_BYTES,
    };
    ath_tcp_tune(fd);
    int status = ath_server_session_shake_hands(&session);
    if (!status && session.purpose == ATH_GPU_PURPOSE_CUDA) {
        struct ath_ticket ticket;
        ath_ticket_make(&session.secret, &session.hello, &session.challenge,
                        ath_server_session_binding(&session), &ticket);
        ath_secret_free(&session.secret);
        ath_program_session_serve(ath_server_session_socket(&session), server, entry, &ticket);
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
    /* unread bytes would reset the connection */
    (void)!recv(fd, hello, sizeof hello, MSG_DONTWAIT);
    if (bytes)
        (void)!send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}
