/*
 * Drives the Docker Engine client, for the tests in tests/docker:
 *
 *     docker_steps COMMAND [ARGUMENT...]       (see the table at the end)
 *
 * DOCKER_HOST names the daemon. Answers are printed as JSON, one a line. A failure is printed as
 * {"error": CODE, "status": ERRNO, "message": ..., "hint": ...} on standard output, with exit code
 * 1. TIMEOUT_MS=N changes a request's timeout, WAIT_MS=N waits for the daemon, SIGINT stops.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "container/docker/container.h"
#include "container/docker/docker.h"
#include "container/docker/image.h"
#include "container/docker/network.h"
#include "container/docker/system.h"
#include "steps.h"

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static int number_of(const char *variable, int missing)
{
    const char *text = getenv(variable);
    return text ? (int)strtol(text, NULL, 10) : missing;
}

/* Sends one request. out may be NULL. */
static int send_one(struct ath_docker *docker, struct ath_docker_request *request, json_t **out,
                    struct ath_err *err)
{
    request->timeout_ms = number_of("TIMEOUT_MS", request->timeout_ms);
    return ath_docker_do(docker, request, out, err);
}

static int send_and_print(struct ath_docker *docker, struct ath_docker_request *request,
                          struct ath_err *err)
{
    json_t *json = NULL;
    int status = send_one(docker, request, &json, err);
    if (!status)
        print(json ? json : json_null());
    return status;
}

/* ---- containers ---- */

static int create(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_t *body = json_loads(arguments[1], 0, NULL);
    return send_and_print(docker, ath_docker_container_create(arguments[0], body), err);
}

/* Notes the HTTP status of calls that may find their work done already. */
static void note_http(void *context, struct ath_docker_batch *batch,
                      const struct ath_docker_answer *answer)
{
    (void)batch;
    (void)context;
    if (answer->status)
        print(failure(answer->status, answer->err));
    else
        print(json_pack("{s:i}", "http", answer->http_status));
}

static int send_for_http(struct ath_docker *docker, struct ath_docker_request *request,
                         struct ath_err *err)
{
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(docker);
    ath_docker_batch_add(batch, request, note_http, NULL);
    return ath_docker_batch_run(batch, err);
}

static int start(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    return send_for_http(docker, ath_docker_container_start(arguments[0]), err);
}

static int stop(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    int grace_s = (int)strtol(arguments[1], NULL, 10);
    return send_for_http(docker, ath_docker_container_stop(arguments[0], grace_s), err);
}

static int kill_one(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    return send_for_http(docker, ath_docker_container_kill(arguments[0], arguments[1]), err);
}

static int remove_one(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    bool force = arguments[1] && !strcmp(arguments[1], "force");
    return send_for_http(docker, ath_docker_container_remove(arguments[0], force), err);
}

static json_t *describe(const struct ath_docker_container *one)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:i, s:i, s:i, s:i, s:O}",
                     "id", text_or_null(one->id), "name", text_or_null(one->name), "image",
                     text_or_null(one->image), "state", text_or_null(one->state), "health",
                     text_or_null(one->health), "error", text_or_null(one->error), "network_mode",
                     text_or_null(one->network_mode), "finished_at", text_or_null(one->finished_at),
                     "is_running", one->is_running, "is_tty", one->is_tty, "pid", one->pid,
                     "exit_code", one->exit_code, "restart_count", one->restart_count,
                     "is_oom_killed", one->is_oom_killed, "labels", one->labels);
}

static int inspect(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_container) container = { 0 };
    int status = send_one(docker, ath_docker_container_inspect(arguments[0]), &json, err);
    if (!status)
        status = ath_docker_container_read(json, &container, err);
    if (!status)
        print(describe(&container));
    return status;
}

static int list(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_containers) containers = { 0 };
    int status = send_one(docker, ath_docker_container_list(arguments[0]), &json, err);
    if (!status)
        status = ath_docker_containers_read(json, &containers, err);
    for (size_t i = 0; i < containers.count; i++)
        print(describe(&containers.items[i]));
    return status;
}

static int wait_for(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_auto_t *json = NULL;
    int exit_code = ATH_UNKNOWN;
    int status =
        send_one(docker, ath_docker_container_wait(arguments[0], arguments[1]), &json, err);
    if (!status)
        status = ath_docker_wait_read(json, &exit_code, err);
    if (!status)
        print(json_pack("{s:i}", "exit_code", exit_code));
    return status;
}

static int print_output(void *context, enum ath_docker_stream stream, const char *bytes,
                        size_t length, struct ath_err *err)
{
    (void)context;
    (void)err;
    print(json_pack("{s:i, s:s%}", "stream", (int)stream, "text", bytes, length));
    return ATH_DOCKER_GO_ON;
}

