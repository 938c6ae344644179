/* The parts of the RDMA test that need no RDMA device: plans, statistics, messages, connections,
 * ports, and output. */
#include "config.h"

#include "roce/perf.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/output/roce_test.h"
#include "roce/perf_exchange.h"
#include "roce/perf_stats.h"
#include "tree.h"
#include "unit.h"

static struct ath_err err;

/* ---- plans ---- */

TEST(checks_plans)
{
    struct ath_perf_plan plan;

    ath_perf_plan_init(&plan);
    ck_assert_int_eq(ath_perf_plan_check(&plan, &err), 0);
    plan.depth = 0;
    ck_assert_int_eq(ath_perf_plan_check(&plan, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "depth"));
    ck_assert_int_eq(err.code, ATH_E_VALUE_INVALID);
    ath_perf_plan_init(&plan);
    plan.bandwidth_size_bytes = (uint64_t)ATH_PERF_SIZE_MAX + 1;
    ck_assert_int_eq(ath_perf_plan_check(&plan, &err), -EINVAL);
    ath_perf_plan_init(&plan);
    plan.latency_size_bytes = 0;
    ck_assert_int_eq(ath_perf_plan_check(&plan, &err), -EINVAL);
    ath_perf_plan_init(&plan);
    plan.has_bandwidth = plan.has_latency = false;
    ck_assert_int_eq(ath_perf_plan_check(&plan, &err), -EINVAL);
    ath_perf_plan_init(&plan);
    plan.duration_ms = UINT32_MAX;
    ck_assert_int_eq(ath_perf_plan_check(&plan, &err), -EINVAL);
}

/* Several groups fit into the queue, and a group of large messages is small. */
TEST(groups_completions)
{
    struct ath_perf_plan plan;

    ath_perf_plan_init(&plan);
    plan.bandwidth_size_bytes = 8;
    ck_assert_uint_eq(ath_perf_plan_group(&plan), 32);
    plan.depth = 3;
    ck_assert_uint_eq(ath_perf_plan_group(&plan), 1);
    plan.depth = 8192;
    plan.bandwidth_size_bytes = 1 << 20;
    ck_assert_uint_eq(ath_perf_plan_group(&plan), 2);
    plan.bandwidth_size_bytes = 1 << 30;
    ck_assert_uint_eq(ath_perf_plan_group(&plan), 1);
    ck_assert_uint_eq(ath_perf_plan_size(&plan), 1 << 30);
    plan.has_bandwidth = false;
    ck_assert_uint_eq(ath_perf_plan_size(&plan), ATH_PERF_LATENCY_SIZE);
}

/* ---- statistics ---- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Compares with the exact values from a sorted array. */
static void expect_like_sorted(uint64_t *values, size_t count)
{
    static const double percents[] = { 0, 1, 10, 50, 90, 99, 99.9, 100 };
    struct ath_perf_stats *stats = ath_xalloc(sizeof *stats);
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++) {
        ath_perf_stats_add(stats, values[i]);
        sum += (double)values[i];
    }
    for (size_t i = 0; i < count; i++)
        squares += pow((double)values[i] - sum / (double)count, 2);
    qsort(values, count, sizeof *values, compare_numbers);
    for (size_t i = 0; i < ATH_COUNT(percents); i++) {
        double rank = ceil((double)count * percents[i] / 100);
        double wanted = (double)values[rank < 1 ? 0 : (size_t)rank - 1];
        double got = (double)ath_perf_stats_percentile(stats, percents[i]);
        ck_assert_msg(fabs(got - wanted) <= wanted * 0.004 + 0.5, "p%g: %g, not %g", percents[i],
                      got, wanted);
    }
    ck_assert_uint_eq(stats->min_ns, values[0]);
    ck_assert_uint_eq(stats->max_ns, values[count - 1]);
    ck_assert_double_eq_tol(stats->mean_ns, sum / (double)count, 1e-9 * sum);
    ck_assert_double_eq_tol(ath_perf_stats_deviation(stats), sqrt(squares / (double)count),
                            1e-6 * sqrt(squares) + 1e-9);
    free(stats);
}

