/* The table of metrics, and the text that Prometheus reads. */
#include "config.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "unit.h"
#include "watch/metric.h"
#include "watch/page.h"

static struct ath_device_figures devices[2];
static struct ath_session_figures session_figures[2];
static struct ath_figures figures;
static struct ath_runtime_use uses[1];
static struct ath_runtime_session items[2];
static struct ath_runtime_sessions sessions;
static const struct ath_watch_device labels[] = { { "GPU-a", "0000:01:00.0" }, { 0 } };
static struct ath_watch_server server;
static const struct ath_watch_host *host;

static void setup(void)
{
    for (size_t i = 0; i < ATH_COUNT(devices); i++)
        ath_device_figures_init(&devices[i]);
    for (size_t i = 0; i < ATH_COUNT(session_figures); i++)
        ath_session_figures_init(&session_figures[i]);
    figures = (struct ath_figures){ .sampled_ms_ago = ATH_UNKNOWN,
                                    .accepted = 5,
                                    .devices = devices,
                                    .device_count = ATH_COUNT(devices) };
    host = NULL;
    sessions = (struct ath_runtime_sessions){ .items = items };
    memset(items, 0, sizeof items);
    server = (struct ath_watch_server){ .up = 1,
                                        .uptime_ms = ATH_UNKNOWN,
                                        .device_count = ATH_COUNT(devices),
                                        .faults = ATH_UNKNOWN,
                                        .programs = ATH_UNKNOWN,
                                        .devices = labels,
                                        .sessions = &sessions,
                                        .figures = &figures };
}

FIXTURE(setup, NULL);

static char *page_of(const struct ath_watch_server *servers, size_t count,
                     enum ath_metrics_format format)
{
    struct ath_text text = { 0 };
    ath_metrics_write(servers, count, host, format, &text);
    return ath_text_take(&text);
}

/* Checks that the page has a line. */
static void has(const char *page, const char *line)
{
    ath_auto_free char *wanted = ath_xasprintf("\n%s\n", line);
    ath_auto_free char *whole = ath_xasprintf("\n%s", page);
    ck_assert_msg(strstr(whole, wanted), "no line %s in\n%s", line, page);
}

static void has_no(const char *page, const char *text)
{
    ck_assert_msg(!strstr(page, text), "%s in\n%s", text, page);
}

/* ---- the table ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

/* prometheus.io/docs/practices/naming and OpenMetrics' rules for units and endings. */
TEST(names_follow_the_rules)
{
    static const char *const reserved[] = { "_total", "_bucket",  "_sum",
                                            "_count", "_created", "_info" };
    for (size_t i = 0; i < ath_metric_count; i++) {
        const struct ath_metric *metric = &ath_metrics[i];
        ck_assert_msg(ath_starts_with(metric->name, "aitherion_"), "%s", metric->name);
        for (const char *at = metric->name; *at; at++)
            ck_assert_msg(islower((unsigned char)*at) || *at == '_', "%s", metric->name);
        for (size_t k = 0; k < ATH_COUNT(reserved); k++)
            ck_assert_msg(!ends_with(metric->name, reserved[k]), "%s", metric->name);
        ath_auto_free char *end = ath_xasprintf("_%s", metric->unit);
        ck_assert_msg(!*metric->unit || ends_with(metric->name, end), "%s", metric->name);
        ck_assert_msg(isupper((unsigned char)*metric->help), "%s", metric->help);
        ck_assert_msg(!strpbrk(metric->help, "\\\"\n."), "%s", metric->help);
        ck_assert_int_gt(metric->factor, 0);
        ck_assert_int_gt(metric->divisor, 0);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(metric->name, ath_metrics[k].name);
    }
}

/* ---- the two formats ---- */

TEST(chooses_the_format_that_the_reader_takes)
{
    ck_assert_int_eq(ath_metrics_format_of(NULL), ATH_METRICS_TEXT);
    ck_assert_int_eq(ath_metrics_format_of("*/*"), ATH_METRICS_TEXT);
    ck_assert_int_eq(
        ath_metrics_format_of(
            "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3"),
        ATH_METRICS_OPEN);
    ck_assert_str_eq(ath_metrics_content_type(ATH_METRICS_OPEN),
                     "application/openmetrics-text; version=1.0.0; charset=utf-8");
    ck_assert_str_eq(ath_metrics_content_type(ATH_METRICS_TEXT),
                     "text/plain; version=0.0.4; charset=utf-8");
}

