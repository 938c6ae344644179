/* The client and its batches: libcurl's multi interface, driven by one thread. */
#include "config.h"

#include "container/docker/docker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "container/docker/transfer.h"

enum { LOOK_AROUND_MS = 100, PING_TIMEOUT_MS = 10 * 1000 };

struct ath_docker {
    const struct ath_curl *curl;
    struct ath_docker_host host;
    struct ath_docker_stop stop;
    char api[ATH_DOCKER_API_TEXT];
};

struct ath_docker_batch {
    struct ath_docker *docker;
    CURLM *multi;
    struct ath_docker_transfer *first; /* all unfinished transfers in the order of adding */
    bool is_stopped;
};

/* ---- batches ---- */

struct ath_docker_batch *ath_docker_batch_new(struct ath_docker *docker)
{
    struct ath_docker_batch *batch = ath_xalloc(sizeof *batch);
    batch->docker = docker;
    batch->multi = docker->curl->curl_multi_init();
    if (!batch->multi)
        abort();
    return batch;
}

/* Removes a transfer from the batch, sent or not. */
static void take_out(struct ath_docker_batch *batch, struct ath_docker_transfer *transfer)
{
    struct ath_docker_transfer **place = &batch->first;
    while (*place != transfer)
        place = &(*place)->next;
    *place = transfer->next;
    if (transfer->easy)
        batch->docker->curl->curl_multi_remove_handle(batch->multi, transfer->easy);
}

void ath_docker_batch_free(struct ath_docker_batch *batch)
{
    if (!batch)
        return;
    while (batch->first) {
        struct ath_docker_transfer *transfer = batch->first;
        take_out(batch, transfer);
        ath_docker_transfer_free(transfer);
    }
    batch->docker->curl->curl_multi_cleanup(batch->multi);
    free(batch);
}

void ath_docker_batch_add(struct ath_docker_batch *batch, struct ath_docker_request *request,
                          ath_docker_done *done, void *context)
{
    if (batch->is_stopped) {
        ath_docker_request_free(request);
        return;
    }
    struct ath_docker_transfer **place = &batch->first;
    while (*place)
        place = &(*place)->next;
    *place = ath_docker_transfer_new(request, done, context);
}

static void begin_due(struct ath_docker_batch *batch)
{
    const struct ath_docker *docker = batch->docker;
    uint64_t now = ath_now_ms();
    for (struct ath_docker_transfer *one = batch->first; one; one = one->next) {
        if (one->easy || one->due_ms > now)
            continue;
        ath_docker_transfer_begin(one, docker->curl, &docker->host, docker->api);
        if (docker->curl->curl_multi_add_handle(batch->multi, one->easy) != CURLM_OK)
            abort();
    }
}

/* Returns the time until the next transfer is due, but at most LOOK_AROUND_MS, so that a stop is
 * noticed. */
static int wait_ms(const struct ath_docker_batch *batch)
{
    uint64_t now = ath_now_ms(), least = LOOK_AROUND_MS;
    for (const struct ath_docker_transfer *one = batch->first; one; one = one->next) {
        uint64_t left = one->due_ms > now ? one->due_ms - now : 0;
        if (!one->easy && left < least)
            least = left;
    }
    return (int)least;
}

/*
 * A daemon that goes away while we write must not end this program. libcurl asks the kernel for no
 * SIGPIPE, but TLS libraries write on their own. So this thread blocks SIGPIPE, and discards one
 * that arrived meanwhile.
 */
