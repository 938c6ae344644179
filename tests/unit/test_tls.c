/* Two ends of TLS with a network between them that the test plays: it may change what passes. */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "patience.h"
#include "remote/tls/priorities.h"
#include "remote/tls/socket.h"
#include "unit.h"

SECONDS(60);

enum { CLIENT, SERVER, SIDES, HEAD = 5, RECORD_MAX = HEAD + 16384 + 256 };

static struct ath_err err;
static struct ath_tls_key key = { "alice", { 1, 2, 3 } };

/* Each end has a socket pair of its own. The other ends of the pairs are the network. */
static struct ath_socket ends[SIDES];
static int network[SIDES];

static bool find_key(void *context, const char *identity, uint8_t out[ATH_TLS_KEY_BYTES])
{
    const struct ath_tls_key *known = context;
    if (strcmp(identity, known->identity) != 0)
        return false;
    memcpy(out, known->bytes, sizeof known->bytes);
    return true;
}

static void connect_ends(void)
{
    for (int side = 0; side < SIDES; side++) {
        int pair[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        ends[side] = (struct ath_socket){ .fd = pair[0] };
        network[side] = pair[1];
        fcntl(pair[1], F_SETFL, O_NONBLOCK);
    }
}

static void disconnect_ends(void)
{
    for (int side = 0; side < SIDES; side++) {
        ath_socket_close(&ends[side]);
        close(network[side]);
    }
}

static void make_ends(enum ath_tls_secrecy client, enum ath_tls_secrecy server,
                      struct ath_tls_key *known)
{
    ck_assert_int_eq(ath_tls_make_client(ends[CLIENT].fd, client, &key, &ends[CLIENT].tls, &err),
                     0);
    ck_assert_int_eq(
        ath_tls_make_server(ends[SERVER].fd, server, find_key, known, &ends[SERVER].tls, &err), 0);
}

/* Takes all bytes that a side has sent. */
static size_t take(int side, uint8_t *bytes, size_t room)
{
    size_t length = 0;
    for (ssize_t got; (got = read(network[side], bytes + length, room - length)) > 0;)
        length += (size_t)got;
    return length;
}

static void give(int side, const uint8_t *bytes, size_t length)
{
    ck_assert_int_eq(write(network[side], bytes, length), (ssize_t)length);
}

static size_t carry(int from)
{
    uint8_t bytes[RECORD_MAX];
    size_t length = take(from, bytes, sizeof bytes);
    if (length)
        give(!from, bytes, length);
    return length;
}

/* Carries the messages of the handshake to and fro. Returns the status of each side. */
static void shake(int status[SIDES])
{
    status[CLIENT] = status[SERVER] = -EAGAIN;
    for (int round = 0; round < 8; round++)
        for (int side = 0; side < SIDES; side++) {
            if (status[side] == -EAGAIN)
                status[side] = ath_tls_handshake(ends[side].tls, 0, &err);
            carry(side);
        }
}

static void setup(void)
{
    int status[SIDES];
    connect_ends();
    make_ends(ATH_TLS_FORWARD, ATH_TLS_FORWARD, &key);
    shake(status);
    ck_assert_int_eq(status[CLIENT], 0);
    ck_assert_int_eq(status[SERVER], 0);
    ck_assert_str_eq(ath_tls_identity(ends[SERVER].tls), "alice");
}

static ssize_t send_text(int side, const char *text)
{
    struct iovec part = { (void *)text, strlen(text) };
    return ath_tls_send(ends[side].tls, &part, 1, MSG_DONTWAIT);
}

static void must_read(int side, const char *text)
{
    char got[64] = "";
    ck_assert_int_eq(ath_tls_receive(ends[side].tls, got, sizeof got, MSG_DONTWAIT),
                     (ssize_t)strlen(text));
    ck_assert_str_eq(got, text);
}

static void must_fail(int side, int error)
{
    char got[64];
    errno = 0;
    ck_assert_int_eq(ath_tls_receive(ends[side].tls, got, sizeof got, MSG_DONTWAIT), -1);
    ck_assert_int_eq(errno, error);
}

/* ---- methods ---- */

LOOP_TEST(prefers_what_the_processor_has, 0, ATH_TLS_WAYS)
{
    char with[ATH_TLS_PRIORITIES_BYTES], without[ATH_TLS_PRIORITIES_BYTES];
    ath_tls_priorities((enum ath_tls_way)_i, true, with);
    ath_tls_priorities((enum ath_tls_way)_i, false, without);
    ck_assert_ptr_nonnull(strstr(strstr(with, "AES-128-GCM"), "CHACHA20-POLY1305"));
    ck_assert_ptr_nonnull(strstr(strstr(without, "CHACHA20-POLY1305"), "AES-128-GCM"));
    ck_assert_ptr_null(strstr(with, "SERVER"));
    ck_assert_ptr_nonnull(strstr(without, "%SERVER_PRECEDENCE"));
}

/* ---- the handshake ---- */

FIXTURE(connect_ends, disconnect_ends);

static const struct {
    const char *identity;
    int changed; /* the byte of the server's key; -1: none */
} others[] = { { "alice", 0 }, { "alice", ATH_TLS_KEY_BYTES - 1 }, { "bob", -1 }, { "", -1 } };

LOOP_TEST(refuses_another_key_or_name, 0, (sizeof others / sizeof *others))
{
    int status[SIDES];
    struct ath_tls_key known = key;
    snprintf(known.identity, sizeof known.identity, "%s", others[_i].identity);
    if (others[_i].changed >= 0)
        known.bytes[others[_i].changed] ^= 1;
    make_ends(ATH_TLS_FORWARD, ATH_TLS_FORWARD, &known);
    shake(status);
    ck_assert_int_eq(status[SERVER], -EACCES);
    ck_assert_int_eq(status[CLIENT], -EACCES);
    ck_assert_str_eq(err.message, "the server has another key");
}

/* A server that knows only the name cannot answer, whether or not it checks the client. */
TEST(secrecy_of_both_ends_must_match)
{
    int status[SIDES];
    make_ends(ATH_TLS_QUICK, ATH_TLS_FORWARD, &key);
    shake(status);
    ck_assert_int_ne(status[SERVER], 0);
    ck_assert_int_ne(status[CLIENT], 0);
}

TEST(quick_ends_understand_each_other)
{
    int status[SIDES];
    make_ends(ATH_TLS_QUICK, ATH_TLS_QUICK, &key);
    shake(status);
    ck_assert_int_eq(status[CLIENT], 0);
    ck_assert_int_eq(status[SERVER], 0);
    ck_assert_int_eq(send_text(CLIENT, "hello"), 5);
    carry(CLIENT);
    must_read(SERVER, "hello");
}

TEST(waits_no_longer_than_it_may)
{
    for (int side = 0; side < SIDES; side++) {
        make_ends(ATH_TLS_FORWARD, ATH_TLS_FORWARD, &key);
        uint64_t begin_ms = ath_now_ms();
        ck_assert_int_eq(ath_tls_handshake(ends[side].tls, begin_ms + LIMIT_MS, &err), -ETIMEDOUT);
        ck_assert_uint_ge(ath_now_ms() - begin_ms, LIMIT_MS);
        ck_assert_uint_lt(ath_now_ms() - begin_ms, PATIENCE_MS);
        ath_tls_free(ends[CLIENT].tls);
        ath_tls_free(ends[SERVER].tls);
        ends[CLIENT].tls = ends[SERVER].tls = NULL;
    }
}

TEST(leaves_a_plain_answer_to_be_read)
{
    static const uint8_t frame[] = { 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    uint8_t got[32];
    make_ends(ATH_TLS_FORWARD, ATH_TLS_FORWARD, &key);
    give(CLIENT, frame, sizeof frame);
    ck_assert_int_eq(ath_tls_handshake(ends[CLIENT].tls, ath_now_ms() + PATIENCE_MS, &err),
                     -EPROTONOSUPPORT);
    ck_assert_int_eq(recv(ends[CLIENT].fd, got, sizeof got, 0), sizeof frame);
    ck_assert_int_eq(memcmp(got, frame, sizeof frame), 0);
}

TEST(notices_who_speaks_no_tls)
{
    make_ends(ATH_TLS_FORWARD, ATH_TLS_FORWARD, &key);
    give(CLIENT, (const uint8_t *)"SSH-2.0-OpenSSH_9.2\r\n", 21);
    give(SERVER, (const uint8_t *)"\x16\x03\x01\xff\xff\xff\xff\xff", 8);
    for (int side = 0; side < SIDES; side++)
        ck_assert_int_eq(ath_tls_handshake(ends[side].tls, ath_now_ms() + PATIENCE_MS, &err),
                         -EPROTO);
}

LOOP_TEST(notices_a_peer_that_leaves, 0, SIDES)
{
    make_ends(ATH_TLS_FORWARD, ATH_TLS_FORWARD, &key);
    shutdown(network[_i], SHUT_WR);
    ck_assert_int_eq(ath_tls_handshake(ends[_i].tls, ath_now_ms() + PATIENCE_MS, &err), -ENODATA);
}

/* Every byte of the handshake counts, in both directions. */
TEST(notices_a_changed_handshake)
{
    int changes = 0;
    for (int changed_side = 0; changed_side < SIDES; changed_side++)
        for (size_t at = 0;; at += 7, changes++) {
            uint8_t bytes[RECORD_MAX];
            int status[SIDES] = { -EAGAIN, -EAGAIN };
            bool is_changed = false;
            connect_ends();
            make_ends(ATH_TLS_FORWARD, ATH_TLS_FORWARD, &key);
            for (int round = 0; round < 8; round++)
                for (int side = 0; side < SIDES; side++) {
                    if (status[side] == -EAGAIN)
                        status[side] = ath_tls_handshake(ends[side].tls, 0, &err);
                    size_t length = take(side, bytes, sizeof bytes);
                    if (side == changed_side && !is_changed && at < length) {
                        bytes[at] ^= 0x10;
                        is_changed = true;
                    }
                    if (length)
                        give(!side, bytes, length);
                }
            disconnect_ends();
            if (!is_changed)
                break;
            /* The version in a record's head means nothing (RFC 8446, 5.1). */
            bool is_open = !status[CLIENT] && !status[SERVER];
            ck_assert_msg(!is_open, "side %d, byte %zu", changed_side, at);
        }
    ck_assert_int_gt(changes, 50);
    connect_ends();
}

/* ---- bytes ---- */

FIXTURE(setup, disconnect_ends);

TEST(moves_bytes_unseen)
{
    uint8_t seen[256];
    ck_assert_int_eq(send_text(CLIENT, "a secret word"), 13);
    size_t length = take(CLIENT, seen, sizeof seen);
    ck_assert_uint_gt(length, 13);
    ck_assert_ptr_null(memmem(seen, length, "secret", 6));
    give(SERVER, seen, length);
    ck_assert(!ath_tls_has_bytes(ends[SERVER].tls));
    must_read(SERVER, "a secret word");
    must_fail(SERVER, EAGAIN);
    ck_assert_int_eq(send_text(SERVER, "yes"), 3);
    carry(SERVER);
    must_read(CLIENT, "yes");
}

TEST(keeps_what_came_together)
{
    char got[3];
    ck_assert_int_eq(send_text(CLIENT, "one"), 3);
    ck_assert_int_eq(send_text(CLIENT, "two"), 3);
    carry(CLIENT);
    ck_assert_int_eq(ath_tls_receive(ends[SERVER].tls, got, 1, MSG_DONTWAIT), 1);
    ck_assert(ath_tls_has_bytes(ends[SERVER].tls));
    must_read(SERVER, "ne");
    ck_assert(ath_tls_has_bytes(ends[SERVER].tls));
    must_read(SERVER, "two");
    ck_assert(!ath_tls_has_bytes(ends[SERVER].tls));
}

TEST(gathers_parts)
{
    struct iovec parts[] = { { (void *)"a", 1 }, { NULL, 0 }, { (void *)"bc", 2 } };
    ck_assert_int_eq(ath_tls_send(ends[SERVER].tls, parts, 3, MSG_DONTWAIT), 3);
    ck_assert_int_eq(ath_tls_send(ends[SERVER].tls, parts + 1, 1, MSG_DONTWAIT), 0);
    carry(SERVER);
    must_read(CLIENT, "abc");
    must_fail(CLIENT, EAGAIN);
}

/* A call sends all records that its bytes need, whatever the parts' limits. */
TEST(sends_several_records_at_once)
{
    enum { LENGTH = 3 * 16384 + 100 };
    static uint8_t bytes[LENGTH], got[LENGTH], seen[LENGTH + 1000];
    struct iovec parts[] = {
        { bytes, 20000 }, { NULL, 0 }, { bytes + 20000, 5 }, { bytes + 20005, LENGTH - 20005 }
    };
    size_t taken = 0;
    for (size_t i = 0; i < LENGTH; i++)
        bytes[i] = (uint8_t)(i * 3 + i / 251);
    ck_assert_int_eq(ath_tls_send(ends[CLIENT].tls, parts, 4, MSG_DONTWAIT), LENGTH);
    size_t length = take(CLIENT, seen, sizeof seen);
    ck_assert_uint_eq(length, LENGTH + 4 * (HEAD + 1 + 16)); /* each with its type and proof */
    give(SERVER, seen, length);
    while (taken < LENGTH) {
        ssize_t moved =
            ath_tls_receive(ends[SERVER].tls, got + taken, LENGTH - taken, MSG_DONTWAIT);
        ck_assert_int_gt(moved, 0);
        taken += (size_t)moved;
    }
    ck_assert_int_eq(memcmp(got, bytes, LENGTH), 0);
}

/* Records that wait in the socket come with one system call. */
TEST(reads_several_records_at_once)
{
    int waiting = -1;
    for (int i = 0; i < 20; i++)
        send_text(CLIENT, "hello");
    carry(CLIENT);
    must_read(SERVER, "hello");
    ck_assert_int_eq(ioctl(ends[SERVER].fd, FIONREAD, &waiting), 0);
    ck_assert_int_eq(waiting, 0);
    for (int i = 1; i < 20; i++)
        must_read(SERVER, "hello");
    must_fail(SERVER, EAGAIN);
}

/* A record comes in pieces, as the network likes. */
TEST(waits_for_the_rest_of_a_record)
{
    uint8_t bytes[RECORD_MAX];
    send_text(CLIENT, "hello");
    size_t length = take(CLIENT, bytes, sizeof bytes);
    for (size_t i = 0; i + 1 < length; i++) {
        give(SERVER, bytes + i, 1);
        must_fail(SERVER, EAGAIN);
    }
    give(SERVER, bytes + length - 1, 1);
    must_read(SERVER, "hello");
}

/* ---- attacks ---- */

/* A record with any changed byte is refused, and so is all that follows. Changing the length may
 * also make the end wait for more. The first three bytes mean nothing (RFC 8446, 5.1 and 5.2), so
 * an end may also take the record as it was. */
TEST(notices_a_changed_byte)
{
    uint8_t bytes[RECORD_MAX];
    size_t length = 1;
    for (size_t at = 0; at < length; at++) {
        char got[64] = "";
        if (at) {
            disconnect_ends();
            setup();
        }
        send_text(CLIENT, "hello");
        length = take(CLIENT, bytes, sizeof bytes);
        bytes[at] ^= 1;
        give(SERVER, bytes, length);
        ssize_t taken = ath_tls_receive(ends[SERVER].tls, got, sizeof got, MSG_DONTWAIT);
        if (at < 3 && taken >= 0) {
            ck_assert_str_eq(got, "hello");
            continue;
        }
        ck_assert_int_eq(taken, -1);
        ck_assert(errno == EPROTO || (at < HEAD && errno == EAGAIN));
        send_text(CLIENT, "more");
        carry(CLIENT);
        ck_assert_int_eq(ath_tls_receive(ends[SERVER].tls, got, sizeof got, MSG_DONTWAIT), -1);
    }
    ck_assert_uint_gt(length, HEAD + 5);
}

static size_t record_of(int side, const char *text, uint8_t *bytes)
{
    send_text(side, text);
    return take(side, bytes, RECORD_MAX);
}

TEST(notices_a_record_that_comes_twice)
{
    uint8_t bytes[RECORD_MAX];
    size_t length = record_of(CLIENT, "pay", bytes);
    give(SERVER, bytes, length);
    must_read(SERVER, "pay");
    give(SERVER, bytes, length);
    must_fail(SERVER, EPROTO);
}

TEST(notices_records_in_another_order)
{
    uint8_t one[RECORD_MAX], two[RECORD_MAX];
    size_t length = record_of(CLIENT, "one", one), more = record_of(CLIENT, "two", two);
    give(SERVER, two, more);
    give(SERVER, one, length);
    must_fail(SERVER, EPROTO);
}

TEST(notices_a_record_that_is_left_out)
{
    uint8_t bytes[RECORD_MAX];
    record_of(CLIENT, "one", bytes);
    send_text(CLIENT, "two");
    carry(CLIENT);
    must_fail(SERVER, EPROTO);
}

TEST(notices_a_record_that_goes_back)
{
    uint8_t bytes[RECORD_MAX];
    give(CLIENT, bytes, record_of(CLIENT, "mine", bytes));
    must_fail(CLIENT, EPROTO);
}

TEST(notices_a_record_of_another_connection)
{
    uint8_t bytes[RECORD_MAX];
    size_t length = record_of(CLIENT, "from before", bytes);
    disconnect_ends();
    setup();
    give(SERVER, bytes, length);
    must_fail(SERVER, EPROTO);
}

TEST(notices_plain_bytes)
{
    give(SERVER, (const uint8_t *)"\x17\x03\x03\x00\x05hello", HEAD + 5);
    must_fail(SERVER, EPROTO);
}

TEST(ends_with_the_connection)
{
    uint8_t bytes[RECORD_MAX];
    char got[8];
    size_t length = record_of(CLIENT, "hello", bytes);
    give(SERVER, bytes, length);
    shutdown(network[SERVER], SHUT_WR);
    must_read(SERVER, "hello");
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(ath_tls_receive(ends[SERVER].tls, got, sizeof got, MSG_DONTWAIT), 0);
}

/* A record that is cut off is never taken for a whole one. */
TEST(takes_no_record_that_is_cut_off)
{
    uint8_t bytes[RECORD_MAX];
    char got[8];
    size_t length = record_of(CLIENT, "hello", bytes);
    give(SERVER, bytes, length - 1);
    shutdown(network[SERVER], SHUT_WR);
    ck_assert_int_eq(ath_tls_receive(ends[SERVER].tls, got, sizeof got, MSG_DONTWAIT), 0);
}

/* ---- secrets ---- */

TEST(exports_the_same_to_both_ends_only)
{
    uint8_t secrets[5][ATH_TLS_EXPORT_BYTES];
    ck_assert_int_eq(ath_tls_export(ends[CLIENT].tls, "EXPORTER-one", secrets[0]), 0);
    ck_assert_int_eq(ath_tls_export(ends[SERVER].tls, "EXPORTER-one", secrets[1]), 0);
    ck_assert_int_eq(ath_tls_export(ends[SERVER].tls, "EXPORTER-two", secrets[2]), 0);
    disconnect_ends();
    setup();
    ck_assert_int_eq(ath_tls_export(ends[SERVER].tls, "EXPORTER-one", secrets[3]), 0);
    ck_assert_int_eq(memcmp(secrets[0], secrets[1], sizeof *secrets), 0);
    ck_assert_int_ne(memcmp(secrets[0], secrets[2], sizeof *secrets), 0);
    ck_assert_int_ne(memcmp(secrets[0], secrets[3], sizeof *secrets), 0);
}

/* ---- much ---- */

enum { MUCH = 3 * 1024 * 1024 + 5 };

struct mover {
    pthread_t thread;
    int side;
    uint8_t *bytes;
};

static void *send_much(void *argument)
{
    struct mover *mover = argument;
    for (size_t done = 0, step = 1; done < MUCH; step = step * 3 % 100003) {
        size_t left = MUCH - done, length = step < left ? step : left;
        struct iovec parts[] = { { mover->bytes + done, length / 3 },
                                 { mover->bytes + done + length / 3, length - length / 3 } };
        ssize_t sent = ath_tls_send(ends[mover->side].tls, parts, 2, 0);
        if (sent > 0)
            done += (size_t)sent;
        else if (errno != EINTR && errno != EAGAIN)
            return "sending failed";
    }
    return NULL;
}

static void *receive_much(void *argument)
{
    struct mover *mover = argument;
    for (size_t done = 0; done < MUCH;) {
        ssize_t got = ath_tls_receive(ends[mover->side].tls, mover->bytes + done, MUCH - done, 0);
        if (got > 0)
            done += (size_t)got;
        else if (!got || (errno != EINTR && errno != EAGAIN))
            return "receiving failed";
    }
    return NULL;
}

/* Replaces the network by a plain connection of the two ends. */
static void connect_directly(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (int side = 0; side < SIDES; side++) {
        ck_assert_int_eq(dup2(pair[side], ends[side].fd), ends[side].fd);
        close(pair[side]);
    }
}

TEST(sends_and_receives_in_two_threads_at_once)
{
    struct mover senders[SIDES], receivers[SIDES];
    connect_directly();
    for (int side = 0; side < SIDES; side++) {
        senders[side] = (struct mover){ .side = side, .bytes = malloc(MUCH) };
        receivers[side] = (struct mover){ .side = side, .bytes = calloc(1, MUCH) };
        for (size_t i = 0; i < MUCH; i++)
            senders[side].bytes[i] = (uint8_t)(i * 7 + i / 251 + (size_t)side);
    }
    for (int side = 0; side < SIDES; side++) {
        pthread_create(&senders[side].thread, NULL, send_much, &senders[side]);
        pthread_create(&receivers[side].thread, NULL, receive_much, &receivers[side]);
    }
    for (int side = 0; side < SIDES; side++) {
        void *failure;
        pthread_join(senders[side].thread, &failure);
        ck_assert_ptr_null(failure);
        pthread_join(receivers[side].thread, &failure);
        ck_assert_ptr_null(failure);
    }
    for (int side = 0; side < SIDES; side++) {
        ck_assert_int_eq(memcmp(senders[side].bytes, receivers[!side].bytes, MUCH), 0);
        free(senders[side].bytes);
        free(receivers[!side].bytes);
    }
}

/* Sends without waiting until the socket is full, several times at the same place, and goes on. */
TEST(goes_on_where_the_socket_was_full)
{
    ath_auto_free uint8_t *bytes = malloc(MUCH), *got = malloc(MUCH);
    size_t sent = 0, taken = 0;
    int full = 0;
    connect_directly();
    for (size_t i = 0; i < MUCH; i++)
        bytes[i] = (uint8_t)(i * 5 + i / 253);
    while (taken < MUCH) {
        struct iovec part = { bytes + sent, MUCH - sent };
        ssize_t moved = sent < MUCH ? ath_tls_send(ends[CLIENT].tls, &part, 1, MSG_DONTWAIT) : 0;
        if (moved > 0) {
            sent += (size_t)moved;
            continue;
        }
        for (int i = 0; sent < MUCH && i < 3; i++, full++) {
            ck_assert_int_eq(ath_tls_send(ends[CLIENT].tls, &part, 1, MSG_DONTWAIT), -1);
            ck_assert_int_eq(errno, EAGAIN);
        }
        while ((moved =
                    ath_tls_receive(ends[SERVER].tls, got + taken, MUCH - taken, MSG_DONTWAIT)) > 0)
            taken += (size_t)moved;
    }
    ck_assert_int_gt(full, 3);
    ck_assert_int_eq(memcmp(bytes, got, MUCH), 0);
}
