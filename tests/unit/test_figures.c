/* The figures of a server: what they are on the board, and their way over the wire. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "patience.h"
#include "proto/gpu-control.h"
#include "remote/session/figures.h"
#include "runtime/event_log.h"
#include "runtime/figures.h"
#include "runtime/gpu_log.h"
#include "unit.h"

static struct ath_server server;
static struct ath_wire_builder builder;

static void setup(void)
{
    server = (struct ath_server){ .board = ath_session_board_make(), .vram_fraction = 1 };
    ck_assert_ptr_nonnull(server.board);
    builder = (struct ath_wire_builder){ .max_bytes = 1 << 20 };
}

static void teardown(void)
{
    ath_session_board_free(server.board);
    ath_wire_builder_free(&builder);
}

FIXTURE(setup, teardown);

/* Sends figures over the wire. */
static struct ath_figures travel(const struct ath_figures *figures)
{
    struct ath_control_message message;
    struct ath_figures out;
    size_t length;
    int status;
    ath_figures_put(figures, ath_control_message_init_figures(ath_control_message_start(&builder)));
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(ath_control_message_open(bytes + 8, length - 8, &message), 0);
    ath_figures_take(ath_control_message_figures(message), &out);
    return out;
}

/* The number of the field at each place: all fields of a device are numbers of 8 bytes. */
TEST(carries_every_field_of_a_device)
{
    union {
        struct ath_device_figures figures;
        int64_t numbers[sizeof(struct ath_device_figures) / sizeof(int64_t)];
    } devices[2];
    for (size_t i = 0; i < ATH_COUNT(devices[0].numbers); i++) {
        devices[0].numbers[i] = (int64_t)i;
        devices[1].numbers[i] = (INT64_C(1) << 53) - (int64_t)i;
    }
    struct ath_device_figures sent[] = { devices[0].figures, devices[1].figures };
    ATH_AUTO(ath_figures)
    got = travel(&(struct ath_figures){ .devices = sent, .device_count = ATH_COUNT(sent) });
    ck_assert_uint_eq(got.device_count, 2);
    ck_assert_mem_eq(got.devices, sent, sizeof sent);
}

TEST(carries_every_field_of_a_session)
{
    char transport[] = "shm";
    struct ath_session_figures sent[] = {
        { 7, 1, 2, 3, { 4, 5, 6, 7, 8, 9, 10, 11, 12 }, 13, 14, 15, 16, 17, 18, 19, transport },
        { .id = UINT64_MAX },
        { .id = 8, .transport = transport },
    };
    ath_session_figures_init(&sent[1]);
    sent[1].id = UINT64_MAX;
    ATH_AUTO(ath_figures)
    got = travel(&(struct ath_figures){ .sampled_ms_ago = 1,
                                        .accepted = 2,
                                        .refused = { [ATH_CONTROL_REASON_KEY_WRONG] = 3 },
                                        .broken = INT64_MAX,
                                        .sessions = sent,
                                        .session_count = ATH_COUNT(sent) });
    ck_assert_int_eq(got.sampled_ms_ago, 1);
    ck_assert_int_eq(got.accepted, 2);
    ck_assert_int_eq(got.refused[ATH_CONTROL_REASON_KEY_WRONG], 3);
    ck_assert_int_eq(got.refused[ATH_CONTROL_REASON_BUSY], 0);
    ck_assert_int_eq(got.broken, ATH_UNKNOWN); /* beyond what any server counts */
    ck_assert_uint_eq(got.session_count, 3);
    ck_assert_str_eq(got.sessions[0].transport, transport);
    ck_assert_str_eq(got.sessions[2].transport, transport);
    ck_assert_mem_eq(&got.sessions[0], &sent[0], offsetof(struct ath_session_figures, transport));
    ck_assert_mem_eq(&got.sessions[1], &sent[1], sizeof sent[1]);
}

TEST(carries_every_count_of_datagrams)
{
    char address[] = "10.0.0.11:5555";
    struct ath_datagram_figures sent = { address, 1, 2, 3, 4, 5, 6, INT64_MAX };
    ATH_AUTO(ath_figures)
    got = travel(&(struct ath_figures){ .datagrams = &sent, .datagram_count = 1 });
    ck_assert_uint_eq(got.datagram_count, 1);
    ck_assert_str_eq(got.datagrams[0].address, address);
    sent.address = got.datagrams[0].address;
    sent.foreign = ATH_UNKNOWN; /* beyond what any server counts */
    ck_assert_mem_eq(&got.datagrams[0], &sent, sizeof sent);
}