static void perform(struct ath_docker_batch *batch)
{
    sigset_t broken_pipe, before, pending;
    int running;

    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    batch->docker->curl->curl_multi_perform(batch->multi, &running);
    if (!sigismember(&pending, SIGPIPE))
        sigtimedwait(&broken_pipe, NULL, &(struct timespec){ 0 });
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Calls the caller's function, which may add to the batch. */
static void tell(struct ath_docker_batch *batch, struct ath_docker_transfer *transfer,
                 const struct ath_docker_answer *answer)
{
    take_out(batch, transfer);
    if (transfer->done)
        transfer->done(transfer->context, batch, answer);
    json_decref(answer->json);
    ath_docker_transfer_free(transfer);
}

/* Returns the transfer with this handle; there is one. */
static struct ath_docker_transfer *find(const struct ath_docker_batch *batch, const CURL *easy)
{
    struct ath_docker_transfer *one = batch->first;
    while (one->easy != easy)
        one = one->next;
    return one;
}

static void reap(struct ath_docker_batch *batch)
{
    int left;
    const CURLMsg *message;
    while ((message = batch->docker->curl->curl_multi_info_read(batch->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct ath_docker_answer answer;
        struct ath_docker_transfer *transfer = find(batch, message->easy_handle);
        ath_docker_transfer_end(transfer, message->data.result, &answer);
        tell(batch, transfer, &answer);
    }
}

static bool must_stop(const struct ath_docker_stop *stop)
{
    return stop->is_stopped && stop->is_stopped(stop->context);
}

static int stop_all(struct ath_docker_batch *batch, struct ath_err *err)
{
    batch->is_stopped = true;
    while (batch->first) {
        struct ath_docker_transfer *transfer = batch->first;
        struct ath_docker_answer answer = { .status = -EINTR, .api = "", .err = &transfer->err };
        ath_err_set(&transfer->err, -EINTR, ATH_E_INTERRUPTED, _("%s: interrupted"),
                    transfer->request->what);
        tell(batch, transfer, &answer);
    }
    batch->is_stopped = false;
    return ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
}

int ath_docker_batch_run(struct ath_docker_batch *batch, struct ath_err *err)
{
    while (batch->first) {
        if (must_stop(&batch->docker->stop))
            return stop_all(batch, err);
        begin_due(batch);
        perform(batch);
        reap(batch);
        /* A signal only ends the wait early. */
        if (batch->first)
            batch->docker->curl->curl_multi_poll(batch->multi, NULL, 0, wait_ms(batch), NULL);
    }
    return 0;
}

/* ---- one request ---- */

struct outcome {
    int status;
    json_t *json;
    char api[ATH_DOCKER_API_TEXT];
    struct ath_err *err;
};

static void note(void *context, struct ath_docker_batch *batch,
                 const struct ath_docker_answer *answer)
{
    struct outcome *outcome = context;
    (void)batch;
    outcome->status = answer->status;
    outcome->json = json_incref(answer->json);
    memcpy(outcome->api, answer->api, strlen(answer->api) + 1);
    if (answer->status)
        ath_err_copy(outcome->err, answer->err);
}

static int do_one(struct ath_docker *docker, struct ath_docker_request *request,
                  struct outcome *outcome, struct ath_err *err)
{
    struct ath_err stopped;
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(docker);
    *outcome = (struct outcome){ .err = err };
    ath_docker_batch_add(batch, request, note, outcome);
    ath_docker_batch_run(batch, &stopped);
    return outcome->status;
}

int ath_docker_do(struct ath_docker *docker, struct ath_docker_request *request, json_t **out,
                  struct ath_err *err)
{
    struct outcome outcome;
    int status = do_one(docker, request, &outcome, err);
    if (out)
        *out = outcome.json;
    else
        json_decref(outcome.json);
    return status;
}

/* ---- versions ---- */

/* Returns 1041 for "1.41", or 0 if the text is no version. */
static int version_number(const char *text)
{
    char *end;
    long major = strtol(text, &end, 10);
    if (end == text || *end != '.' || major < 0 || major > 99)
        return 0;
    const char *second = end + 1;
    long minor = strtol(second, &end, 10);
    return end == second || *end || minor < 0 || minor > 999 ? 0 : (int)(major * 1000 + minor);
}

/* A newer daemon may have dropped the versions that we speak. */
static int check_least(struct ath_docker *docker, struct ath_err *err)
{
    struct outcome outcome;
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_OBJECT, _("cannot use Docker"));
    request->is_unversioned = true;
    ath_docker_path(request, "/version", "", "");
    int status = do_one(docker, request, &outcome, err);
    json_auto_t *json = outcome.json;
    if (status)
        return status;

    const char *least = json_string_value(json_object_get(json, "MinAPIVersion"));
    if (!least || version_number(least) <= version_number(ATH_DOCKER_API_MOST))
        return 0;
    ath_err_set(
        err, -EPROTO, ATH_E_ENGINE_VERSION,
        _("cannot use Docker: the daemon at '%s' needs API %s or newer, and aitherion knows no API "
          "newer than %s"),
        docker->host.text, least, ATH_DOCKER_API_MOST);
    return ath_err_hint(err, -EPROTO,
                        _("get a newer aitherion, or start the daemon with "
                          "DOCKER_MIN_API_VERSION=%s in its environment"),
                        ATH_DOCKER_API_MOST);
}

static int agree(struct ath_docker *docker, const char *theirs, struct ath_err *err)
{
    int number = version_number(theirs);
    if (!number)
        return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                           _("cannot use Docker: the server at '%s' is not Docker: it names no "
                             "API version"),
                           docker->host.text);
    if (number < version_number(ATH_DOCKER_API_LEAST)) {
        ath_err_set(err, -EPROTO, ATH_E_ENGINE_VERSION,
                    _("cannot use Docker: the daemon at '%s' speaks API %s, and aitherion needs %s "
                      "(Docker 20.10, podman 4) or newer"),
                    docker->host.text, theirs, ATH_DOCKER_API_LEAST);
        return ath_err_hint(
            err, -EPROTO,
            "apt-get install --only-upgrade docker.io docker-ce docker-ce-cli podman");
    }
    bool is_newer = number > version_number(ATH_DOCKER_API_MOST);
    const char *common = is_newer ? ATH_DOCKER_API_MOST : theirs;
    memcpy(docker->api, common, strlen(common) + 1);
    return is_newer ? check_least(docker, err) : 0;
}

static int ping_once(struct ath_docker *docker, int delay_ms, struct ath_err *err)
{
    struct outcome outcome;
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_NOTHING, _("cannot use Docker"));
    request->is_unversioned = true;
    request->timeout_ms = PING_TIMEOUT_MS;
    request->delay_ms = delay_ms;
    ath_docker_path(request, "/_ping", "", "");
    int status = do_one(docker, request, &outcome, err);
    return status ? status : agree(docker, outcome.api, err);
}