TEST(a_counter_in_both_formats)
{
    ath_auto_free char *open = page_of(&server, 1, ATH_METRICS_OPEN);
    ath_auto_free char *text = page_of(&server, 1, ATH_METRICS_TEXT);
    has(open, "# TYPE aitherion_runtime_connections counter");
    has(open, "# HELP aitherion_runtime_connections Connections accepted.");
    has(open, "aitherion_runtime_connections_total 5");
    ck_assert(ends_with(open, "\n# EOF\n"));
    has(text, "# TYPE aitherion_runtime_connections_total counter");
    has(text, "# HELP aitherion_runtime_connections_total Connections accepted.");
    has(text, "aitherion_runtime_connections_total 5");
    has_no(text, "# EOF");
    has_no(text, "# UNIT");
}

TEST(a_unit_only_in_openmetrics)
{
    server.uptime_ms = 1500;
    ath_auto_free char *open = page_of(&server, 1, ATH_METRICS_OPEN);
    has(open, "# UNIT aitherion_runtime_uptime_seconds seconds");
    has(open, "aitherion_runtime_uptime_seconds 1.5");
}

TEST(leaves_out_what_is_unknown)
{
    server.figures = NULL;
    server.sessions = NULL;
    server.up = 0;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    ck_assert_str_eq(page, "# HELP aitherion_up Whether the runtime answers.\n"
                           "# TYPE aitherion_up gauge\naitherion_up 0\n"
                           "# HELP aitherion_runtime_devices GPUs that the runtime serves.\n"
                           "# TYPE aitherion_runtime_devices gauge\naitherion_runtime_devices 2\n");
}

/* ---- the machine ---- */

TEST(the_machine_has_no_server)
{
    static const struct ath_watch_port ports[] = {
        { .port = "eth0",
          .up = 1,
          .speed_bytes_s = 1250000000,
          .received_bytes = 7,
          .sent_bytes = 8,
          .rdma_received_bytes = ATH_UNKNOWN,
          .rdma_sent_bytes = ATH_UNKNOWN },
        { .rdma = "mlx5_0",
          .up = ATH_UNKNOWN,
          .speed_bytes_s = ATH_UNKNOWN,
          .received_bytes = ATH_UNKNOWN,
          .sent_bytes = ATH_UNKNOWN,
          .rdma_received_bytes = 9,
          .rdma_sent_bytes = 10 },
    };
    static const struct ath_watch_copies copies[] = {
        { "0000:01:00.0", "0000:02:00.0", 40000000000, 2150 },
        { "0000:02:00.0", "0000:01:00.0", ATH_UNKNOWN, ATH_UNKNOWN },
    };
    const struct ath_watch_host facts = { .ports = ports,
                                          .port_count = ATH_COUNT(ports),
                                          .copies = copies,
                                          .copies_count = ATH_COUNT(copies),
                                          .all_reduce_measured_ns = 1500000000,
                                          .all_reduce_expected_ns = ATH_UNKNOWN };
    server.server = "10.0.0.1:50051";
    ath_auto_free char *without = page_of(&server, 1, ATH_METRICS_TEXT);
    has_no(without, "aitherion_host_");
    host = &facts;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    has(page, "aitherion_host_port_up{port=\"eth0\"} 1");
    has(page, "aitherion_host_port_speed_bytes_per_second{port=\"eth0\"} 1250000000");
    has(page, "aitherion_host_port_received_bytes_total{port=\"eth0\"} 7");
    has(page, "aitherion_host_port_sent_bytes_total{port=\"eth0\"} 8");
    has(page, "aitherion_host_port_rdma_received_bytes_total{rdma=\"mlx5_0\"} 9");
    has(page, "aitherion_host_port_rdma_sent_bytes_total{rdma=\"mlx5_0\"} 10");
    has(page, "aitherion_host_copy_bytes_per_second{from=\"0000:01:00.0\",to=\"0000:02:00.0\"} "
              "40000000000");
    has(page, "aitherion_host_copy_latency_seconds{from=\"0000:01:00.0\",to=\"0000:02:00.0\"} "
              "0.00000215");
    has_no(page, "from=\"0000:02:00.0\"");
    has(page, "aitherion_host_all_reduce_measured_seconds 1.5");
    has_no(page, "aitherion_host_all_reduce_expected_seconds");
    has(page, "aitherion_up{server=\"10.0.0.1:50051\"} 1");
}