TEST(percentiles_are_as_exact_as_documented)
{
    enum { COUNT = 20000 };
    uint64_t *values = ath_xalloc(COUNT * sizeof *values), state = 88172645463325252u;

    for (int shift = 0; shift < 56; shift += 11) {
        for (size_t i = 0; i < COUNT; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            values[i] = state >> (8 + shift);
        }
        expect_like_sorted(values, COUNT);
    }
    for (size_t i = 0; i < 100; i++)
        values[i] = 1000 + i;
    expect_like_sorted(values, 100);
    values[0] = 42;
    expect_like_sorted(values, 1);
    free(values);
}

TEST(handles_no_value_and_the_largest)
{
    struct ath_perf_stats *stats = ath_xalloc(sizeof *stats);

    ck_assert_uint_eq(ath_perf_stats_percentile(stats, 50), 0);
    ck_assert(ath_perf_stats_deviation(stats) == 0);
    ath_perf_stats_add(stats, UINT64_MAX);
    ck_assert_uint_eq(ath_perf_stats_percentile(stats, 50), UINT64_MAX);
    free(stats);
}

/* ---- messages ---- */

static union ath_perf_body made_endpoint(void)
{
    union ath_perf_body body = { .endpoint = { .link_layer = ATH_LAYER_ETHERNET,
                                               .mtu = 3,
                                               .read_depth = 16,
                                               .port = 1,
                                               .lid = 0x1234,
                                               .gid_index = 3,
                                               .qp_number = 0x00abcdef,
                                               .psn = 0x123456,
                                               .rkey = 0xdeadbeef,
                                               .address = 0x0102030405060708,
                                               .area_bytes = 65536,
                                               .gid = { 0xfe, 0x80, [15] = 1 } } };
    strcpy(body.endpoint.device, "mlx5_0");
    strcpy(body.endpoint.netdev, "enP3p1s0f0");
    strcpy(body.endpoint.host.boot_id, "0f0e0d0c-0000-4000-8000-000000000000");
    body.endpoint.host.netns = 4026531840u;
    return body;
}

static int decode(const uint8_t *frame, size_t length, union ath_perf_body *out)
{
    struct ath_perf_header header;
    int status = ath_perf_decode_header(frame, &header, &err);
    if (!status)
        ck_assert_uint_eq(header.length, length - ATH_PERF_HEADER);
    return status ? status : ath_perf_decode_body(&header, frame + ATH_PERF_HEADER, out, &err);
}

TEST(decodes_what_was_encoded)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body in = made_endpoint(), out;
    size_t length = ath_perf_encode(ATH_PERF_ENDPOINT, &in, frame);

    memset(&out, 0x5a, sizeof out);
    ck_assert_int_eq(decode(frame, length, &out), 0);
    ck_assert_uint_eq(out.endpoint.address, in.endpoint.address);
    ck_assert_uint_eq(out.endpoint.qp_number, in.endpoint.qp_number);
    ck_assert_uint_eq(out.endpoint.lid, in.endpoint.lid);
    ck_assert_int_eq(out.endpoint.gid_index, 3);
    ck_assert_mem_eq(out.endpoint.gid, in.endpoint.gid, 16);
    ck_assert_str_eq(out.endpoint.device, "mlx5_0");
    ck_assert_str_eq(out.endpoint.host.boot_id, in.endpoint.host.boot_id);
    ck_assert_uint_eq(out.endpoint.host.netns, in.endpoint.host.netns);
    in.endpoint.gid_index = -1;
    length = ath_perf_encode(ATH_PERF_ENDPOINT, &in, frame);
    ck_assert_int_eq(decode(frame, length, &out), 0);
    ck_assert_int_eq(out.endpoint.gid_index, -1);
}

/* Compares the bytes, because a machine of the other byte order must read them. */
TEST(keeps_network_byte_order)
{
    static const uint8_t wanted[] = { 'A', 'T', 'R', 'T', 0, 1,    0,    1, 0, 0, 0,
                                      75, /* header */
                                      2,   1,   0,   0,   0, 0x0b, 0xb8, 0, 0, 0, 0x80 };
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body body = {
        .hello = { .op = ATH_PERF_SEND, .has_bandwidth = 1, .duration_ms = 3000, .depth = 128 }
    };

    ck_assert_uint_eq(ath_perf_encode(ATH_PERF_HELLO, &body, frame), ATH_PERF_HEADER + 75);
    ck_assert_mem_eq(frame, wanted, sizeof wanted);
}