static bool has_word(char **words, const char *word)
{
    for (; *words; words++)
        if (!strcmp(*words, word))
            return true;
    return false;
}

static int logs(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    const struct ath_docker_logs wanted = { .follow = has_word(arguments, "follow"),
                                            .is_tty = has_word(arguments, "tty"),
                                            .tail = has_word(arguments, "last") ? 1 : ATH_UNKNOWN };
    return send_one(docker, ath_docker_container_logs(arguments[0], &wanted, print_output, NULL),
                    NULL, err);
}

/* ---- many at once ---- */

struct chain {
    int number, step;
    uint64_t begin_ms, *out_longest_ms;
    char name[32];
    json_t *body;
};

/* Continues a batch: create, start, inspect, inspect again a little later until the container runs,
 * then remove. */
static void go_on(void *context, struct ath_docker_batch *batch,
                  const struct ath_docker_answer *answer)
{
    struct chain *chain = context;
    const json_t *state = json_object_get(json_object_get(answer->json, "State"), "Running");
    struct ath_docker_request *request;

    if (answer->status) {
        print(failure(answer->status, answer->err));
        return;
    }
    switch (chain->step++) {
    case 0:
        ath_docker_batch_add(batch, ath_docker_container_start(chain->name), go_on, chain);
        return;
    case 1:
        request = ath_docker_container_inspect(chain->name);
        request->delay_ms = 20;
        ath_docker_batch_add(batch, request, go_on, chain);
        return;
    case 2:
        print(json_pack("{s:s, s:b, s:i}", "name", chain->name, "running", json_is_true(state),
                        "ms", (int)(ath_now_ms() - chain->begin_ms)));
        ath_docker_batch_add(batch, ath_docker_container_remove(chain->name, true), go_on, chain);
        return;
    default:
        return;
    }
}

static int parallel(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    enum { MOST = 64 };
    struct chain chains[MOST] = { 0 };
    int count = (int)strtol(arguments[0], NULL, 10);
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(docker);

    for (int i = 0; i < count && i < MOST; i++) {
        chains[i].begin_ms = ath_now_ms();
        snprintf(chains[i].name, sizeof chains[i].name, "parallel%d", i);
        ath_docker_batch_add(
            batch, ath_docker_container_create(chains[i].name, json_loads(arguments[1], 0, NULL)),
            go_on, &chains[i]);
    }
    return ath_docker_batch_run(batch, err);
}

/* ---- networks ---- */

static int network_create(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_t *body = json_loads(arguments[1], 0, NULL);
    return send_and_print(docker, ath_docker_network_create(arguments[0], body), err);
}

static json_t *describe_network(const struct ath_docker_network *one)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:O}", "id", one->id, "name", one->name, "driver",
                     one->driver, "containers", (int)one->container_count, "labels", one->labels);
}

static int network_inspect(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_network) network = { 0 };
    int status = send_one(docker, ath_docker_network_inspect(arguments[0]), &json, err);
    if (!status)
        status = ath_docker_network_read(json, &network, err);
    if (!status)
        print(describe_network(&network));
    return status;
}

static int network_list(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_networks) networks = { 0 };
    int status = send_one(docker, ath_docker_network_list(arguments[0]), &json, err);
    if (!status)
        status = ath_docker_networks_read(json, &networks, err);
    for (size_t i = 0; i < networks.count; i++)
        print(describe_network(&networks.items[i]));
    return status;
}

static int network_remove(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    return send_for_http(docker, ath_docker_network_remove(arguments[0]), err);
}

static int network_connect(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    return send_for_http(docker, ath_docker_network_connect(arguments[0], arguments[1], NULL), err);
}

static int network_disconnect(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    return send_for_http(docker, ath_docker_network_disconnect(arguments[0], arguments[1]), err);
}

/* ---- images ---- */

struct archive {
    int fd;
    int64_t sent_bytes, fail_after; /* ATH_UNKNOWN: never fails */
};

static ssize_t read_archive(void *context, char *buffer, size_t size, struct ath_err *err)
{
    struct archive *archive = context;
    if (archive->fail_after != ATH_UNKNOWN && archive->sent_bytes >= archive->fail_after)
        return ath_err_set(err, -EIO, ATH_E_IO, "made to fail after %lld bytes",
                           (long long)archive->sent_bytes);
    ssize_t length = read(archive->fd, buffer, size);
    if (length < 0)
        return ath_err_system(err, -errno, "cannot read the archive");
    archive->sent_bytes += length;
    return length;
}

