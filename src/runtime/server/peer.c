/*
 * The server's side of proto/control.capnp.
 *
 * Until the client is proven a frame is small and the whole handshake has one deadline, so that a
 * stranger costs little for a short time. Nothing of a message is used before all of it was
 * checked.
 */
#include "config.h"

#include "runtime/server/peer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "runtime/server/answer.h"
#include "runtime/server/channel.h"
#include "runtime/server/record.h"
#include "runtime/transport/stream.h"

struct peer {
    int fd;
    const struct ath_server *server;
    struct ath_board_entry *entry;
    uint64_t deadline_ms;   /* of what is under way */
    struct ath_frame hello; /* kept for the transcript, as challenge is */
    struct ath_frame challenge;
    struct ath_frame frame;          /* the last one read */
    struct ath_wire_builder builder; /* the next one to write */
    enum ath_gpu_purpose purpose;
};

static void peer_free(struct peer *peer)
{
    ath_frame_free(&peer->hello);
    ath_frame_free(&peer->challenge);
    ath_frame_free(&peer->frame);
    ath_wire_builder_free(&peer->builder);
}

/* The connection is of no more use; says why in the log. Returns -EPROTO. */
static int give_up(struct peer *peer, const char *what, const char *reason)
{
    atomic_fetch_add(&peer->server->board->broken, 1);
    ath_record(ATH_RECORD_WARNING, "session-broken", "peer", peer->entry->peer, "during", what,
               "reason", reason, NULL);
    return -EPROTO;
}

static int send_built(struct peer *peer, const char *what, struct ath_frame *transcript)
{
    size_t length;
    int status;
    struct ath_err err;
    const uint8_t *bytes = ath_wire_finish(&peer->builder, &length, &status);

    if (!status && transcript)
        status = ath_frame_copy(transcript, bytes, length);
    if (status)
        return give_up(peer, what, strerror(-status));
    if (ath_frame_write(peer->fd, bytes, length, peer->deadline_ms, &err))
        return give_up(peer, what, err.message);
    return 0;
}

/* A connection that is closed while something is unread is reset (RFC 2525, 2.17), and what was
 * written last may not arrive: the client is to end it. What it has said meanwhile, a question
 * perhaps, is nobody's. */
static void await_end(const struct peer *peer)
{
    enum { MOST = 16 };
    char nothing[ATH_CONTROL_HELLO_FRAME_BYTES];
    uint64_t now_ms;
    shutdown(peer->fd, SHUT_WR);
    for (int i = 0; i < MOST && (now_ms = ath_now_ms()) < peer->deadline_ms; i++) {
        struct pollfd one = { .fd = peer->fd, .events = POLLIN };
        if (poll(&one, 1, (int)(peer->deadline_ms - now_ms)) > 0 &&
            recv(peer->fd, nothing, sizeof nothing, MSG_DONTWAIT) <= 0)
            return;
    }
}

/* Sends a refusal, as far as the client takes it. Returns -EACCES. */
static int refuse(struct peer *peer, enum ath_control_reason reason, const char *message)
{
    struct ath_control_refusal_builder refusal =
        ath_control_message_init_refusal(ath_control_message_start(&peer->builder));
    size_t length;
    int status;
    struct ath_err err;

    ath_control_refusal_set_reason(refusal, reason);
    ath_control_refusal_set_message(refusal, message);
    atomic_fetch_add(&peer->server->board->refused, 1);
    ath_record(ATH_RECORD_WARNING, "session-refused", "peer", peer->entry->peer, "reason",
               ath_control_reason_word(reason), "detail", message, NULL);
    const uint8_t *bytes = ath_wire_finish(&peer->builder, &length, &status);
    if (bytes && !ath_frame_write(peer->fd, bytes, length, peer->deadline_ms, &err))
        await_end(peer);
    return -EACCES;
}

/* Reads any message of the handshake. */
static int read_frame(struct peer *peer, struct ath_control_message *out)
{
    struct ath_err err;
    if (ath_frame_read(peer->fd, ATH_CONTROL_HELLO_FRAME_BYTES, peer->deadline_ms, &peer->frame,
                       &err))
        return give_up(peer, "handshake", err.message);
    if (ath_control_message_open(ath_frame_message(&peer->frame),
                                 ath_frame_message_length(&peer->frame), out))
        return refuse(peer, ATH_CONTROL_REASON_BAD_MESSAGE, "not what belongs here");
    return 0;
}

/* Reads the one that belongs there. */
static int read_message(struct peer *peer, enum ath_control_message_which wanted,
                        struct ath_control_message *out)
{
    int status = read_frame(peer, out);
    if (!status && ath_control_message_which(*out) != wanted)
        return refuse(peer, ATH_CONTROL_REASON_BAD_MESSAGE, "not what belongs here");
    return status;
}

/* The program's session of a number, once it is proven: its other connections come at the same time
 * as the proof. NULL: there is none. Before that nothing is passed to it, since a descriptor that
 * nobody takes counts against all of them (unix(7), ETOOMANYREFS), and strangers could leave many.
 */