TEST(sends_no_bytes_after_a_texts_end)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body body;

    memset(&body, 0x41, sizeof body);
    strcpy(body.failure.text, "no");
    size_t length = ath_perf_encode(ATH_PERF_FAILURE, &body, frame);
    for (size_t i = ATH_PERF_HEADER + 2; i < length; i++)
        ck_assert_uint_eq(frame[i], 0);
}

TEST(refuses_other_headers)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *word;
    } changes[] = { { 0, 'B', "roce test" }, { 5, 2, "version 2" }, { 7, 0, "type 0" },
                    { 7, 99, "type 99" },    { 6, 1, "type 258" },  { 11, 1, "bytes" },
                    { 8, 0xff, "bytes" },    { 4, 0xff, "version" } };
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body body = made_endpoint(), out = { 0 };

    for (size_t i = 0; i < ATH_COUNT(changes); i++) {
        size_t length = ath_perf_encode(ATH_PERF_ENDPOINT, &body, frame);
        frame[changes[i].at] = changes[i].value;
        ck_assert_int_eq(decode(frame, length, &out), -EPROTO);
        ck_assert_int_eq(err.code, ATH_E_PEER_PROTOCOL);
        ck_assert_msg(strstr(err.message, changes[i].word) != NULL, "%s: %s", changes[i].word,
                      err.message);
    }
}

/* The first number that no message has, with the length of an empty message. */
TEST(refuses_the_number_after_the_last_message)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body body = made_endpoint();
    struct ath_perf_header header;

    ath_perf_encode(ATH_PERF_ENDPOINT, &body, frame);
    frame[7] = ATH_PERF_MESSAGE_END;
    memset(frame + 8, 0, 4);
    ck_assert_int_eq(ath_perf_decode_header(frame, &header, &err), -EPROTO);
    ck_assert_int_eq(err.code, ATH_E_PEER_PROTOCOL);
}

TEST(refuses_invalid_values)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body out = { 0 };

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        union ath_perf_body body = made_endpoint();                                                \
        change;                                                                                    \
        size_t length = ath_perf_encode(ATH_PERF_ENDPOINT, &body, frame);                          \
        ck_assert_int_eq(decode(frame, length, &out), -EPROTO);                                    \
        ck_assert_uint_eq(out.endpoint.qp_number, 0);                                              \
    } while (0)
    REFUSED(body.endpoint.mtu = 0);
    REFUSED(body.endpoint.mtu = 6);
    REFUSED(body.endpoint.qp_number = 1 << 24);
    REFUSED(body.endpoint.psn = 1 << 24);
    REFUSED(body.endpoint.link_layer = 0);
    REFUSED(body.endpoint.port = 0);
    REFUSED(body.endpoint.gid_index = -2);
    REFUSED(body.endpoint.area_bytes = 0);
    union ath_perf_body hello = { .hello = { .op = ATH_PERF_OP_COUNT } };
    size_t length = ath_perf_encode(ATH_PERF_HELLO, &hello, frame);
    ck_assert_int_eq(decode(frame, length, &out), -EPROTO);
}

TEST(refuses_unterminated_texts)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body body = { 0 }, out = { 0 };
    size_t length = ath_perf_encode(ATH_PERF_FAILURE, &body, frame);

    memset(frame + ATH_PERF_HEADER, 'x', length - ATH_PERF_HEADER);
    ck_assert_int_eq(decode(frame, length, &out), -EPROTO);
    frame[length - 1] = '\0';
    ck_assert_int_eq(decode(frame, length, &out), 0);
}

/* Random changes are either refused or leave valid values. The sanitizers find any overrun. */
TEST(survives_garbage)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body body = made_endpoint(), out;
    uint64_t state = 88172645463325252u;
    int taken = 0;

    for (int round = 0; round < 20000; round++) {
        size_t length = ath_perf_encode(ATH_PERF_ENDPOINT, &body, frame);
        for (int i = 0; i < 3; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            frame[ATH_PERF_HEADER + state % (length - ATH_PERF_HEADER)] = (uint8_t)(state >> 40);
        }
        if (decode(frame, length, &out))
            continue;
        taken++;
        ck_assert(out.endpoint.qp_number < 1u << 24 && out.endpoint.mtu >= 1 &&
                  out.endpoint.mtu <= 5);
        ck_assert_uint_lt(strlen(out.endpoint.device), sizeof out.endpoint.device);
    }
    ck_assert_int_gt(taken, 0);
    ck_assert_int_lt(taken, 20000);
}

