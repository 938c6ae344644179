/* aitherion roce test: measures RDMA bandwidth and latency within this machine or to another. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/root.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/roce_test.h"
#include "cli/report.h"
#include "cli/watch.h"
#include "roce/perf.h"

enum { GID_INDEX_MAX = 255 };

struct options {
    const char *device, *peer_device, *peer, *listen;
    bool is_server, is_once, wants_bandwidth, wants_latency;
    const char *op, *size, *duration, *depth, *port, *gid;
};

/* The checked options, and what a test needs. */
struct test {
    struct ath_cli *cli;
    enum ath_roce_test_role role;
    struct ath_perf_plan plan;
    int tcp_port, gid_index;
    struct ath_root root;
    struct ath_perf_port *ports;
    size_t port_count;
    struct ath_perf_local local, other;
    struct ath_bar bar;
    struct ath_perf_watch watch;
};

static void test_free(struct test *test)
{
    ath_root_free(&test->root);
    ath_perf_ports_free(test->ports, test->port_count);
}

/* ---- options ---- */

static int bad_value(const char *option, const char *value, const char *wanted, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), value, option);
    return ath_err_hint(err, -EINVAL, "%s", wanted);
}

static int parse_number(const char *option, const char *text, int min, int max, int *out,
                        struct ath_err *err)
{
    if (!text || !ath_parse_int(text, min, max, out))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), text, option);
    return ath_err_hint(err, -EINVAL, _("a whole number from %d to %d"), min, max);
}

static int parse_size(const char *text, struct ath_perf_plan *plan, struct ath_err *err)
{
    uint64_t size;

    if (!text)
        return 0;
    if (ath_parse_size(text, &size) || !size || size > ATH_PERF_SIZE_MAX)
        return bad_value("size", text, _("1 to 1G, as 64, 64K or 1M"), err);
    plan->bandwidth_size_bytes = plan->latency_size_bytes = size;
    return 0;
}

static int parse_duration(const char *text, struct ath_perf_plan *plan, struct ath_err *err)
{
    double seconds;

    if (!text)
        return 0;
    if (ath_parse_double(text, &seconds) || seconds * 1e3 < ATH_PERF_DURATION_MIN_MS ||
        seconds * 1e3 > ATH_PERF_DURATION_MAX_MS)
        return bad_value("duration", text, _("seconds from 0.1 to 86400"), err);
    plan->duration_ms = (uint32_t)(seconds * 1e3 + 0.5);
    return 0;
}

static const char *const ops[] = { "write", "read", "send", NULL };

static int parse_op(const char *text, enum ath_perf_op *out, struct ath_err *err)
{
    for (size_t i = 0; text && ops[i]; i++)
        if (!strcmp(ops[i], text)) {
            *out = (enum ath_perf_op)i;
            return 0;
        }
    return text ? bad_value("op", text, _("write, read or send"), err) : 0;
}

static int parse_plan(const struct options *options, struct ath_perf_plan *plan,
                      struct ath_err *err)
{
    int depth = ATH_PERF_DEPTH;

    ath_perf_plan_init(plan);
    if (options->wants_bandwidth || options->wants_latency) {
        plan->has_bandwidth = options->wants_bandwidth;
        plan->has_latency = options->wants_latency;
    }
    int status = parse_op(options->op, &plan->op, err);
    if (!status)
        status = parse_size(options->size, plan, err);
    if (!status)
        status = parse_duration(options->duration, plan, err);
    if (!status)
        status = parse_number("depth", options->depth, 1, ATH_PERF_DEPTH_MAX, &depth, err);
    plan->depth = (uint32_t)depth;
    return status;
}

/* Refuses options that have no meaning together. */
static int check_together(const struct options *options, struct ath_err *err)
{
    const struct {
        bool is_wrong;
        const char *message;
    } rules[] = {
        { options->is_server && options->peer, N_("'--server' and '--peer' exclude each other") },
        { options->peer_device && (options->is_server || options->peer),
          N_("'--peer-device' is for a test within this machine, without '--server' and "
             "'--peer'") },
        { options->is_once && !options->is_server, N_("'--once' needs '--server'") },
        { options->listen && !options->is_server, N_("'--listen' needs '--server'") },
        { options->port && !options->is_server && !options->peer,
          N_("'--port' needs '--server' or '--peer'") },
        { options->is_server &&
              (options->op || options->size || options->duration || options->depth ||
               options->wants_bandwidth || options->wants_latency),
          N_("the client chooses what is measured: leave these options out with '--server'") },
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_wrong)
            return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s", _(rules[i].message));
    return 0;
}