/* The helper of UDP has several sockets at one address, and it may write anything. */
TEST(sums_up_datagrams_by_address)
{
    ATH_AUTO(ath_figures) got = { 0 };
    struct ath_udp_socket_counts *sockets = server.board->udp.sockets;
    strcpy(sockets[0].address, "10.0.0.11:5555");
    strcpy(sockets[1].address, "10.0.0.12:5555");
    strcpy(sockets[2].address, "10.0.0.11:5555");
    atomic_store(&sockets[0].damaged, 3);
    atomic_store(&sockets[1].damaged, UINT64_MAX);
    atomic_store(&sockets[2].damaged, 4);
    atomic_store(&sockets[2].lost, 5);
    ath_figures_collect(&server, &got);
    ck_assert_uint_eq(got.datagram_count, 2);
    ck_assert_str_eq(got.datagrams[0].address, "10.0.0.11:5555");
    ck_assert_int_eq(got.datagrams[0].damaged, 7);
    ck_assert_int_eq(got.datagrams[0].lost, 5);
    ck_assert_int_eq(got.datagrams[1].damaged, INT64_C(1) << 53);
}

/* An older server knows fewer fields, and a newer one may have other buckets. */
TEST(does_not_know_what_was_not_sent)
{
    struct ath_control_message message;
    struct ath_device_figures device;
    struct ath_session_figures session;
    ATH_AUTO(ath_figures) got = { 0 };
    size_t length;
    int status;
    struct ath_gpu_figures_builder to =
        ath_control_message_init_figures(ath_control_message_start(&builder));
    ath_gpu_figures_init_devices(to, 1);
    ath_gpu_session_figures_init_waits(
        ath_gpu_session_figures_place(ath_gpu_figures_init_sessions(to, 1), 0), ATH_WAIT_BUCKETS);
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    ck_assert_int_eq(ath_control_message_open(bytes + 8, length - 8, &message), 0);
    ath_figures_take(ath_control_message_figures(message), &got);
    ath_device_figures_init(&device);
    ath_session_figures_init(&session);
    ck_assert_int_eq(device.health_score, ATH_UNKNOWN);
    ck_assert_mem_eq(got.devices, &device, sizeof device);
    ck_assert_mem_eq(got.sessions, &session, sizeof session);
    ck_assert_int_eq(got.sampled_ms_ago, ATH_UNKNOWN);
}

/* ---- the question ---- */

/* Sends what a server answers before it is asked. */
static int ask_server(struct ath_figures *out, struct ath_err *err)
{
    int fds[2], status;
    size_t length;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    ck_assert_int_eq(write(fds[1], bytes, length), (ssize_t)length);
    struct ath_session session = { .fd = fds[0], .timeout_ms = PATIENCE_MS };
    session.builder.max_bytes = 1 << 20;
    status = ath_session_figures(&session, out, err);
    ath_session_free(&session);
    close(fds[1]);
    return status;
}

TEST(asks_a_server)
{
    ATH_AUTO(ath_figures) got = { 0 };
    struct ath_err err;
    ath_figures_put(&(struct ath_figures){ .sampled_ms_ago = 3 },
                    ath_control_message_init_figures(ath_control_message_start(&builder)));
    ck_assert_int_eq(ask_server(&got, &err), 0);
    ck_assert_int_eq(got.sampled_ms_ago, 3);
}

/* A server of an older version knows no such question. */
TEST(says_that_a_server_is_too_old)
{
    struct ath_figures got = { 0 };
    struct ath_err err;
    ath_common_failure_set_code(
        ath_control_message_init_failure(ath_control_message_start(&builder)),
        ATH_COMMON_FAILURE_CODE_NOT_SUPPORTED);
    ck_assert_int_eq(ask_server(&got, &err), -ENOTSUP);
    ck_assert_int_eq(err.code, ATH_E_UNSUPPORTED);
    ck_assert_str_eq(err.message, "the server is too old to tell its figures");
}

/* ---- counts ---- */

