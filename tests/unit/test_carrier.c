/* The UDP carrier on real sockets: directly, and through a relay that damages what it carries. */
#include "config.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "patience.h"
#include "remote/udp/carrier.h"
#include "unit.h"

SECONDS(120);

enum { MIB = 1 << 20, CHANNELS = 4, FDS_MAX = 16 };

/* ---- two carriers ---- */

static struct ath_carrier *client, *server;
static struct ath_peer server_address;
static int accepted[FDS_MAX];
static atomic_size_t accepted_count;

static int bound_socket_at(uint32_t host, struct ath_peer *out)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(host) };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    *out = (struct ath_peer){ .length = sizeof out->address };
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&out->address, &out->length), 0);
    return fd;
}

static int bound_socket(struct ath_peer *out)
{
    return bound_socket_at(INADDR_LOOPBACK, out);
}

static void keep_accepted(void *context, int fd, const struct ath_peer *peer)
{
    (void)context;
    (void)peer;
    accepted[accepted_count] = fd;
    accepted_count++;
}

static bool is_same_source(const struct ath_peer *one, const struct ath_peer *other)
{
    const struct sockaddr_in *a = (const struct sockaddr_in *)&one->address,
                             *b = (const struct sockaddr_in *)&other->address;
    return a->sin_addr.s_addr == b->sin_addr.s_addr;
}

static struct ath_carrier *make_carrier_on(int fd, size_t channels_max)
{
    const struct ath_carrier_settings settings = { .buffer_bytes = MIB,
                                                   .channels_max = channels_max,
                                                   .is_same_source = is_same_source,
                                                   .accept = keep_accepted };
    struct ath_carrier *carrier = NULL;
    ck_assert_int_eq(ath_carrier_make(fd, &settings, &carrier), 0);
    return carrier;
}

static struct ath_carrier *make_carrier(size_t channels_max, struct ath_peer *out)
{
    return make_carrier_on(bound_socket(out), channels_max);
}

static void setup(void)
{
    struct ath_peer own;
    accepted_count = 0;
    server = make_carrier(2 * CHANNELS, &server_address);
    client = make_carrier(0, &own);
}

static void teardown(void)
{
    ath_carrier_free(client);
    ath_carrier_free(server);
    for (size_t i = 0; i < accepted_count; i++)
        close(accepted[i]);
}

FIXTURE(setup, teardown);

static uint64_t patience(void)
{
    return ath_now_ms() + PATIENCE_MS;
}

/* Opens a channel; the server's end is the last one that was accepted. */
static int open_channel(const struct ath_peer *to)
{
    size_t before = accepted_count;
    int fd = -1;
    ck_assert_int_eq(ath_carrier_open(client, to, patience(), &fd), 0);
    ck_assert_uint_eq(accepted_count, before + 1);
    return fd;
}

/* ---- bytes ---- */

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 13 + (offset >> 9) * 7 + (offset >> 18));
}

struct writer {
    pthread_t thread;
    int fd;
    size_t bytes;
};

