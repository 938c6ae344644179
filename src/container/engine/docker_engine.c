/*
 * Nodes in Docker: survey, stop and clean. Starting is in docker_start.c.
 *
 * A container is ours if it has the label aitherion.numa; a name proves nothing.
 */
#include "config.h"

#include "container/engine/docker_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/image.h"
#include "container/docker/json.h"
#include "container/docker/network.h"
#include "container/docker/system.h"
#include "container/engine/docker_remains.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"
#include "container/image/load.h"

/* ---- opening ---- */

static void close_docker(struct ath_engine *engine)
{
    struct ath_docker_engine *own = engine->own;
    if (!own)
        return;
    ath_docker_close(own->docker);
    ath_docker_host_free(&own->host);
    free(own);
}

/* Returns true for root without CAP_SYS_RESOURCE (bit 24 of linux/capability.h): aitherion runs in
 * a container, and so does a daemon that it reaches by a socket. Neither may raise limits. */
static bool is_limited(const struct ath_docker_engine *own)
{
    enum { CAP_RESOURCE = 24 };
    ATH_AUTO(ath_process) self = { 0 };
    return own->is_local && geteuid() == 0 && !ath_process_read(getpid(), &self) &&
           !(self.capabilities >> CAP_RESOURCE & 1);
}

static int read_abilities(struct ath_engine *engine, struct ath_docker *docker, struct ath_err *err)
{
    ATH_AUTO(ath_docker_facts) facts = { 0 };
    int status = ath_docker_facts_read(docker, &facts, err);
    if (status)
        return status;
    engine->abilities = (struct ath_plan_engine){
        .has_nvidia_runtime = facts.has_nvidia_runtime,
        .has_cdi = facts.has_cdi == 1,
        .has_bridge = facts.has_bridge,
        .limits_logs = facts.log_driver && (!strcmp(facts.log_driver, "json-file") ||
                                            !strcmp(facts.log_driver, "local")),
        .is_rootless = facts.is_rootless,
        .is_limited = is_limited(engine->own),
    };
    return 0;
}

static int open_docker(struct ath_engine *engine, struct ath_err *err)
{
    const struct ath_engine_options *options = &engine->options;
    const struct ath_docker_stop stop = { options->is_stopped, options->context };
    struct ath_docker_engine *own = ath_xalloc(sizeof *own);

    engine->own = own;
    int status =
        ath_docker_host_find(options->docker_host, options->document_docker_host, &own->host, err);
    if (!status)
        status = ath_docker_open(&own->host, &stop, 0, &own->docker, err);
    if (status)
        return status;
    engine->where = ath_xstrdup(own->host.text);
    own->is_local = own->host.socket != NULL;
    return read_abilities(engine, own->docker, err);
}

static struct ath_docker *docker_of(const struct ath_engine *engine)
{
    const struct ath_docker_engine *own = engine->own;
    return own->docker;
}

static int check_image(struct ath_engine *engine, const char *image, struct ath_err *err)
{
    int status = ath_docker_do(docker_of(engine), ath_docker_image_inspect(image), NULL, err);
    return status == -ENOENT ? ath_image_missing(image, err) : status;
}

/* ---- present containers ---- */

void ath_docker_present_free(struct ath_docker_present *present)
{
    if (!present)
        return;
    ath_docker_containers_free(&present->all);
    ath_docker_containers_free(&present->ours);
}

/* A container of ours that is being inspected. */
struct looking {
    struct ath_docker_present *present;
    int status;
    struct ath_err *err;
};

