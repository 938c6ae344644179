/*
 * A link between two network namespaces whose packets arrive a fixed time later, each way, and some
 * of which are lost by chance. It is a tun device of the same name in each namespace, which gets
 * its addresses and its rate from the caller.
 *
 * line --delay-us N --loss-there PERCENT --loss-back PERCENT NAMESPACE NAMESPACE DEVICE says
 * "ready" when both devices are there, and stays until its standard input ends. The namespaces are
 * those of ip-netns(8). "there" is from the first to the second. Packets without data, such as
 * acknowledgements, are not lost.
 */
#include "config.h"

#include <fcntl.h>
#include <getopt.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    PACKET_MOST = 2048, /* the devices have Ethernet's size of 1500 */
    PACKETS = 16384,    /* in flight, one way: 1 Gb/s and 100 ms need half of them */
    DATA_LEAST = 200,   /* bytes of a packet that has data */
};

struct packet {
    uint64_t due_ns;
    size_t length;
    uint8_t bytes[PACKET_MOST];
};

/* A ring of packets. */
struct way {
    int source, target;
    double loss; /* a part of 1 */
    size_t first, count;
    struct packet packets[PACKETS];
};

static struct way ways[2];
static uint64_t delay_ns;

static void fail(const char *what, const char *object)
{
    fprintf(stderr, "line: %s %s: %m\n", what, object);
    exit(EXIT_FAILURE);
}

static int open_device(const char *space, const char *name)
{
    char path[256];
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    snprintf(path, sizeof path, "/run/netns/%s", space);
    int there = open(path, O_RDONLY | O_CLOEXEC);
    if (there < 0 || setns(there, CLONE_NEWNET))
        fail("cannot enter", path);
    close(there);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
        fail("cannot make the device", name);
    return fd;
}

static bool is_lost(const struct way *way, size_t length)
{
    return length >= DATA_LEAST && drand48() < way->loss;
}

/* Takes what has come. A ring that is full leaves the rest in the device's queue. */
static void take(struct way *way)
{
    while (way->count < PACKETS) {
        struct packet *packet = &way->packets[(way->first + way->count) % PACKETS];
        ssize_t got = read(way->source, packet->bytes, sizeof packet->bytes);
        if (got <= 0)
            return;
        packet->length = (size_t)got;
        packet->due_ns = ath_now_ns() + delay_ns;
        way->count += !is_lost(way, packet->length);
    }
}

/* Passes on what is due. Returns when the next packet is, at most this time. */
static uint64_t pass(struct way *way, uint64_t most_ns)
{
    for (; way->count; way->count--, way->first = (way->first + 1) % PACKETS) {
        const struct packet *packet = &way->packets[way->first];
        if (packet->due_ns > ath_now_ns())
            return packet->due_ns < most_ns ? packet->due_ns : most_ns;
        (void)!write(way->target, packet->bytes, packet->length); /* a device that is down */
    }
    return most_ns;
}

static void work(void)
{
    enum { IDLE_NS = 1000000000, INPUT = 2 };
    struct pollfd fds[] = { { .events = POLLIN },
                            { .events = POLLIN },
                            { .fd = STDIN_FILENO, .events = POLLIN } };
    while (!fds[INPUT].revents) {
        uint64_t next_ns = ath_now_ns() + IDLE_NS;
        for (int i = 0; i < 2; i++)
            next_ns = pass(&ways[i], next_ns);
        const uint64_t now_ns = ath_now_ns();
        const uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
        for (int i = 0; i < 2; i++)
            fds[i].fd = ways[i].count < PACKETS ? ways[i].source : -1;
        ppoll(fds, sizeof fds / sizeof *fds,
              &(struct timespec){ .tv_sec = (time_t)(wait_ns / IDLE_NS),
                                  .tv_nsec = (long)(wait_ns % IDLE_NS) },
              NULL);
        for (int i = 0; i < 2; i++)
            take(&ways[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "delay-us", required_argument, NULL, 'd' },
                                             { "loss-there", required_argument, NULL, '0' },
                                             { "loss-back", required_argument, NULL, '1' },
                                             { 0 } };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == '?')
            return EXIT_FAILURE;
        if (option == 'd')
            delay_ns = strtoull(optarg, NULL, 10) * 1000;
        else
            ways[option - '0'].loss = strtod(optarg, NULL) / 100;
    }
    if (argc - optind != 3) {
        fputs("usage: line [--delay-us N] [--loss-there PERCENT] [--loss-back PERCENT] NAMESPACE "
              "NAMESPACE DEVICE\n",
              stderr);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < 2; i++)
        ways[i].source = ways[!i].target = open_device(argv[optind + i], argv[optind + 2]);
    srand48(1);
    puts("ready");
    fflush(stdout);
    work();
    return EXIT_SUCCESS;
}