/* ---- connections ---- */

static bool always(void *context)
{
    (void)context;
    return true;
}

static struct ath_perf_channel channels[2];

static void pair_up(void)
{
    const struct ath_perf_stop never = { 0 };
    ck_assert_int_eq(ath_perf_pair(&never, channels, &err), 0);
}

static void part(void)
{
    ath_perf_channel_free(&channels[0]);
    ath_perf_channel_free(&channels[1]);
}

FIXTURE(pair_up, part);

TEST(exchanges_messages)
{
    union ath_perf_body in = made_endpoint(), out;

    ck_assert(!ath_perf_has_news(&channels[1]));
    ck_assert_int_eq(ath_perf_say(&channels[0], ATH_PERF_READY, NULL, &err), 0);
    ck_assert_int_eq(ath_perf_say(&channels[0], ATH_PERF_ENDPOINT, &in, &err), 0);
    ck_assert(ath_perf_has_news(&channels[1]));
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_READY, 100, NULL, &err), 0);
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_ENDPOINT, 100, &out, &err), 0);
    ck_assert_str_eq(out.endpoint.device, "mlx5_0");
}

TEST(reports_why_the_other_side_stopped)
{
    union ath_perf_body body = { 0 };

    strcpy(body.failure.text, "the port is down");
    ck_assert_int_eq(ath_perf_say(&channels[0], ATH_PERF_FAILURE, &body, &err), 0);
    ck_assert_int_lt(ath_perf_hear(&channels[1], ATH_PERF_ENDPOINT, 100, NULL, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_PEER_FAILED);
    ck_assert_ptr_nonnull(strstr(err.message, "the port is down"));
}

TEST(refuses_a_message_out_of_turn)
{
    ck_assert_int_eq(ath_perf_say(&channels[0], ATH_PERF_CHECK, NULL, &err), 0);
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_READY, 100, NULL, &err), -EPROTO);
}

TEST(keeps_the_timeout)
{
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_READY, 50, NULL, &err), -ETIMEDOUT);
    ck_assert_int_eq(err.code, ATH_E_PEER_UNREACHABLE);
    ck_assert_int_eq(send(channels[0].fd, "ATRT", 4, 0), 4); /* the rest never arrives */
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_READY, 50, NULL, &err), -ETIMEDOUT);
}

TEST(notices_a_close_within_a_message)
{
    uint8_t frame[ATH_PERF_FRAME_MAX];
    union ath_perf_body body = made_endpoint();
    size_t length = ath_perf_encode(ATH_PERF_ENDPOINT, &body, frame);

    ck_assert_int_eq(send(channels[0].fd, frame, length - 1, 0), (ssize_t)length - 1);
    ath_perf_channel_free(&channels[0]);
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_ENDPOINT, 1000, NULL, &err), -EPIPE);
    ck_assert_int_lt(ath_perf_say(&channels[1], ATH_PERF_READY, NULL, &err), 0);
}

TEST(refuses_another_protocol)
{
    static const char http[] = "GET / HTTP/1.1\r\n\r\n";

    ck_assert_int_eq(send(channels[0].fd, http, sizeof http - 1, 0), (ssize_t)sizeof http - 1);
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_HELLO, 100, NULL, &err), -EPROTO);
    ck_assert_int_eq(err.code, ATH_E_PEER_PROTOCOL);
}

TEST(stops_on_request)
{
    const struct ath_perf_stop stop = { .is_stopped = always };
    struct ath_perf_channel channel;
    int fd = -1;

    channels[1].stop = stop;
    ck_assert_int_eq(ath_perf_hear(&channels[1], ATH_PERF_READY, 60000, NULL, &err), -EINTR);
    ck_assert_int_eq(err.code, ATH_E_INTERRUPTED);
    ck_assert_int_eq(ath_perf_listen("127.0.0.1", 0, &fd, &err), 0);
    ck_assert_int_eq(ath_perf_accept(fd, &stop, &channel, &err), -EINTR);
    close(fd);
}