/* Ignores a container that was removed meanwhile. */
static void note_inspected(void *context, struct ath_docker_batch *batch,
                           const struct ath_docker_answer *answer)
{
    struct looking *looking = context;
    struct ath_docker_containers *ours = &looking->present->ours;
    struct ath_docker_container one = { 0 };
    struct ath_err err;

    (void)batch;
    if (answer->status == -ENOENT)
        return;
    int status = answer->status;
    if (status)
        err = *answer->err;
    else
        status = ath_docker_container_read(answer->json, &one, &err);
    if (!status) {
        *(struct ath_docker_container *)ath_push(&ours->items, &ours->count, sizeof one) = one;
    } else if (!looking->status) {
        looking->status = status;
        ath_err_copy(looking->err, &err);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct ath_docker_container *one = a, *other = b;
    return strcmp(one->name, other->name);
}

static int read_all(struct ath_docker *docker, struct ath_docker_containers *out,
                    struct ath_err *err)
{
    json_auto_t *json = NULL;
    int status = ath_docker_do(docker, ath_docker_container_list(NULL), &json, err);
    return status ? status : ath_docker_containers_read(json, out, err);
}

int ath_docker_present_read(struct ath_docker *docker, struct ath_docker_present *out,
                            struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(docker);
    struct looking looking = { &present, 0, err };

    int status = read_all(docker, &present.all, err);
    for (size_t i = 0; i < present.all.count && !status; i++)
        if (ath_docker_container_node(&present.all.items[i]) != ATH_UNKNOWN)
            ath_docker_batch_add(batch, ath_docker_container_inspect(present.all.items[i].id),
                                 note_inspected, &looking);
    if (!status)
        status = ath_docker_batch_run(batch, err);
    if (!status)
        status = looking.status;
    if (status)
        return status;
    /* Answers arrive in any order. */
    if (present.ours.count)
        qsort(present.ours.items, present.ours.count, sizeof *present.ours.items, by_name);
    *out = present;
    present = (struct ath_docker_present){ 0 };
    return 0;
}

int ath_docker_container_node(const struct ath_docker_container *container)
{
    const char *text = ath_docker_label(container->labels, ATH_PLAN_LABEL_NUMA);
    int id;
    return text && !ath_parse_int(text, 0, ATH_ID_MAX, &id) ? id : ATH_UNKNOWN;
}

const struct ath_docker_container *ath_docker_present_find(const struct ath_docker_present *present,
                                                           int id, enum ath_docker_role role)
{
    for (size_t i = 0; i < present->ours.count; i++) {
        const struct ath_docker_container *one = &present->ours.items[i];
        const char *word = ath_docker_label(one->labels, ATH_PLAN_LABEL_ROLE);
        if (ath_docker_container_node(one) == id && word &&
            !strcmp(word, ath_docker_role_word(role)))
            return one;
    }
    return NULL;
}

char *ath_docker_netns_path(const struct ath_docker_container *container)
{
    if (!container || !ath_process_is_in_container(container->pid, container->id))
        return NULL;
    return ath_xasprintf("/proc/%d/ns/net", container->pid);
}

bool ath_docker_is_astray(const struct ath_docker_container *runtime,
                          const struct ath_docker_container *pause)
{
    ATH_AUTO(ath_process) inside = { 0 };
    ATH_AUTO(ath_process) owner = { 0 };

    if (!ath_process_is_in_container(runtime->pid, runtime->id) ||
        !ath_process_is_in_container(pause->pid, pause->id) ||
        ath_process_read(runtime->pid, &inside) || ath_process_read(pause->pid, &owner) ||
        !inside.netns || !owner.netns)
        /* Without a look at the namespaces the times decide. RFC 3339 in UTC with nine digits sorts
         * as text. */
        return runtime->started_at && pause->started_at &&
               strcmp(runtime->started_at, pause->started_at) < 0;
    return inside.netns != owner.netns;
}

static int collect(void *context, enum ath_docker_stream stream, const char *bytes, size_t length,
                   struct ath_err *err)
{
    struct ath_text *text = context;
    (void)stream;
    (void)err;
    ath_text_add_bytes(text, bytes, length);
    return ATH_DOCKER_GO_ON;
}

void ath_docker_log_tail(struct ath_docker *docker, const struct ath_docker_container *container,
                         struct ath_texts *out)
{
    const struct ath_docker_logs logs = { .is_tty = container->is_tty,
                                          .tail = ATH_ENGINE_LOG_LINES };
    ATH_AUTO(ath_text) text = { 0 };

    if (!ath_docker_do(docker, ath_docker_container_logs(container->id, &logs, collect, &text),
                       NULL, NULL))
        ath_log_tail(text.data, text.length, ATH_ENGINE_LOG_LINES, out);
}

/* ---- the survey ---- */

/* Adds "10.0.0.11:50051/tcp" for each binding of NetworkSettings.Ports. */
static void add_ports(const struct ath_docker_container *container, struct ath_texts *out)
{
    const char *port;
    json_t *bindings, *binding;
    size_t i;

    json_object_foreach(ath_docker_json_at(container->json, "NetworkSettings.Ports"), port,
                        bindings)
    {
        json_array_foreach(bindings, i, binding)
        {
            const char *address = ath_docker_json_text(binding, "HostIp");
            const char *number = ath_docker_json_text(binding, "HostPort");
            const char *protocol = strchr(port, '/');
            bool is_six = address && strchr(address, ':');
            ath_auto_free char *text =
                ath_xasprintf(is_six ? "[%s]:%s%s" : "%s:%s%s", address ? address : "0.0.0.0",
                              number ? number : "?", protocol ? protocol : "");
            ath_texts_add(out, text);
        }
    }
}

/* Returns a variable of the container's environment, which the caller frees, or NULL. */
static char *variable_of(const struct ath_docker_container *container, const char *name)
{
    json_t *item;
    size_t i, length = strlen(name);

    json_array_foreach(ath_docker_json_at(container->json, "Config.Env"), i, item)
    {
        const char *pair = json_string_value(item);
        if (pair && !strncmp(pair, name, length) && pair[length] == '=')
            return ath_xstrdup(pair + length + 1);
    }
    return NULL;
}

char *ath_docker_memory_percent(const struct ath_engine *engine,
                                const struct ath_docker_container *container)
{
    char *changed = ath_run_folder_memory(engine->folder, ath_docker_container_node(container));
    return changed ? changed
                   : ath_xstrdup(ath_docker_label(container->labels, ATH_PLAN_LABEL_MEMORY));
}

int64_t ath_docker_memory_limit(const struct ath_docker_container *container)
{
    int64_t bytes = ath_docker_json_number(container->json, "HostConfig.Memory", ATH_UNKNOWN);
    return bytes ? bytes : INT64_MAX;
}

static char *label_copy(const struct ath_docker_container *container, const char *label)
{
    return container ? ath_xstrdup(ath_docker_label(container->labels, label)) : NULL;
}

static void set_problem(struct ath_node_status *status, char *problem, char *hint)
{
    if (status->problem) {
        free(problem);
        free(hint);
        return;
    }
    status->problem = problem;
    status->hint = hint;
}

static char *start_hint(const struct ath_node_status *status)
{
    return ath_xasprintf("aitherion start %d", status->id);
}

/* Stopping sends SIGTERM, then SIGKILL. */
static bool was_stopped(int exit_code)
{
    return exit_code == 0 || exit_code == 128 + 15 || exit_code == 128 + 9;
}

bool ath_docker_is_listening(const struct ath_docker_container *runtime, const char *socket)
{
    return ath_process_is_in_container(runtime->pid, runtime->id) &&
           ath_process_is_listener(runtime->pid, socket);
}

static enum ath_node_state state_of(const struct ath_docker_container *runtime,
                                    struct ath_node_status *status)
{
    if (!strcmp(runtime->state, "restarting"))
        return ATH_NODE_RESTARTING;
    if (!runtime->is_running)
        return ATH_NODE_STOPPED;
    if (!strcmp(runtime->state, "paused"))
        return ATH_NODE_UNHEALTHY;
    if (!runtime->health || !strcmp(runtime->health, "healthy"))
        return ATH_NODE_RUNNING;
    if (!strcmp(runtime->health, "unhealthy"))
        return ATH_NODE_UNHEALTHY;
    /* Docker makes its first check only after ten seconds. */
    return ath_docker_is_listening(runtime, status->socket) ? ATH_NODE_RUNNING : ATH_NODE_STARTING;
}

static void explain_end(const struct ath_docker_container *runtime, struct ath_node_status *status)
{
    if (status->state == ATH_NODE_RESTARTING)
        set_problem(
            status,
            ath_xasprintf(_("it ends with exit code %d after every start"), runtime->exit_code),
            ath_xasprintf("aitherion logs %d", status->id));
    else if (ath_docker_has_remains(runtime))
        set_problem(status,
                    ath_xstrdup(_("Docker has lost it: its processes run, and Docker says that it "
                                  "does not (Docker was killed during a start)")),
                    start_hint(status));
    else if (runtime->error)
        set_problem(status, ath_xasprintf(_("Docker could not start it: %s"), runtime->error),
                    start_hint(status));
    else if (runtime->is_oom_killed == 1)
        set_problem(
            status, ath_xstrdup(_("it was killed: it needed more memory than its limit allows")),
            ath_xasprintf("aitherion configure --set numa.%d.memory_percent=P", status->id));
    else if (status->state == ATH_NODE_STOPPED && !was_stopped(runtime->exit_code) &&
             runtime->exit_code != ATH_UNKNOWN)
        set_problem(status, ath_xasprintf(_("it ended with exit code %d"), runtime->exit_code),
                    start_hint(status));
    else if (!strcmp(runtime->state, "paused"))
        set_problem(status, ath_xstrdup(_("it was paused")),
                    ath_xasprintf("docker unpause %s", runtime->name));
    else if (status->state == ATH_NODE_UNHEALTHY)
        set_problem(status, ath_xstrdup(_("it runs, but does not answer Docker's health check")),
                    ath_xasprintf("aitherion restart %d", status->id));
}

/* After its pause container ended, a runtime keeps a network with only lo. */
static void look_at_network(const struct ath_docker_container *runtime,
                            const struct ath_docker_container *pause,
                            struct ath_node_status *status)
{
    ath_auto_free char *path = ath_docker_netns_path(pause);
    const char *missing = ath_node_status_macvlans(
        status, runtime ? ath_docker_label(runtime->labels, ATH_PLAN_LABEL_MACVLANS) : NULL, path);
    bool is_joined =
        runtime && runtime->network_mode && ath_starts_with(runtime->network_mode, "container:");

    if (status->state <= ATH_NODE_STOPPED || !is_joined)
        return;
    if (!pause)
        set_problem(status,
                    ath_xstrdup(_("its pause container, which owns its network, is missing")),
                    start_hint(status));
    else if (strcmp(pause->state, "running") != 0)
        set_problem(
            status,
            ath_xasprintf(_("its pause container '%s', which owns its network, does not run"),
                          pause->name),
            start_hint(status));
    else if (ath_docker_is_astray(runtime, pause))
        set_problem(
            status,
            ath_xasprintf(_("its pause container '%s' was started again, without it"), pause->name),
            start_hint(status));
    else if (missing)
        set_problem(status, ath_xasprintf(_("its network has lost the macvlan '%s'"), missing),
                    start_hint(status));
    else
        return;
    status->state = ATH_NODE_LOST_NETWORK;
}

static void fill_runtime(const struct ath_engine *engine,
                         const struct ath_docker_container *runtime, struct ath_node_status *status)
{
    free(status->name);
    status->name = ath_xstrdup(runtime->name);
    status->container_id = ath_xstrdup(runtime->id);
    status->image = ath_xstrdup(runtime->image);
    status->image_id = ath_xstrdup(runtime->image_id);
    status->started_at = ath_xstrdup(runtime->started_at);
    status->restarts = runtime->restart_count;
    status->base = label_copy(runtime, ATH_PLAN_LABEL_BASE);
    status->memory_limit_bytes = ath_docker_memory_limit(runtime);
    status->memory_percent = ath_docker_memory_percent(engine, runtime);
    status->document = label_copy(runtime, ATH_PLAN_LABEL_DOCUMENT);
    status->has_sim_flag = ath_docker_label(runtime->labels, ATH_PLAN_LABEL_SIM) != NULL;
    status->socket = variable_of(runtime, "AITHERION_SOCKET");
    status->network_mode = ath_xstrdup(runtime->network_mode);
    status->exit_code = runtime->exit_code;
    status->is_oom_killed = runtime->is_oom_killed;
    status->pid = runtime->pid;
    status->state = state_of(runtime, status);
    if (ath_process_is_in_container(runtime->pid, runtime->id))
        ath_node_status_look(status);
    explain_end(runtime, status);
    if (status->problem)
        ath_docker_log_tail(docker_of(engine), runtime, &status->log);
}

/* Returns true if the name of the container's image belongs to another image now. */
static bool is_image_old(struct ath_docker *docker, const struct ath_docker_container *runtime)
{
    json_auto_t *json = NULL;
    if (!runtime->image || !runtime->image_id ||
        ath_docker_do(docker, ath_docker_image_inspect(runtime->image), &json, NULL))
        return false;
    const char *id = ath_docker_json_text(json, "Id");
    return id && strcmp(id, runtime->image_id) != 0;
}

static void add_status(const struct ath_engine *engine, const struct ath_docker_present *present,
                       int id, struct ath_node_statuses *out)
{
    const struct ath_docker_container *runtime =
        ath_docker_present_find(present, id, ATH_DOCKER_RUNTIME);
    const struct ath_docker_container *pause =
        ath_docker_present_find(present, id, ATH_DOCKER_PAUSE);
    struct ath_node_status *status = ath_node_status_add(out, id, engine->ops->name);

    status->state = ATH_NODE_STOPPED;
    if (runtime) {
        fill_runtime(engine, runtime, status);
        status->is_image_old = is_image_old(docker_of(engine), runtime);
        add_ports(runtime, &status->ports);
    }
    if (pause) {
        status->pause_name = ath_xstrdup(pause->name);
        status->pause_id = ath_xstrdup(pause->id);
        status->pause_pid = pause->pid;
        status->pause_plan = label_copy(pause, ATH_PLAN_LABEL_PLAN);
        add_ports(pause, &status->ports);
    }
    look_at_network(runtime, pause, status);
    if (!runtime)
        set_problem(status, ath_xstrdup(_("only its pause container exists")), start_hint(status));
}

static int survey(struct ath_engine *engine, struct ath_node_statuses *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    ATH_AUTO(ath_idset) ids = { 0 };
    int status = ath_docker_present_read(docker_of(engine), &present, err);

    if (status)
        return status;
    for (size_t i = 0; i < present.ours.count; i++) {
        int id = ath_docker_container_node(&present.ours.items[i]);
        if (id != ATH_UNKNOWN)
            ath_idset_add(&ids, id, id);
    }
    for (int id = ath_idset_next(&ids, -1); id >= 0; id = ath_idset_next(&ids, id))
        add_status(engine, &present, id, out);
    return 0;
}

/* ---- logs ---- */

static int find_logs(struct ath_engine *engine, struct ath_node_logs *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    int status = ath_docker_present_read(docker_of(engine), &present, err);

    for (size_t i = 0; !status && i < present.ours.count; i++) {
        const struct ath_docker_container *container = &present.ours.items[i];
        int id = ath_docker_container_node(container);
        if (id != ATH_UNKNOWN &&
            container == ath_docker_present_find(&present, id, ATH_DOCKER_RUNTIME))
            ath_node_log_add(out, id, engine->ops->name, container->name, container->id);
    }
    return status;
}

struct log_reader {
    ath_log_output *output;
    void *context;
};

static int pass_on(void *context, enum ath_docker_stream stream, const char *bytes, size_t length,
                   struct ath_err *err)
{
    const struct log_reader *reader = context;
    (void)stream;
    (void)err;
    reader->output(reader->context, bytes, length);
    return ATH_DOCKER_GO_ON;
}

static int read_log(struct ath_engine *engine, const struct ath_node_log *log,
                    const struct ath_log_wanted *wanted, ath_log_output *output, void *context,
                    struct ath_err *err)
{
    struct log_reader reader = { output, context };
    const struct ath_docker_logs logs = { .follow = wanted->is_followed,
                                          .tail = wanted->lines,
                                          .since_s = wanted->since_s };
    return ath_docker_do(docker_of(engine),
                         ath_docker_container_logs(log->place, &logs, pass_on, &reader), NULL, err);
}

/* ---- stop ---- */

/* A node's runtime is stopped first, then its pause container. */
struct stopping {
    struct ath_stop_results *results;
    size_t index;
    const struct ath_docker_container *pause;
    const char *removed; /* the id of the container that is being removed; NULL */
    int grace_s;
};

static void note_stopped(void *context, struct ath_docker_batch *batch,
                         const struct ath_docker_answer *answer);

/* Adds the request that ends a container, unless the container does not run. Docker cannot stop
 * what it has lost, and would restart a runtime that is killed. Such a container is removed. */
static bool end_container(const struct ath_docker_container *container, int grace_s,
                          struct stopping *stopping, struct ath_docker_batch *batch)
{
    struct ath_docker_request *request = NULL;

    stopping->removed = NULL;
    if (container && container->is_running) {
        request = ath_docker_container_stop(container->id, grace_s);
    } else if (container && ath_docker_has_remains(container)) {
        request = ath_docker_container_remove(container->id, true);
        stopping->removed = container->id;
    }
    if (request)
        ath_docker_batch_add(batch, request, note_stopped, stopping);
    return request;
}

static void stop_next(struct stopping *stopping, struct ath_docker_batch *batch)
{
    const struct ath_docker_container *pause = stopping->pause;
    stopping->pause = NULL;
    end_container(pause, 1, stopping, batch);
}

static void note_stopped(void *context, struct ath_docker_batch *batch,
                         const struct ath_docker_answer *answer)
{
    struct stopping *stopping = context;
    struct ath_stop_result *result = &stopping->results->items[stopping->index];
    struct ath_err err;
    int status = answer->status == -ENOENT ? 0 : answer->status;

    if (status)
        err = *answer->err;
    else if (stopping->removed)
        status = ath_docker_end_remains(stopping->removed, &err);
    if (status && !result->status) {
        result->status = status;
        result->err = err;
    }
    if (answer->status != -EINTR)
        stop_next(stopping, batch);
}

static void begin_stop(struct ath_docker_batch *batch, const struct ath_docker_present *present,
                       struct stopping *stopping)
{
    struct ath_stop_result *result = &stopping->results->items[stopping->index];
    const struct ath_docker_container *runtime =
        ath_docker_present_find(present, result->id, ATH_DOCKER_RUNTIME);

    stopping->pause = ath_docker_present_find(present, result->id, ATH_DOCKER_PAUSE);
    /* A restarting container counts as running; stopping ends the restarts. */
    result->was_running = end_container(runtime, stopping->grace_s, stopping, batch);
    if (!result->was_running)
        stop_next(stopping, batch);
}

static void add_stop_results(const struct ath_engine *engine,
                             const struct ath_docker_present *present, const int *ids,
                             size_t id_count, struct ath_stop_results *out)
{
    ATH_AUTO(ath_idset) all = { 0 };
    for (size_t i = 0; i < present->ours.count; i++) {
        int id = ath_docker_container_node(&present->ours.items[i]);
        if (id != ATH_UNKNOWN && ath_engine_wants(ids, id_count, id))
            ath_idset_add(&all, id, id);
    }
    for (int id = ath_idset_next(&all, -1); id >= 0; id = ath_idset_next(&all, id)) {
        struct ath_stop_result *result = ath_push(&out->items, &out->count, sizeof *out->items);
        result->id = id;
        result->engine = engine->ops->name;
    }
}

static int stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                struct ath_stop_results *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(docker_of(engine));
    ath_auto_free struct stopping *all = NULL;
    int status = ath_docker_present_read(docker_of(engine), &present, err);

    if (status)
        return status;
    add_stop_results(engine, &present, ids, id_count, out);
    all = ath_xalloc((out->count + 1) * sizeof *all);
    for (size_t i = 0; i < out->count; i++) {
        all[i] = (struct stopping){ .results = out, .index = i, .grace_s = grace_s };
        begin_stop(batch, &present, &all[i]);
    }
    return ath_docker_batch_run(batch, err);
}

