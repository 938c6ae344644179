/* The model of `aitherion top`: rates, rows that come and go, orders, and how all fits a screen.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/top/columns.h"
#include "cli/top/model.h"
#include "cli/top/order.h"
#include "cli/top/short.h"
#include "cli/top/slots.h"
#include "cli/top/spark.h"
#include "config/schema.h"
#include "tree.h"
#include "unit.h"

enum { GIB = 1 << 30 };

/* An answer with one GPU. */
static struct ath_top_answer answer_at(uint64_t at_ms)
{
    struct ath_top_answer answer = { .at_ms = at_ms, .has_figures = true };
    struct ath_runtime_device *device =
        ath_push(&answer.group.health.devices, &answer.group.health.device_count, sizeof *device);
    struct ath_device_figures *figures =
        ath_push(&answer.figures.devices, &answer.figures.device_count, sizeof *figures);

    *device = (struct ath_runtime_device){ .name = ath_xstrdup("A100"),
                                           .memory_total_bytes = 4ll * GIB,
                                           .memory_used_bytes = GIB,
                                           .memory_limit_bytes = ATH_UNKNOWN,
                                           .sessions = 3 };
    ath_device_figures_init(figures);
    return answer;
}

/* Adds a session with a GiB on GPU 0, and its counts. */
static struct ath_session_figures *add_session(struct ath_top_answer *answer, uint64_t id,
                                               const char *program, int64_t calls)
{
    struct ath_runtime_session *session =
        ath_push(&answer->group.sessions.items, &answer->group.sessions.count, sizeof *session);
    struct ath_session_figures *figures =
        ath_push(&answer->figures.sessions, &answer->figures.session_count, sizeof *figures);

    *session = (struct ath_runtime_session){ .id = id,
                                             .program = ath_xstrdup(program),
                                             .peer = ath_xstrdup("10.0.0.7:41234") };
    struct ath_runtime_use *use = ath_push(&session->uses, &session->use_count, sizeof *use);
    *use = (struct ath_runtime_use){ .memory_used_bytes = GIB, .memory_limit_bytes = ATH_UNKNOWN };
    ath_session_figures_init(figures);
    figures->id = id;
    figures->calls = calls;
    return figures;
}

static struct ath_top with_servers(size_t count)
{
    struct ath_top top = { 0 };
    for (size_t i = 0; i < count; i++)
        ath_top_add_server(&top, i ? ATH_UNSET : 0, i ? "10.0.0.9:1" : NULL);
    return top;
}

static void take_calls(struct ath_top *top, uint64_t at_ms, int64_t calls)
{
    struct ath_top_answer answer = answer_at(at_ms);
    add_session(&answer, 7, "bert", calls);
    ath_top_take(top, 0, &answer);
}

TEST(makes_rates_of_the_real_time_between)
{
    ATH_AUTO(ath_top) top = with_servers(1);

    take_calls(&top, 1000, 100);
    ck_assert_int_eq(top.sessions[0].calls_s, ATH_UNKNOWN);
    take_calls(&top, 3500, 600);
    ck_assert_int_eq(top.sessions[0].calls_s, 200);
    take_calls(&top, 4500, 600);
    ck_assert_int_eq(top.sessions[0].calls_s, 0);
    ck_assert_int_eq(top.sessions[0].calls, 600);
    ck_assert_str_eq(top.sessions[0].runtime, "NUMA0");
}

TEST(makes_no_rate_of_a_count_that_fell_or_is_unknown)
{
    ATH_AUTO(ath_top) top = with_servers(1);

    take_calls(&top, 1000, 500);
    take_calls(&top, 2000, 3);
    ck_assert_int_eq(top.sessions[0].calls_s, ATH_UNKNOWN);
    take_calls(&top, 3000, 5);
    ck_assert_int_eq(top.sessions[0].calls_s, 2);
    take_calls(&top, 4000, ATH_UNKNOWN);
    ck_assert_int_eq(top.sessions[0].calls_s, ATH_UNKNOWN);
    take_calls(&top, 5000, 9);
    ck_assert_int_eq(top.sessions[0].calls_s, ATH_UNKNOWN);
    take_calls(&top, 5000, 10);
    ck_assert_int_eq(top.sessions[0].calls_s, ATH_UNKNOWN);
}