TEST(reports_a_refused_connection)
{
    const struct ath_perf_stop never = { 0 };
    struct ath_perf_channel channel;
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    int fd = -1;

    ck_assert_int_eq(ath_perf_listen("127.0.0.1", 0, &fd, &err), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    int port = ntohs(((struct sockaddr_in *)&address)->sin_port);
    ck_assert_int_eq(ath_perf_connect("127.0.0.1", port, &never, &channel, &err), 0);
    ck_assert_str_eq(channel.peer, "127.0.0.1");
    ath_perf_channel_free(&channel);
    close(fd);
    ck_assert_int_eq(ath_perf_connect("127.0.0.1", port, &never, &channel, &err), -ECONNREFUSED);
    ck_assert_int_eq(err.code, ATH_E_PEER_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(err.hint, "--server"));
}

/* ---- ports and GIDs ---- */

#define LOCAL(last) "fe80:0000:0000:0000:0000:00ff:fe03:" last
#define V4(last) "0000:0000:0000:0000:0000:ffff:0a09:" last

static struct tree tree;
static struct ath_root root;
static struct ath_perf_port *ports;
static size_t port_count;

static void put_gid(const char *device, int index, const char *type, const char *address,
                    const char *netdev)
{
    tree_put(&tree, type, "sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", device, index);
    tree_put(&tree, netdev, "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d", device, index);
    tree_put(&tree, address, "sys/class/infiniband/%s/ports/1/gids/%d", device, index);
}

static void put_device(const char *device, const char *state, const char *layer, const char *netdev)
{
    tree_put(&tree, state, "sys/class/infiniband/%s/ports/1/state", device);
    tree_put(&tree, layer, "sys/class/infiniband/%s/ports/1/link_layer", device);
    if (netdev) {
        tree_put(&tree, netdev, "sys/class/infiniband/%s/parent", device);
        tree_folder(&tree, "sys/class/net/%s", netdev);
    }
}

static void make_machine(void)
{
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    put_device("ib0", "4: ACTIVE\n", "InfiniBand\n", NULL);
    put_device("rxe0", "1: DOWN\n", "Ethernet\n", "eth0");
    put_device("rxe1", "4: ACTIVE\n", "Ethernet\n", "eth1");
    put_device("rxe2", "4: ACTIVE\n", "Ethernet\n", "eth2");
    put_gid("rxe1", 0, "RoCE v2\n", LOCAL("0001") "\n", "eth1\n");
    put_gid("rxe1", 1, "RoCE v2\n", V4("000b") "\n", "eth1\n");
    put_gid("rxe1", 2, "RoCE v2\n", V4("000c") "\n", "gone0\n");
    ck_assert_int_eq(ath_perf_ports_read(&root, &ports, &port_count, &err), 0);
}

static void drop_machine(void)
{
    ath_perf_ports_free(ports, port_count);
    ath_root_free(&root);
    tree_remove(&tree);
}

static const char *chosen(const char *name, const struct ath_perf_port *other)
{
    const struct ath_perf_port *port = ath_perf_port_choose(ports, port_count, name, other, &err);
    return port ? port->device : NULL;
}

FIXTURE(make_machine, drop_machine);

TEST(chooses_ports)
{
    ck_assert_uint_eq(port_count, 4);
    ck_assert_str_eq(chosen(NULL, NULL),
                     "rxe1"); /* RoCE before InfiniBand, and no port that is down */
    ck_assert_str_eq(chosen(NULL, &ports[2]), "rxe2");
    ck_assert_str_eq(chosen(NULL, &ports[3]), "rxe1");
    ck_assert_ptr_null(chosen(NULL, &ports[0])); /* no second InfiniBand port */
    ck_assert_int_eq(err.code, ATH_E_NO_RDMA);
    ck_assert_str_eq(chosen("rxe0", NULL), "rxe0"); /* a named port is chosen even if it is down */
    ck_assert_str_eq(chosen("rxe0:1", NULL), "rxe0");
    ck_assert_str_eq(chosen("eth2", NULL), "rxe2");
    ck_assert_ptr_null(chosen("rxe0:2", NULL));
    ck_assert_ptr_null(chosen("rxe", NULL));
    ck_assert_ptr_null(chosen("rxe00", NULL));
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.hint, "rxe2"));
}