static const struct ath_board_entry *await_proven(const struct peer *peer, uint64_t session)
{
    static const struct timespec pause = { .tv_nsec = 1000000 };
    const struct ath_board_entry *entry;
    while ((entry = ath_board_find(peer->server->board, session)) && !entry->is_proven &&
           ath_now_ms() < peer->deadline_ms)
        nanosleep(&pause, NULL);
    return entry && entry->is_proven && entry->purpose == ATH_GPU_PURPOSE_CUDA ? entry : NULL;
}

/* Nothing is answered to a join. Returns -EACCES. */
static int turn_away(const struct peer *peer, const char *reason)
{
    ath_record(ATH_RECORD_WARNING, "connection-refused", "peer", peer->entry->peer, "reason",
               reason, NULL);
    return -EACCES;
}

/* A connection of a session that there is: its process says whether the proof is right. Returns a
 * negative errno: this process has no more to do with it. */
static int pass_on(struct peer *peer, struct ath_control_join join)
{
    struct ath_board *board = peer->server->board;
    const struct ath_board_entry *entry = await_proven(peer, ath_control_join_session(join));
    struct ath_wire_bytes mac = ath_control_join_mac(join);
    struct ath_joining joining = { .number = ath_control_join_number(join) };
    if (!entry || !peer->server->doors || mac.length != sizeof joining.proof)
        return turn_away(peer, "there is no session to join");
    memcpy(joining.proof, mac.data, mac.length);
    if (ath_doors_pass(peer->server->doors, (size_t)(entry - board->entries), &joining, peer->fd))
        return turn_away(peer, "the session takes no connection");
    return -ENODATA;
}

/* What each connection begins with: almost always a hello. */
static int read_first(struct peer *peer, struct ath_control_hello *out)
{
    struct ath_control_message message;
    int status = read_frame(peer, &message);
    if (status)
        return status;
    if (ath_control_message_which(message) == ATH_CONTROL_MESSAGE_JOIN)
        return pass_on(peer, ath_control_message_join(message));
    if (peer->server->doors)
        ath_doors_are_inside(peer->server->doors);
    if (ath_control_message_which(message) != ATH_CONTROL_MESSAGE_HELLO)
        return refuse(peer, ATH_CONTROL_REASON_BAD_MESSAGE, "not what belongs here");
    *out = ath_control_message_hello(message);
    return 0;
}

static int read_hello(struct peer *peer)
{
    struct ath_control_hello hello;
    bool wants_key = peer->server->secret.length > 0;
    int status = read_first(peer, &hello);
    if (status)
        return status;
    if (ath_control_hello_nonce(hello).length != ATH_NONCE_BYTES)
        return refuse(peer, ATH_CONTROL_REASON_BAD_MESSAGE, "the nonce has not 32 bytes");
    if (ath_control_hello_protocol_min(hello) > ATH_CONTROL_PROTOCOL_VERSION ||
        ath_control_hello_protocol(hello) < ATH_CONTROL_PROTOCOL_VERSION)
        return refuse(peer, ATH_CONTROL_REASON_PROTOCOL, "this server speaks protocol 1");
    if (wants_key && !ath_control_hello_has_key(hello))
        return refuse(peer, ATH_CONTROL_REASON_KEY_WANTED, "a key is wanted");
    if (!wants_key && ath_control_hello_has_key(hello))
        return refuse(peer, ATH_CONTROL_REASON_KEY_NOT_WANTED, "this server has no key to prove");
    peer->purpose = ath_control_hello_purpose(hello);
    if (ath_frame_copy(&peer->hello, peer->frame.bytes, peer->frame.length))
        return give_up(peer, "handshake", "out of memory");
    return 0;
}

static int send_challenge(struct peer *peer)
{
    uint8_t nonce[ATH_NONCE_BYTES];
    struct ath_err err;
    if (ath_nonce_make(nonce, &err))
        return give_up(peer, "handshake", err.message);
    struct ath_control_challenge_builder challenge =
        ath_control_message_init_challenge(ath_control_message_start(&peer->builder));
    ath_control_challenge_set_protocol(challenge, ATH_CONTROL_PROTOCOL_VERSION);
    ath_control_challenge_set_software(challenge, PACKAGE_STRING);
    ath_control_challenge_set_nonce(challenge, (struct ath_wire_bytes){ nonce, sizeof nonce });
    ath_control_challenge_set_wants_key(challenge, peer->server->secret.length > 0);
    ath_control_challenge_set_session(challenge, atomic_load(&peer->entry->id));
    return send_built(peer, "handshake", &peer->challenge);
}