static void take_work(struct ath_top *top, uint64_t at_ms, int64_t gpu_time_us, int64_t waits,
                      int64_t waited_us, int64_t bytes)
{
    struct ath_top_answer answer = answer_at(at_ms);
    struct ath_session_figures *figures = add_session(&answer, 7, "bert", 0);

    memset(figures->waits, 0, sizeof figures->waits);
    figures->waits[ATH_WAIT_BUCKETS] = waits;
    figures->waited_us = waited_us;
    figures->gpu_time_us = gpu_time_us;
    figures->received_bytes = bytes;
    figures->sent_bytes = 2 * bytes;
    ath_top_take(top, 0, &answer);
}

TEST(tells_the_share_of_the_gpu_and_the_mean_wait)
{
    ATH_AUTO(ath_top) top = with_servers(1);

    take_work(&top, 1000, 0, 10, 100, 0);
    ck_assert_int_eq(top.sessions[0].busy_percent, ATH_UNKNOWN);
    ck_assert_int_eq(top.sessions[0].wait_us, ATH_UNKNOWN);
    take_work(&top, 3000, 500000, 14, 300, 1000);
    ck_assert_int_eq(top.sessions[0].busy_percent, 25);
    ck_assert_int_eq(top.sessions[0].wait_us, 50);
    ck_assert_int_eq(top.sessions[0].received_bytes_s, 500);
    ck_assert_int_eq(top.sessions[0].sent_bytes_s, 1000);
    ck_assert_int_eq(top.sessions[0].traffic_bytes_s, 1500);
    take_work(&top, 4000, 500000, 14, 300, 1000);
    ck_assert_int_eq(top.sessions[0].busy_percent, 0);
    ck_assert_int_eq(top.sessions[0].wait_us, ATH_UNKNOWN);
    ck_assert_int_eq(ath_history_at(&top.sessions[0].busy, 0), 0);
    ck_assert_int_eq(ath_history_at(&top.sessions[0].busy, 1), 25);
    ck_assert_int_eq(ath_history_at(&top.sessions[0].busy, 3), ATH_UNKNOWN);
}

TEST(forgets_sessions_that_ended_and_keeps_those_of_other_servers)
{
    ATH_AUTO(ath_top) top = with_servers(2);
    struct ath_top_answer first = answer_at(1000), other = answer_at(1100),
                          second = answer_at(2000);

    add_session(&first, 7, "bert", 5);
    add_session(&first, 8, "gpt", 5);
    add_session(&other, 7, "far", 5);
    ath_top_take(&top, 1, &other);
    ath_top_take(&top, 0, &first);
    ck_assert_uint_eq(top.session_count, 3);
    ck_assert_uint_eq(top.gpu_count, 2);
    ck_assert_uint_eq(top.sessions[0].server, 0);
    add_session(&second, 8, "gpt", 9);
    ath_top_take(&top, 0, &second);
    ck_assert_uint_eq(top.session_count, 2);
    ck_assert_ptr_null(ath_top_find(&top, 0, 7));
    ck_assert_int_eq(ath_top_find(&top, 0, 8)->calls_s, 4);
    ck_assert_str_eq(ath_top_find(&top, 1, 7)->facts->program, "far");
    ck_assert_str_eq(ath_top_find(&top, 1, 7)->runtime, "10.0.0.9:1");
}