static void *write_all(void *argument)
{
    const struct writer *writer = argument;
    uint8_t bytes[50000];
    for (size_t done = 0; done < writer->bytes;) {
        size_t some = writer->bytes - done < sizeof bytes ? writer->bytes - done : sizeof bytes;
        for (size_t i = 0; i < some; i++)
            bytes[i] = byte_at(done + i);
        ssize_t sent = send(writer->fd, bytes, some, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        done += (size_t)sent;
    }
    shutdown(writer->fd, SHUT_WR);
    return NULL;
}

static void begin_writing(struct writer *writer, int fd, size_t bytes)
{
    writer->fd = fd;
    writer->bytes = bytes;
    ck_assert_int_eq(pthread_create(&writer->thread, NULL, write_all, writer), 0);
}

/* Reads to the end. Returns the number of bytes; all are right. */
static size_t read_all(int fd)
{
    static uint8_t bytes[MIB];
    size_t done = 0, wrong = 0;
    for (ssize_t got; (got = recv(fd, bytes, sizeof bytes, 0)) > 0; done += (size_t)got)
        for (ssize_t i = 0; i < got; i++)
            wrong += bytes[i] != byte_at(done + (size_t)i);
    ck_assert_uint_eq(wrong, 0);
    return done;
}

static void expect_transfer(int from, int to, size_t bytes)
{
    struct writer writer;
    begin_writing(&writer, from, bytes);
    ck_assert_uint_eq(read_all(to), bytes);
    pthread_join(writer.thread, NULL);
}

TEST(carries_bytes_both_ways)
{
    int fd = open_channel(&server_address);
    expect_transfer(fd, accepted[0], 40 * MIB + 3);
    expect_transfer(accepted[0], fd, 10 * MIB + 1);
    close(fd);
}

TEST(carries_several_channels_at_once)
{
    struct writer writers[CHANNELS];
    int fds[CHANNELS];
    for (size_t i = 0; i < CHANNELS; i++)
        fds[i] = open_channel(&server_address);
    for (size_t i = 0; i < CHANNELS; i++)
        begin_writing(&writers[i], fds[i], (i + 1) * MIB + i);
    for (size_t i = 0; i < CHANNELS; i++) {
        ck_assert_uint_eq(read_all(accepted[i]), (i + 1) * MIB + i);
        pthread_join(writers[i].thread, NULL);
        close(fds[i]);
    }
}

static void expect_full(void)
{
    int fd;
    ck_assert_int_eq(ath_carrier_open(client, &server_address, patience(), &fd), -ECONNREFUSED);
}

TEST(refuses_more_channels_than_it_takes)
{
    struct ath_peer own;
    int fds[2 * CHANNELS];
    for (size_t i = 0; i < CHANNELS; i++)
        fds[i] = open_channel(&server_address);
    expect_full(); /* one source has half of them */
    ath_carrier_release(client);
    client = make_carrier_on(bound_socket_at(INADDR_LOOPBACK + 1, &own), 0);
    for (size_t i = CHANNELS; i < ATH_COUNT(fds); i++)
        fds[i] = open_channel(&server_address);
    expect_full();
    ath_carrier_free(client);
    client = make_carrier_on(bound_socket_at(INADDR_LOOPBACK + 2, &own), 0);
    expect_full();
    for (size_t i = 0; i < ATH_COUNT(fds); i++)
        close(fds[i]);
}

static bool ends_soon(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    char byte;
    return poll(&one, 1, PATIENCE_MS) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

TEST(tells_the_peer_that_a_program_has_gone)
{
    int fd = open_channel(&server_address);
    close(accepted[0]);
    accepted[0] = -1;
    ck_assert(ends_soon(fd));                      /* an orderly end of the stream */
    while (send(fd, "bytes", 5, MSG_NOSIGNAL) > 0) /* no program reads them */
        continue;
    close(fd);
}

/* The peer's channel is alive, and ends nothing. */
TEST(ends_a_channel_whose_program_has_gone)
{
    uint64_t begin_ms = ath_now_ms();
    int fd = open_channel(&server_address);
    close(accepted[0]);
    accepted[0] = -1;
    while (ath_carrier_counters(server).channels && ath_now_ms() < begin_ms + PATIENCE_MS)
        usleep(10000);
    ck_assert_uint_eq(ath_carrier_counters(server).channels, 0);
    ck_assert_uint_ge(ath_now_ms() - begin_ms, 9000); /* it might still take bytes */
    ck_assert(ends_soon(fd));
    close(fd);
}

TEST(ends_channels_with_the_carrier)
{
    int fd = open_channel(&server_address);
    ath_carrier_free(client);
    client = NULL;
    ck_assert(ends_soon(fd));
    close(fd);
}

TEST(gives_up_where_no_answer_comes)
{
    struct ath_peer silent;
    int silent_fd = bound_socket(&silent), fd;
    uint64_t begin_ms = ath_now_ms();
    ck_assert_int_eq(ath_carrier_open(client, &silent, begin_ms + LIMIT_MS, &fd), -ETIMEDOUT);
    ck_assert_uint_ge(ath_now_ms() - begin_ms, LIMIT_MS);
    close(silent_fd);
}

/* A released carrier lives as long as its channels, and leaves no descriptor. */
TEST(ends_by_itself_after_its_last_channel)
{
    int fd = open_channel(&server_address);
    ath_carrier_release(client);
    client = NULL;
    expect_transfer(fd, accepted[0], 3 * MIB);
    expect_transfer(accepted[0], fd, MIB);
    close(fd);
    uint64_t deadline_ms = patience();
    while (ath_carrier_counters(server).channels && ath_now_ms() < deadline_ms)
        usleep(1000);
    ck_assert_uint_eq(ath_carrier_counters(server).channels, 0);
}

/* ---- datagrams of others ---- */

static size_t encode(const struct ath_datagram *datagram, uint8_t bytes[2000])
{
    ath_datagram_encode(datagram, bytes);
    if (datagram->length)
        memcpy(bytes + ATH_DATAGRAM_HEAD_BYTES, datagram->payload, datagram->length);
    return ATH_DATAGRAM_HEAD_BYTES + datagram->length;
}

static void send_to_server(int fd, const uint8_t *bytes, size_t length)
{
    ck_assert_int_eq(sendto(fd, bytes, length, 0, (struct sockaddr *)&server_address.address,
                            server_address.length),
                     (ssize_t)length);
}

TEST(counts_datagrams_of_others)
{
    struct ath_peer own;
    uint8_t bytes[2000];
    int foreign = bound_socket(&own);
    int fd = open_channel(&server_address);
    size_t length =
        encode(&(struct ath_datagram){ .kind = ATH_DATAGRAM_PROBE, .channel = 5 }, bytes);
    send_to_server(foreign, bytes, length); /* no channel has this number */
    send_to_server(foreign, (const uint8_t *)"hello", 5);
    send_to_server(foreign, bytes, 0);
    bytes[40] ^= 1;
    send_to_server(foreign, bytes, length);
    uint64_t deadline_ms = patience();
    struct ath_carrier_counters counters;
    do
        counters = ath_carrier_counters(server);
    while (counters.foreign + counters.damaged < 4 && ath_now_ms() < deadline_ms);
    ck_assert_uint_eq(counters.foreign, 3);
    ck_assert_uint_eq(counters.damaged, 1);
    expect_transfer(fd, accepted[0], MIB);
    close(fd);
    close(foreign);
}

/* A server answers an opening with a cookie, in fewer bytes than it got, and keeps nothing. */
TEST(keeps_nothing_for_an_address_that_has_not_answered)
{
    static const uint8_t zeros[ATH_DATAGRAM_BYTES_MIN];
    struct ath_peer own;
    uint8_t bytes[2000], answer[2000];
    struct ath_datagram read;
    int foreign = bound_socket(&own);
    struct ath_datagram open = { .kind = ATH_DATAGRAM_OPEN,
                                 .channel = 77,
                                 .payload = zeros,
                                 .length = ATH_DATAGRAM_BYTES_MIN - ATH_DATAGRAM_HEAD_BYTES };
    send_to_server(foreign, bytes, encode(&open, bytes));
    ssize_t got = recv(foreign, answer, sizeof answer, 0);
    ck_assert_int_eq(ath_datagram_decode(answer, (size_t)got, &read), 0);
    ck_assert_int_eq(read.kind, ATH_DATAGRAM_COOKIE);
    ck_assert_int_lt(got, ATH_DATAGRAM_BYTES_MIN);
    ck_assert_uint_eq(ath_carrier_counters(server).channels, 0);
    uint8_t with_cookie[ATH_DATAGRAM_BYTES_MIN] = { 0 };
    memcpy(with_cookie, read.payload, ATH_COOKIE_BYTES);
    open.payload = with_cookie;
    struct ath_peer other_address;
    int other = bound_socket(&other_address);
    send_to_server(other, bytes, encode(&open, bytes)); /* it is another address's cookie */
    ck_assert_int_gt(recv(other, answer, sizeof answer, 0), 0);
    ck_assert_uint_eq(ath_carrier_counters(server).channels, 0);
    send_to_server(foreign, bytes, encode(&open, bytes));
    ck_assert_int_gt(recv(foreign, answer, sizeof answer, 0), 0);
    ck_assert_uint_eq(ath_carrier_counters(server).channels, 1);
    close(foreign);
    close(other);
}

/* ---- a relay that damages ---- */

struct relay {
    pthread_t thread;
    int fd; /* towards both */
    struct ath_peer address, client;
    atomic_bool is_over, is_down;
    unsigned int lost, damaged, copied; /* each datagram of so many; 0: none */
    unsigned int count;
};

static bool happens(const struct relay *relay, unsigned int each)
{
    return each && relay->count % each == each - 1;
}

static void forward(struct relay *relay, const struct ath_peer *to, uint8_t *bytes, size_t length)
{
    relay->count++;
    if (happens(relay, relay->lost))
        return;
    if (happens(relay, relay->damaged))
        bytes[relay->count * 7919 % length] ^= 4;
    for (int copies = 1 + happens(relay, relay->copied); copies; copies--)
        (void)!sendto(relay->fd, bytes, length, 0, (const struct sockaddr *)&to->address,
                      to->length);
}

static void *run_relay(void *argument)
{
    static uint8_t bytes[65536];
    struct relay *relay = argument;
    while (!relay->is_over) {
        struct pollfd one = { .fd = relay->fd, .events = POLLIN };
        struct ath_peer from = { .length = sizeof from.address };
        if (poll(&one, 1, 10) <= 0)
            continue;
        ssize_t got = recvfrom(relay->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from.address,
                               &from.length);
        if (got <= 0 || relay->is_down)
            continue;
        if (ath_peer_is(&from, &server_address)) {
            forward(relay, &relay->client, bytes, (size_t)got);
        } else {
            relay->client = from;
            forward(relay, &server_address, bytes, (size_t)got);
        }
    }
    return NULL;
}

static void begin_relay(struct relay *relay)
{
    relay->fd = bound_socket(&relay->address);
    ck_assert_int_eq(pthread_create(&relay->thread, NULL, run_relay, relay), 0);
}

static void end_relay(struct relay *relay)
{
    relay->is_over = true;
    pthread_join(relay->thread, NULL);
    close(relay->fd);
}

TEST(carries_bytes_through_losses_damage_and_copies)
{
    static struct relay relay;
    relay = (struct relay){ .lost = 41, .damaged = 53, .copied = 29 };
    begin_relay(&relay);
    int fd = open_channel(&relay.address);
    expect_transfer(fd, accepted[0], 20 * MIB);
    struct ath_carrier_counters counters = ath_carrier_counters(server);
    ck_assert_uint_gt(counters.damaged, 0);
    ck_assert_uint_gt(counters.flows.duplicates, 0);
    ck_assert_uint_gt(ath_carrier_counters(client).flows.retransmitted, 0);
    expect_transfer(accepted[0], fd, 5 * MIB);
    close(fd);
    end_relay(&relay);
}

TEST(goes_on_when_a_link_comes_back)
{
    static struct relay relay;
    relay = (struct relay){ .lost = 0 };
    begin_relay(&relay);
    int fd = open_channel(&relay.address);
    struct writer writer;
    begin_writing(&writer, fd, 30 * MIB);
    usleep(20000);
    relay.is_down = true;
    usleep(300000);
    relay.is_down = false;
    ck_assert_uint_eq(read_all(accepted[0]), 30 * MIB);
    pthread_join(writer.thread, NULL);
    close(fd);
    end_relay(&relay);
}