/* ---- devices ---- */

TEST(devices_have_base_units)
{
    devices[0].power_mw = 70125;
    devices[0].busy_percent = 7;
    devices[0].memory_busy_percent = 100;
    devices[0].sm_clock_mhz = 1980;
    devices[0].temperature_c = -5;
    devices[0].memory_total_bytes = INT64_C(151397597184);
    devices[1].temperature_c = 30;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
#define A "{device=\"0\",uuid=\"GPU-a\",pci=\"0000:01:00.0\"} "
    has(page, "aitherion_runtime_device_power_watts" A "70.125");
    has(page, "aitherion_runtime_device_busy_ratio" A "0.07");
    has(page, "aitherion_runtime_device_memory_busy_ratio" A "1");
    has(page, "aitherion_runtime_device_sm_clock_hertz" A "1980000000");
    has(page, "aitherion_runtime_device_temperature_celsius" A "-5");
    has(page, "aitherion_runtime_device_memory_total_bytes" A "151397597184");
    has(page, "aitherion_runtime_device_temperature_celsius{device=\"1\"} 30");
    has_no(page, "power_limit");
    has_no(page, "device_power_watts{device=\"1\"");
}

TEST(each_reason_of_low_clocks_has_a_series)
{
    devices[1].throttle_reasons = 0x40 | 0x1;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    has(page, "aitherion_runtime_device_throttled{device=\"1\",reason=\"idle\"} 1");
    has(page, "aitherion_runtime_device_throttled{device=\"1\",reason=\"hardware_thermal\"} 1");
    has(page, "aitherion_runtime_device_throttled{device=\"1\",reason=\"thermal\"} 0");
    has_no(page, "throttled{device=\"0\"");
}

/* The device of another server, or of one that is newer, may be beyond the list. */
TEST(a_device_beyond_the_list_has_its_number)
{
    server.device_count = 1;
    devices[1].sessions = 3;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    has(page, "aitherion_runtime_device_sessions{device=\"1\"} 3");
}

/* ---- sessions ---- */

static void add_sessions(void)
{
    uses[0] = (struct ath_runtime_use){ .device = 1,
                                        .memory_used_bytes = 4096,
                                        .memory_limit_bytes = ATH_UNKNOWN };
    items[0] = (struct ath_runtime_session){ .id = 7,
                                             .identity = "alice",
                                             .program = "a \"b\\c\"\n\033[2Jd\xff",
                                             .host = "gpu1",
                                             .process = 41,
                                             .age_ms = 2250,
                                             .uses = uses,
                                             .use_count = 1 };
    items[1] = (struct ath_runtime_session){ .id = 9, .identity = "alice" };
    sessions.count = 2;
    figures.sessions = session_figures;
    figures.session_count = 1;
    session_figures[0].id = 9;
}

TEST(a_session_names_itself_harmlessly)
{
    add_sessions();
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
#define PROGRAM "a \\\"b\\\\c\\\"\xef\xbf\xbd\xef\xbf\xbd[2Jd\xef\xbf\xbd"
    has(page, "aitherion_runtime_session_age_seconds{session=\"7\",identity=\"alice\",program="
              "\"" PROGRAM "\",host=\"gpu1\",process=\"41\"} 2.25");
    has(page, "aitherion_runtime_session_memory_used_bytes{session=\"7\",identity=\"alice\","
              "program=\"" PROGRAM "\",host=\"gpu1\",process=\"41\",device=\"1\"} 4096");
    has_no(page, "session_memory_limit_bytes");
    has(page, "aitherion_runtime_session_age_seconds{session=\"9\",identity=\"alice\"} 0");
}