static int read_proof(struct peer *peer, uint8_t own_proof[ATH_PROOF_BYTES])
{
    const struct ath_secret *secret = &peer->server->secret;
    struct ath_transcript transcript = { &peer->hello, &peer->challenge, NULL };
    struct ath_control_message message;
    int status = read_message(peer, ATH_CONTROL_MESSAGE_PROOF, &message);
    if (status || !secret->length)
        return status;
    struct ath_wire_bytes mac = ath_control_proof_mac(ath_control_message_proof(message));
    if (!ath_secret_check(secret, ATH_SIDE_CLIENT, &transcript, mac.data, mac.length))
        return refuse(peer, ATH_CONTROL_REASON_KEY_WRONG, "the client has another key");
    transcript.client_proof = mac.data;
    ath_secret_prove(secret, ATH_SIDE_SERVER, &transcript, own_proof);
    return 0;
}

static int send_welcome(struct peer *peer, const uint8_t proof[ATH_PROOF_BYTES])
{
    struct ath_control_welcome_builder welcome =
        ath_control_message_init_welcome(ath_control_message_start(&peer->builder));
    ath_control_welcome_set_session(welcome, atomic_load(&peer->entry->id));
    if (peer->server->secret.length)
        ath_control_welcome_set_mac(welcome, (struct ath_wire_bytes){ proof, ATH_PROOF_BYTES });
    return send_built(peer, "handshake", NULL);
}

static int shake_hands(struct peer *peer)
{
    uint8_t proof[ATH_PROOF_BYTES];
    peer->deadline_ms = ath_now_ms() + (uint64_t)peer->server->handshake_ms;
    int status = read_hello(peer);
    if (!status)
        status = send_challenge(peer);
    if (!status)
        status = read_proof(peer, proof);
    /* What is served is nobody's business before this. */
    if (!status && peer->purpose != ATH_GPU_PURPOSE_CONTROL &&
        peer->purpose != ATH_GPU_PURPOSE_CUDA)
        status = refuse(peer, ATH_CONTROL_REASON_NOT_SERVED,
                        "this purpose is not served by this version");
    if (status)
        return status;
    atomic_store(&peer->entry->purpose, (int)peer->purpose);
    atomic_store(&peer->entry->is_proven, true);
    if (peer->server->doors && peer->purpose != ATH_GPU_PURPOSE_CUDA)
        ath_doors_close(peer->server->doors);
    return send_welcome(peer, proof);
}

/*
 * Waits for a question. Who has none for long gives back its place, and nothing is wrong with that:
 * a client that has more to ask comes again. But what waits for events would miss them.
 */
static bool is_silent(const struct peer *peer)
{
    struct pollfd one = { .fd = peer->fd, .events = POLLIN };
    int ready, patience_ms = ath_answer_awaits_events() ? -1 : peer->server->idle_ms;
    do
        ready = poll(&one, 1, patience_ms);
    while (ready < 0 && errno == EINTR);
    return !ready;
}

/* One question and its answer. Returns 0, or a negative errno where the session ends (-ENODATA: the
 * client is done). */
static int converse(struct peer *peer)
{
    struct ath_control_message question;
    struct ath_err err;

    if (is_silent(peer))
        return -ENODATA;
    peer->deadline_ms = ath_now_ms() + (uint64_t)peer->server->idle_ms;
    int status = ath_frame_read(peer->fd, ATH_CONTROL_ANSWER_FRAME_BYTES, peer->deadline_ms,
                                &peer->frame, &err);
    if (status == -ENODATA)
        return status;
    if (status)
        return give_up(peer, "session", err.message);
    peer->deadline_ms = ath_now_ms() + (uint64_t)peer->server->answer_ms;
    if (ath_control_message_open(ath_frame_message(&peer->frame),
                                 ath_frame_message_length(&peer->frame), &question) ||
        !ath_answer(peer->server, question, ath_control_message_start(&peer->builder)))
        return refuse(peer, ATH_CONTROL_REASON_BAD_MESSAGE, "not what belongs here");
    return send_built(peer, "session", NULL);
}

void ath_peer_serve(int fd, const struct ath_server *server, struct ath_board_entry *entry)
{
    __attribute__((cleanup(peer_free))) struct peer peer = {
        .fd = fd,
        .server = server,
        .entry = entry,
        .builder.max_bytes = ATH_CONTROL_ANSWER_FRAME_BYTES,
    };
    ath_tcp_tune(fd);
    int status = shake_hands(&peer);
    if (!status && peer.purpose == ATH_GPU_PURPOSE_CUDA) {
        struct ath_ticket ticket;
        ath_ticket_make(&server->secret, &peer.hello, &peer.challenge, &ticket);
        ath_channel_serve(fd, server, entry, &ticket);
    }
    while (!status)
        status = converse(&peer);
}

void ath_peer_turn_away(int fd)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES };
    struct ath_control_refusal_builder refusal =
        ath_control_message_init_refusal(ath_control_message_start(&builder));
    size_t length;
    int status;

    ath_control_refusal_set_reason(refusal, ATH_CONTROL_REASON_BUSY);
    ath_control_refusal_set_message(refusal, "too many sessions");
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    if (bytes)
        (void)!send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}