static int print_progress(void *context, json_t *line, struct ath_err *err)
{
    const struct archive *archive = context;
    struct ath_docker_progress progress;
    (void)err;
    ath_docker_progress_read(line, &progress);
    print(json_pack(
        "{s:o, s:o, s:I, s:I, s:I, s:o}", "id", text_or_null(progress.id), "status",
        text_or_null(progress.status), "done", (json_int_t)progress.done_bytes, "total",
        (json_int_t)progress.total_bytes, "sent", (json_int_t)archive->sent_bytes, "loaded",
        progress.loaded ? json_stringn(progress.loaded, progress.loaded_length) : json_null()));
    return ATH_DOCKER_GO_ON;
}

/* Arguments: FILE chunked|sized|short [FAIL_AFTER] */
static int load(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    ath_auto_close int fd = open(arguments[0], O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about))
        return ath_err_system(err, -errno, "cannot open '%s'", arguments[0]);
    struct archive archive = {
        .fd = fd,
        .fail_after = arguments[2] ? strtol(arguments[2], NULL, 10) : ATH_UNKNOWN,
    };
    int64_t size = !strcmp(arguments[1], "chunked") ? ATH_UNKNOWN
                   : !strcmp(arguments[1], "short") ? about.st_size + 512
                                                    : about.st_size;
    return send_one(docker, ath_docker_image_load(read_archive, size, print_progress, &archive),
                    NULL, err);
}

static json_t *describe_image(const struct ath_docker_image *one)
{
    json_t *names = json_array();
    for (size_t i = 0; i < one->names.count; i++)
        json_array_append_new(names, json_string(one->names.items[i]));
    return json_pack("{s:s, s:o, s:I, s:o, s:O}", "id", one->id, "names", names, "size",
                     (json_int_t)one->size_bytes, "architecture", text_or_null(one->architecture),
                     "labels", one->labels);
}

static int image_inspect(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_image) image = { 0 };
    int status = send_one(docker, ath_docker_image_inspect(arguments[0]), &json, err);
    if (!status)
        status = ath_docker_image_read(json, &image, err);
    if (!status)
        print(describe_image(&image));
    return status;
}

static int image_list(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_images) images = { 0 };
    int status = send_one(docker, ath_docker_image_list(arguments[0]), &json, err);
    if (!status)
        status = ath_docker_images_read(json, &images, err);
    for (size_t i = 0; i < images.count; i++)
        print(describe_image(&images.items[i]));
    return status;
}

static int image_tag(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    return send_for_http(docker, ath_docker_image_tag(arguments[0], arguments[1]), err);
}

static int image_remove(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    return send_and_print(docker, ath_docker_image_remove(arguments[0], arguments[1] != NULL), err);
}

/* ---- the daemon ---- */

static int ping(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    (void)arguments;
    (void)err;
    print(
        json_pack("{s:s, s:s}", "api", ath_docker_api(docker), "where", ath_docker_where(docker)));
    return 0;
}

static json_t *list_of(const struct ath_texts *texts)
{
    json_t *out = json_array();
    for (size_t i = 0; i < texts->count; i++)
        json_array_append_new(out, json_string(texts->items[i]));
    return out;
}

static int facts(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    (void)arguments;
    ATH_AUTO(ath_docker_facts) one = { 0 };
    int status = ath_docker_facts_read(docker, &one, err);
    if (!status)
        print(json_pack(
            "{s:s, s:s, s:s, s:o, s:i, s:b, s:o, s:b, s:i, s:o, s:o, s:b, s:i, s:I, s:o}",
            "version", one.version, "api", one.api, "api_used", one.api_used, "cgroup_driver",
            text_or_null(one.cgroup_driver), "cgroup_version", one.cgroup_version, "is_rootless",
            one.is_rootless, "runtimes", list_of(&one.runtimes), "has_nvidia_runtime",
            one.has_nvidia_runtime, "has_cdi", one.has_cdi, "cdi_folders",
            list_of(&one.cdi_folders), "cdi_devices", list_of(&one.cdi_devices), "has_bridge",
            one.has_bridge, "cpu_count", one.cpu_count, "memory_bytes",
            (json_int_t)one.memory_bytes, "data_folder", text_or_null(one.data_folder)));
    return status;
}

struct watch {
    const char *last;
};

static int print_event(void *context, json_t *json, struct ath_err *err)
{
    const struct watch *watch = context;
    struct ath_docker_event event;
    int status = ath_docker_event_read(json, &event, err);
    if (status)
        return status;
    print(json_pack("{s:s, s:s, s:s, s:o, s:i}", "type", event.type, "action", event.action, "id",
                    event.id, "name", text_or_null(event.name), "exit_code", event.exit_code));
    return !strcmp(event.action, watch->last) ? ATH_DOCKER_ENOUGH : ATH_DOCKER_GO_ON;
}