TEST(counts_a_wait_by_its_duration)
{
    static const uint64_t bounds_us[] = ATH_WAIT_BOUNDS_US;
    struct ath_call_counts counts = { 0 };
    uint64_t sum = 0;
    ck_assert_uint_eq(ATH_COUNT(bounds_us), ATH_WAIT_BUCKETS);
    ath_count_wait(&counts, 0);
    for (size_t i = 0; i < ATH_WAIT_BUCKETS; i++) {
        ath_count_wait(&counts, bounds_us[i]);
        ath_count_wait(&counts, bounds_us[i] + 1);
        sum += 2 * bounds_us[i] + 1;
    }
    for (size_t i = 0; i < ATH_WAIT_BUCKETS; i++)
        ck_assert_uint_eq(counts.waits[i], 2);
    ck_assert_uint_eq(counts.waits[ATH_WAIT_BUCKETS], 1);
    ck_assert_uint_eq(counts.waited_us, sum);
}

/* ---- the board ---- */

static struct ath_session_board_entry *add(size_t slot, uint64_t id, int purpose)
{
    struct ath_session_board_entry *entry =
        ath_session_board_add(server.board, slot, id, "10.0.0.7:5");
    ath_session_board_note(server.board, slot, purpose, "");
    return entry;
}

TEST(collects_programs_by_their_id)
{
    add(0, 9, ATH_GPU_PURPOSE_CUDA);
    add(1, 8, ATH_GPU_PURPOSE_CONTROL);
    add(3, 7, ATH_GPU_PURPOSE_CUDA);
    ath_session_board_add(server.board, 4, 6, "unproven");
    ATH_AUTO(ath_figures) figures;
    ath_figures_collect(&server, &figures);
    ck_assert_uint_eq(figures.session_count, 2);
    ck_assert_uint_eq(figures.sessions[0].id, 7);
    ck_assert_uint_eq(figures.sessions[1].id, 9);
    ck_assert_int_eq(figures.sampled_ms_ago, ATH_UNKNOWN);
}

/* Also what a session cannot have: its process may write anything. */
TEST(collects_the_counts_of_a_session)
{
    struct ath_session_board_entry *entry = add(0, 1, ATH_GPU_PURPOSE_CUDA);
    add(1, 2, ATH_GPU_PURPOSE_CUDA);
    ath_count(&entry->counts.calls, 3);
    ath_count(&entry->counts.received_bytes, 4);
    ath_count(&entry->counts.sent_bytes, UINT64_MAX);
    ath_count_wait(&entry->counts, 60);
    entry->transport = 1 + ATH_CONTROL_TRANSPORT_SHM;
    {
        ATH_AUTO(ath_figures) figures;
        ath_figures_collect(&server, &figures);
        ck_assert_uint_eq(figures.session_count, 2);
        const struct ath_session_figures *one = &figures.sessions[0], *other = one + 1;
        ck_assert_int_eq(one->calls, 3);
        ck_assert_int_eq(one->received_bytes, 4);
        ck_assert_int_eq(one->sent_bytes, INT64_C(1) << 53);
        ck_assert_int_eq(one->waits[1], 0);
        ck_assert_int_eq(one->waits[2], 1);
        ck_assert_int_eq(one->waited_us, 60);
        ck_assert_str_eq(one->transport, "shm");
        ck_assert_int_eq(one->gpu_time_us, ATH_UNKNOWN);
        ck_assert_int_eq(other->calls, 0);
        ck_assert_ptr_null(other->transport);
    }
    /* The next session at the slot begins at 0. */
    ath_session_board_remove(server.board, 0);
    add(0, 3, ATH_GPU_PURPOSE_CUDA);
    entry->transport = INT32_MIN;
    ATH_AUTO(ath_figures) figures;
    ath_figures_collect(&server, &figures);
    ck_assert_uint_eq(figures.sessions[1].id, 3);
    ck_assert_int_eq(figures.sessions[1].sent_bytes, 0);
    ck_assert_int_eq(figures.sessions[1].waits[2], 0);
    ck_assert_ptr_null(figures.sessions[1].transport);
}

/* ---- samples ---- */

enum { TEMPERATURE = offsetof(struct ath_device_figures, temperature_c) / sizeof(int64_t) };

static struct ath_figures collect(void)
{
    struct ath_figures figures;
    ath_figures_collect(&server, &figures);
    return figures;
}

