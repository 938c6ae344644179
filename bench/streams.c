/*
 * The transports by themselves, without CUDA: streams WHICH, of "shm", "tcp" and "tls" (tcp,
 * encrypted). Two processes: one writes and one reads.
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
#include "remote/transport/shm.h"
#include "remote/transport/stream.h"

enum {
    SMALL = 64,      /* bytes of a launch without parameters */
    GATHERED = 4096, /* bytes: small messages are written together if a write is a system call */
    PIECE = 1 << 20,
    TRIPS = 500,
    MESSAGES = 200000,
    PIECES = 256,
};

/* The writer's announcement: this many messages of this many bytes; the reader then answers. */
struct order {
    uint64_t times, bytes;
};

static struct ath_stream *stream;
static uint8_t piece[PIECE], answer[SMALL];
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
    need(stream->ops->write(stream, &part, 1), "writing");
}

static void read_all(void *bytes, size_t length)
{
    need(stream->ops->read(stream, bytes, length), "reading");
}

/* ---- the reader ---- */

__attribute__((noreturn)) static void be_reader(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY);
    while (!stream->ops->read(stream, &order, sizeof order)) {
        for (uint64_t i = 0; i < order.times; i++)
            read_all(piece, order.bytes);
        write_all(answer, sizeof answer);
    }
    _exit(0);
}

/* ---- the writer ---- */

/* Writes an order together with the first of its bytes. */
static void send_order(uint64_t times, uint64_t bytes)
{
    order = (struct order){ times, bytes };
    write_all(&order, sizeof order);
}

static void round_trip(void)
{
    send_order(0, 0);
    read_all(answer, sizeof answer);
}

/* Seconds, with the answer. */
static double transfer_s(uint64_t times, uint64_t bytes, uint64_t written_bytes)
{
    double begin = load_now_s();
    send_order(times, bytes);
    for (uint64_t left = times * bytes; left;) {
        uint64_t now = left < written_bytes ? left : written_bytes;
        write_all(piece, now);
        left -= now;
    }
    read_all(answer, sizeof answer);
    return load_now_s() - begin;
}

static void measure(void)
{
    uint64_t messages = (uint64_t)load_times(MESSAGES), pieces = (uint64_t)load_times(PIECES);
    load_row(load_single_us(round_trip, load_times(TRIPS)), "us", "round trip of the transport");
    double seconds = transfer_s(messages, SMALL, stream->ops->wants_batches ? GATHERED : SMALL);
    load_row((double)messages / seconds / 1e6, "million/s", "messages of 64 bytes");
    load_row((double)(pieces * PIECE) / transfer_s(pieces, PIECE, PIECE) / 1e9, "GB/s",
             "1 MiB at a time");
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

static void begin_tcp(bool is_encrypted)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
             getsockname(listener, (struct sockaddr *)&address, &length),
         "listening");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(connect(fd, (struct sockaddr *)&address, length), "connecting");
    int other = accept(listener, NULL, NULL);
    need(other < 0, "accept");
    ath_tcp_tune(fd);
    ath_tcp_tune(other);
    int child = fork();
    need(child < 0, "fork");
    struct ath_socket own = { .fd = child ? fd : other };
    if (is_encrypted)
        own.tls = encrypt(own.fd, !child);
    stream = ath_tcp_stream(own);
    need(!stream, "a stream");
    if (!child)
        be_reader();
}

int main(int argc, char **argv)
{
    const char *which = argc == 2 ? argv[1] : "";
    if (!strcmp(which, "shm"))
        begin_shm();
    else if (!strcmp(which, "tcp") || !strcmp(which, "tls"))
        begin_tcp(!strcmp(which, "tls"));
    else
        return fprintf(stderr, "usage: streams shm|tcp|tls\n"), 2;
    stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY);
    return load_serve(measure);
}
