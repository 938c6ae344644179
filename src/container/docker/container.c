/* Requests about containers (Engine API, "Containers") and their answers. */
#include "config.h"

#include "container/docker/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "container/docker/json.h"

/* Starting may wait for slow disks. Stopping gives the daemon this time after the grace period. */
enum { SLOW_TIMEOUT_MS = 120 * 1000 };

/* ---- requests ---- */

struct ath_docker_request *ath_docker_container_create(const char *name, json_t *body)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_OBJECT, _("cannot create the container '%s'"), name);
    ath_docker_path(request, "/containers/create", "", "");
    ath_docker_query(request, "name", name);
    request->body = body;
    request->conflict = ATH_E_EXISTS;
    request->timeout_ms = SLOW_TIMEOUT_MS;
    return request;
}

struct ath_docker_request *ath_docker_container_start(const char *container)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_NOTHING, _("cannot start the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "/start");
    request->timeout_ms = SLOW_TIMEOUT_MS;
    return request;
}

struct ath_docker_request *ath_docker_container_stop(const char *container, int grace_s)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_NOTHING, _("cannot stop the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "/stop");
    ath_docker_query_number(request, "t", grace_s);
    request->timeout_ms = SLOW_TIMEOUT_MS + grace_s * 1000;
    return request;
}

struct ath_docker_request *ath_docker_container_kill(const char *container, const char *signal)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_NOTHING, _("cannot send %s to the container '%s'"), signal, container);
    ath_docker_path(request, "/containers/", container, "/kill");
    ath_docker_query(request, "signal", signal);
    return request;
}

struct ath_docker_request *ath_docker_container_remove(const char *container, bool force)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "DELETE", ATH_DOCKER_NOTHING, _("cannot remove the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "");
    ath_docker_query(request, "v", "1");
    ath_docker_query(request, "force", force ? "1" : NULL);
    request->timeout_ms = SLOW_TIMEOUT_MS;
    return request;
}

struct ath_docker_request *ath_docker_container_inspect(const char *container)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "GET", ATH_DOCKER_OBJECT, _("cannot inspect the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "/json");
    return request;
}

struct ath_docker_request *ath_docker_container_limit(const char *container, int64_t memory_bytes)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_OBJECT, _("cannot change the limits of the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "/update");
    request->body = json_pack("{s:I, s:I}", "Memory", (json_int_t)memory_bytes, "MemorySwap",
                              (json_int_t)memory_bytes);
    return request;
}

struct ath_docker_request *ath_docker_container_stats(const char *container)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "GET", ATH_DOCKER_OBJECT, _("cannot read the statistics of the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "/stats");
    ath_docker_query(request, "stream", "0");
    ath_docker_query(request, "one-shot", "1");
    return request;
}

struct ath_docker_request *ath_docker_container_list(const char *label)
{
    struct ath_docker_request *request =
        ath_docker_request_new("GET", ATH_DOCKER_ARRAY, _("cannot list Docker's containers"));
    ath_docker_path(request, "/containers/json", "", "");
    ath_docker_query(request, "all", "1");
    ath_docker_query_filters(request, ath_docker_filter_label(label));
    return request;
}

struct ath_docker_request *ath_docker_container_wait(const char *container, const char *condition)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "POST", ATH_DOCKER_OBJECT, _("cannot wait for the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "/wait");
    ath_docker_query(request, "condition", condition);
    request->timeout_ms = 0;
    return request;
}

struct ath_docker_request *ath_docker_container_logs(const char *container,
                                                     const struct ath_docker_logs *logs,
                                                     ath_docker_on_output *on_output, void *context)
{
    struct ath_docker_request *request = ath_docker_request_new(
        "GET", ATH_DOCKER_OUTPUT, _("cannot read the output of the container '%s'"), container);
    ath_docker_path(request, "/containers/", container, "/logs?stdout=1&stderr=1");
    ath_docker_query(request, "follow", logs->follow ? "1" : NULL);
    ath_docker_query(request, "timestamps", logs->with_times ? "1" : NULL);
    if (logs->tail != ATH_UNKNOWN)
        ath_docker_query_number(request, "tail", logs->tail);
    if (logs->since_s)
        ath_docker_query_number(request, "since", logs->since_s);
    if (logs->follow)
        request->timeout_ms = 0;
    request->is_raw = logs->is_tty;
    request->on_output = on_output;
    request->context = context;
    return request;
}

/* ---- answers ---- */

void ath_docker_container_free(struct ath_docker_container *container)
{
    if (!container)
        return;
    free(container->id);
    free(container->name);
    free(container->image);
    free(container->image_id);
    free(container->state);
    free(container->health);
    free(container->error);
    free(container->network_mode);
    free(container->started_at);
    free(container->finished_at);
    json_decref(container->labels);
    json_decref(container->json);
    *container = (struct ath_docker_container){ 0 };
}

void ath_docker_containers_free(struct ath_docker_containers *containers)
{
    if (!containers)
        return;
    for (size_t i = 0; i < containers->count; i++)
        ath_docker_container_free(&containers->items[i]);
    free(containers->items);
    *containers = (struct ath_docker_containers){ 0 };
}

/* Go writes an unset time as year 1. */
static char *copy_time(const json_t *json, const char *path)
{
    const char *text = ath_docker_json_text(json, path);
    return text && strncmp(text, "0001-", 5) ? ath_xstrdup(text) : NULL;
}