/* ---- clean ---- */

struct ath_owner ath_docker_owner(const struct ath_engine *engine,
                                  const struct ath_docker_container *container, char **socket)
{
    const struct ath_docker_engine *own = engine->own;
    *socket = variable_of(container, "AITHERION_SOCKET");
    return (struct ath_owner){ ath_docker_label(container->labels, ATH_PLAN_LABEL_DOCUMENT),
                               *socket, own->is_local };
}

/* Leaves nodes that other documents started: their runtimes and pause containers. */
static void leave_others(const struct ath_engine *engine, const struct ath_docker_present *present,
                         const struct ath_clean_options *options, struct ath_clean_steps *out)
{
    for (size_t i = 0; i < present->ours.count && options->document && !options->id_count; i++) {
        const struct ath_docker_container *one = &present->ours.items[i];
        int id = ath_docker_container_node(one);
        ath_auto_free char *socket = NULL;
        ath_auto_free char *own_socket =
            ath_xasprintf("%s/numa%d/" ATH_NODE_SOCKET, engine->folder, id);
        struct ath_owner owner = ath_docker_owner(engine, one, &socket);
        struct ath_clean_left left = { 0 };
        if (!ath_clean_leaves(out, id) &&
            ath_owner_is_other(&owner, options->document, own_socket, id, one->name, &left))
            ath_clean_leave(out, &left, ath_docker_label(one->labels, ATH_PLAN_LABEL_MACVLANS));
    }
}