TEST(keeps_the_rows_of_a_server_that_is_lost)
{
    ATH_AUTO(ath_top) top = with_servers(1);
    struct ath_top_answer failure = { .at_ms = 2000, .group = { .status = -ECONNREFUSED } };

    take_calls(&top, 1000, 100);
    ath_err_set(&failure.group.err, -ECONNREFUSED, ATH_E_PEER_UNREACHABLE, "gone");
    ath_top_take(&top, 0, &failure);
    ck_assert_uint_eq(top.session_count, 1);
    ck_assert_int_eq(top.servers[0].status, -ECONNREFUSED);
    ck_assert_str_eq(top.servers[0].err.message, "gone");
    ck_assert_uint_eq(top.servers[0].lost_ms, 2000);
    take_calls(&top, 5000, 500);
    ck_assert_uint_eq(top.servers[0].lost_ms, 0);
    ck_assert_int_eq(top.sessions[0].calls_s, 100);
}

TEST(takes_what_the_health_says_if_there_are_no_figures)
{
    ATH_AUTO(ath_top) top = with_servers(1);
    struct ath_top_answer answer = answer_at(1000);

    add_session(&answer, 7, "bert", 3);
    answer.has_figures = false;
    ath_top_take(&top, 0, &answer);
    ck_assert_int_eq(top.gpus[0].figures.memory_used_bytes, GIB);
    ck_assert_int_eq(top.gpus[0].figures.sessions, 3);
    ck_assert_int_eq(top.gpus[0].figures.busy_percent, ATH_UNKNOWN);
    ck_assert_int_eq(ath_history_at(&top.gpus[0].memory, 0), 25);
    ck_assert_int_eq(top.sessions[0].calls, ATH_UNKNOWN);
    ck_assert_int_eq(top.sessions[0].memory_bytes, GIB);
}

TEST(adds_the_throughput_that_is_known)
{
    ATH_AUTO(ath_top) top = with_servers(1);

    for (int i = 0; i < 2; i++) {
        struct ath_top_answer answer = answer_at(1000 + 2000 * (uint64_t)i);
        answer.figures.devices[0].pcie_received_bytes_s = 10;
        answer.figures.devices[0].nvlink_sent_bytes = INT64_C(100) * i;
        ath_top_take(&top, 0, &answer);
    }
    ck_assert_int_eq(top.gpus[0].nvlink_sent_bytes_s, 50);
    ck_assert_int_eq(top.gpus[0].nvlink_received_bytes_s, ATH_UNKNOWN);
    ck_assert_int_eq(top.gpus[0].traffic_bytes_s, 60);
}

TEST(says_on_which_gpu_a_session_has_most_memory)
{
    ATH_AUTO(ath_top) top = with_servers(1);
    struct ath_top_answer answer = answer_at(1000);
    static const int64_t sizes[] = { 0, 5, 9, 4 };

    add_session(&answer, 7, "bert", 3);
    struct ath_runtime_session *session = &answer.group.sessions.items[0];
    session->use_count = 0;
    for (size_t i = 0; i < ATH_COUNT(sizes); i++) {
        struct ath_runtime_use *use = ath_push(&session->uses, &session->use_count, sizeof *use);
        *use = (struct ath_runtime_use){ .device = (uint32_t)i,
                                         .memory_used_bytes = sizes[i],
                                         .memory_limit_bytes = i ? 10 : ATH_UNKNOWN };
    }
    ath_top_take(&top, 0, &answer);
    ck_assert_int_eq(top.sessions[0].gpu, 2);
    ck_assert(top.sessions[0].is_on_several);
    ck_assert_int_eq(top.sessions[0].memory_bytes, 18);
    ck_assert_int_eq(top.sessions[0].limit_bytes, 30);
    ck_assert_int_eq(ath_top_memory_on(&top.sessions[0], 3), 4);
    ck_assert_int_eq(ath_top_memory_on(&top.sessions[0], 4), 0);
}

/* Returns the numbers of the sessions in an order, as "7 9 8". */
static char *sorted_ids(const struct ath_top *top, struct ath_top_order order)
{
    struct ath_text text = { 0 };
    size_t count;
    ath_auto_free size_t *sorted = ath_top_sorted(top, &order, &count);

    for (size_t i = 0; i < count; i++)
        ath_text_add_part(&text, " ", "%d", (int)top->sessions[sorted[i]].id);
    return ath_text_take(&text);
}