static int parse_options(const struct options *options, struct test *test, struct ath_err *err)
{
    test->role = options->is_server ? ATH_ROCE_TEST_SERVER
                 : options->peer    ? ATH_ROCE_TEST_CLIENT
                                    : ATH_ROCE_TEST_PAIR;
    test->tcp_port = ATH_PERF_TCP_PORT;
    test->gid_index = ATH_UNKNOWN;
    int status = check_together(options, err);
    if (!status)
        status = parse_plan(options, &test->plan, err);
    if (!status)
        status = parse_number("port", options->port, 1, 65535, &test->tcp_port, err);
    if (!status)
        status = parse_number("gid", options->gid, 0, GID_INDEX_MAX, &test->gid_index, err);
    return status;
}

static void watch(struct test *test)
{
    test->bar = ath_cli_bar(test->cli);
    test->watch = (struct ath_perf_watch){ .stop = { .is_stopped = ath_stop_is_wanted },
                                           .progress = ath_roce_test_bar_show,
                                           .context = &test->bar };
    ath_stop_catch();
}

/* ---- the three roles ---- */

static int show(const struct test *test, const struct ath_perf_result *result, bool has_remote,
                struct ath_err *err)
{
    const struct ath_roce_test_report report = { .role = test->role,
                                                 .is_dry_run = test->cli->globals.is_dry_run,
                                                 .has_remote = has_remote,
                                                 .result = *result };
    return ath_cli_show(test->cli, &ath_roce_test_view, &report, ath_cli_format(test->cli), err);
}

static int find_ports(const struct options *options, struct test *test, struct ath_err *err)
{
    int status = ath_root_open("/", &test->root, err);
    if (!status)
        status = ath_perf_ports_read(&test->root, &test->ports, &test->port_count, err);
    if (status)
        return status;

    test->local.gid_index = test->other.gid_index = test->gid_index;
    test->local.port =
        ath_perf_port_choose(test->ports, test->port_count, options->device, NULL, err);
    if (test->local.port && test->role == ATH_ROCE_TEST_PAIR)
        test->other.port = ath_perf_port_choose(test->ports, test->port_count, options->peer_device,
                                                test->local.port, err);
    return test->local.port && (test->other.port || test->role != ATH_ROCE_TEST_PAIR) ? 0 : -ENODEV;
}

static int plan_only(const struct test *test, struct ath_err *err)
{
    struct ath_perf_result result = { .plan = test->plan };
    bool is_pair = test->role == ATH_ROCE_TEST_PAIR;

    int status = ath_perf_describe(&test->root, &test->local, is_pair, &result.local, err);
    if (!status && is_pair)
        status = ath_perf_describe(&test->root, &test->other, true, &result.remote, err);
    return status ? status : show(test, &result, is_pair, err);
}

static int run_pair(struct test *test, struct ath_perf_result *out, struct ath_err *err)
{
    return ath_perf_test_pair(&test->root, &test->plan, &test->local, &test->other, &test->watch,
                              out, err);
}

static int run_client(struct test *test, const char *host, struct ath_perf_result *out,
                      struct ath_err *err)
{
    ATH_AUTO(ath_perf_channel) channel = { .fd = -1 };
    int status = ath_perf_connect(host, test->tcp_port, &test->watch.stop, &channel, err);
    return status ? status
                  : ath_perf_test_client(&test->root, &test->plan, &test->local, &channel,
                                         &test->watch, out, err);
}

/* Serves one client. Its errors are printed and do not end the server, unless it is the only
 * client. */
static int serve_one(struct test *test, int listen_fd, bool is_only, struct ath_err *err)
{
    ATH_AUTO(ath_perf_channel) channel = { .fd = -1 };
    struct ath_perf_result result;
    int status = ath_perf_accept(listen_fd, &test->watch.stop, &channel, err);

    if (status)
        return status;
    ath_log(ATH_LOG_VERBOSE, _("a client from %s"), channel.peer);
    status = ath_perf_test_server(&test->root, &test->local, &channel, &test->watch, &result, err);
    if (!status)
        return show(test, &result, true, err);
    if (*channel.peer)
        ath_err_wrap(err, status, "%s", channel.peer);
    if (is_only || ath_stop_is_wanted(NULL))
        return status;
    ath_report_error(test->cli, err);
    return 0;
}