TEST(figures_go_to_the_session_with_their_number)
{
    char transport[] = "shm";
    add_sessions();
    session_figures[0].gpu_time_us = 1500001;
    session_figures[0].calls = 3;
    session_figures[0].held_us = 2000003;
    session_figures[0].lent_us = 1000002;
    session_figures[0].turn_waited_us = 500001;
    session_figures[0].turns = 12;
    session_figures[0].transport = transport;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_OPEN);
#define NINE "{session=\"9\",identity=\"alice\",transport=\"shm\"} "
    has(page, "aitherion_runtime_session_gpu_seconds_total" NINE "1.500001");
    has(page, "aitherion_runtime_session_calls_total" NINE "3");
    has(page, "aitherion_runtime_session_turn_held_seconds_total" NINE "2.000003");
    has(page, "aitherion_runtime_session_turn_lent_seconds_total" NINE "1.000002");
    has(page, "aitherion_runtime_session_turn_waited_seconds_total" NINE "0.500001");
    has(page, "aitherion_runtime_session_turns_total" NINE "12");
    has_no(page, "calls_total{session=\"7\"");
}

/* Clients choose their own ports, and a session may have eight connections: one series for each
 * address of the server. */
TEST(channels_are_summed_by_the_address_of_the_server)
{
    char first[] = "10.0.1.11:5555", second[] = "[fd00::2]:5555", peer[] = "10.0.1.7:41234";
    char tcp[] = "tcp", udp[] = "udp";
    struct ath_runtime_channel by_tcp[] = {
        { first, peer, tcp, .sent_bytes = 1, .received_bytes = 2, .sent_again = 3 },
        { second, peer, tcp, .sent_bytes = 10, .received_bytes = 20, .sent_again = 0 },
        { first, peer, tcp, .sent_bytes = 100, .received_bytes = 200, .sent_again = 300 },
    };
    struct ath_runtime_channel by_udp[] = {
        { NULL, NULL, udp, .sent_bytes = 5, .received_bytes = 6, .sent_again = ATH_UNKNOWN },
        { NULL, NULL, udp, .sent_bytes = 7, .received_bytes = 8, .sent_again = ATH_UNKNOWN },
    };
    add_sessions();
    items[0].program = NULL;
    items[0].channels = by_tcp;
    items[0].channel_count = ATH_COUNT(by_tcp);
    items[1].channels = by_udp;
    items[1].channel_count = ATH_COUNT(by_udp);
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
#define SEVEN "{session=\"7\",identity=\"alice\",host=\"gpu1\",process=\"41\",address=\""
#define SENT "aitherion_runtime_session_channel_sent_"
    has(page, "aitherion_runtime_session_channels" SEVEN "10.0.1.11\",transport=\"tcp\"} 2");
    has(page, SENT "bytes_total" SEVEN "10.0.1.11\",transport=\"tcp\"} 101");
    has(page, SENT "bytes_total" SEVEN "[fd00::2]\",transport=\"tcp\"} 10");
    has(page, SENT "again_total" SEVEN "10.0.1.11\",transport=\"tcp\"} 303");
    has(page, "aitherion_runtime_session_channel_received_bytes_total{session=\"9\",identity="
              "\"alice\",transport=\"udp\"} 14");
    has_no(page, "sent_again_total{session=\"9\"");
    has_no(page, "41234");
}

TEST(datagrams_are_counted_by_address)
{
    char address[] = "10.0.0.11:5555";
    struct ath_datagram_figures datagrams[] = {
        { address, .sent = 1, .lost = 4, .damaged = 5, .foreign = ATH_UNKNOWN },
    };
    figures.datagrams = datagrams;
    figures.datagram_count = ATH_COUNT(datagrams);
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    has(page, "aitherion_runtime_udp_sent_total{address=\"10.0.0.11:5555\"} 1");
    has(page, "aitherion_runtime_udp_lost_total{address=\"10.0.0.11:5555\"} 4");
    has(page, "aitherion_runtime_udp_damaged_total{address=\"10.0.0.11:5555\"} 5");
    has_no(page, "udp_foreign");
}

