/*
 * The transports by themselves, without CUDA: streams WHICH, of "shm", "tcp", "tls" (tcp,
 * encrypted) and "both" (tcp, and in turn with it encrypted). Two processes for each stream: one
 * writes and one reads. The last two ways also measure large frames on all connections, as a
 * session sends them.
 */
#include "config.h"

#include "load.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/session/stripes.h"
#include "remote/transport/shm.h"
#include "remote/transport/stream.h"

enum {
    SMALL = 64,      /* bytes of a launch without parameters */
    GATHERED = 4096, /* bytes: small messages are written together if a write is a system call */
    PIECE = 1 << 20,
    LARGE = 16 << 20,
    TRIPS = 500,
    MESSAGES = 200000,
    PIECES = 256,
    LARGES = 64,
};

/* The writer's announcement: this many messages of this many bytes; the reader then answers. */
struct order {
    uint64_t times, bytes, is_large;
};

/* The streams that are measured, in turn. */
static struct line {
    struct ath_stream *stream;
    const char *word; /* behind the names of the rows */
} lines[2];
static size_t line_count;
static bool is_encrypted; /* one of them, at least */

static struct ath_stream *stream; /* in use */
static uint8_t piece[LARGE], answer[SMALL];
static struct order order;

static void need(int status, const char *what)
{
    if (!status)
        return;
    printf("%s: %s\n", what, strerror(status < 0 ? -status : status));
    fflush(stdout);
    _exit(1);
}

static void write_all(const void *bytes, size_t length)
{
    struct iovec part = { (void *)(uintptr_t)bytes, length };
    need((order.is_large ? stream->ops->write_large : stream->ops->write)(stream, &part, 1),
         "writing");
}

static void read_all(void *bytes, size_t length)
{
    need((order.is_large ? stream->ops->read_large : stream->ops->read)(stream, bytes, length),
         "reading");
}

/* ---- the reader ---- */

__attribute__((noreturn)) static void be_reader(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY);
    while (!stream->ops->read(stream, &order, sizeof order)) {
        for (uint64_t i = 0; i < order.times; i++)
            read_all(piece, order.bytes);
        order.is_large = false;
        write_all(answer, sizeof answer);
    }
    _exit(0);
}

/* ---- the writer ---- */

static void send_order(uint64_t times, uint64_t bytes, bool is_large)
{
    const struct order sent = { times, bytes, is_large };
    write_all(&sent, sizeof sent);
    order = sent;
}

static void round_trip(void)
{
    send_order(0, 0, false);
    read_all(answer, sizeof answer);
}

/* Seconds, with the answer. */
static double transfer_s(uint64_t times, uint64_t bytes, uint64_t written_bytes, bool is_large)
{
    double begin = load_now_s();
    send_order(times, bytes, is_large);
    for (uint64_t left = times * bytes; left;) {
        uint64_t now = left < written_bytes ? left : written_bytes;
        write_all(piece, now);
        left -= now;
    }
    order.is_large = false;
    read_all(answer, sizeof answer);
    return load_now_s() - begin;
}

static void measure_round_trip(const char *word)
{
    load_row(load_single_us(round_trip, load_times(TRIPS)), "us", "round trip of the transport%s",
             word);
}

static void measure_messages(const char *word)
{
    uint64_t messages = (uint64_t)load_times(MESSAGES);
    uint64_t written = stream->ops->wants_batches ? GATHERED : SMALL;
    load_row((double)messages / transfer_s(messages, SMALL, written, false) / 1e6, "million/s",
             "messages of 64 bytes%s", word);
}

static void measure_pieces(const char *word)
{
    uint64_t pieces = (uint64_t)load_times(PIECES);
    load_row((double)(pieces * PIECE) / transfer_s(pieces, PIECE, PIECE, false) / 1e9, "GB/s",
             "1 MiB at a time%s", word);
}

