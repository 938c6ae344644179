/*
 * The UDP carrier beside TCP on the loopback, without CUDA: udp [CHANNELS]. One process writes and
 * one reads, by so many connections and by so many channels in turn, five times each. Prints GB/s
 * and what UDP has of TCP.
 */
#include "config.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/udp/carrier.h"

enum { MIB = 1 << 20, BYTES = 256 * MIB, ROUNDS = 5, CHANNELS_MAX = 8, OPEN_MS = 5000 };

static size_t channels = 1;
static int received[CHANNELS_MAX];
static _Atomic size_t received_count;

static void need(int status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "udp: %s: %s\n", what, strerror(status < 0 ? -status : status));
    exit(1);
}

static int bound_socket(int type, struct ath_peer *out)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    need(fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address), "binding");
    *out = (struct ath_peer){ .length = sizeof out->address };
    need(getsockname(fd, (struct sockaddr *)&out->address, &out->length), "an address");
    return fd;
}

/* ---- the reader ---- */

static void keep(void *context, int fd, const struct ath_peer *peer)
{
    (void)context;
    (void)peer;
    received[received_count] = fd;
    received_count++;
}

static void *read_one(void *argument)
{
    static _Thread_local uint8_t bytes[MIB];
    int fd = *(const int *)argument;
    for (size_t left = BYTES; left;) {
        ssize_t got = recv(fd, bytes, sizeof bytes < left ? sizeof bytes : left, 0);
        need(got <= 0, "reading");
        left -= (size_t)got;
    }
    need(send(fd, "", 1, MSG_NOSIGNAL) != 1, "answering");
    return NULL;
}

static void on_each(void *(*work)(void *), int fds[])
{
    pthread_t threads[CHANNELS_MAX];
    for (size_t i = 0; i < channels; i++)
        need(pthread_create(&threads[i], NULL, work, &fds[i]), "a thread");
    for (size_t i = 0; i < channels; i++)
        pthread_join(threads[i], NULL);
}

__attribute__((noreturn)) static void be_reader(int listener, const int *sockets)
{
    const struct ath_carrier_settings settings = { .buffer_bytes = ATH_CARRIER_BUFFER_BYTES,
                                                   .channels_max = CHANNELS_MAX,
                                                   .accept = keep };
    int connections[CHANNELS_MAX];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < channels; i++) {
        struct ath_carrier *carrier;
        need(ath_carrier_make(sockets[i], &settings, &carrier), "a carrier");
        connections[i] = accept(listener, NULL, NULL);
    }
    while (received_count < channels)
        usleep(1000);
    for (int round = 0; round < ROUNDS; round++) {
        on_each(read_one, connections);
        on_each(read_one, received);
    }
    pause();
    _exit(0);
}

/* ---- the writer ---- */

static void *write_one(void *argument)
{
    static uint8_t bytes[MIB];
    int fd = *(const int *)argument;
    for (size_t left = BYTES; left;) {
        ssize_t sent = send(fd, bytes, sizeof bytes < left ? sizeof bytes : left, MSG_NOSIGNAL);
        need(sent <= 0, "writing");
        left -= (size_t)sent;
    }
    need(recv(fd, &(char){ 0 }, 1, 0) != 1, "the answer");
    return NULL;
}

static double rate_of(int fds[])
{
    uint64_t begin_ns = ath_now_ns();
    on_each(write_one, fds);
    return (double)channels * BYTES / (double)(ath_now_ns() - begin_ns);
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(double rates[ROUNDS])
{
    qsort(rates, ROUNDS, sizeof *rates, compare);
    return rates[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    struct ath_peer listening, carriers[CHANNELS_MAX], own;
    int sockets[CHANNELS_MAX], connections[CHANNELS_MAX], opened[CHANNELS_MAX];
    double tcp[ROUNDS], udp[ROUNDS];
    channels = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    if (channels < 1 || channels > CHANNELS_MAX)
        return fprintf(stderr, "usage: udp [CHANNELS, 1 to %d]\n", CHANNELS_MAX), 2;
    int listener = bound_socket(SOCK_STREAM, &listening);
    need(listen(listener, CHANNELS_MAX), "listening");
    for (size_t i = 0; i < channels; i++)
        sockets[i] = bound_socket(SOCK_DGRAM, &carriers[i]);
    int child = fork();
    need(child < 0, "fork");
    if (!child)
        be_reader(listener, sockets);
    const struct ath_carrier_settings settings = { .buffer_bytes = ATH_CARRIER_BUFFER_BYTES };
    for (size_t i = 0; i < channels; i++) {
        struct ath_carrier *carrier;
        close(sockets[i]);
        connections[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        need(connect(connections[i], (struct sockaddr *)&listening.address, listening.length),
             "connecting");
        need(ath_carrier_make(bound_socket(SOCK_DGRAM, &own), &settings, &carrier), "a carrier");
        need(ath_carrier_open(carrier, &carriers[i], ath_now_ms() + OPEN_MS, &opened[i]),
             "opening a channel");
    }
    for (int round = 0; round < ROUNDS; round++) {
        tcp[round] = rate_of(connections);
        udp[round] = rate_of(opened);
    }
    double of_tcp = median(tcp), of_udp = median(udp);
    printf("tcp %6.2f GB/s\nudp %6.2f GB/s, %.0f %% of tcp\n", of_tcp, of_udp,
           100 * of_udp / of_tcp);
    kill(child, SIGKILL);
    return 0;
}