static void assert_order(const struct ath_top *top, struct ath_top_order order, const char *wanted)
{
    ath_auto_free char *ids = sorted_ids(top, order);
    ck_assert_str_eq(ids, wanted);
}

/* The first answer has no time before it. */
TEST(has_parts_of_the_time_with_turns_and_waits)
{
    ATH_AUTO(ath_top) top = with_servers(1);
    static const struct {
        int64_t held_us, queued_us, held_percent, queued_percent;
    } answers[] = {
        { 5000000, 1000000, ATH_UNKNOWN, ATH_UNKNOWN },
        { 5500000, 1200000, 25, 10 },
        { 5500000, 1200000, 0, 0 },
        { 9000000, 3200000, 100, 100 }, /* figures are written a little later than others */
        { 100, 100, ATH_UNKNOWN, ATH_UNKNOWN },
    };
    for (size_t i = 0; i < ATH_COUNT(answers); i++) {
        struct ath_top_answer answer = answer_at(1000 + 2000 * (uint64_t)i);
        struct ath_session_figures *figures = add_session(&answer, 7, "bert", 1);
        figures->held_us = answers[i].held_us;
        figures->turn_waited_us = answers[i].queued_us;
        answer.group.sessions.items[0].turn.claim.share_percent = i ? 25 : 0;
        ath_top_take(&top, 0, &answer);
        ck_assert_int_eq(top.sessions[0].held_percent, answers[i].held_percent);
        ck_assert_int_eq(top.sessions[0].queued_percent, answers[i].queued_percent);
        ck_assert_int_eq(top.sessions[0].share_percent, i ? 25 : ATH_UNKNOWN);
    }
}

TEST(sorts_and_filters)
{
    ATH_AUTO(ath_top) top = with_servers(1);
    static const int64_t calls[] = { 10, 30, 10, 20 };
    static const char *const names[] = { "gpt", "bert", "resnet", "Bert2" };

    for (int second = 0; second < 2; second++) {
        struct ath_top_answer answer = answer_at(1000 * (uint64_t)(second + 1));
        for (size_t i = 0; i < ATH_COUNT(calls); i++)
            add_session(&answer, 7 + i, names[i], calls[i] * second);
        ath_top_take(&top, 0, &answer);
    }
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_CALLS }, "8 10 7 9");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_CALLS, .is_reversed = true },
                 "7 9 10 8");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID }, "7 8 9 10");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID, .is_reversed = true },
                 "10 9 8 7");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_PROGRAM }, "10 8 7 9");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID, .filter = "bert" }, "8 10");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID, .filter = "9" }, "9");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID, .filter = "0" }, "");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID, .filter = "10.0.0.7" },
                 "7 8 9 10");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID, .filter = "numa0" }, "7 8 9 10");
    assert_order(&top, (struct ath_top_order){ .key = ATH_TOP_ID, .filter = "none" }, "");
}

TEST(has_a_column_and_a_word_for_each_key)
{
    for (int key = 0; key < ATH_TOP_SORT_COUNT; key++) {
        ck_assert_ptr_nonnull(ath_top_column((enum ath_top_sort)key)->title);
        ck_assert_ptr_nonnull(ath_top_sort_words[key]);
    }
}

/* ---- this host ---- */

static struct tree tree;

static void make_tree(void)
{
    tree_make(&tree);
}

static void remove_tree(void)
{
    tree_remove(&tree);
}

FIXTURE(make_tree, remove_tree);

static void put_number(int number, const char *path)
{
    ath_auto_free char *text = ath_xasprintf("%d\n", number);
    tree_put(&tree, text, "%s", path);
}