/* Removes runtimes before the pause containers whose network they use. */
static void plan_containers(struct ath_engine *engine, const struct ath_docker_present *present,
                            const struct ath_clean_options *options, struct ath_clean_steps *out)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < present->ours.count; i++) {
            const struct ath_docker_container *one = &present->ours.items[i];
            const char *role = ath_docker_label(one->labels, ATH_PLAN_LABEL_ROLE);
            bool is_pause = role && !strcmp(role, ath_docker_role_word(ATH_DOCKER_PAUSE));
            int id = ath_docker_container_node(one);
            if (is_pause != (pass == 1) || ath_clean_leaves(out, id) ||
                !ath_engine_wants(options->ids, options->id_count, id))
                continue;
            ath_clean_add(out, ATH_CLEAN_CONTAINER, engine, id, one->name)->key =
                ath_xstrdup(one->id);
            if (options->id_count)
                ath_clean_add_macvlans(out, ath_docker_label(one->labels, ATH_PLAN_LABEL_MACVLANS));
        }
}

static int plan_networks(struct ath_engine *engine, struct ath_clean_steps *out,
                         struct ath_err *err)
{
    json_auto_t *json = NULL;
    ATH_AUTO(ath_docker_networks) networks = { 0 };
    int status =
        ath_docker_do(docker_of(engine), ath_docker_network_list(ATH_PLAN_LABEL_NUMA), &json, err);
    if (!status)
        status = ath_docker_networks_read(json, &networks, err);
    for (size_t i = 0; i < networks.count; i++)
        ath_clean_add(out, ATH_CLEAN_NETWORK, engine, ATH_UNKNOWN, networks.items[i].name)->key =
            ath_xstrdup(networks.items[i].id);
    return status;
}

