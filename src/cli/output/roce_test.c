/* An RDMA test as text, as data and as a progress bar. */
#include "config.h"

#include "cli/output/roce_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"
#include "cli/output/words.h"

static const char *const roles[] = { "pair", "client", "server" };

/* Whether data goes from the local end to the remote one: the client's, but for "read". */
static bool goes_out(const struct ath_roce_test_report *report)
{
    bool is_client = report->role != ATH_ROCE_TEST_SERVER;
    return is_client != (report->result.plan.op == ATH_PERF_READ);
}

/* ---- data ---- */

static json_t *text_or_null(const char *text)
{
    return ath_json_text(*text ? text : NULL);
}

static json_t *end_to_json(const struct ath_perf_end *end)
{
    return json_pack("{s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "host",
                     text_or_null(end->host), "device", ath_json_text(end->device), "port",
                     end->port, "netdev", text_or_null(end->netdev), "link_layer",
                     ath_json_text(ath_link_layer_word(end->link_layer)), "gid_index",
                     ath_json_number(end->gid_index), "gid", text_or_null(end->gid), "lid",
                     ath_json_number(end->lid), "mtu_bytes", ath_json_number(end->mtu_bytes));
}

static json_t *plan_to_json(const struct ath_perf_plan *plan)
{
    return json_pack(
        "{s:s, s:f, s:i, s:o, s:o}", "op", ath_perf_op_word(plan->op), "duration_seconds",
        plan->duration_ms / 1e3, "depth", (int)plan->depth, "bandwidth_size_bytes",
        plan->has_bandwidth ? ath_json_number((int64_t)plan->bandwidth_size_bytes) : json_null(),
        "latency_size_bytes",
        plan->has_latency ? ath_json_number((int64_t)plan->latency_size_bytes) : json_null());
}

static json_t *bandwidth_to_json(const struct ath_perf_bandwidth *bandwidth)
{
    return json_pack("{s:I, s:I, s:f, s:f, s:f}", "messages", (json_int_t)bandwidth->messages,
                     "bytes", (json_int_t)bandwidth->bytes, "elapsed_seconds",
                     bandwidth->elapsed_seconds, "bytes_per_second", bandwidth->bytes_per_second,
                     "message_rate_hz", bandwidth->message_rate_hz);
}

static json_t *latency_to_json(const struct ath_perf_result *result)
{
    const struct ath_perf_latency *latency = &result->latency;
    json_t *times = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "min", latency->min_us, "p50",
                              latency->p50_us, "p99", latency->p99_us, "max", latency->max_us,
                              "mean", latency->mean_us, "stddev", latency->deviation_us);
    return json_pack("{s:I, s:b, s:o}", "samples", (json_int_t)latency->samples, "is_round_trip",
                     result->plan.op == ATH_PERF_READ, "latency_us", times);
}

static json_t *to_json(const void *data)
{
    const struct ath_roce_test_report *report = data;
    const struct ath_perf_result *result = &report->result;
    const struct ath_perf_plan *plan = &result->plan;
    bool is_run = !report->is_dry_run;

    return json_pack(
        "{s:s, s:b, s:s, s:o, s:o, s:o, s:b, s:o, s:o}", "role", roles[report->role], "is_dry_run",
        report->is_dry_run, "direction", goes_out(report) ? "to-remote" : "from-remote", "plan",
        plan_to_json(plan), "local", end_to_json(&result->local), "remote",
        report->has_remote ? end_to_json(&result->remote) : json_null(), "is_verified",
        result->is_verified, "bandwidth",
        is_run && plan->has_bandwidth ? bandwidth_to_json(&result->bandwidth) : json_null(),
        "latency", is_run && plan->has_latency ? latency_to_json(result) : json_null());
}

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

/* One row below its headings, all to the right but the first. */
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
        fputs(_("A read's latency is there and back.\n"), out);
}

static void print_plan(FILE *out, const struct ath_perf_plan *plan)
{
    ath_auto_free char *bandwidth = ath_words_page((int64_t)plan->bandwidth_size_bytes);
    ath_auto_free char *latency = ath_words_page((int64_t)plan->latency_size_bytes);

    if (plan->has_latency)
        fprintf(out, _("would measure latency with messages of %s for %.1f s\n"), latency,
                plan->duration_ms / 1e3);
    if (plan->has_bandwidth)
        fprintf(out,
                _("would measure bandwidth with messages of %s for %.1f s, %u of them under way\n"),
                bandwidth, plan->duration_ms / 1e3, plan->depth);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_roce_test_report *report = data;
    const struct ath_perf_result *result = &report->result;

    print_ends(style, out, report);
    if (report->is_dry_run) {
        if (report->role == ATH_ROCE_TEST_SERVER)
            fputs(_("would wait for clients, who say what is measured\n"), out);
        else
            print_plan(out, &result->plan);
        return;
    }
    ath_auto_free char *size = ath_words_page((int64_t)ath_perf_plan_size(&result->plan));
    fprintf(out, _("  data:  a message of %s arrived as it was sent\n"), size);
    if (result->plan.has_bandwidth)
        print_bandwidth(style, out, result);
    if (result->plan.has_latency)
        print_latency(style, out, result);
}

const struct ath_view ath_roce_test_view = { "aitherion.roce-test/1", to_json, to_text, NULL, 0 };

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
