/* An RDMA test as text, as JSON and as a progress bar. */
#include "config.h"

#include "cli/output/roce_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/words.h"

static const char *const roles[] = { "pair", "client", "server", NULL };

static const char *role_word(int role)
{
    return roles[role];
}

/* Returns whether data flows from the local end to the remote end. Clients send, except for
 * "read". */
static bool goes_out(const struct ath_roce_test_report *report)
{
    bool is_client = report->role != ATH_ROCE_TEST_SERVER;
    return is_client != (report->result.plan.op == ATH_PERF_READ);
}

/* ---- data ---- */

ATH_FIELD_WORD(op_word, enum ath_perf_op, ath_perf_op_word)
ATH_FIELD_WORD(layer_word, enum ath_link_layer, ath_link_layer_word)

static json_t *make_duration(const void *object)
{
    return json_real(((const struct ath_perf_plan *)object)->duration_ms / 1e3);
}

#define AT(member) ATH_AT(struct ath_perf_plan, member)
static const struct ath_field plan_fields[] = {
    ATH_FIELD("op", AT(op), .word = op_word, .word_count = ATH_PERF_OP_COUNT),
    ATH_FIELD("duration_seconds", ATH_OF(ATH_FIELD_DOUBLE),
              .help = "duration of each measurement, without the warm-up",
              .rules = "{\"minimum\": 0.1}", .make = make_duration),
    ATH_FIELD("depth", AT(depth),
              .help = "number of messages in flight in the bandwidth measurement",
              .rules = ATH_AT_LEAST_1),
    ATH_FIELD("bandwidth_size_bytes", AT(bandwidth_size_bytes),
              .help = "size of a message; null if bandwidth is not measured",
              .known = ATH_KNOWN(struct ath_perf_plan, has_bandwidth), .rules = ATH_AT_LEAST_1),
    ATH_FIELD("latency_size_bytes", AT(latency_size_bytes),
              .help = "size of a message; null if latency is not measured",
              .known = ATH_KNOWN(struct ath_perf_plan, has_latency), .rules = ATH_AT_LEAST_1),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_perf_end, member)