/* Removes the names that aitherion gave. An image with a foreign name keeps that name, and stays.
 */
static int plan_images(struct ath_engine *engine, bool is_wanted, struct ath_clean_steps *out,
                       struct ath_err *err)
{
    ATH_AUTO(ath_docker_images) images = { 0 };
    int status = ath_image_list(docker_of(engine), &images, err);
    for (size_t i = 0; i < images.count; i++) {
        const struct ath_docker_image *image = &images.items[i];
        const char *own = ath_image_label(image, ATH_IMAGE_LABEL_TAG);
        bool is_named = own && ath_docker_image_is_named(image, own);
        if (!is_named && image->names.count)
            continue;
        if (is_wanted)
            ath_clean_add(out, ATH_CLEAN_IMAGE, engine, ATH_UNKNOWN, is_named ? own : image->id);
        else
            ath_texts_add(&out->images, is_named ? own : image->id);
    }
    return status;
}

static int clean_plan(struct ath_engine *engine, const struct ath_clean_options *options,
                      struct ath_clean_steps *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    int status = ath_docker_present_read(docker_of(engine), &present, err);
    if (status)
        return status;
    leave_others(engine, &present, options, out);
    plan_containers(engine, &present, options, out);
    if (!options->id_count)
        status = plan_networks(engine, out, err);
    if (!status && !options->id_count)
        status = plan_images(engine, options->wants_images, out, err);
    return status;
}

static int clean_step(struct ath_engine *engine, const struct ath_clean_step *step,
                      struct ath_err *err)
{
    const char *object = step->key ? step->key : step->object;
    struct ath_docker_request *request =
        step->kind == ATH_CLEAN_CONTAINER ? ath_docker_container_remove(object, true)
        : step->kind == ATH_CLEAN_NETWORK ? ath_docker_network_remove(object)
                                          : ath_docker_image_remove(object, false);
    int status = ath_docker_do(docker_of(engine), request, NULL, err);
    if (status && status != -ENOENT)
        return status;
    return step->kind == ATH_CLEAN_CONTAINER ? ath_docker_end_remains(object, err) : 0;
}

const struct ath_engine_ops ath_engine_docker = {
    .name = "docker",
    .open = open_docker,
    .close = close_docker,
    .check_image = check_image,
    .survey = survey,
    .find_logs = find_logs,
    .read_log = read_log,
    .start = ath_docker_start,
    .stop = stop,
    .clean_plan = clean_plan,
    .clean_step = clean_step,
};
