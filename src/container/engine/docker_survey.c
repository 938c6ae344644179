/* The survey of nodes in Docker: the state of each, what is wrong with it, and how to repair it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/docker/image.h"
#include "container/docker/json.h"
#include "container/engine/docker_engine.h"
#include "container/engine/docker_remains.h"
#include "container/engine/process_facts.h"

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
    status->socket = ath_docker_variable(runtime, "AITHERION_SOCKET");
    ath_auto_free char *port = ath_docker_variable(runtime, ATH_PLAN_PORT_VARIABLE);
    status->control_port = ath_node_port(port);
    status->network_mode = ath_xstrdup(runtime->network_mode);
    status->exit_code = runtime->exit_code;
    status->is_oom_killed = runtime->is_oom_killed;
    status->pid = runtime->pid;
    status->state = state_of(runtime, status);
    if (ath_process_is_in_container(runtime->pid, runtime->id))
        ath_node_status_look(status);
    explain_end(runtime, status);
    if (status->problem)
        ath_docker_log_tail(ath_docker_of(engine), runtime, &status->log);
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
        status->is_image_old = is_image_old(ath_docker_of(engine), runtime);
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

int ath_docker_survey(struct ath_engine *engine, struct ath_node_statuses *out, struct ath_err *err)
{
    ATH_AUTO(ath_docker_present) present = { 0 };
    ATH_AUTO(ath_idset) ids = { 0 };
    int status = ath_docker_present_read(ath_docker_of(engine), &present, err);

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