static const struct ath_field end_fields[] = {
    ATH_FIELD("host", AT(host), .help = "address of the other host; null for this machine",
              .is_nullable = true),
    ATH_FIELD("device", AT(device)),
    ATH_FIELD("port", AT(port), .help = "port number of the device, from 1",
              .rules = ATH_AT_LEAST_1),
    ATH_FIELD("netdev", AT(netdev), .help = "link that the GID belongs to; null if not known",
              .is_nullable = true),
    ATH_FIELD("link_layer", AT(link_layer), .is_nullable = true, .word = layer_word,
              .word_count = ATH_LAYER_INFINIBAND + 1),
    ATH_FIELD("gid_index", AT(gid_index), .help = "null if the LID was used", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("gid", AT(gid), .help = "IP address of the GID: 192.168.100.10, fe80::1",
              .is_nullable = true),
    ATH_FIELD("lid", AT(lid), .help = "null for Ethernet", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("mtu_bytes", AT(mtu_bytes),
              .help = "RDMA MTU that this end supports; the smaller one of both ends is used; null "
                      "with --dry-run",
              .is_nullable = true, .rules = "{\"minimum\": 256}"),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_perf_bandwidth, member)
static const struct ath_field bandwidth_fields[] = {
    ATH_FIELD("messages", AT(messages), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("bytes", AT(bytes), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("elapsed_seconds", AT(elapsed_seconds), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("bytes_per_second", AT(bytes_per_second), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("message_rate_hz", AT(message_rate_hz), .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_perf_latency, member)
static const struct ath_field time_fields[] = {
    ATH_FIELD("min", AT(min_us), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("p50", AT(p50_us), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("p99", AT(p99_us), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("max", AT(max_us), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("mean", AT(mean_us), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("stddev", AT(deviation_us), .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

static json_t *make_is_round_trip(const void *object)
{
    return json_boolean(((const struct ath_perf_result *)object)->plan.op == ATH_PERF_READ);
}

#define AT(member) ATH_AT(struct ath_perf_result, member)
static const struct ath_field latency_fields[] = {
    ATH_FIELD("samples", AT(latency.samples), .rules = ATH_AT_LEAST_1),
    ATH_FIELD("is_round_trip", ATH_OF(ATH_FIELD_BOOL),
              .help = "true for read: the times are of round trips; false for write and send: the "
                      "times are half of a round trip",
              .make = make_is_round_trip),
    ATH_FIELD("latency_us", AT(latency),
              .help = "times in microseconds; the error of the median and of p99 is at most 0.4 "
                      "percent",
              .fields = time_fields),
    { .name = NULL },
};
#undef AT

static const char *const directions[] = { "to-remote", "from-remote", NULL };

static json_t *make_direction(const void *object)
{
    return json_string(directions[!goes_out(object)]);
}

static const void *find_bandwidth(const void *object)
{
    const struct ath_roce_test_report *report = object;
    return !report->is_dry_run && report->result.plan.has_bandwidth ? report : NULL;
}

static const void *find_latency(const void *object)
{
    const struct ath_roce_test_report *report = object;
    return !report->is_dry_run && report->result.plan.has_latency ? report : NULL;
}

#define AT(member) ATH_AT(struct ath_roce_test_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("role", AT(role),
              .help = "pair: both ends are on this machine, and local is the client",
              .word = role_word, .words = roles),
    ATH_FIELD("is_dry_run", AT(is_dry_run)),
    ATH_FIELD("direction", ATH_OF(ATH_FIELD_TEXT),
              .help = "direction of the data in the bandwidth measurement", .words = directions,
              .make = make_direction),
    ATH_FIELD("plan", AT(result.plan), .fields = plan_fields),
    ATH_FIELD("local", AT(result.local), .fields = end_fields),
    ATH_FIELD("remote", AT(result.remote),
              .help = "the remote end; null with --dry-run if it is on another host",
              .known = ATH_KNOWN(struct ath_roce_test_report, has_remote), .fields = end_fields),
    ATH_FIELD("is_verified", AT(result.is_verified),
              .help = "whether a message was sent and compared byte by byte; false only with "
                      "--dry-run"),
    ATH_FIELD("bandwidth", AT(result.bandwidth), .help = "null if bandwidth was not measured",
              .is_nullable = true, .fields = bandwidth_fields, .find = find_bandwidth),
    ATH_FIELD("latency", AT(result), .help = "null if latency was not measured",
              .is_nullable = true, .fields = latency_fields, .find = find_latency),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

static void print_end(const struct ath_style *style, FILE *out, const struct ath_perf_end *end)
{
    ATH_AUTO(ath_text) text = { 0 };
    ath_auto_free char *device = ath_clean(end->device, style->is_utf8);

    fprintf(out, "%s%s%s", ath_style_on(style, ATH_ROLE_NAME), device,
            ath_style_off(style, ATH_ROLE_NAME));
    if (*end->host)
        ath_text_add(&text, _(" on %s"), end->host);
    if (*end->netdev)
        ath_text_add(&text, ", %s", end->netdev);
    if (end->gid_index != ATH_UNKNOWN)
        ath_text_add(&text, ", GID %d %s", end->gid_index, end->gid);
    else if (end->lid != ATH_UNKNOWN)
        ath_text_add(&text, ", LID %d", end->lid);
    ath_auto_free char *clean = ath_clean(text.data ? text.data : "", style->is_utf8);
    fputs(clean, out);
}

static void print_ends(const struct ath_style *style, FILE *out,
                       const struct ath_roce_test_report *report)
{
    const struct ath_perf_result *result = &report->result;
    const struct ath_perf_end *from = goes_out(report) ? &result->local : &result->remote;
    const struct ath_perf_end *to = goes_out(report) ? &result->remote : &result->local;

    fprintf(out, _("RDMA %s\n"), ath_perf_op_word(result->plan.op));
    if (!report->has_remote) {
        fputs(_("  here:  "), out);
        print_end(style, out, &result->local);
    } else {
        fputs(_("  from:  "), out);
        print_end(style, out, from);
        fputs(_("\n  to:    "), out);
        print_end(style, out, to);
    }
    putc('\n', out);
}

enum { CELLS_MAX = 8, CELL_GAP = 2 };

struct cell {
    const char *heading;
    char *value; /* owned */
};

/* Prints a label and headings, and a row of right-aligned values below them. Frees the values. */
static void print_cells(const struct ath_style *style, FILE *out, const char *label,
                        struct cell *cells, size_t count)
{
    size_t first = ath_text_width(label);
    fprintf(out, "\n%s%s%s", ath_style_on(style, ATH_ROLE_HEADING), label,
            ath_style_off(style, ATH_ROLE_HEADING));
    fprintf(out, "%*s", (int)(first < 10 ? 10 - first : 1), "");
    for (int row = 0; row < 2; row++) {
        for (size_t i = 0; i < count; i++) {
            size_t heading = ath_text_width(_(cells[i].heading));
            size_t value = ath_text_width(cells[i].value);
            size_t width = (heading > value ? heading : value) + CELL_GAP;
            const char *text = row ? cells[i].value : _(cells[i].heading);
            fprintf(out, "%*s%s%s%s", (int)(width - (row ? value : heading)), "",
                    ath_style_on(style, row ? ATH_ROLE_PLAIN : ATH_ROLE_DIM), text,
                    ath_style_off(style, row ? ATH_ROLE_PLAIN : ATH_ROLE_DIM));
        }
        fprintf(out, "\n%*s", row ? 0 : (int)(first < 10 ? 10 : first + 1), "");
    }
    for (size_t i = 0; i < count; i++)
        free(cells[i].value);
}

static void print_bandwidth(const struct ath_style *style, FILE *out,
                            const struct ath_perf_result *result)
{
    const struct ath_perf_bandwidth *bandwidth = &result->bandwidth;
    struct cell cells[] = {
        { N_("size"), ath_words_page((int64_t)result->plan.bandwidth_size_bytes) },
        { N_("messages"), ath_xasprintf("%llu", (unsigned long long)bandwidth->messages) },
        { "GiB/s", ath_xasprintf("%.3f", bandwidth->bytes_per_second / (1024.0 * 1024 * 1024)) },
        { "Gb/s", ath_xasprintf("%.3f", bandwidth->bytes_per_second * 8 / 1e9) },
        { N_("messages/s"), ath_xasprintf("%.0f", bandwidth->message_rate_hz) },
    };
    print_cells(style, out, _("bandwidth"), cells, ATH_COUNT(cells));
}

static void print_latency(const struct ath_style *style, FILE *out,
                          const struct ath_perf_result *result)
{
    const struct ath_perf_latency *latency = &result->latency;
    struct cell cells[] = {
        { N_("size"), ath_words_page((int64_t)result->plan.latency_size_bytes) },
        { N_("samples"), ath_xasprintf("%llu", (unsigned long long)latency->samples) },
        { N_("min us"), ath_xasprintf("%.2f", latency->min_us) },
        { N_("median us"), ath_xasprintf("%.2f", latency->p50_us) },
        { N_("p99 us"), ath_xasprintf("%.2f", latency->p99_us) },
        { N_("max us"), ath_xasprintf("%.2f", latency->max_us) },
        { N_("mean us"), ath_xasprintf("%.2f", latency->mean_us) },
        { N_("stddev us"), ath_xasprintf("%.2f", latency->deviation_us) },
    };
    print_cells(style, out, _("latency"), cells, ATH_COUNT(cells));
    if (result->plan.op == ATH_PERF_READ)
        fputs(_("The latency of a read is a round trip.\n"), out);
}

static void print_plan(FILE *out, const struct ath_perf_plan *plan)
{
    ath_auto_free char *bandwidth = ath_words_page((int64_t)plan->bandwidth_size_bytes);
    ath_auto_free char *latency = ath_words_page((int64_t)plan->latency_size_bytes);

    if (plan->has_latency)
        fprintf(out, _("would measure latency with messages of %s for %.1f s\n"), latency,
                plan->duration_ms / 1e3);
    if (plan->has_bandwidth)
        fprintf(out, _("would measure bandwidth with messages of %s for %.1f s, %u in flight\n"),
                bandwidth, plan->duration_ms / 1e3, plan->depth);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_roce_test_report *report = data;
    const struct ath_perf_result *result = &report->result;

    print_ends(style, out, report);
    if (report->is_dry_run) {
        if (report->role == ATH_ROCE_TEST_SERVER)
            fputs(_("would wait for clients, which choose the measurements\n"), out);
        else
            print_plan(out, &result->plan);
        return;
    }
    ath_auto_free char *size = ath_words_page((int64_t)ath_perf_plan_size(&result->plan));
    fprintf(out, _("  data:  a message of %s arrived unchanged\n"), size);
    if (result->plan.has_bandwidth)
        print_bandwidth(style, out, result);
    if (result->plan.has_latency)
        print_latency(style, out, result);
}

const struct ath_view ath_roce_test_view = {
    .schema = "aitherion.roce-test/1",
    .title = "Output of `aitherion roce test --json`; a server prints one object for each client",
    .fields = fields,
    .to_text = to_text,
};

/* ---- the bar ---- */

static const char *phase_word(const char *phase)
{
    return !strcmp(phase, "latency") ? _("latency") : _("bandwidth");
}

void ath_roce_test_bar_show(void *context, const struct ath_perf_progress *progress)
{
    struct ath_bar *bar = context;
    char rate[32] = "";
    const char *phase = phase_word(progress->phase);
    ath_auto_free char *line = ath_xasprintf(_("measuring: %s"), phase);

    if (progress->bytes_per_second > 0)
        snprintf(rate, sizeof rate, "%.3f Gb/s", progress->bytes_per_second * 8 / 1e9);
    ath_bar_show(
        bar, &(struct ath_bar_step){ .phase = phase, .fraction = progress->fraction, .note = rate },
        line);
}
