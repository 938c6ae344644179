/* The two sides of a test: exchanging the endpoints of their queue pairs, and collecting the
 * result. */
#include "config.h"

#include "roce/perf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "roce/perf_run.h"
#include "roce/qp.h"

enum { HELLO_TIMEOUT_MS = 5000, STEP_TIMEOUT_MS = 30000, READY_POLL_MS = 100 };

/* One side of a test while it runs. */
struct side {
    const struct ath_root *root;
    const struct ath_perf_local *local;
    const struct ath_perf_channel *channel;
    const struct ath_perf_watch *watch;
    struct ath_perf_plan plan;
    struct ath_qp qp;
    struct ath_perf_endpoint ours, theirs;
};

static void side_free(struct side *side)
{
    ath_qp_free(&side->qp);
}

static void name_host(const struct ath_root *root, struct ath_perf_host *out)
{
    ath_auto_free char *boot_id = ath_root_read(root, "proc/sys/kernel/random/boot_id");
    struct stat netns;

    *out = (struct ath_perf_host){ 0 };
    snprintf(out->boot_id, sizeof out->boot_id, "%s", boot_id ? boot_id : "");
    if (!stat("/proc/self/ns/net", &netns))
        out->netns = (uint64_t)netns.st_ino;
}

static bool is_same_host(const struct ath_perf_host *a, const struct ath_perf_host *b)
{
    return *a->boot_id && !strcmp(a->boot_id, b->boot_id) && a->netns == b->netns;
}

/* Waits some seconds for a port that was brought up a moment ago. */
static int wait_ready(const struct side *side, struct ath_err *err)
{
    uint64_t end = ath_now_ms() + ATH_PERF_READY_MS;
    bool is_told = false;

    for (;;) {
        int status = ath_perf_port_ready(side->root, side->local->port, err);
        if (!status || ath_now_ms() >= end)
            return status;
        if (!is_told)
            ath_log(ATH_LOG_VERBOSE, _("waiting: %s"), err->message);
        is_told = true;
        nanosleep(&(struct timespec){ .tv_nsec = READY_POLL_MS * 1000000L }, NULL);
        status = ath_perf_check_stop(&side->watch->stop, err);
        if (status)
            return status;
    }
}

static int open_queue(struct side *side, struct ath_err *err)
{
    int status = wait_ready(side, err);
    return status ? status
                  : ath_qp_open(side->local->port, ath_perf_plan_size(&side->plan),
                                side->plan.depth, &side->qp, err);
}

/* Fills `ours`. The GID depends on whether the other side is on the same host. */
static int describe(struct side *side, const struct ath_perf_host *other, struct ath_err *err)
{
    struct ath_perf_endpoint *ours = &side->ours;
    struct ath_gid gid;

    ath_qp_describe(&side->qp, side->plan.op, ours);
    name_host(side->root, &ours->host);
    const struct ath_gid_wish wish = { .index = side->local->gid_index,
                                       .is_link_local = is_same_host(&ours->host, other) };
    int status = ath_perf_gid_choose(side->root, side->local->port, &wish, &gid, err);
    if (status)
        return status;
    ours->gid_index = gid.index;
    if (gid.index != ATH_UNKNOWN && inet_pton(AF_INET6, gid.address, ours->gid) != 1)
        return ath_err_set(err, -EINVAL, ATH_E_INTERNAL, _("'%s' is no GID"), gid.address);
    if (*gid.netdev)
        snprintf(ours->netdev, sizeof ours->netdev, "%s", gid.netdev);
    return 0;
}

static struct ath_perf_run run_of(struct side *side)
{
    return (struct ath_perf_run){
        .plan = &side->plan, .channel = side->channel, .watch = side->watch, .qp = &side->qp
    };
}

static void say_hello(const struct side *side, struct ath_perf_hello *out)
{
    const struct ath_perf_plan *plan = &side->plan;

    *out = (struct ath_perf_hello){
        .op = (uint8_t)plan->op,
        .has_bandwidth = plan->has_bandwidth,
        .has_latency = plan->has_latency,
        .duration_ms = plan->duration_ms,
        .depth = plan->depth,
        .bandwidth_size_bytes = plan->bandwidth_size_bytes,
        .latency_size_bytes = plan->latency_size_bytes,
    };
    name_host(side->root, &out->host);
}

static struct ath_perf_plan plan_of(const struct ath_perf_hello *hello)
{
    return (struct ath_perf_plan){
        .op = (enum ath_perf_op)hello->op,
        .has_bandwidth = hello->has_bandwidth,
        .has_latency = hello->has_latency,
        .bandwidth_size_bytes = hello->bandwidth_size_bytes,
        .latency_size_bytes = hello->latency_size_bytes,
        .duration_ms = hello->duration_ms,
        .depth = hello->depth,
    };
}

static int hear_endpoint(struct side *side, struct ath_err *err)
{
    union ath_perf_body body;
    int status = ath_perf_hear(side->channel, ATH_PERF_ENDPOINT, STEP_TIMEOUT_MS, &body, err);
    if (!status)
        side->theirs = body.endpoint;
    return status;
}