static void write_host(int busy, int received, int rdma_received)
{
    ath_auto_free char *stat = ath_xasprintf("cpu  %d 0 0 100 100 0 0 0 9 9\ncpu0 1 1 1 1\n", busy);
    tree_put(&tree, stat, "proc/stat");
    tree_put(&tree, "MemTotal: 2048 kB\nMemFree: 1 kB\nMemAvailable: 512 kB\n", "proc/meminfo");
    tree_put(&tree, "up\n", "sys/class/net/eth0/operstate");
    tree_put(&tree, "1000\n", "sys/class/net/eth0/speed");
    put_number(received, "sys/class/net/eth0/statistics/rx_bytes");
    put_number(5, "sys/class/net/eth0/statistics/tx_bytes");
    tree_put(&tree, "down\n", "sys/class/net/eth1/operstate");
    tree_put(&tree, "up\n", "sys/class/net/lo/operstate");
    put_number(rdma_received, "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data");
}

/* Reads the host; rdma: its only port has an RDMA port of this kind. */
static void take_host(struct ath_top *top, uint64_t at_ms, enum ath_link_layer rdma)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_host_counts host = { 0 };
    struct ath_err err;

    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    ath_host_counts_find(&root, &host);
    ck_assert_uint_eq(host.port_count, 1);
    if (rdma) {
        host.ports[0].rdma_device = ath_xstrdup("mlx5_0");
        host.ports[0].rdma_port = 1;
        host.ports[0].link_layer = rdma;
    }
    ath_host_counts_read(&root, &host);
    host.at_ms = at_ms;
    ath_top_take_host(top, &host);
}

TEST(reads_this_host)
{
    ATH_AUTO(ath_top) top = { 0 };

    write_host(100, 1000, 0);
    take_host(&top, 1000, ATH_LAYER_UNKNOWN);
    ck_assert_int_eq(top.cpu_percent, ATH_UNKNOWN);
    ck_assert_int_eq(top.ports[0].received_bytes_s, ATH_UNKNOWN);
    write_host(160, 3000, 0);
    tree_put(&tree, "cpu  160 0 0 110 130 0 0 0 9 9\n", "proc/stat");
    take_host(&top, 3000, ATH_LAYER_UNKNOWN);
    ck_assert_int_eq(top.cpu_percent, 60);
    ck_assert_int_eq(top.host.memory_total_bytes, INT64_C(2048) * 1024);
    ck_assert_int_eq(top.host.memory_available_bytes, INT64_C(512) * 1024);
    ck_assert_str_eq(top.ports[0].facts.netdev, "eth0");
    ck_assert_int_eq(top.ports[0].facts.link, ATH_LINK_UP);
    ck_assert_int_eq(top.ports[0].facts.speed_mbps, 1000);
    ck_assert_int_eq(top.ports[0].received_bytes_s, 1000);
    ck_assert_int_eq(top.ports[0].sent_bytes_s, 0);
    ck_assert_int_eq(top.ports[0].rdma_received_bytes_s, ATH_UNKNOWN);
    ck_assert_int_eq(ath_history_at(&top.ports[0].received, 0), 1000);
}

/* A count of an RDMA port is in units of 4 bytes. */
TEST(adds_the_rdma_of_an_ethernet_port)
{
    ATH_AUTO(ath_top) top = { 0 };

    write_host(1, 1000, 10);
    take_host(&top, 1000, ATH_LAYER_ETHERNET);
    write_host(1, 1500, 110);
    take_host(&top, 2000, ATH_LAYER_ETHERNET);
    ck_assert_int_eq(top.ports[0].rdma_received_bytes_s, 400);
    ck_assert_int_eq(top.ports[0].received_bytes_s, 900);
}

TEST(counts_the_bytes_of_an_infiniband_port_once)
{
    ATH_AUTO(ath_top) top = { 0 };

    write_host(1, 1000, 10);
    take_host(&top, 1000, ATH_LAYER_INFINIBAND);
    write_host(1, 1500, 210);
    take_host(&top, 2000, ATH_LAYER_INFINIBAND);
    ck_assert_int_eq(top.ports[0].received_bytes_s, 800);
    ck_assert_int_eq(top.ports[0].sent_bytes_s, 0);
}