TEST(reports_that_there_is_no_device)
{
    struct ath_perf_port *none;
    struct ath_root empty;
    struct tree bare;
    size_t count;

    tree_make(&bare);
    ck_assert_int_eq(ath_root_open(bare.path, &empty, &err), 0);
    ck_assert_int_lt(ath_perf_ports_read(&empty, &none, &count, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_NO_RDMA);
    ath_root_free(&empty);
    tree_remove(&bare);
}

static int gid_with(struct ath_gid_wish wish, size_t port)
{
    struct ath_gid gid = { .index = -2 };
    return ath_perf_gid_choose(&root, &ports[port], &wish, &gid, &err) ? -3 : gid.index;
}

TEST(chooses_gids)
{
    const struct ath_gid_wish any = { .index = ATH_UNKNOWN };

    ck_assert_int_eq(gid_with(any, 2), 1);
    ck_assert_int_eq(gid_with((struct ath_gid_wish){ ATH_UNKNOWN, true }, 2), 0);
    ck_assert_int_eq(gid_with((struct ath_gid_wish){ 0, false }, 2), 0);
    ck_assert_int_eq(gid_with((struct ath_gid_wish){ 2, false }, 2),
                     -3); /* the link does not exist */
    ck_assert_int_eq(gid_with((struct ath_gid_wish){ 9, false }, 2), -3);
    ck_assert_int_eq(err.code, ATH_E_GID_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.hint, "0, 1"));
    ck_assert_int_eq(gid_with(any, 3), -3);          /* no GID at all */
    ck_assert_int_eq(gid_with(any, 0), ATH_UNKNOWN); /* InfiniBand by LID */
}

/* In a network namespace the port's own link may be elsewhere: then the GIDs of links here count,
 * those of IPv4 first. */
TEST(chooses_a_gid_of_another_link)
{
    const struct ath_gid_wish any = { .index = ATH_UNKNOWN };

    tree_folder(&tree, "sys/class/net/%s", "macvlan0");
    put_gid("rxe2", 0, "RoCE v2\n", LOCAL("0001") "\n", "macvlan0\n");
    ck_assert_int_eq(gid_with(any, 3), 0);
    tree_folder(&tree, "sys/class/net/%s", "macvlan1");
    put_gid("rxe2", 1, "RoCE v2\n", V4("000b") "\n", "macvlan1\n");
    ck_assert_int_eq(gid_with(any, 3), 1);
    ck_assert_int_eq(gid_with((struct ath_gid_wish){ 5, false }, 3), -3); /* none instead of it */
}

TEST(knows_when_a_port_is_ready)
{
    static const char addresses[] = "fe80000000000000000000fffe030001 03 40 20 80     eth1\n"
                                    "fe80000000000000000000fffe030002 04 40 20 c0     eth2\n";

    tree_put(&tree, addresses, "proc/net/if_inet6");
    ck_assert_int_eq(ath_perf_port_ready(&root, &ports[2], &err), 0);
    ck_assert_int_eq(ath_perf_port_ready(&root, &ports[3], &err), -EAGAIN); /* tentative */
    ck_assert_int_eq(err.code, ATH_E_RDMA_NOT_READY);
    ck_assert_ptr_nonnull(strstr(err.message, "still runs"));
    ck_assert_int_eq(ath_perf_port_ready(&root, &ports[1], &err), -EAGAIN); /* down */
    ck_assert_ptr_nonnull(strstr(err.hint, "eth0"));
    tree_put(&tree, "fe80000000000000000000fffe030002 04 40 20 48     eth2\n", "proc/net/if_inet6");
    ck_assert_int_eq(ath_perf_port_ready(&root, &ports[3], &err), -EAGAIN);
    ck_assert_ptr_nonnull(strstr(err.message, "another host"));
}

/* ---- output ---- */