TEST(collects_samples_until_they_are_too_old)
{
    struct ath_samples *samples = &server.board->samples;
    server.devices.count = 1;
    server.devices.items[0].memory_total_bytes = 4096;
    add(0, 5, ATH_GPU_PURPOSE_CUDA);
    atomic_store(&samples->devices[0].figures[TEMPERATURE], 44);
    atomic_store(&samples->devices[0].figures[1], 77); /* not for the sampler to say */
    atomic_store(&samples->sessions[0].id, 5);
    atomic_store(&samples->sessions[0].gpu_time_us, 1000);
    atomic_store(&samples->sessions[0].busy_percent, 30);
    atomic_store(&samples->sampled_ms, ath_now_ms());
    ATH_AUTO(ath_figures) young = collect();
    ck_assert_int_ge(young.sampled_ms_ago, 0);
    ck_assert_int_eq(young.devices[0].temperature_c, 44);
    ck_assert_int_eq(young.devices[0].power_mw, ATH_UNKNOWN);
    ck_assert_int_eq(young.devices[0].memory_total_bytes, 4096);
    ck_assert_int_eq(young.devices[0].memory_limit_bytes, 4096);
    ck_assert_int_eq(young.sessions[0].gpu_time_us, 1000);
    ck_assert_int_eq(young.sessions[0].busy_percent, 30);
    /* The next session at the slot has no sample yet. */
    ath_session_board_remove(server.board, 0);
    add(0, 6, ATH_GPU_PURPOSE_CUDA);
    ATH_AUTO(ath_figures) next = collect();
    ck_assert_int_eq(next.sessions[0].gpu_time_us, ATH_UNKNOWN);
    atomic_store(&samples->sessions[0].id, 6);
    atomic_store(&samples->sampled_ms, ath_now_ms() - ATH_SAMPLES_STALE_MS - 1);
    ATH_AUTO(ath_figures) old = collect();
    ck_assert_int_eq(old.sampled_ms_ago, ATH_UNKNOWN);
    ck_assert_int_eq(old.devices[0].temperature_c, ATH_UNKNOWN);
    ck_assert_int_eq(old.devices[0].memory_total_bytes, 4096);
    ck_assert_int_eq(old.sessions[0].gpu_time_us, ATH_UNKNOWN);
}

TEST(knows_the_age_of_a_sample)
{
    struct ath_samples samples;
    ath_samples_init(&samples);
    ck_assert_int_eq(ath_samples_age_ms(&samples, 5), ATH_UNKNOWN);
    atomic_store(&samples.sampled_ms, 1000);
    ck_assert_int_eq(ath_samples_age_ms(&samples, 999), 0); /* written behind the reader's clock */
    ck_assert_int_eq(ath_samples_age_ms(&samples, 1003), 3);
    ck_assert_int_eq(ath_samples_age_ms(&samples, 1000 + ATH_SAMPLES_STALE_MS),
                     ATH_SAMPLES_STALE_MS);
    ck_assert_int_eq(ath_samples_age_ms(&samples, 1001 + ATH_SAMPLES_STALE_MS), ATH_UNKNOWN);
}

/* The sampler works while a client asks, and for a while after. A question of the future is a lie.
 */
TEST(notes_the_last_question)
{
    struct ath_session_board_entry *entry = add(0, 1, ATH_GPU_PURPOSE_CONTROL);
    uint64_t before_ms = ath_now_ms();
    server.entry = entry;
    ATH_AUTO(ath_figures) figures = collect();
    ck_assert_uint_eq(figures.session_count, 0);
    ck_assert_uint_ge(atomic_load(&entry->asked_ms), before_ms);
    ck_assert_uint_eq(atomic_load(&server.board->asked_ms), 0);
    uint64_t asked_ms = atomic_load(&entry->asked_ms);
    ath_session_board_remove(server.board, 0);
    ck_assert_uint_eq(atomic_load(&server.board->asked_ms), asked_ms);
    entry = add(0, 2, ATH_GPU_PURPOSE_CONTROL);
    ck_assert_uint_eq(atomic_load(&entry->asked_ms), 0);
    atomic_store(&entry->asked_ms, UINT64_MAX);
    ath_session_board_remove(server.board, 0);
    ck_assert_uint_eq(atomic_load(&server.board->asked_ms), asked_ms);
}