TEST(knows_nothing_about_a_host_without_files)
{
    ATH_AUTO(ath_top) top = { 0 };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_host_counts host = { 0 };
    struct ath_err err;

    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    ath_host_counts_find(&root, &host);
    ath_host_counts_read(&root, &host);
    ck_assert_uint_eq(host.port_count, 0);
    ck_assert_int_eq(host.all_ticks, ATH_UNKNOWN);
    ck_assert_int_eq(host.memory_total_bytes, ATH_UNKNOWN);
    ath_top_take_host(&top, &host);
    ck_assert_int_eq(top.cpu_percent, ATH_UNKNOWN);
}

/* ---- on the screen ---- */

TEST(writes_short_numbers)
{
    static const struct {
        char *(*make)(int64_t value);
        int64_t value;
        const char *wanted;
    } cases[] = {
        { ath_short_size, -1, "?" },
        { ath_short_size, 0, "0" },
        { ath_short_size, 1023, "1023" },
        { ath_short_size, 1024, "1.0K" },
        { ath_short_size, 512ll << 20, "512M" },
        { ath_short_size, (1ll << 30) - 1, "1.0G" },
        { ath_short_size, (158ll << 30) / 10, "15.8G" },
        { ath_short_rate, -1, "?" },
        { ath_short_rate, 999, "999" },
        { ath_short_rate, 1200, "1.2k" },
        { ath_short_rate, 340000, "340k" },
        { ath_short_rate, 999999, "1.0M" },
        { ath_short_percent, -1, "?" },
        { ath_short_percent, 63, "63%" },
        { ath_short_time, -1, "?" },
        { ath_short_time, 350000, "0.3s" },
        { ath_short_time, 59999999, "59.9s" },
        { ath_short_time, 754000000, "12:34" },
        { ath_short_time, 12345000000, "3:25:45" },
        { ath_short_time, 360000000000, "4d 4h" },
        { ath_short_age, -1, "?" },
        { ath_short_age, 59999, "59s" },
        { ath_short_age, 60000, "1m" },
        { ath_short_age, 3600000, "1h" },
        { ath_short_age, 86400000, "1d" },
        { ath_short_wait, -1, "?" },
        { ath_short_wait, 999, "999us" },
        { ath_short_wait, 1200, "1.2ms" },
        { ath_short_wait, 3400000, "3.4s" },
        { ath_short_power, -1, "?" },
        { ath_short_power, 211500, "212W" },
    };
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        ath_auto_free char *text = cases[i].make(cases[i].value);
        ck_assert_str_eq(text, cases[i].wanted);
    }
}

static void assert_middle(const char *text, int columns, bool is_utf8, const char *wanted)
{
    ath_auto_free char *cut = ath_short_middle(text, columns, is_utf8);
    ck_assert_str_eq(cut, wanted);
}

TEST(leaves_out_the_middle_of_addresses)
{
    assert_middle("127.0.0.1:41297", 15, true, "127.0.0.1:41297");
    assert_middle("127.0.0.1:41297", 12, true, "127.0.…41297");
    assert_middle("127.0.0.1:41297", 7, false, "127~297");
    assert_middle("127.0.0.1:41297", 1, false, "~");
    assert_middle("NUMA0", 5, true, "NUMA0");
}

static void assert_slot(const struct ath_slot *slot, int column, int width)
{
    ck_assert_int_eq(slot->width, width);
    if (width)
        ck_assert_int_eq(slot->column, column);
}

TEST(fits_columns_by_importance)
{
    struct ath_slot slots[] = {
        { .least = 4, .most = 4, .importance = 2, .is_wanted = true },
        { .least = 5, .most = 20, .importance = 3, .is_wanted = true },
        { .least = 6, .most = 6, .importance = 9, .is_wanted = false },
        { .least = 3, .most = 5, .importance = 1, .is_wanted = true },
    };
    ath_slots_fit(slots, 4, 14, 1);
    assert_slot(&slots[0], 0, 4);
    assert_slot(&slots[1], 5, 5);
    assert_slot(&slots[2], 0, 0);
    assert_slot(&slots[3], 11, 3);
    ath_slots_fit(slots, 4, 13, 1);
    assert_slot(&slots[1], 5, 8);
    assert_slot(&slots[3], 0, 0);
    ath_slots_fit(slots, 4, 9, 1);
    assert_slot(&slots[0], 0, 0);
    assert_slot(&slots[1], 0, 9);
    ath_slots_fit(slots, 4, 3, 1);
    assert_slot(&slots[1], 0, 3);
    ath_slots_fit(slots, 4, 100, 1);
    assert_slot(&slots[1], 5, 20);
    assert_slot(&slots[3], 26, 5);
}