static struct ath_roce_test_report made_report(void)
{
    struct ath_roce_test_report report = {
        .role = ATH_ROCE_TEST_CLIENT,
        .has_remote = true,
        .result = { .is_verified = true,
                    .local = { .device = "mlx5_0",
                               .netdev = "enP3p1s0f0",
                               .port = 1,
                               .link_layer = ATH_LAYER_ETHERNET,
                               .gid_index = 3,
                               .gid = "192.168.1.1",
                               .lid = ATH_UNKNOWN,
                               .mtu_bytes = 4096 },
                    .remote = { .host = "10.0.0.2",
                                .device = "mlx5_1\033[2J",
                                .port = 1,
                                .link_layer = ATH_LAYER_INFINIBAND,
                                .gid_index = ATH_UNKNOWN,
                                .lid = 7,
                                .mtu_bytes = 4096 },
                    .bandwidth = { 1000, 65536000, 0.005, 13107200000.0, 200000 },
                    .latency = { 5000, 1.5, 1.75, 2.25, 9, 1.8, 0.25 } }
    };
    ath_perf_plan_init(&report.result.plan);
    return report;
}

static char *shown(const struct ath_roce_test_report *report, enum ath_format format)
{
    const struct ath_style plain = { 0 };
    char *text;
    size_t length;
    ck_assert_int_eq(
        ath_output_make(&ath_roce_test_view, report, format, &plain, &text, &length, &err), 0);
    return text;
}

FIXTURE(NULL, NULL);

TEST(shows_results)
{
    struct ath_roce_test_report report = made_report();
    char *text = shown(&report, ATH_FORMAT_TEXT);

    ck_assert_str_eq(
        text, "RDMA write\n"
              "  from:  mlx5_0, enP3p1s0f0, GID 3 192.168.1.1\n"
              "  to:    mlx5_1?[2J on 10.0.0.2, LID 7\n"
              "  data:  a message of 64 KiB arrived unchanged\n"
              "\n"
              "bandwidth     size  messages   GiB/s     Gb/s  messages/s\n"
              "            64 KiB      1000  12.207  104.858      200000\n"
              "\n"
              "latency     size  samples  min us  median us  p99 us  max us  mean us  stddev us\n"
              "             2 B     5000    1.50       1.75    2.25    9.00     1.80       0.25\n");
    free(text);
    report.result.plan.op = ATH_PERF_READ;
    text = shown(&report, ATH_FORMAT_TEXT);
    ck_assert_ptr_nonnull(strstr(text, "to:    mlx5_0,"));
    ck_assert_ptr_nonnull(strstr(text, "a round trip"));
    free(text);
}

TEST(shows_data)
{
    struct ath_roce_test_report report = made_report();
    const char *schema, *direction, *host;
    double rate, p99;

    report.result.plan.has_latency = false;
    char *text = shown(&report, ATH_FORMAT_JSON);
    json_t *value = json_loads(text, 0, NULL);
    ck_assert_int_eq(json_unpack(value, "{s:s, s:s, s:{s:F}, s:n, s:{s:s}}", "schema", &schema,
                                 "direction", &direction, "bandwidth", "bytes_per_second", &rate,
                                 "latency", "remote", "host", &host),
                     0);
    ck_assert_str_eq(schema, "aitherion.roce-test/1");
    ck_assert_str_eq(direction, "to-remote");
    ck_assert_str_eq(host, "10.0.0.2");
    ck_assert_double_eq_tol(rate, 13107200000.0, 1);
    json_decref(value);
    free(text);

    report.role = ATH_ROCE_TEST_SERVER;
    report.result.plan.has_latency = true;
    text = shown(&report, ATH_FORMAT_JSON);
    value = json_loads(text, 0, NULL);
    ck_assert_int_eq(json_unpack(value, "{s:s, s:{s:{s:F}}}", "direction", &direction, "latency",
                                 "latency_us", "p99", &p99),
                     0);
    ck_assert_str_eq(direction, "from-remote");
    ck_assert_double_eq_tol(p99, 2.25, 1e-9);
    json_decref(value);
    free(text);
}

static FILE *caught;
static int saved_stderr;

static void catch_stderr(void)
{
    caught = tmpfile();
    saved_stderr = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(caught), STDERR_FILENO);
}

/* Returns what was written to standard error since catch_stderr(). */
static char *caught_stderr(void)
{
    static char text[4096];

    fflush(stderr);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = '\0';
    fclose(caught);
    return text;
}

/* Returns what the progress bar of a measurement writes to standard error. */
static char *drawn(struct ath_bar bar)
{
    catch_stderr();
    ath_roce_test_bar_show(&bar, &(struct ath_perf_progress){ "latency", 0.5, 0 });
    ath_roce_test_bar_show(&bar, &(struct ath_perf_progress){ "latency", 0.6, 0 });
    ath_roce_test_bar_show(&bar, &(struct ath_perf_progress){ "bandwidth", 0.25, 1e9 });
    ath_bar_end(&bar);
    return caught_stderr();
}

