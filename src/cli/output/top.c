/* The model of `aitherion top`, as tables and as JSON. */
#include "config.h"

#include "cli/output/top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/fields.h"
#include "cli/output/table.h"
#include "cli/output/words.h"
#include "cli/top/columns.h"
#include "cli/top/short.h"

void ath_top_report_make(const struct ath_top *top, const struct ath_top_order *order,
                         struct ath_top_report *out)
{
    size_t count;
    ath_auto_free size_t *sorted = ath_top_sorted(top, order, &count);

    *out = (struct ath_top_report){ .top = top, .time_ms = (int64_t)time(NULL) * 1000 };
    out->sessions = ath_xalloc(count * sizeof *out->sessions);
    out->session_count = count;
    for (size_t i = 0; i < count; i++)
        out->sessions[i] = &top->sessions[sorted[i]];
}

void ath_top_report_free(struct ath_top_report *report)
{
    free(report->sessions);
}

/* ---- data ---- */

#define AT(member) ATH_AT(struct ath_top, member)
static const struct ath_field host_fields[] = {
    ATH_FIELD("cpu_percent", AT(cpu_percent), .help = "of its processors together",
              .is_nullable = true),
    ATH_FIELD("memory_total_bytes", AT(host.memory_total_bytes), .is_nullable = true),
    ATH_FIELD("memory_available_bytes", AT(host.memory_available_bytes), .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_top_server, member)
static const struct ath_field server_fields[] = {
    ATH_FIELD("name", AT(name), .help = "as `runtime` of GPUs and sessions"),
    ATH_FIELD("error", AT(err), .help = "why the runtime could not be asked; null if it answered",
              .failed = ATH_FAILED(struct ath_top_server, status), .fields = ath_error_fields),
    ATH_FIELD("has_figures", AT(answer.has_figures),
              .help = "false if the runtime is too old to measure: then most figures are null"),
    { .name = NULL },
};
#undef AT

static const void *find_device(const void *object)
{
    return ((const struct ath_top_gpu *)object)->device;
}

#define AT(member) ATH_AT(struct ath_top_gpu, member)
static const struct ath_field gpu_fields[] = {
    ATH_FIELD("runtime", AT(runtime), .help = "name of the runtime"),
    ATH_FIELD("number", AT(number), .help = "index in the runtime's list of GPUs",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("name", ATH_AT(struct ath_runtime_device, name), .is_nullable = true,
              .find = find_device),
    ATH_FIELD("pci", ATH_AT(struct ath_runtime_device, pci), .is_nullable = true,
              .find = find_device),
    ATH_FIELD("sessions", AT(figures.sessions), .is_nullable = true),
    ATH_FIELD("busy_percent", AT(figures.busy_percent), .is_nullable = true),
    ATH_FIELD("memory_busy_percent", AT(figures.memory_busy_percent), .is_nullable = true),
    ATH_FIELD("memory_used_bytes", AT(figures.memory_used_bytes),
              .help = "by the sessions of the runtime", .is_nullable = true),
    ATH_FIELD("memory_limit_bytes", AT(figures.memory_limit_bytes),
              .help = "for all sessions of the runtime together", .is_nullable = true),
    ATH_FIELD("memory_free_bytes", AT(figures.memory_free_bytes), .help = "for all programs",
              .is_nullable = true),
    ATH_FIELD("memory_total_bytes", AT(figures.memory_total_bytes), .is_nullable = true),
    ATH_FIELD("temperature_c", AT(figures.temperature_c), .is_nullable = true),
    ATH_FIELD("power_mw", AT(figures.power_mw), .is_nullable = true),
    ATH_FIELD("power_limit_mw", AT(figures.power_limit_mw), .is_nullable = true),
    ATH_FIELD("sm_clock_mhz", AT(figures.sm_clock_mhz), .is_nullable = true),
    ATH_FIELD("memory_clock_mhz", AT(figures.memory_clock_mhz), .is_nullable = true),
    ATH_FIELD("pcie_received_bytes_s", AT(figures.pcie_received_bytes_s), .is_nullable = true),
    ATH_FIELD("pcie_sent_bytes_s", AT(figures.pcie_sent_bytes_s), .is_nullable = true),
    ATH_FIELD("nvlink_received_bytes_s", AT(nvlink_received_bytes_s), .is_nullable = true),
    ATH_FIELD("nvlink_sent_bytes_s", AT(nvlink_sent_bytes_s), .is_nullable = true),
    ATH_FIELD("health_score", AT(figures.health_score), .help = "0 to 100", .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_top_session, member)
static const struct ath_field session_fields[] = {
    ATH_FIELD("runtime", AT(runtime), .help = "name of the runtime"),
    { .name = "",
      .at = { .kind = ATH_FIELD_INNER,
              .offset = offsetof(struct ath_top_session, facts),
              .is_pointer = true },
      .fields = ath_session_fields },
    ATH_FIELD("transport", AT(transport), .help = "tcp or shm", .is_nullable = true),
    ATH_FIELD("memory_bytes", AT(memory_bytes), .help = "on all GPUs together",
              .is_nullable = true),
    ATH_FIELD("busy_percent", AT(busy_percent),
              .help = "of its busiest GPU's time since the last look", .is_nullable = true),
    ATH_FIELD("gpu_time_us", AT(gpu_time_us), .help = "that GPUs worked for it",
              .is_nullable = true),
    ATH_FIELD("calls", AT(calls), .help = "since its start", .is_nullable = true),
    ATH_FIELD("calls_s", AT(calls_s), .help = "in each second since the last look",
              .is_nullable = true),
    ATH_FIELD("received_bytes_s", AT(received_bytes_s), .help = "by the runtime",
              .is_nullable = true),
    ATH_FIELD("sent_bytes_s", AT(sent_bytes_s), .help = "by the runtime", .is_nullable = true),
    ATH_FIELD("held_percent", AT(held_percent),
              .help = "of the time since the last look in which it had its GPUs",
              .is_nullable = true),
    ATH_FIELD("queued_percent", AT(queued_percent),
              .help = "of the time since the last look in which it waited for its turn",
              .is_nullable = true),
    ATH_FIELD("wait_us", AT(wait_us),
              .help = "mean of the waits for the GPU since the last look; null if there was none",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

static const char *link_word(int state)
{
    return ath_link_state_word((enum ath_link_state)state);
}

#define AT(member) ATH_AT(struct ath_top_port, member)
static const struct ath_field port_fields[] = {
    ATH_FIELD("netdev", AT(facts.netdev), .is_nullable = true),
    ATH_FIELD("rdma_device", AT(facts.rdma_device), .is_nullable = true),
    ATH_FIELD("link", AT(facts.link), .word = link_word, .word_count = ATH_LINK_STATE_COUNT,
              .is_nullable = true),
    ATH_FIELD("speed_mbps", AT(facts.speed_mbps), .is_nullable = true),
    ATH_FIELD("received_bytes_s", AT(received_bytes_s), .help = "RDMA and all else",
              .is_nullable = true),
    ATH_FIELD("sent_bytes_s", AT(sent_bytes_s), .help = "RDMA and all else", .is_nullable = true),
    ATH_FIELD("rdma_received_bytes_s", AT(rdma_received_bytes_s), .is_nullable = true),
    ATH_FIELD("rdma_sent_bytes_s", AT(rdma_sent_bytes_s), .is_nullable = true),
    { .name = NULL },
};
#undef AT

static const void *find_top(const void *object)
{
    return ((const struct ath_top_report *)object)->top;
}

#define AT(member) ATH_AT(struct ath_top, member)
#define LIST(items, count) ATH_AT_LIST(struct ath_top, items, count)
static const struct ath_field fields[] = {
    ATH_FIELD("time_ms", ATH_AT(struct ath_top_report, time_ms), .help = "since 1970, in UTC"),
    ATH_FIELD("host", ATH_OF(ATH_FIELD_OBJECT), .help = "this host", .fields = host_fields,
              .find = find_top),
    ATH_FIELD("runtimes", LIST(servers, server_count), .fields = server_fields, .find = find_top),
    ATH_FIELD("gpus", LIST(gpus, gpu_count), .fields = gpu_fields, .find = find_top),
    ATH_FIELD("sessions", ATH_AT_LIST(struct ath_top_report, sessions, session_count),
              .help = "in the order of --sort, those that --filter leaves",
              .fields = session_fields),
    ATH_FIELD("ports", LIST(ports, port_count), .help = "network ports of this host",
              .fields = port_fields, .find = find_top),
    { .name = NULL },
};
#undef LIST
#undef AT

/* ---- text ---- */

static void print_gpus(const struct ath_style *style, FILE *out, const struct ath_top *top)
{
    static const char *const titles[] = { N_("Runtime"),  N_("GPU"),   N_("Name"),  N_("Busy"),
                                          N_("Memory"),   N_("Temp"),  N_("Power"), N_("Bytes/s"),
                                          N_("Sessions"), N_("Health") };
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = ATH_COUNT(titles) };

    for (size_t i = 0; i < top->gpu_count; i++) {
        const struct ath_top_gpu *gpu = &top->gpus[i];
        const struct ath_device_figures *now = &gpu->figures;
        ath_auto_free char *used = ath_short_size(now->memory_used_bytes);
        ath_auto_free char *total = ath_short_size(now->memory_total_bytes);
        struct ath_table_cell *cells = ath_table_add_row(&table);
        cells[0].text = ath_xstrdup(gpu->runtime);
        cells[1].text = ath_xasprintf("%d", gpu->number);
        cells[2].text = ath_xstrdup(gpu->device->name);
        cells[3].text = ath_short_percent(now->busy_percent);
        cells[4].text = ath_xasprintf("%s/%s", used, total);
        cells[5].text = now->temperature_c < 0 ? ath_xstrdup("?")
                                               : ath_xasprintf("%d C", (int)now->temperature_c);
        cells[6].text = ath_short_power(now->power_mw);
        cells[7].text = ath_short_rate(gpu->traffic_bytes_s);
        cells[8].text =
            now->sessions < 0 ? ath_xstrdup("?") : ath_xasprintf("%" PRId64, now->sessions);
        cells[9].text =
            now->health_score < 0 ? ath_xstrdup("?") : ath_xasprintf("%" PRId64, now->health_score);
    }
    if (table.row_count)
        ath_table_print(&table, style, out);
}

/* Returns the next column of the table of text from `column` on, or NULL. */
static const struct ath_top_column *next_column(const struct ath_top *top,
                                                const struct ath_top_column *column)
{
    for (; column->title; column++)
        if (!column->is_wide_only && (!column->is_shown || column->is_shown(top)))
            return column;
    return NULL;
}

static void fill_row(const struct ath_top *top, const struct ath_top_session *session,
                     struct ath_table_cell *cells)
{
    const struct ath_top_column *column = next_column(top, ath_top_columns);
    for (; column; column = next_column(top, column + 1), cells++) {
        cells->text = column->text(top, session);
        cells->role = column->role ? column->role(session) : ATH_ROLE_PLAIN;
    }
}

static void print_sessions(const struct ath_style *style, FILE *out,
                           const struct ath_top_report *report)
{
    const char *titles[32];
    ATH_AUTO(ath_table) table = { .titles = titles };
    const struct ath_top_column *column = next_column(report->top, ath_top_columns);

    for (; column; column = next_column(report->top, column + 1))
        titles[table.column_count++] = column->title;
    for (size_t i = 0; i < report->session_count; i++)
        fill_row(report->top, report->sessions[i], ath_table_add_row(&table));
    if (table.row_count)
        ath_table_print(&table, style, out);
    else
        fprintf(out, "%s\n",
                report->top->server_count ? _("no program uses a runtime now")
                                          : _("no runtime runs here"));
}

static void print_ports(const struct ath_style *style, FILE *out, const struct ath_top *top)
{
    static const char *const titles[] = { N_("Port"), N_("RDMA"), N_("Received/s"), N_("Sent/s") };
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = ATH_COUNT(titles) };

    for (size_t i = 0; i < top->port_count; i++) {
        const struct ath_top_port *port = &top->ports[i];
        if (port->facts.link == ATH_LINK_DOWN)
            continue;
        struct ath_table_cell *cells = ath_table_add_row(&table);
        cells[0].text = ath_xstrdup(port->facts.netdev);
        cells[1].text = ath_xstrdup(port->facts.rdma_device);
        cells[2].text = ath_short_rate(port->received_bytes_s);
        cells[3].text = ath_short_rate(port->sent_bytes_s);
    }
    if (table.row_count)
        ath_table_print(&table, style, out);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_top_report *report = data;
    const struct ath_top *top = report->top;

    print_gpus(style, out, top);
    print_ports(style, out, top);
    print_sessions(style, out, report);
    for (size_t i = 0; i < top->server_count; i++) {
        ath_auto_free char *message =
            ath_clean(top->servers[i].status ? top->servers[i].err.message : NULL, style->is_utf8);
        if (message)
            fprintf(out, "%s%s: %s%s\n", ath_style_on(style, ATH_ROLE_BAD), top->servers[i].name,
                    message, ath_style_off(style, ATH_ROLE_BAD));
    }
}

const struct ath_view ath_top_view = {
    .schema = "aitherion.top/1",
    .title = "Output of `aitherion top --json`",
    .about = "Values that are not known are null. Rates need two looks: in the first object of a "
             "session they are null.",
    .fields = fields,
    .to_text = to_text,
};
