/* How failed requests to the Docker Engine are explained. */
#include "config.h"

#include "container/docker/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

static struct ath_err err;
static char what[] = "cannot start container 'x'";

/* ---- transfers that end early ---- */

static const struct {
    CURLcode code;
    int os_errno, status;
    enum ath_error error;
    const char *words, *hint, *hint_of_network; /* of a socket; of a daemon in the network */
} transfers[] = {
    { CURLE_COULDNT_CONNECT, EACCES, -EACCES, ATH_E_ENGINE_DENIED, "you may not use the socket",
      "join the group docker", NULL },
    { CURLE_COULDNT_CONNECT, EPERM, -EACCES, ATH_E_ENGINE_DENIED, "you may not use the socket",
      "join the group docker", NULL },
    { CURLE_COULDNT_CONNECT, ENOENT, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE,
      "No such file or directory", "sudo systemctl start docker", "listens on the network" },
    { CURLE_COULDNT_CONNECT, 0, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, "libcurl's words",
      "sudo systemctl start docker", "listens on the network" },
    { CURLE_COULDNT_RESOLVE_HOST, 0, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE,
      "the host name is unknown", "sudo systemctl", "listens on the network" },
    { CURLE_OPERATION_TIMEDOUT, 0, -ETIMEDOUT, ATH_E_ENGINE_TIMEOUT, "within 2.5 s", "journalctl",
      "journalctl" },
    { CURLE_GOT_NOTHING, 0, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, "without an answer",
      "still runs", "still runs" },
    { CURLE_SEND_ERROR, 0, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, "before it had read",
      "still runs", "still runs" },
    { CURLE_RECV_ERROR, 0, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, "in the middle", "still runs",
      "still runs" },
    { CURLE_PARTIAL_FILE, 0, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, "in the middle", "still runs",
      "still runs" },
    { CURLE_SSL_CONNECT_ERROR, 0, -ECONNABORTED, ATH_E_ENGINE_UNREACHABLE, "libcurl's words",
      "DOCKER_CERT_PATH", "DOCKER_CERT_PATH" },
    { CURLE_PEER_FAILED_VERIFICATION, 0, -ECONNABORTED, ATH_E_ENGINE_UNREACHABLE, "libcurl's words",
      "DOCKER_CERT_PATH", "DOCKER_CERT_PATH" },
    { CURLE_WEIRD_SERVER_REPLY, 0, -EBADMSG, ATH_E_ENGINE_INVALID, "is not Docker: libcurl's words",
      "", "" },
};

LOOP_TEST(explains_transfers, 0, ATH_COUNT(transfers))
{
    static char socket[] = "/run/docker.sock", address[] = "unix:///run/docker.sock",
                network[] = "tcp://10.0.0.1:2376";
    const struct ath_docker_host local = { .text = address, .socket = socket },
                                 remote = { .text = network };
    const struct ath_docker_request request = { .what = what, .idle_timeout_ms = 2500 };

    unsetenv("XDG_RUNTIME_DIR");
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        const struct ath_docker_host *host = is_remote ? &remote : &local;
        const char *hint = is_remote ? transfers[_i].hint_of_network : transfers[_i].hint;
        if (!hint)
            continue;
        err = (struct ath_err){ 0 };
        ck_assert_int_eq(ath_docker_fault_transfer(host, &request, transfers[_i].code,
                                                   "libcurl's words", transfers[_i].os_errno, &err),
                         transfers[_i].status);
        ck_assert_int_eq(err.code, transfers[_i].error);
        ck_assert_int_eq(strncmp(err.message, what, strlen(what)), 0);
        ck_assert_msg(strstr(err.message, transfers[_i].words) != NULL, "%s", err.message);
        ck_assert_msg(strstr(err.message, is_remote ? network : socket) != NULL, "%s", err.message);
        ck_assert_msg(strstr(err.hint, hint) != NULL && (*hint != '\0') == (*err.hint != '\0'),
                      "%s", err.hint);
    }
}