TEST(draws_a_bar)
{
    ck_assert_str_eq(drawn((struct ath_bar){ .is_silent = true, .is_terminal = true }), "");
    ck_assert_str_eq(drawn((struct ath_bar){ 0 }), "aitherion: measuring: latency\n"
                                                   "aitherion: measuring: bandwidth\n");
    ck_assert_str_eq(drawn((struct ath_bar){ .is_terminal = true, .columns = 64 }),
                     "\rlatency [#####......]  50 %\033[K"
                     "\rlatency [######.....]  60 %\033[K"
                     "\rbandwidth [##.......]  25 %  8.000 Gb/s\033[K"
                     "\r\033[K");
}

/* Draws one step. Returns the line without the control characters around it. */
static char *drawn_line(int columns, const struct ath_bar_step *step)
{
    struct ath_bar bar = { .is_terminal = true, .columns = columns };

    catch_stderr();
    ath_bar_show(&bar, step, "");
    char *text = caught_stderr(), *end = strstr(text, "\033[K");
    ck_assert_int_eq(text[0], '\r');
    ck_assert_ptr_nonnull(end);
    ck_assert_str_eq(end, "\033[K");
    *end = '\0';
    return text + 1;
}

TEST(keeps_a_bar_on_one_line)
{
    static const char *const notes[] = {
        NULL,
        "1.2 of 4.5 MiB",
        "NUMA0 waiting for the runtime to answer",
        "NUMA0 \xe7\xad\x89\xe5\xbe\x85\xe8\xbf\x90\xe8\xa1\x8c\xe6\x97\xb6\xe5\x9b\x9e"
        "\xe7\xad\x94\xe5\xbe\x88\xe5\xa4\x9a\xe5\xbe\x88\xe5\xa4\x9a\xe5\xad\x97",
    };
    static const char *const phases[] = { "start", "\xe5\xbc\x80\xe5\xa7\x8b" };

    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return;
    for (int columns = 1; columns <= 200; columns++)
        for (size_t note = 0; note < ATH_COUNT(notes); note++)
            for (size_t phase = 0; phase < ATH_COUNT(phases); phase++) {
                const struct ath_bar_step step = { phases[phase], note ? 0.5 : -1, notes[note] };
                size_t width = ath_text_width(drawn_line(columns, &step));
                ck_assert_msg((int)width < columns, "%zu of %d columns", width, columns);
            }
    setlocale(LC_CTYPE, "C");
}

TEST(fits_a_bar_beside_its_note)
{
    static const struct ath_bar_step step = { "start", 0.5, "NUMA0 removing the old containers" };
    static const struct ath_bar_step longer = { "start", 0.5,
                                                "NUMA0 removing the old containers now" };

    ck_assert_str_eq(drawn_line(69, &step),
                     "start [#########.........]  50 %  NUMA0 removing the old containers");
    ck_assert_str_eq(drawn_line(69, &longer),
                     "start [#######........]  50 %  NUMA0 removing the old containers now");
    ck_assert_str_eq(drawn_line(58, &step), "start  50 %  NUMA0 removing the old containers");
    ck_assert_str_eq(drawn_line(47, &step), "start  50 %  NUMA0 removing the old containers");
    ck_assert_str_eq(drawn_line(46, &step), "start  50 %  NUMA0 removing the old contai...");
}

TEST(keeps_the_width_of_a_bar_while_notes_change)
{
    static const char bar[] = "start [##########..........]  50 %";
    static const struct ath_bar_step plain = { "start", 0.5, NULL };
    static const struct ath_bar_step step = { "start", 0.5, "999.5 of 1024.0 MiB" };

    ck_assert_int_eq(strncmp(drawn_line(71, &plain), bar, strlen(bar)), 0);
    ck_assert_int_eq(strncmp(drawn_line(71, &step), bar, strlen(bar)), 0);
}

TEST(cleans_the_note_of_a_bar)
{
    static const struct ath_bar_step step = { "clean", 0, "a\033[2Jb" };

    ck_assert_str_eq(drawn_line(79, &step), "clean [............................]   0 %  a?[2Jb");
}