static int say_endpoint(const struct side *side, struct ath_err *err)
{
    return ath_perf_say(side->channel, ATH_PERF_ENDPOINT,
                        &(union ath_perf_body){ .endpoint = side->ours }, err);
}

/* Connects the queue pair, and prepares the memory and receives for the first message. */
static int connect_queue(struct side *side, bool is_client, struct ath_err *err)
{
    const struct ath_perf_run run = run_of(side);
    int status = ath_qp_connect(&side->qp, &side->ours, &side->theirs, err);
    return status ? status : ath_perf_prepare(&run, is_client, err);
}

static int be_client(struct side *side, struct ath_perf_figures *out, struct ath_err *err)
{
    union ath_perf_body body;
    int status = open_queue(side, err);

    if (!status) {
        say_hello(side, &body.hello);
        status = ath_perf_say(side->channel, ATH_PERF_HELLO, &body, err);
    }
    if (!status)
        status = hear_endpoint(side, err);
    if (!status)
        status = describe(side, &side->theirs.host, err);
    if (!status)
        status = say_endpoint(side, err);
    if (!status)
        status = connect_queue(side, true, err);
    if (!status)
        status = ath_perf_hear(side->channel, ATH_PERF_READY, STEP_TIMEOUT_MS, NULL, err);
    const struct ath_perf_run run = run_of(side);
    return status ? status : ath_perf_measure(&run, out, err);
}

static int be_server(struct side *side, struct ath_perf_figures *out, struct ath_err *err)
{
    union ath_perf_body body;
    int status = ath_perf_hear(side->channel, ATH_PERF_HELLO, HELLO_TIMEOUT_MS, &body, err);
    if (status)
        return status;

    side->plan = plan_of(&body.hello);
    status = ath_perf_plan_check(&side->plan, err);
    if (!status)
        status = open_queue(side, err);
    if (!status)
        status = describe(side, &body.hello.host, err);
    if (!status)
        status = say_endpoint(side, err);
    if (!status)
        status = hear_endpoint(side, err);
    if (!status)
        status = connect_queue(side, false, err);
    if (!status)
        status = ath_perf_say(side->channel, ATH_PERF_READY, NULL, err);
    const struct ath_perf_run run = run_of(side);
    return status ? status : ath_perf_answer(&run, out, err);
}

/* Tells the other side why this side stops, unless the other side failed first or is gone. */
static void say_failure(const struct side *side, const struct ath_err *err)
{
    union ath_perf_body body = { 0 };

    if (err->code == ATH_E_PEER_FAILED || err->code == ATH_E_PEER_UNREACHABLE)
        return;
    size_t length = strnlen(err->message, sizeof body.failure.text - 1); /* a longer text is cut */
    memcpy(body.failure.text, err->message, length);
    ath_perf_say(side->channel, ATH_PERF_FAILURE, &body, NULL);
}

static void to_end(const struct ath_perf_endpoint *endpoint, const char *host,
                   struct ath_perf_end *out)
{
    static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };
    bool is_v4 = !memcmp(endpoint->gid, ipv4_prefix, sizeof ipv4_prefix);

    *out = (struct ath_perf_end){
        .port = endpoint->port,
        .link_layer = (enum ath_link_layer)endpoint->link_layer,
        .gid_index = endpoint->gid_index,
        .lid = endpoint->link_layer == ATH_LAYER_INFINIBAND ? endpoint->lid : ATH_UNKNOWN,
        .mtu_bytes = 128 << endpoint->mtu,
    };
    snprintf(out->host, sizeof out->host, "%s", host);
    snprintf(out->device, sizeof out->device, "%s", endpoint->device);
    snprintf(out->netdev, sizeof out->netdev, "%s", endpoint->netdev);
    if (endpoint->gid_index != ATH_UNKNOWN)
        inet_ntop(is_v4 ? AF_INET : AF_INET6, endpoint->gid + (is_v4 ? 12 : 0), out->gid,
                  sizeof out->gid);
}

static void to_result(const struct side *side, const struct ath_perf_figures *figures,
                      struct ath_perf_result *out)
{
    double seconds = (double)figures->elapsed_ns / 1e9;
    uint64_t bytes = figures->messages * side->plan.bandwidth_size_bytes;

    *out = (struct ath_perf_result){ .plan = side->plan, .is_verified = true };
    to_end(&side->ours, "", &out->local);
    to_end(&side->theirs, side->channel->peer, &out->remote);
    out->bandwidth = (struct ath_perf_bandwidth){
        .messages = figures->messages,
        .bytes = bytes,
        .elapsed_seconds = seconds,
        .bytes_per_second = seconds > 0 ? (double)bytes / seconds : 0,
        .message_rate_hz = seconds > 0 ? (double)figures->messages / seconds : 0,
    };
    out->latency = (struct ath_perf_latency){
        .samples = figures->samples,
        .min_us = (double)figures->min_ns / 1e3,
        .p50_us = (double)figures->p50_ns / 1e3,
        .p99_us = (double)figures->p99_ns / 1e3,
        .max_us = (double)figures->max_ns / 1e3,
        .mean_us = (double)figures->mean_ns / 1e3,
        .deviation_us = (double)figures->deviation_ns / 1e3,
    };
}

