/*
 * The client's side of a session: connecting, the proofs of proto/control.capnp, one question and
 * its answer at a time. For the command line tool, for `aitherion-runtime health`, and for programs
 * that the client library is loaded into: memory that runs out is an error here.
 */
#pragma once
#include "proto/control.h"
#include "runtime/client/stripes.h"
#include "runtime/wire/endpoint.h"
#include "runtime/wire/secret.h"

struct ath_session {
    int fd;
    uint64_t id; /* the server's number for it */
    int timeout_ms;
    struct ath_stripes stripes;      /* of a program's: its other connections */
    struct ath_ticket ticket;        /* for these */
    struct ath_wire_builder builder; /* of the next question */
    struct ath_frame frame;          /* of the last answer */
};

/*
 * A program's first question, which goes behind the proof without waiting for the welcome, so that
 * it costs no round trip: send() begins and sends it (ath_session_begin(), ath_session_send()), and
 * the answer is waited for once the session is open. Whether the server has the key is not known by
 * then. Returns 0 or a negative errno with err, and there is no session.
 */
struct ath_session_first {
    int (*send)(struct ath_session *session, void *context, struct ath_err *err);
    void *context;
};

/*
 * Opens a session: a program's, with its first question, or (NULL) one that asks what proto/
 * gpu-control.capnp has. secret NULL: without a key, and only with a server that wants none; with
 * one the server must prove it too. Everything together takes at most timeout_ms, as does each
 * later question. Returns 0, or a negative errno with err: "peer-unreachable", "key-refused"
 * (-EACCES; -ENOKEY: the server has none), "peer-protocol", "peer-failed".
 */
int ath_session_open(const struct ath_endpoint *endpoint, const struct ath_secret *secret,
                     const struct ath_session_first *first, int timeout_ms, struct ath_session *out,
                     struct ath_err *err);
void ath_session_free(struct ath_session *session);

/* Begins a question. */
struct ath_control_message_builder ath_session_begin(struct ath_session *session);

/*
 * Sends the question begun and waits for its answer, which lies in the session's memory until the
 * next one. A failure or refusal from the server is an error (-ENOTSUP with "not-supported" for
 * what the server does not do), and so is any answer but the one wanted.
 */
int ath_session_ask(struct ath_session *session, enum ath_control_message_which wanted,
                    struct ath_control_message *out, struct ath_err *err);

/* The two halves of it; each takes at most the session's timeout. */
int ath_session_send(struct ath_session *session, struct ath_err *err);
int ath_session_await(struct ath_session *session, enum ath_control_message_which wanted,
                      struct ath_control_message *out, struct ath_err *err);