TEST(keeps_the_last_values)
{
    struct ath_history history = { 0 };

    ck_assert_int_eq(ath_history_greatest(&history, 10), ATH_UNKNOWN);
    for (int i = 0; i < ATH_HISTORY + 2; i++)
        ath_history_add(&history, i);
    ck_assert_int_eq(ath_history_at(&history, 0), ATH_HISTORY + 1);
    ck_assert_int_eq(ath_history_at(&history, ATH_HISTORY - 1), 2);
    ck_assert_int_eq(ath_history_at(&history, ATH_HISTORY), ATH_UNKNOWN);
    ath_history_add(&history, 3);
    ck_assert_int_eq(ath_history_greatest(&history, 1), 3);
    ck_assert_int_eq(ath_history_greatest(&history, 2), ATH_HISTORY + 1);
}

TEST(draws_histories)
{
    struct ath_history history = { 0 };
    static const int64_t values[] = { ATH_UNKNOWN, 0, 1, 50, 100, 200 };

    for (size_t i = 0; i < ATH_COUNT(values); i++)
        ath_history_add(&history, values[i]);
    ath_auto_free char *spark = ath_spark(&history, 7, 100, true);
    ck_assert_str_eq(spark, "  ▁▁▄██");
    ath_auto_free char *ascii = ath_spark(&history, 6, 100, false);
    ck_assert_str_eq(ascii, " __:##");
    ath_auto_free char *above = ath_chart_row(&history, 6, 100, 2, 0, true);
    ck_assert_str_eq(above, "    ██");
    ath_auto_free char *below = ath_chart_row(&history, 6, 100, 2, 1, true);
    ck_assert_str_eq(below, " ▁▁███");
}

static void assert_bar(const double *shares, size_t count, int width, const int *ends, int eighths)
{
    int out_ends[8], out_eighths;

    ath_bar_fit(shares, count, width, out_ends, &out_eighths);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(out_ends[i], ends[i]);
    ck_assert_int_eq(out_eighths, eighths);
}

TEST(fits_parts_into_a_bar)
{
    assert_bar((double[]){ 0.5 }, 1, 10, (int[]){ 5 }, 0);
    assert_bar((double[]){ 0.55 }, 1, 10, (int[]){ 5 }, 4);
    assert_bar((double[]){ 0.25, 0.27 }, 2, 10, (int[]){ 3, 5 }, 2);
    assert_bar((double[]){ 0.7, 0.7, 0.1 }, 3, 10, (int[]){ 7, 10, 10 }, 0);
    assert_bar((double[]){ -1, 1 }, 2, 10, (int[]){ 0, 10 }, 0);
    assert_bar((double[]){ 0.96, 0.01 }, 2, 10, (int[]){ 10, 10 }, 0);
}

TEST(chooses_round_heights)
{
    ck_assert_int_eq(ath_chart_height(0, 1000), 1000);
    ck_assert_int_eq(ath_chart_height(1001, 1000), 2000);
    ck_assert_int_eq(ath_chart_height(4999, 1), 5000);
    ck_assert_int_eq(ath_chart_height(5001, 1), 10000);
    ck_assert_int_eq(ath_chart_height(INT64_MAX, 1), INT64_MAX);
}

TEST(tells_parts_apart_without_colour)
{
    ck_assert_str_eq(ath_bar_full(0, true, true), ath_bar_full(1, true, true));
    ck_assert_str_ne(ath_bar_full(0, false, true), ath_bar_full(1, false, true));
    ck_assert_str_ne(ath_bar_full(0, false, false), ath_bar_full(1, false, false));
}