static int finish(struct side *side, int status, const struct ath_perf_figures *figures,
                  struct ath_perf_result *out, const struct ath_err *err)
{
    if (status)
        say_failure(side, err);
    else
        to_result(side, figures, out);
    return status;
}

int ath_perf_test_client(const struct ath_root *root, const struct ath_perf_plan *plan,
                         const struct ath_perf_local *ours, const struct ath_perf_channel *channel,
                         const struct ath_perf_watch *watch, struct ath_perf_result *out,
                         struct ath_err *err)
{
    ATH_AUTO(side)
    side = { .root = root, .local = ours, .channel = channel, .watch = watch, .plan = *plan };
    struct ath_perf_figures figures = { 0 };
    int status = be_client(&side, &figures, err);
    return finish(&side, status, &figures, out, err);
}

int ath_perf_test_server(const struct ath_root *root, const struct ath_perf_local *ours,
                         const struct ath_perf_channel *channel, const struct ath_perf_watch *watch,
                         struct ath_perf_result *out, struct ath_err *err)
{
    ATH_AUTO(side) side = { .root = root, .local = ours, .channel = channel, .watch = watch };
    struct ath_perf_figures figures = { 0 };
    int status = be_server(&side, &figures, err);
    return finish(&side, status, &figures, out, err);
}

/* The server of a pair of ports, on its own thread. */
struct companion {
    const struct ath_root *root;
    const struct ath_perf_local *local;
    struct ath_perf_channel *channel;
    struct ath_perf_watch watch;
    struct ath_perf_result result;
    struct ath_err err;
    int status;
};

static void *accompany(void *argument)
{
    struct companion *companion = argument;
    companion->status =
        ath_perf_test_server(companion->root, companion->local, companion->channel,
                             &companion->watch, &companion->result, &companion->err);
    ath_perf_channel_free(companion->channel); /* wakes a client that still waits */
    return NULL;
}

/* True if the error only reports that the other side failed. The other side's own error then says
 * why. */
static bool is_echo(const struct ath_err *err)
{
    return err->code == ATH_E_PEER_FAILED || err->code == ATH_E_PEER_UNREACHABLE;
}

int ath_perf_test_pair(const struct ath_root *root, const struct ath_perf_plan *plan,
                       const struct ath_perf_local *ours, const struct ath_perf_local *other,
                       const struct ath_perf_watch *watch, struct ath_perf_result *out,
                       struct ath_err *err)
{
    struct ath_perf_channel channels[2];
    struct companion companion = { .root = root, .local = other, .watch = { .stop = watch->stop } };
    pthread_t thread;

    if (!ath_verbs_load(err)) /* ath_verbs_load() is not thread-safe on its first call */
        return -ENOENT;
    int status = ath_perf_pair(&watch->stop, channels, err);
    if (status)
        return status;
    companion.channel = &channels[1];
    int fault = pthread_create(&thread, NULL, accompany, &companion);
    if (fault)
        status = ath_err_system(err, -fault, _("cannot start a thread"));
    else
        status = ath_perf_test_client(root, plan, ours, &channels[0], watch, out, err);
    ath_perf_channel_free(&channels[0]);
    if (fault)
        ath_perf_channel_free(&channels[1]);
    else
        pthread_join(thread, NULL);
    if (companion.status && (!status || (is_echo(err) && !is_echo(&companion.err)))) {
        ath_err_copy(err, &companion.err);
        return companion.status;
    }
    return status;
}

int ath_perf_describe(const struct ath_root *root, const struct ath_perf_local *ours, bool is_same,
                      struct ath_perf_end *out, struct ath_err *err)
{
    const struct ath_gid_wish wish = { .index = ours->gid_index, .is_link_local = is_same };
    struct ath_perf_endpoint endpoint = { .port = (uint8_t)ours->port->port,
                                          .link_layer = (uint8_t)ours->port->link_layer };
    struct ath_gid gid;

    int status = ath_perf_gid_choose(root, ours->port, &wish, &gid, err);
    if (status)
        return status;
    endpoint.gid_index = gid.index;
    if (gid.index != ATH_UNKNOWN)
        inet_pton(AF_INET6, gid.address, endpoint.gid);
    snprintf(endpoint.device, sizeof endpoint.device, "%s", ours->port->device);
    snprintf(endpoint.netdev, sizeof endpoint.netdev, "%s",
             ours->port->netdev ? ours->port->netdev : gid.netdev);
    to_end(&endpoint, "", out);
    out->lid = out->mtu_bytes = ATH_UNKNOWN; /* known only after the device is opened */
    return 0;
}
