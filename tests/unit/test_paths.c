/* The table of paths to a server, and what a path costs. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "remote/session/paths.h"
#include "remote/transport/stream.h"
#include "unit.h"

#define SHM ATH_CONTROL_TRANSPORT_SHM
#define UDP ATH_CONTROL_TRANSPORT_UDP
#define TCP ATH_CONTROL_TRANSPORT_TCP

static const struct {
    struct ath_path_facts facts;
    enum ath_control_transport chosen;
    const char *shm, *udp; /* part of the reason; NULL: the path may be used */
} cases[] = {
    { { .is_unix = true }, SHM, NULL, "unix socket" },
    { { .wanted = "auto", .is_unix = true, .serves_udp = true }, SHM, NULL, "unix socket" },
    { { .wanted = "shm", .is_unix = true }, SHM, NULL, "unix socket" },
    { { .wanted = "tcp", .is_unix = true }, TCP, "'tcp' is asked for", "unix socket" },
    { { .wanted = "udp", .is_unix = true, .serves_udp = true, .udp_port = 5 },
      TCP,
      "'udp' is asked for",
      "unix socket" },
    { { .wanted = NULL }, TCP, "by an address", "does not take UDP" },
    { { .serves_udp = true, .udp_port = 5 }, TCP, "by an address", "only on request" },
    { { .serves_udp = true, .has_data_addresses = true },
      TCP,
      "by an address",
      "lost nothing yet" },
    { { .wanted = "auto", .serves_udp = true, .has_data_addresses = true },
      TCP,
      "by an address",
      "lost nothing yet" },
    { { .serves_udp = true, .has_data_addresses = true, .would_leak = true },
      TCP,
      "by an address",
      "only on request" },
    { { .wanted = "tcp", .serves_udp = true, .has_data_addresses = true },
      TCP,
      "'tcp' is asked for",
      "only on request" },
    { { .wanted = "udp" }, TCP, "'udp' is asked for", "does not take UDP" },
    { { .wanted = "udp", .serves_udp = true, .udp_port = 5 }, UDP, "'udp' is asked for", NULL },
    { { .wanted = "udp", .serves_udp = true, .would_leak = true },
      TCP,
      "'udp' is asked for",
      "(--encrypt on)" },
    { { .wanted = "udp", .serves_udp = true, .udp_port = 5, .udp_status = -ETIMEDOUT },
      TCP,
      "'udp' is asked for",
      "port 5: Connection timed out" },
    { { .wanted = "udp",
        .serves_udp = true,
        .has_data_addresses = true,
        .udp_status = -ECONNREFUSED },
      TCP,
      "'udp' is asked for",
      "data addresses: Connection refused" },
};

static void expect(const char *wanted, enum ath_control_transport path,
                   const struct ath_path_facts *facts)
{
    char reason[ATH_PATH_REASON_BYTES];
    const char *given = ath_path_reason(path, facts, reason);
    ck_assert_int_eq(given != NULL, wanted != NULL);
    ck_assert_msg(!wanted || strstr(given, wanted), "%s", given);
}

LOOP_TEST(chooses_the_first_path_without_a_reason, 0, (int)(sizeof cases / sizeof *cases))
{
    ck_assert_int_eq(ath_path_choose(&cases[_i].facts), cases[_i].chosen);
    expect(cases[_i].shm, SHM, &cases[_i].facts);
    expect(cases[_i].udp, UDP, &cases[_i].facts);
    expect(NULL, TCP, &cases[_i].facts);
}

/* The latency, and the bytes at the speed of the frames so far. */
TEST(costs_latency_and_size)
{
    struct ath_path_cost cost = { .latency_ns = 1000 };
    ck_assert_uint_eq(ath_path_cost_ns(&cost, 1 << 20), 0);
    ath_path_cost_add(&cost, 2000000, 1000000);
    ck_assert_uint_eq(cost.bytes_per_s, 2000000000);
    ck_assert_uint_eq(ath_path_cost_ns(&cost, 2000000), 1001000);
    ck_assert_uint_eq(ath_path_cost_ns(&cost, 0), 1000);
}

/* A path that becomes slower is known as slow after a few frames; a short frame says little. */
TEST(a_cost_follows_the_path)
{
    struct ath_path_cost cost = { 0 };
    for (int i = 0; i < 10; i++)
        ath_path_cost_add(&cost, 64 << 20, 16 << 20);
    const uint64_t fast = cost.bytes_per_s;
    ath_path_cost_add(&cost, 1 << 20, 4 << 20);
    ck_assert_uint_gt(cost.bytes_per_s, fast * 9 / 10);
    for (int i = 0; i < 10; i++)
        ath_path_cost_add(&cost, 64 << 20, 160 << 20);
    ck_assert_uint_lt(cost.bytes_per_s, fast / 10 * 12 / 10);
    ck_assert_uint_ge(cost.bytes_per_s, fast / 10);
}

TEST(a_frame_of_no_time_changes_nothing)
{
    struct ath_path_cost cost = { 0 };
    ath_path_cost_add(&cost, 1 << 20, 0);
    ck_assert_uint_eq(cost.bytes_per_s, 0);
}
