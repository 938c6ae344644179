/* The status of nodes, from the states of their supervisors. */
#include "config.h"

#include "container/engine/process_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "container/engine/cgroup.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"
#include "container/engine/supervisor.h"

enum { BEGIN_TIMEOUT_MS = 1000 };

/* Adds a hint about a state that cannot be read, if it has none. */
static int explain_lost(int status, struct ath_err *err)
{
    status = status == -ENOENT ? -EIO : status;
    return err->hint[0]
               ? status
               : ath_err_hint(err, status, _("its supervisor writes it again: try again in %d s"),
                              ATH_SUPERVISOR_LOOK_S);
}

int ath_process_read_state(const char *folder, struct ath_process_state *out, struct ath_err *err)
{
    uint64_t end = ath_now_ms() + BEGIN_TIMEOUT_MS;
    int status;
    while ((status = ath_process_state_read(folder, out, err)) && ath_supervisor_is_alive(folder)) {
        if (status != -ENOENT || ath_now_ms() >= end)
            return explain_lost(status, err);
        nanosleep(&(struct timespec){ .tv_nsec = ATH_ENGINE_POLL_MS * 1000000L }, NULL);
    }
    return status ? -ENOENT : 0;
}

int ath_process_for_each(const struct ath_engine *engine,
                         void (*function)(void *context, const char *folder,
                                          const struct ath_process_state *state),
                         void *context, struct ath_err *err)
{
    ath_auto_free int *ids = NULL;
    size_t count;
    bool unused_claim;
    int first = 0;

    ath_run_folder_ids(engine->folder, &ids, &count, &unused_claim);
    for (size_t i = 0; i < count; i++) {
        ATH_AUTO(ath_process_state) state = { 0 };
        ath_auto_free char *folder = ath_run_folder_state(engine->folder, ids[i]);
        struct ath_err one;
        int status = ath_process_read_state(folder, &state, &one);
        if (!status && state.id == ids[i])
            function(context, folder, &state);
        if (!status || status == -ENOENT || first)
            continue;
        first = status;
        ath_err_copy(err, &one);
    }
    return first;
}

static enum ath_node_state state_of(const struct ath_process_state *state)
{
    if (!ath_process_state_is_supervised(state))
        return ATH_NODE_STOPPED;
    if (!ath_process_state_has_runtime(state))
        return ATH_NODE_RESTARTING;
    return ath_process_is_listener(state->runtime, state->socket) ? ATH_NODE_RUNNING
                                                                  : ATH_NODE_STARTING;
}

static void explain(const struct ath_process_state *state, struct ath_node_status *status)
{
    ath_auto_free char *hint = ath_xasprintf(
        status->state == ATH_NODE_RESTARTING ? "aitherion logs %d" : "aitherion start %d",
        state->id);
    bool was_stopped =
        state->exit_code == ATH_UNKNOWN || state->exit_code == 0 || state->exit_code == 128 + 15;

    if (status->state == ATH_NODE_RESTARTING)
        status->problem =
            ath_xasprintf(_("it ends with exit code %d after every start"), state->exit_code);
    else if (status->state == ATH_NODE_STOPPED && state->runtime != ATH_UNKNOWN)
        status->problem = ath_xstrdup(_("its supervisor was killed, or the machine was restarted"));
    else if (status->state == ATH_NODE_STOPPED && !was_stopped)
        status->problem = ath_xasprintf(_("it ended with exit code %d"), state->exit_code);
    if (status->problem && !status->hint)
        status->hint = ath_steal(&hint);
}

static void look_at_network(const struct ath_process_state *state, struct ath_node_status *status)
{
    const char *missing = ath_node_status_macvlans(status, state->macvlans, state->netns);
    if (!missing || status->state <= ATH_NODE_STOPPED)
        return;
    status->state = ATH_NODE_LOST_NETWORK;
    free(status->problem);
    status->problem = ath_xasprintf(_("its network has lost the macvlan '%s'"), missing);
    if (!status->hint)
        status->hint = ath_xasprintf("aitherion start %d", state->id);
}

char *ath_process_percent(const struct ath_engine *engine, const struct ath_process_state *state)
{
    char *changed = ath_run_folder_memory(engine->folder, state->id);
    return changed ? changed : ath_xstrdup(state->memory_percent);
}

struct surveying {
    const struct ath_engine *engine;
    struct ath_node_statuses *out;
};

static void add_status(void *context, const char *folder, const struct ath_process_state *state)
{
    const struct surveying *surveying = context;
    struct ath_node_status *status =
        ath_node_status_add(surveying->out, state->id, surveying->engine->ops->name);

    status->state = state_of(state);
    bool is_supervised = status->state != ATH_NODE_STOPPED;
    bool is_running = is_supervised && ath_process_state_has_runtime(state);
    status->supervisor_pid = is_supervised ? state->supervisor : ATH_UNKNOWN;
    status->pid = is_running ? state->runtime : ATH_UNKNOWN;
    status->started_at = ath_time_text(state->started_s);
    status->restarts = state->restarts;
    status->base = ath_xstrdup(state->plan);
    status->memory_limit_bytes = ath_cgroup_limit(&state->cgroups);
    status->memory_percent = ath_process_percent(surveying->engine, state);
    status->document = ath_xstrdup(state->document);
    status->has_sim_flag = state->has_sim_flag;
    status->socket = ath_xstrdup(state->socket);
    status->log_file = ath_xasprintf("%s/" ATH_SUPERVISOR_LOG, folder);
    status->network_mode = ath_xstrdup(state->netns ? "namespace" : "host");
    status->exit_code = is_running ? ATH_UNKNOWN : state->exit_code;
    status->limits = ath_xstrdup(state->limits);
    if (is_running)
        ath_node_status_look(status);
    explain(state, status);
    look_at_network(state, status);
    if (status->problem)
        ath_supervisor_log_tail(folder, &status->log);
}

int ath_process_survey(struct ath_engine *engine, struct ath_node_statuses *out,
                       struct ath_err *err)
{
    struct surveying surveying = { engine, out };
    return ath_process_for_each(engine, add_status, &surveying, err);
}