/* The limit of the whole answer comes before that of silence. */
TEST(names_the_limit_that_ended_it)
{
    static char address[] = "unix:///run/docker.sock";
    const struct ath_docker_host host = { .text = address };
    const struct ath_docker_request request = { .what = what,
                                                .timeout_ms = 4000,
                                                .idle_timeout_ms = 2500 };

    ath_docker_fault_transfer(&host, &request, CURLE_OPERATION_TIMEDOUT, "", 0, &err);
    ck_assert_ptr_nonnull(strstr(err.message, "within 4 s"));
}

/* A daemon without root is offered if it has a socket, and only if another one was asked. */
TEST(offers_a_daemon_without_root)
{
    struct tree tree;

    tree_make(&tree);
    tree_put(&tree, "", "docker.sock");
    ath_auto_free char *rootless = ath_xasprintf("%s/docker.sock", tree.path);
    ath_auto_free char *offer = ath_xasprintf("export DOCKER_HOST=unix://%s", rootless);
    static char other[] = "/run/docker.sock", address[] = "unix";
    const struct ath_docker_request request = { .what = what };
    struct ath_docker_host host = { .text = address, .socket = other };

    setenv("XDG_RUNTIME_DIR", tree.path, true);
    ath_docker_fault_transfer(&host, &request, CURLE_COULDNT_CONNECT, "", ENOENT, &err);
    ck_assert_str_eq(err.hint, offer);
    host.socket = rootless;
    ath_docker_fault_transfer(&host, &request, CURLE_COULDNT_CONNECT, "", ENOENT, &err);
    ck_assert_str_ne(err.hint, offer);
    host.socket = other;
    unlink(rootless);
    ath_docker_fault_transfer(&host, &request, CURLE_COULDNT_CONNECT, "", ENOENT, &err);
    ck_assert_str_ne(err.hint, offer);
    unsetenv("XDG_RUNTIME_DIR");
    tree_remove(&tree);
}

/* ---- answers that refuse ---- */

#define MESSAGE "{\"message\":\" no  such\\n\\tcontainer \\u0007\"}"
#define TIDY ": Docker says: no such container"

static const struct {
    int http;
    enum ath_error conflict;
    const char *body;
    int status;
    enum ath_error error;
    const char *end;
} answers[] = {
    { 304, 0, MESSAGE, -EBADMSG, ATH_E_ENGINE_INVALID, "(HTTP 304), which Docker never does" },
    { 399, 0, "", -EBADMSG, ATH_E_ENGINE_INVALID, "(HTTP 399), which Docker never does" },
    { 400, 0, MESSAGE, -EINVAL, ATH_E_ENGINE_ERROR, TIDY },
    { 401, 0, MESSAGE, -EACCES, ATH_E_ENGINE_DENIED, TIDY },
    { 403, 0, MESSAGE, -EACCES, ATH_E_ENGINE_DENIED, TIDY },
    { 404, 0, MESSAGE, -ENOENT, ATH_E_NOT_FOUND, TIDY },
    { 404, 0, "<html>", -EBADMSG, ATH_E_ENGINE_INVALID, "HTTP 404, without a message of Docker" },
    { 404, 0, NULL, -EBADMSG, ATH_E_ENGINE_INVALID, "HTTP 404, without a message of Docker" },
    { 409, ATH_E_EXISTS, MESSAGE, -EEXIST, ATH_E_EXISTS, TIDY },
    { 409, ATH_E_CONFLICT, MESSAGE, -EBUSY, ATH_E_CONFLICT, TIDY },
    { 500, 0, MESSAGE, -EIO, ATH_E_ENGINE_ERROR, TIDY },
    { 503, 0, "{\"message\":1}", -EIO, ATH_E_ENGINE_ERROR,
      "HTTP 503, without a message of Docker" },
};

LOOP_TEST(explains_answers, 0, ATH_COUNT(answers))
{
    const struct ath_docker_request request = { .what = what, .conflict = answers[_i].conflict };
    const char *body = answers[_i].body;

    ck_assert_int_eq(
        ath_docker_fault_http(&request, answers[_i].http, body, body ? strlen(body) : 0, &err),
        answers[_i].status);
    ck_assert_int_eq(err.code, answers[_i].error);
    ck_assert_int_eq(strncmp(err.message, what, strlen(what)), 0);
    size_t length = strlen(err.message), end = strlen(answers[_i].end);
    ck_assert_msg(length > end && !strcmp(err.message + length - end, answers[_i].end), "%s",
                  err.message);
}
