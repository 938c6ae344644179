/*
 * The client's side of a session: connecting, the proofs of proto/control.capnp, and one question
 * and its answer at a time. Used by the command line tool, by `aitherion-runtime health`, and in
 * programs that load the client library. So memory that runs out is an error here.
 */
#pragma once
#include "base/fingerprint.h"
#include "proto/control.h"
#include "remote/session/paths.h"
#include "remote/session/stripes.h"
#include "remote/tls/policy.h"
#include "remote/wire/endpoint.h"
#include "remote/wire/secret.h"

struct ath_session {
    int fd;
    struct ath_tls *tls; /* NULL: the connection is plain */
    bool is_tls_wanted;  /* the server refused a plain connection */
    uint64_t id;         /* the server's number of this session */
    int timeout_ms;
    uint64_t round_trip_ns;             /* the shorter one of the two that opened the session */
    bool must_not_leak;                 /* a plain connection must stay on this host */
    struct ath_path_facts paths;        /* of a program: what decides on its paths */
    struct ath_stripes stripes;         /* a program's further connections */
    struct ath_ticket ticket;           /* for proving them */
    struct ath_fingerprint_value trace; /* of the server, for what is kept of it on disk */
    struct ath_wire_builder builder;    /* of the next question */
    struct ath_frame frame;             /* of the last answer */
};

/*
 * A program's first question. It is sent right behind the proof, without waiting for the welcome,
 * so that it costs no round trip. send() begins the question and sends it (ath_session_begin(),
 * ath_session_send()), and the caller waits for its answer once the session is open. At that time
 * the server has not proven its key yet. send() returns 0, or a negative errno with err, and then
 * the session is not opened.
 */
struct ath_session_first {
    int (*send)(struct ath_session *session, void *context, struct ath_err *err);
    void *context;
    const char *transport; /* that the user asks for: auto, shm, tcp or udp; NULL: auto */
};

/*
 * Opens a session. With first it is a program's session and sends that question; with first NULL it
 * asks the questions of proto/gpu-control.capnp. With secret NULL the session has no key, which the
 * server must allow; with a secret the server must prove that it has the same. encryption says
 * which connections this side encrypts, and how the server proves itself there; what should be
 * encrypted never goes on plain. Opening takes at most timeout_ms in total, and so does each later
 * question. Returns 0, or a negative errno with err: "peer-unreachable", "key-refused" (-EACCES;
 * -ENOKEY: a side has no key), "not-encrypted" (-EPERM: one side wants to encrypt and the other
 * does not), "certificate-refused" (-EKEYREJECTED), "certificate-invalid" (the file of
 * authorities), "peer-protocol", "peer-failed".
 */
int ath_session_open(const struct ath_endpoint *endpoint, const struct ath_secret *secret,
                     struct ath_encryption encryption, const struct ath_session_first *first,
                     int timeout_ms, struct ath_session *out, struct ath_err *err);
void ath_session_free(struct ath_session *session);

/* The session as the owner of its stripes. */
struct ath_stripes_owner ath_session_as_owner(const struct ath_session *session);

/* Begins a question. */
struct ath_control_message_builder ath_session_begin(struct ath_session *session);

/*
 * Sends the question that was begun and waits for its answer, which stays in the session's memory
 * until the next question. A failure or a refusal by the server is an error (-ENOTSUP with
 * "not-supported" if the server cannot do it), and so is any answer other than the wanted one.
 */
int ath_session_ask(struct ath_session *session, enum ath_control_message_which wanted,
                    struct ath_control_message *out, struct ath_err *err);

/* The two halves of ath_session_ask(). Each takes at most the session's timeout. */
int ath_session_send(struct ath_session *session, struct ath_err *err);
int ath_session_await(struct ath_session *session, enum ath_control_message_which wanted,
                      struct ath_control_message *out, struct ath_err *err);
