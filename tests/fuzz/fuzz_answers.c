/*
 * Fuzzes the client of control sessions: an input is what a server sends, from its challenge on.
 * The client opens a session, asks all questions that the command line tool asks, or tests the
 * network, and must show no text that could harm a terminal.
 *
 * The first byte of an input says whether this client has a key, and what it asks. The server of
 * the attacker cannot prove the key, so the check of its proof is replaced here (ld --wrap), and so
 * is connecting.
 */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/text.h"
#include "remote/net_test/net_test.h"
#include "remote/session/figures.h"
#include "remote/session/health.h"
#include "remote/session/sessions.h"

#include "fuzz.h"

enum { HAS_KEY = 1, IS_NET_TEST = 128, TIMEOUT_MS = 100, QUESTIONS_MAX = 16, TEST_BYTES = 4096 };

int __wrap_ath_endpoint_connect(const struct ath_endpoint *endpoint, uint64_t deadline_ms,
                                int *out_fd, struct ath_err *err);
bool __wrap_ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                             const struct ath_transcript *transcript, const uint8_t *proof,
                             size_t length);

static struct fuzz_input sent;
static int server_fd;

int __wrap_ath_endpoint_connect(const struct ath_endpoint *endpoint, uint64_t deadline_ms,
                                int *out_fd, struct ath_err *err)
{
    int ends[2];
    (void)endpoint;
    (void)deadline_ms;
    (void)err;
    insist(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "there are sockets");
    (void)!send(ends[1], sent.at, fuzz_left(&sent), MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(ends[1], SHUT_WR);
    if (server_fd >= 0)
        close(server_fd);
    server_fd = ends[1];
    *out_fd = ends[0];
    return 0;
}

bool __wrap_ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                             const struct ath_transcript *transcript, const uint8_t *proof,
                             size_t length)
{
    (void)secret;
    (void)side;
    (void)transcript;
    (void)proof;
    (void)length;
    return true;
}

static void check_text(const char *text)
{
    uint32_t point;
    size_t length;
    for (; text && *text; text += length) {
        length = ath_utf8_decode(text, strlen(text), &point);
        insist(length && ath_is_harmless(point), "a text is harmless");
    }
}

static int ask_health(struct ath_session *session, struct ath_err *err)
{
    struct ath_runtime_health health = { 0 };
    int status = ath_session_health(session, &health, err);
    check_text(health.software);
    check_text(health.node);
    check_text(health.hostname);
    check_text(health.address);
    check_text(health.boot_id);
    for (size_t i = 0; i < health.device_count; i++) {
        check_text(health.devices[i].pci);
        check_text(health.devices[i].uuid);
        check_text(health.devices[i].name);
    }
    for (size_t i = 0; i < health.problem_count; i++) {
        check_text(health.problems[i].code);
        check_text(health.problems[i].object);
        check_text(health.problems[i].message);
    }
    ath_runtime_health_free(&health);
    return status;
}

static int ask_sessions(struct ath_session *session, struct ath_err *err)
{
    struct ath_runtime_sessions sessions = { 0 };
    int status = ath_session_list(session, &sessions, err);
    for (size_t i = 0; i < sessions.count; i++) {
        check_text(sessions.items[i].program);
        check_text(sessions.items[i].identity);
        check_text(sessions.items[i].peer);
        check_text(sessions.items[i].host);
        for (size_t at = 0; at < sessions.items[i].use_count; at++)
            check_text(ath_gpu_limit_source_word(sessions.items[i].uses[at].limit_source));
    }
    ath_runtime_sessions_free(&sessions);
    return status;
}

static int ask_figures(struct ath_session *session, struct ath_err *err)
{
    struct ath_figures figures = { 0 };
    int status = ath_session_figures(session, &figures, err);
    for (size_t i = 0; i < figures.session_count; i++)
        check_text(figures.sessions[i].transport);
    ath_figures_free(&figures);
    return status;
}

static int end_one(struct ath_session *session, struct ath_err *err)
{
    return ath_session_end(session, 1, err);
}

static int limit_one(struct ath_session *session, struct ath_err *err)
{
    return ath_session_limit(session, 1, 0, 1 << 20, err);
}

static int limit_server(struct ath_session *session, struct ath_err *err)
{
    return ath_session_limit_server(session, 0.5, err);
}

static int ask_all(struct ath_session *session, size_t first, struct ath_err *err)
{
    static int (*const questions[])(struct ath_session *,
                                    struct ath_err *) = { ask_health, ask_sessions, end_one,
                                                          limit_one,  limit_server, ask_figures };
    int status = 0;
    for (size_t i = 0; !status && i < QUESTIONS_MAX; i++) {
        status = questions[(i + first) % (sizeof questions / sizeof *questions)](session, err);
        if (status == -ENOTSUP || status == -ENOENT || status == -EREMOTEIO)
            status = 0; /* the server's own refusal, and the session goes on */
    }
    return status;
}

static void check_speed(const struct ath_net_speed *speed)
{
    insist(speed->bytes <= TEST_BYTES && (speed->is_known || !speed->time_ns),
           "a server tells no more bytes than were sent");
}

/* The bytes of the test fit in the socket, which the server of the attacker does not read. */
static int test_network(struct ath_session *session, struct ath_err *err)
{
    const struct ath_net_plan plan = { .bytes = TEST_BYTES };
    struct ath_net_test test;
    int status = ath_net_test_run(session, "fuzz", &plan, &test, err);
    check_text(test.why_tcp);
    for (size_t i = 0; i < test.count; i++) {
        check_text(test.paths[i].from);
        check_text(test.paths[i].to);
        check_speed(&test.paths[i].to_server);
        check_speed(&test.paths[i].from_server);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t key[] = "fedcba9876543210";
    const struct ath_secret secret = { .bytes = key, .length = sizeof key - 1 };
    static const struct ath_endpoint endpoint = { .is_unix = true, .host = "fuzz" };
    struct fuzz_input input = { data, data + size };
    struct ath_session session = { .fd = -1 };
    struct ath_session_first first;
    struct ath_err err = { 0 };
    uint64_t bits = fuzz_take(&input, 1);
    setlocale(LC_ALL, "C.UTF-8"); /* texts stay as they are, except harmful characters */
    ath_net_test_first(false, &first);
    sent = input;
    server_fd = -1;
    int status = ath_session_open(&endpoint, bits & HAS_KEY ? &secret : NULL,
                                  (struct ath_encryption){ ATH_ENCRYPT_AUTO, NULL },
                                  bits & IS_NET_TEST ? &first : NULL, TIMEOUT_MS, &session, &err);
    bool is_open = !status;
    if (is_open)
        status = bits & IS_NET_TEST ? test_network(&session, &err)
                                    : ask_all(&session, (size_t)(bits >> 1), &err);
    insist(!status || err.code != ATH_E_NONE, "an error has a code");
    check_text(err.message);
    if (is_open)
        ath_session_free(&session);
    if (server_fd >= 0)
        close(server_fd);
    return 0;
}