TEST(collects_what_the_board_counts)
{
    server.devices.count = 2;
    server.devices.items[0].memory_total_bytes = ATH_UNKNOWN;
    server.devices.items[1].memory_total_bytes = 1 << 20;
    server.vram_fraction = 0.5;
    struct ath_session_board_entry *entry = add(0, 1, ATH_GPU_PURPOSE_CUDA);
    ck_assert(ath_session_board_take_memory(server.board, entry, 1, 4096, -1));
    atomic_store(&server.board->accepted, 5);
    atomic_store(&server.board->refused[ATH_CONTROL_REASON_BUSY], 2);
    atomic_store(&entry->refused, 1 + ATH_CONTROL_REASON_BUSY);
    atomic_store(&entry->broken, 1);
    ATH_AUTO(ath_figures) figures;
    ath_figures_collect(&server, &figures);
    ck_assert_int_eq(figures.accepted, 5);
    ck_assert_int_eq(figures.refused[ATH_CONTROL_REASON_BUSY], 2);
    ck_assert_int_eq(figures.refused[ATH_CONTROL_REASON_KEY_WRONG], 0);
    ck_assert_int_eq(figures.broken, 0);
    ck_assert_uint_eq(figures.device_count, 2);
    ck_assert_int_eq(figures.devices[0].memory_total_bytes, ATH_UNKNOWN);
    ck_assert_int_eq(figures.devices[0].memory_limit_bytes, ATH_UNKNOWN);
    ck_assert_int_eq(figures.devices[0].sessions, 0);
    ck_assert_int_eq(figures.devices[1].memory_total_bytes, 1 << 20);
    ck_assert_int_eq(figures.devices[1].memory_limit_bytes, 1 << 19);
    ck_assert_int_eq(figures.devices[1].memory_used_bytes, 4096);
    ck_assert_int_eq(figures.devices[1].sessions, 1);
    ck_assert_int_eq(figures.devices[1].temperature_c, ATH_UNKNOWN);
}

/* ---- the log of the GPUs' health ---- */

static int log_fd;

/* Notes a score and returns the event that it writes, or "". */
static const char *event_of(struct ath_gpu_log *log, int score, uint64_t now_ms)
{
    static char line[512];
    static const struct ath_device device = { .pci = "0000:01:00.0" };
    struct ath_gpu_health health = { .score = score, .deduction_count = score < 100 };
    char *begin;

    health.deductions[0] = ATH_GPU_DEDUCT_HOT;
    ath_gpu_log_score(log, &device, 3, &health, now_ms);
    ssize_t length = read(log_fd, line, sizeof line - 1);
    line[length > 0 ? length : 0] = '\0';
    begin = strstr(line, "level=");
    return begin ? begin : "";
}

TEST(a_score_that_goes_up_and_down_does_not_fill_the_log)
{
    struct ath_gpu_log log = { 0 };
    uint64_t now_ms = 1;
    int ends[2];

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    log_fd = ends[0];
    ath_event_log_to(ends[1]);
    ck_assert_str_eq(event_of(&log, ATH_UNKNOWN, now_ms), "");
    ck_assert_str_eq(event_of(&log, 90, now_ms), "");
    ck_assert_str_eq(event_of(&log, 89, now_ms), "level=warning event=gpu-unhealthy device=3 "
                                                 "pci=0000:01:00.0 score=89 reasons=hot\n");
    ck_assert_str_eq(event_of(&log, 89, now_ms), "");
    ck_assert_str_eq(event_of(&log, 100, ++now_ms), "");
    ck_assert_str_eq(event_of(&log, 89, ++now_ms), "");
    ck_assert_str_eq(event_of(&log, 50, ++now_ms), "level=warning event=gpu-unhealthy device=3 "
                                                   "pci=0000:01:00.0 score=50 reasons=hot\n");
    ck_assert_str_eq(event_of(&log, 49, ++now_ms), "level=error event=gpu-unhealthy device=3 "
                                                   "pci=0000:01:00.0 score=49 reasons=hot\n");
    ck_assert_str_eq(event_of(&log, 100, ++now_ms), "");
    ck_assert_str_eq(event_of(&log, ATH_UNKNOWN, ++now_ms), "");
    ck_assert_str_eq(event_of(&log, 100, ++now_ms), "");
    ck_assert_str_eq(event_of(&log, 90, now_ms + ATH_GPU_LOG_FINE_MS - 1), "");
    ck_assert_str_eq(event_of(&log, 100, now_ms + ATH_GPU_LOG_FINE_MS),
                     "level=info event=gpu-healthy device=3 pci=0000:01:00.0 score=100\n");
    ck_assert_str_eq(event_of(&log, 100, now_ms + 2 * ATH_GPU_LOG_FINE_MS), "");
    ck_assert_str_eq(event_of(&log, 89, now_ms + 2 * ATH_GPU_LOG_FINE_MS),
                     "level=warning event=gpu-unhealthy device=3 "
                     "pci=0000:01:00.0 score=89 reasons=hot\n");
    ath_event_log_to(STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
}
