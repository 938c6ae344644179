/*
 * A slow line in front of a server: bytes that arrive are passed on a fixed time later, each way,
 * whatever its amount. relay --delay-us N HOST:PORT says "listening on HOST:PORT" and stays until
 * its standard input ends.
 *
 * A connection costs its two ways as well: the first bytes of a client arrive no earlier than they
 * could have been sent after a handshake over that line. Each way of a connection has two threads:
 * one says when a piece is due, the other passes it on then.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "remote/wire/endpoint.h"

enum {
    READ_BYTES = 64 << 10,
    BACKLOG_BYTES = 256 << 20, /* in flight at the same time; 1 GB/s and 100 ms need fewer */
    EARLY_NS = 30000,          /* how long before the due time a sleeper wakes, at first */
    EARLY_MOST_NS = 200000,
    CONNECT_MS = 60000,
};

struct piece {
    struct piece *next;
    uint64_t due_ns;
    size_t length; /* 0: the end */
    uint8_t bytes[];
};

struct client {
    int fd;
    uint64_t begin_ns, number;
};

/* One direction of a connection. */
struct way {
    int source, target;
    uint64_t earliest_ns; /* no piece leaves earlier */
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct piece *first, **end; /* in flight; guarded by the lock */
    size_t bytes;               /* of these, and of the piece that is being written */
};

static struct ath_endpoint server;
static uint64_t delay_ns;

static void need(int status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "relay: %s: %s\n", what, strerror(status < 0 ? -status : status));
    _exit(1);
}

/* A sleeping thread wakes late, by an amount that depends on the machine (5 us, or 100 us in a
 * virtual machine). So the thread asks to wake earlier by about as much as it was late before, and
 * spins for the rest. */
static void sleep_until(uint64_t due_ns)
{
    static _Thread_local uint64_t early_ns = EARLY_NS;
    uint64_t wake_ns = due_ns - early_ns;
    struct timespec wake = { .tv_sec = (time_t)(wake_ns / 1000000000),
                             .tv_nsec = (long)(wake_ns % 1000000000) };
    if (ath_now_ns() < wake_ns) {
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL))
            ;
        uint64_t late_ns = ath_now_ns() - wake_ns;
        early_ns += late_ns > early_ns ? (late_ns - early_ns) / 2 : 0;
        early_ns -= late_ns < early_ns ? (early_ns - late_ns) / 16 : 0;
        early_ns = early_ns < EARLY_MOST_NS ? early_ns : EARLY_MOST_NS;
    }
    while (ath_now_ns() < due_ns)
        ;
}

/* ---- a way ---- */

static void wait_for_room(struct way *way)
{
    pthread_mutex_lock(&way->lock);
    while (way->bytes >= BACKLOG_BYTES)
        pthread_cond_wait(&way->change, &way->lock);
    pthread_mutex_unlock(&way->lock);
}

static void put(struct way *way, struct piece *piece)
{
    pthread_mutex_lock(&way->lock);
    *way->end = piece;
    way->end = &piece->next;
    way->bytes += piece->length;
    pthread_cond_signal(&way->change);
    pthread_mutex_unlock(&way->lock);
}

static struct piece *take(struct way *way)
{
    pthread_mutex_lock(&way->lock);
    while (!way->first)
        pthread_cond_wait(&way->change, &way->lock);
    struct piece *piece = way->first;
    way->first = piece->next;
    if (!way->first)
        way->end = &way->first;
    pthread_mutex_unlock(&way->lock);
    return piece;
}

static void give_room(struct way *way, size_t bytes)
{
    pthread_mutex_lock(&way->lock);
    way->bytes -= bytes;
    pthread_cond_signal(&way->change);
    pthread_mutex_unlock(&way->lock);
}

/* Returns the time at which the last byte arrived, by the kernel's timestamp, so that the time that
 * the reader took to wake does not count. */
static uint64_t arrival_ns(struct msghdr *message)
{
    uint64_t now = ath_now_ns();
    struct timespec then, today;
    struct cmsghdr *stamp = CMSG_FIRSTHDR(message);
    if (!stamp || stamp->cmsg_type != SCM_TIMESTAMPNS)
        return now;
    clock_gettime(CLOCK_REALTIME, &today);
    memcpy(&then, CMSG_DATA(stamp), sizeof then);
    int64_t age = (int64_t)(today.tv_sec - then.tv_sec) * 1000000000 + today.tv_nsec - then.tv_nsec;
    if (age < 0)
        age = 0;
    return now - ((uint64_t)age < delay_ns ? (uint64_t)age : delay_ns);
}