/* Arguments: FILTERS LAST-ACTION [SINCE] */
static int events(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    struct watch watch = { .last = arguments[1] };
    int64_t since = arguments[2] ? strtoll(arguments[2], NULL, 10) : 0;
    return send_one(
        docker, ath_docker_events(json_loads(arguments[0], 0, NULL), since, 0, print_event, &watch),
        NULL, err);
}

/* Arguments: METHOD PATH nothing|object|array|lines|progress|output [BODY]. Sends any request, for
 * a fake daemon. */
static int ask(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    static const char *const shapes[] = { "nothing", "object",   "array",
                                          "lines",   "progress", "output" };
    int shape = 0;
    while (strcmp(shapes[shape], arguments[2]))
        shape++;
    struct archive none = { 0 };
    struct ath_docker_request *request =
        ath_docker_request_new(arguments[0], (enum ath_docker_shape)shape, "cannot ask");
    ath_docker_path(request, arguments[1], "", "");
    request->body = arguments[3] ? json_loads(arguments[3], 0, NULL) : NULL;
    request->on_output = print_output;
    request->on_json =
        shape == ATH_DOCKER_JSON_LINES || shape == ATH_DOCKER_PROGRESS ? print_progress : NULL;
    request->context = &none;
    return send_and_print(docker, request, err);
}

/* Arguments: COUNT PAUSE_MS. Sends the same request repeatedly through one client, while the daemon
 * restarts. */
static int repeat(struct ath_docker *docker, char **arguments, struct ath_err *err)
{
    long count = strtol(arguments[0], NULL, 10), pause_ms = strtol(arguments[1], NULL, 10);
    for (long i = 0; i < count; i++) {
        int status = ath_docker_ping(docker, 0, err);
        if (status)
            print(failure(status, err));
        else
            ping(docker, arguments, err);
        usleep((useconds_t)pause_ms * 1000);
    }
    return 0;
}

static const struct step {
    const char *word;
    int least; /* the least number of arguments */
    int (*run)(struct ath_docker *docker, char **arguments, struct ath_err *err);
} steps[] = {
    { "ask", 3, ask },
    { "create", 2, create },
    { "events", 2, events },
    { "facts", 0, facts },
    { "image-inspect", 1, image_inspect },
    { "image-list", 0, image_list },
    { "image-remove", 1, image_remove },
    { "image-tag", 2, image_tag },
    { "inspect", 1, inspect },
    { "kill", 2, kill_one },
    { "list", 0, list },
    { "load", 2, load },
    { "logs", 1, logs },
    { "network-connect", 2, network_connect },
    { "network-create", 2, network_create },
    { "network-disconnect", 2, network_disconnect },
    { "network-inspect", 1, network_inspect },
    { "network-list", 0, network_list },
    { "network-remove", 1, network_remove },
    { "parallel", 2, parallel },
    { "ping", 0, ping },
    { "remove", 1, remove_one },
    { "repeat", 2, repeat },
    { "start", 1, start },
    { "stop", 2, stop },
    { "wait", 2, wait_for },
};

static const struct step *find_step(const char *word, int arguments)
{
    for (size_t i = 0; i < ATH_COUNT(steps); i++)
        if (!strcmp(steps[i].word, word) && arguments >= steps[i].least)
            return &steps[i];
    return NULL;
}

static int run(const struct step *step, char **arguments, struct ath_err *err)
{
    static const struct ath_docker_stop stopping = { .is_stopped = is_stopped };
    ATH_AUTO(ath_docker_host) host = { 0 };
    ath_auto_docker struct ath_docker *docker = NULL;
    int status = ath_docker_host_find(NULL, NULL, &host, err);
    if (!status)
        status = ath_docker_open(&host, &stopping, number_of("WAIT_MS", 0), &docker, err);
    return status ? status : step->run(docker, arguments, err);
}

int main(int count, char **words)
{
    const struct sigaction action = { .sa_handler = note_signal };
    const struct step *step = count > 1 ? find_step(words[1], count - 2) : NULL;
    struct ath_err err = { 0 };

    if (!step) {
        fprintf(stderr, "usage: docker_steps COMMAND [ARGUMENT...]; see its source\n");
        return 2;
    }
    sigaction(SIGINT, &action, NULL);
    int status = run(step, words + 2, &err);
    if (status)
        print(failure(status, &err));
    return status != 0;
}