int ath_docker_ping(struct ath_docker *docker, int wait, struct ath_err *err)
{
    uint64_t end = ath_now_ms() + (uint64_t)wait;
    int status = ping_once(docker, 0, err);
    while (status == -ECONNREFUSED && ath_now_ms() < end)
        status = ping_once(docker, LOOK_AROUND_MS, err);
    return status;
}

/* ---- the client ---- */

static void copy_host(const struct ath_docker_host *host, struct ath_docker_host *out)
{
    *out = (struct ath_docker_host){
        .text = ath_xstrdup(host->text),
        .socket = ath_xstrdup(host->socket),
        .base = ath_xstrdup(host->base),
        .is_tls = host->is_tls,
        .ca = ath_xstrdup(host->ca),
        .cert = ath_xstrdup(host->cert),
        .key = ath_xstrdup(host->key),
    };
}

void ath_docker_set_stop(struct ath_docker *docker, const struct ath_docker_stop *stop)
{
    docker->stop = stop ? *stop : (struct ath_docker_stop){ 0 };
}

int ath_docker_open(const struct ath_docker_host *host, const struct ath_docker_stop *stop,
                    int wait, struct ath_docker **out, struct ath_err *err)
{
    const struct ath_curl *curl = ath_curl_load(err);
    if (!curl)
        return -ENOENT;
    ath_auto_docker struct ath_docker *docker = ath_xalloc(sizeof *docker);
    docker->curl = curl;
    copy_host(host, &docker->host);
    ath_docker_set_stop(docker, stop);
    int status = ath_docker_ping(docker, wait, err);
    if (!status)
        *out = ath_steal(&docker);
    return status;
}

void ath_docker_close(struct ath_docker *docker)
{
    if (!docker)
        return;
    ath_docker_host_free(&docker->host);
    free(docker);
}

const char *ath_docker_api(const struct ath_docker *docker)
{
    return docker->api;
}

const char *ath_docker_where(const struct ath_docker *docker)
{
    return docker->host.text;
}