/* A signal is the normal end of a server. */
static int serve(struct test *test, const struct options *options, struct ath_err *err)
{
    ath_auto_close int listen_fd = -1;
    int status = ath_perf_listen(options->listen, test->tcp_port, &listen_fd, err);

    if (status)
        return status;
    if (!test->bar.is_silent)
        ath_log(ATH_LOG_NORMAL, _("waiting for clients on port %d, RDMA device '%s'"),
                test->tcp_port, test->local.port->device);
    do
        status = serve_one(test, listen_fd, options->is_once, err);
    while (!status && !options->is_once);
    return ath_stop_is_wanted(NULL) && !options->is_once ? 0 : status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(test) test = { .cli = cli, .root = { .fd = -1 } };
    struct ath_perf_result result;

    int status = parse_options(options, &test, err);
    if (!status)
        status = find_ports(options, &test, err);
    if (status || cli->globals.is_dry_run)
        return status ? status : plan_only(&test, err);
    watch(&test);
    if (test.role == ATH_ROCE_TEST_SERVER)
        return serve(&test, options, err);
    status = options->peer ? run_client(&test, options->peer, &result, err)
                           : run_pair(&test, &result, err);
    ath_bar_end(&test.bar);
    return status ? status : show(&test, &result, true, err);
}

/* The last arguments are the help and more members. */
#define TEXT(option, member, value, ...)                                                           \
    {                                                                                              \
        .name = option, .type = ATH_OPTION_TEXT, .metavar = value,                                 \
        .offset = offsetof(struct options, member), .help = __VA_ARGS__                            \
    }
#define FLAG(option, member, text)                                                                 \
    {                                                                                              \
        .name = option, .offset = offsetof(struct options, member), .help = text                   \
    }

static const struct ath_option option_table[] = {
    TEXT("device", device, "DEVICE",
         N_("RDMA device of this side: mlx5_0, mlx5_0:2 for its second port, or the name of its "
            "network link (default: the first active port)"),
         .completion = ATH_COMPLETE_RDMA_DEVICE),
    TEXT("peer-device", peer_device, "DEVICE",
         N_("test within this machine, to this device (default: the next active port)"),
         .completion = ATH_COMPLETE_RDMA_DEVICE),
    TEXT("peer", peer, "HOST", N_("test with `roce test --server` on another host")),
    FLAG("server", is_server,
         N_("wait for clients and serve them one after another, until stopped")),
    { .name = "op",
      .type = ATH_OPTION_TEXT,
      .metavar = "write|read|send",
      .suggestions = ops,
      .offset = offsetof(struct options, op),
      .help = N_("operation to measure (default: write); chosen by the client") },
    TEXT("size", size, "BYTES",
         N_("size of a message, as 64, 64K or 1M (default: 64K for bandwidth, 2 for latency)")),
    TEXT("duration", duration, "S",
         N_("seconds of each measurement, without warm-up (default: 3)")),
    FLAG("bandwidth", wants_bandwidth, N_("measure bandwidth only")),
    FLAG("latency", wants_latency, N_("measure latency only")),
    TEXT("depth", depth, "N", N_("messages in flight for bandwidth (default: 128)")),
    TEXT("port", port, "PORT",
         N_("TCP port over which both sides set up the test (default: 18516)")),
    TEXT("listen", listen, "ADDRESS",
         N_("with --server: accept clients on this address only (default: all)")),
    FLAG("once", is_once, N_("with --server: end after one client")),
    TEXT("gid", gid, "INDEX",
         N_("GID index of this side (default: chosen by link, RoCE v2 and IPv4; link-local "
            "between ports of one host)")),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion roce test", N_("between the first two active RDMA ports of this machine") },
    { "aitherion roce test --device mlx5_0 --peer-device mlx5_2 --op read",
      N_("read between two named devices") },
    { "aitherion roce test --server", N_("on one host: serve") },
    { "aitherion roce test --peer node2 --size 1M --duration 10",
      N_("on the other host: measure") },
    { "aitherion roce test --latency --json", N_("latency only, as data") },
    { .command = NULL },
};

const struct ath_command ath_command_roce_test = {
    .name = "test",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("measure RDMA bandwidth and latency"),
    .description =
        N_("Connects two RDMA ports with a reliable connection, transfers one message and "
           "compares it byte by byte, and then measures latency with one message at a time and "
           "bandwidth with many in flight. Data goes from the client to the server; with `read` "
           "from the server to the client. For write and send, latency is half of the round "
           "trip.\n\n"
           "The results compare to those of perftest's ib_write_bw, ib_write_lat and so on with "
           "the same size and depth. For the best results run the test on the card's own NUMA "
           "node: numactl --cpunodebind N --membind N aitherion roce test.\n\n"
           "The server does not authenticate its clients: use it only in a trusted network and "
           "only during the test."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