/* The next piece with its due time. A source that is gone sends the end. */
static struct piece *receive(const struct way *way)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct timespec))] = { 0 };
    struct piece *piece = malloc(sizeof *piece + READ_BYTES);
    need(piece ? 0 : ENOMEM, "memory");
    struct iovec part = { piece->bytes, READ_BYTES };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    ssize_t received = recvmsg(way->source, &message, 0);
    size_t length = received > 0 ? (size_t)received : 0;
    uint64_t begin_ns = arrival_ns(&message);
    struct piece *shrunk = realloc(piece, sizeof *piece + length);
    need(shrunk ? 0 : ENOMEM, "memory");
    *shrunk =
        (struct piece){ .due_ns =
                            (begin_ns > way->earliest_ns ? begin_ns : way->earliest_ns) + delay_ns,
                        .length = length };
    return shrunk;
}

static void *read_way(void *argument)
{
    struct way *way = argument;
    for (size_t length = 1; length;) {
        wait_for_room(way);
        struct piece *piece = receive(way);
        length = piece->length;
        put(way, piece);
    }
    return NULL;
}

/* Sends all bytes. If the target is gone, they are dropped, and reading goes on, so that the source
 * does not wait. The other direction ends by itself. */
static void send_all(int target, const uint8_t *bytes, size_t length)
{
    while (length) {
        ssize_t sent = send(target, bytes, length, MSG_NOSIGNAL);
        if (sent < 0)
            return;
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void *write_way(void *argument)
{
    struct way *way = argument;
    for (size_t length = 1; length;) {
        struct piece *piece = take(way);
        length = piece->length;
        sleep_until(piece->due_ns);
        if (length)
            send_all(way->target, piece->bytes, length);
        else
            shutdown(way->target, SHUT_WR);
        free(piece);
        give_room(way, length);
    }
    return NULL;
}

static void begin_way(struct way *way, int source, int target, uint64_t earliest_ns,
                      pthread_t threads[2])
{
    *way = (struct way){ .source = source,
                         .target = target,
                         .earliest_ns = earliest_ns,
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .change = PTHREAD_COND_INITIALIZER,
                         .end = &way->first };
    need(pthread_create(&threads[0], NULL, read_way, way), "a thread");
    need(pthread_create(&threads[1], NULL, write_way, way), "a thread");
}

/* ---- connections ---- */

static void carry(int client, int target, uint64_t begin_ns)
{
    struct way there, back;
    pthread_t threads[4];
    begin_way(&there, client, target, begin_ns + 2 * delay_ns, threads);
    begin_way(&back, target, client, 0, threads + 2);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void tune(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &(int){ 1 }, sizeof(int));
}

/* Connects to the server in the order in which the clients came. */
static int connect_in_turn(uint64_t number, int *out_fd)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
    static uint64_t turn;
    struct ath_err err;
    pthread_mutex_lock(&lock);
    while (turn != number)
        pthread_cond_wait(&change, &lock);
    int status = ath_endpoint_connect(&server, ath_now_ms() + CONNECT_MS, out_fd, &err);
    turn++;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    return status;
}

/* The client's TCP handshake with the relay takes no time; over the line it would take a round
 * trip.
 */
static void *serve(void *argument)
{
    struct client client = *(struct client *)argument;
    int target;
    free(argument);
    tune(client.fd);
    sleep_until(client.begin_ns + delay_ns);
    if (!connect_in_turn(client.number, &target)) {
        tune(target);
        carry(client.fd, target, client.begin_ns);
        close(target);
    }
    close(client.fd);
    return NULL;
}

__attribute__((noreturn)) static void accept_all(int listener)
{
    pthread_t thread;
    for (uint64_t number = 0;; number++) {
        struct client *client = malloc(sizeof *client);
        need(client ? 0 : ENOMEM, "memory");
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        need(fd < 0 ? errno : 0, "accept");
        *client = (struct client){ fd, ath_now_ns(), number };
        need(pthread_create(&thread, NULL, serve, client), "a thread");
        pthread_detach(thread);
    }
}

static void *end_with_input(void *argument)
{
    char word[64];
    (void)argument;
    while (read(STDIN_FILENO, word, sizeof word) > 0)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    struct ath_endpoint any = { .host = "127.0.0.1", .port = "0" };
    struct ath_err err;
    char text[ATH_ENDPOINT_TEXT];
    int listener, delay_us;
    if (argc != 4 || strcmp(argv[1], "--delay-us") != 0 ||
        ath_parse_int(argv[2], 0, INT_MAX, &delay_us) || ath_endpoint_parse(argv[3], &server, &err))
        return fprintf(stderr, "usage: relay --delay-us N HOST:PORT\n"), 2;
    delay_ns = (uint64_t)delay_us * 1000;
    prctl(PR_SET_TIMERSLACK, 1UL); /* also for the other threads */
    mallopt(M_TRIM_THRESHOLD, BACKLOG_BYTES);
    if (ath_endpoint_listen(&any, 0, &listener, &err))
        return fprintf(stderr, "relay: %s\n", err.message), 1;
    fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) & ~O_NONBLOCK);
    pthread_t thread;
    need(pthread_create(&thread, NULL, end_with_input, NULL), "a thread");
    printf("listening on %s\n", ath_endpoint_of_socket(listener, false, text));
    fflush(stdout);
    accept_all(listener);
}