static void measure_large(const char *word)
{
    uint64_t times = (uint64_t)load_times(LARGES);
    if (is_encrypted)
        load_row((double)(times * LARGE) / transfer_s(times, LARGE, LARGE, true) / 1e9, "GB/s",
                 "16 MiB at a time, all connections%s", word);
}

static void measure(void)
{
    static void (*const rows[])(const char *) = { measure_round_trip, measure_messages,
                                                  measure_pieces, measure_large };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (size_t i = 0; i < line_count; i++) {
            stream = lines[i].stream;
            rows[row](lines[i].word);
        }
}

/* ---- both ---- */

/* The reader runs in a process of its own. */
static void begin_shm(void)
{
    int ends[2], memory = -1;
    need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    need(ath_shm_make(ends[1], &memory, &stream), "making rings");
    int child = fork();
    need(child < 0, "fork");
    if (!child)
        be_reader();
    need(ath_shm_take(ends[0], memory, &stream), "taking rings");
}

static bool find_key(void *context, const char *identity, uint8_t out[ATH_TLS_KEY_BYTES])
{
    const struct ath_tls_key *key = context;
    memcpy(out, key->bytes, sizeof key->bytes);
    return !strcmp(identity, key->identity);
}

/* Each process does its side of the handshake. */
static struct ath_tls *encrypt(int fd, bool is_server)
{
    static struct ath_tls_key key = { "bench", { 1 } };
    struct ath_tls *tls;
    struct ath_err err;
    need(is_server ? ath_tls_make_server(fd, ATH_TLS_FORWARD, find_key, &key, &tls, &err)
                   : ath_tls_make_client(fd, ATH_TLS_FORWARD, &key, &tls, &err),
         "TLS");
    need(ath_tls_handshake(tls, ath_now_ms() + 5000, &err), "the handshake");
    return tls;
}

/* Connects a socket of the writer's with one of the reader's. */
static void connect_ends(int *out_writer, int *out_reader)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
             getsockname(listener, (struct sockaddr *)&address, &length),
         "listening");
    *out_writer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(connect(*out_writer, (struct sockaddr *)&address, length), "connecting");
    *out_reader = accept(listener, NULL, NULL);
    need(*out_reader < 0, "accept");
    close(listener);
    ath_tcp_tune(*out_writer);
    ath_tcp_tune(*out_reader);
}

static void begin_tcp(bool is_tls)
{
    const size_t count = 1 + ath_stripes_wanted(is_tls);
    int ends[ATH_STRIPES_MAX][2];
    struct ath_socket own[ATH_STRIPES_MAX] = { 0 };
    for (size_t i = 0; i < count; i++)
        connect_ends(&ends[i][0], &ends[i][1]);
    int child = fork();
    need(child < 0, "fork");
    for (size_t i = 0; i < count; i++) {
        own[i] = (struct ath_socket){ .fd = ends[i][!child] };
        close(ends[i][!!child]);
        if (is_tls)
            own[i].tls = encrypt(own[i].fd, !child);
    }
    stream = ath_tcp_stream(own[0]);
    need(!stream, "a stream");
    need(ath_tcp_add_stripes(stream, ATH_STRIPES_EQUAL, own + 1, count - 1), "further connections");
    if (!child)
        be_reader();
}

static void add_line(const char *word)
{
    stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY);
    lines[line_count++] = (struct line){ stream, word };
}

int main(int argc, char **argv)
{
    const char *which = argc == 2 ? argv[1] : "";
    if (!strcmp(which, "shm")) {
        begin_shm();
        add_line("");
    }
    if (!strcmp(which, "tcp") || !strcmp(which, "both")) {
        begin_tcp(false);
        add_line("");
    }
    is_encrypted = !strcmp(which, "tls") || !strcmp(which, "both");
    if (is_encrypted) {
        begin_tcp(true);
        add_line(", TLS");
    }
    if (!line_count)
        return fprintf(stderr, "usage: streams shm|tcp|tls|both\n"), 2;
    return load_serve(measure);
}