/* The share exists without a claim, too. A server that is older than turns says nothing. */
TEST(a_session_has_the_share_that_it_wants)
{
    add_sessions();
    items[1].turn.claim = (struct ath_time_claim){ .priority = ATH_TIME_NORMAL };
    ath_auto_free char *none = page_of(&server, 1, ATH_METRICS_TEXT);
    has(none, "aitherion_runtime_session_share_wanted_ratio{session=\"9\",identity=\"alice\"} 0");
    has_no(none, "share_wanted_ratio{session=\"7\"");
    items[1].turn.claim.share_percent = 25;
    ath_auto_free char *quarter = page_of(&server, 1, ATH_METRICS_TEXT);
    has(quarter,
        "aitherion_runtime_session_share_wanted_ratio{session=\"9\",identity=\"alice\"} 0.25");
}

/* A session of the figures that has no entry in the list has ended meanwhile. */
TEST(a_session_that_has_ended_has_no_series)
{
    add_sessions();
    session_figures[0].calls = 3;
    session_figures[0].id = 8;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    has_no(page, "calls_total");
    sessions.count = 0;
    ath_auto_free char *later = page_of(&server, 1, ATH_METRICS_TEXT);
    has_no(later, "session=\"");
    has_no(later, "alice");
}

TEST(waits_are_a_histogram)
{
    add_sessions();
    for (int i = 0; i <= ATH_WAIT_BUCKETS; i++)
        session_figures[0].waits[i] = i;
    session_figures[0].waited_us = 12000000;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    has(page, "# TYPE aitherion_runtime_session_wait_seconds histogram");
#define BUCKET(le, count)                                                                          \
    has(page, "aitherion_runtime_session_wait_seconds_bucket{session=\"9\",identity=\"alice\","    \
              "le=\"" le "\"} " count)
    BUCKET("0.00001", "0");
    BUCKET("0.00005", "1");
    BUCKET("0.0001", "3");
    BUCKET("0.1", "21");
    BUCKET("1.0", "28");
    BUCKET("+Inf", "36");
    has(page, "aitherion_runtime_session_wait_seconds_sum{session=\"9\",identity=\"alice\"} 12");
    has(page, "aitherion_runtime_session_wait_seconds_count{session=\"9\",identity=\"alice\"} 36");
    session_figures[0].waits[ATH_WAIT_BUCKETS] = ATH_UNKNOWN;
    ath_auto_free char *unknown = page_of(&server, 1, ATH_METRICS_TEXT);
    has_no(unknown, "wait_seconds");
}

TEST(an_identity_has_the_sum_of_its_sessions)
{
    add_sessions();
    items[1].uses = uses;
    items[1].use_count = 1;
    ath_auto_free char *page = page_of(&server, 1, ATH_METRICS_TEXT);
    has(page, "aitherion_runtime_identity_sessions{identity=\"alice\"} 2");
    has(page, "aitherion_runtime_identity_memory_used_bytes{identity=\"alice\",device=\"0\",uuid="
              "\"GPU-a\",pci=\"0000:01:00.0\"} 0");
    has(page, "aitherion_runtime_identity_memory_used_bytes{identity=\"alice\",device=\"1\"} 8192");
    items[1].identity = NULL;
    ath_auto_free char *without_key = page_of(&server, 1, ATH_METRICS_TEXT);
    has(without_key, "aitherion_runtime_identity_sessions 1");
}

/* ---- several servers ---- */

TEST(families_hold_the_series_of_all_servers)
{
    struct ath_watch_server both[] = { server, { .server = "b:2", .up = 0 } };
    both[0].server = "a:1";
    both[0].node = "8";
    both[1].uptime_ms = both[1].device_count = both[1].faults = both[1].programs = ATH_UNKNOWN;
    ath_auto_free char *page = page_of(both, ATH_COUNT(both), ATH_METRICS_OPEN);
    has(page, "# TYPE aitherion_up gauge\naitherion_up{server=\"a:1\",node=\"8\"} 1\n"
              "aitherion_up{server=\"b:2\"} 0");
    has(page, "aitherion_runtime_connections_total{server=\"a:1\",node=\"8\"} 5");
    has_no(page, "connections_total{server=\"b:2\"");
}