static char *copy_name(const char *text)
{
    return text ? ath_xstrdup(text + (*text == '/')) : NULL;
}

static json_t *labels_of(const json_t *json, const char *path)
{
    json_t *labels = ath_docker_json_at(json, path);
    return json_is_object(labels) ? json_incref(labels) : json_object();
}

static void read_state(const json_t *json, struct ath_docker_container *out)
{
    out->is_running = ath_docker_json_is_true(json, "State.Running");
    out->is_oom_killed = ath_docker_json_is_true(json, "State.OOMKilled");
    out->pid = out->is_running ? (int)ath_docker_json_number(json, "State.Pid", 0) : 0;
    if (out->pid <= 0)
        out->pid = ATH_UNKNOWN;
    out->started_at = copy_time(json, "State.StartedAt");
    out->finished_at = copy_time(json, "State.FinishedAt");
    bool has_ended = out->started_at && (!out->is_running || !strcmp(out->state, "restarting"));
    /* A container that could not be started has an exit code too: 127, 128. */
    has_ended |= out->error && !out->is_running;
    out->exit_code =
        has_ended ? (int)ath_docker_json_number(json, "State.ExitCode", ATH_UNKNOWN) : ATH_UNKNOWN;
    /* Some versions report "none" if there is no health check. */
    const char *health = ath_docker_json_text(json, "State.Health.Status");
    out->health = health && strcmp(health, "none") ? ath_xstrdup(health) : NULL;
}

int ath_docker_container_read(json_t *json, struct ath_docker_container *out, struct ath_err *err)
{
    static const char *const needed[] = { "Id", "Name", "State.Status" };
    for (size_t i = 0; i < ATH_COUNT(needed); i++)
        if (!ath_docker_json_text(json, needed[i]))
            return ath_docker_json_lacks(_("a container"), needed[i], err);

    *out = (struct ath_docker_container){
        .id = ath_docker_json_copy(json, "Id"),
        .name = copy_name(ath_docker_json_text(json, "Name")),
        .image = ath_docker_json_copy(json, "Config.Image"),
        .image_id = ath_docker_json_copy(json, "Image"),
        .state = ath_docker_json_copy(json, "State.Status"),
        .error = ath_docker_json_copy(json, "State.Error"),
        .network_mode = ath_docker_json_copy(json, "HostConfig.NetworkMode"),
        .is_tty = ath_docker_json_is_true(json, "Config.Tty"),
        .restart_count = (int)ath_docker_json_number(json, "RestartCount", ATH_UNKNOWN),
        .labels = labels_of(json, "Config.Labels"),
        .json = json_incref(json),
    };
    read_state(json, out);
    return 0;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words))
        words++;
    return *words;
}

/* A list has fewer fields than an inspection, and the state in another place. */
static int read_item(json_t *json, struct ath_docker_container *out, struct ath_err *err)
{
    static const char *const running[] = { "running", "paused", "restarting", NULL };
    const char *name = json_string_value(json_array_get(ath_docker_json_at(json, "Names"), 0));
    static const char *const needed[] = { "Id", "State" };
    for (size_t i = 0; i < ATH_COUNT(needed); i++)
        if (!ath_docker_json_text(json, needed[i]))
            return ath_docker_json_lacks(_("a container"), needed[i], err);

    *out = (struct ath_docker_container){
        .id = ath_docker_json_copy(json, "Id"),
        /* A container that is being removed may have lost its name. */
        .name = name ? copy_name(name) : ath_docker_json_copy(json, "Id"),
        .image = ath_docker_json_copy(json, "Image"),
        .image_id = ath_docker_json_copy(json, "ImageID"),
        .state = ath_docker_json_copy(json, "State"),
        .network_mode = ath_docker_json_copy(json, "HostConfig.NetworkMode"),
        .is_running = is_one_of(ath_docker_json_text(json, "State"), running),
        .is_oom_killed = ATH_UNKNOWN,
        .pid = ATH_UNKNOWN,
        .exit_code = ATH_UNKNOWN,
        .restart_count = ATH_UNKNOWN,
        .labels = labels_of(json, "Labels"),
        .json = json_incref(json),
    };
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct ath_docker_container *one = a, *other = b;
    return strcmp(one->name, other->name);
}

int ath_docker_containers_read(const json_t *json, struct ath_docker_containers *out,
                               struct ath_err *err)
{
    struct ath_docker_containers list = { 0 };
    size_t i;
    json_t *item;
    json_array_foreach(json, i, item)
    {
        struct ath_docker_container one;
        int status = read_item(item, &one, err);
        if (status) {
            ath_docker_containers_free(&list);
            return status;
        }
        *(struct ath_docker_container *)ath_push(&list.items, &list.count, sizeof one) = one;
    }
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_name);
    *out = list;
    return 0;
}

const char *ath_docker_label(const json_t *labels, const char *key)
{
    return json_string_value(json_object_get(labels, key));
}

int ath_docker_wait_read(const json_t *json, int *out_exit_code, struct ath_err *err)
{
    const char *fault = ath_docker_json_text(json, "Error.Message");
    if (fault)
        return ath_err_set(err, -EIO, ATH_E_ENGINE_ERROR, _("Docker says: %s"), fault);
    if (!json_is_integer(json_object_get(json, "StatusCode")))
        return ath_docker_json_lacks(_("a container's end"), "StatusCode", err);
    *out_exit_code = (int)ath_docker_json_number(json, "StatusCode", 0);
    return 0;
}
