/* Starting nodes: each gets macvlans, control groups and a supervisor, and is waited for. */
#include "config.h"

#include "container/engine/process_engine.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/engine/cgroup.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"
#include "container/engine/supervisor.h"
#include "roce/link.h"
#include "roce/netlink.h"
#include "roce/netns.h"

enum { WAIT_STEP_MS = 50, UNDO_GRACE_S = 1, FOUND_TIMEOUT_MS = 5000 };

struct launch {
    struct ath_engine *engine;
    const struct ath_start_options *options;
    const struct ath_plan_node *node;
    struct ath_start_result *result;
    char *folder; /* of its state */
    char *plan;   /* the fingerprint of what cannot be changed while it runs */
    struct ath_wiring wiring;
    struct ath_cgroup cgroup;
    bool has_started;
    bool is_waiting;
    int restarts;
};

static void launch_free(struct launch *launch)
{
    free(launch->folder);
    free(launch->plan);
    ath_wiring_free(&launch->wiring);
    ath_cgroup_free(&launch->cgroup);
}

static void report_step(const struct launch *launch, enum ath_engine_step step)
{
    if (launch->options->progress)
        launch->options->progress(launch->options->context, launch->node, step);
}

/* Returns the path of the namespace that was made for the first macvlan, or NULL for the host's. */
static char *netns_path_of(const struct ath_plan_node *node)
{
    if (node->network != ATH_PLAN_NAMESPACE || !node->macvlan_count)
        return NULL;
    ath_auto_free char *name = ath_netns_name_of(node->macvlans[0].name);
    return ath_netns_path(name);
}

static int set_lo_up(void *context, struct ath_err *err)
{
    (void)context;
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    int status = ath_netlink_open(NETLINK_ROUTE, &netlink, err);
    return status ? status : ath_link_set_up(netlink, "lo", true, err);
}

/* Makes all macvlans in the namespace of the first, and sets lo up for the health check. */
static int wire(const struct ath_plan_node *node, const char *path, bool is_dry_run,
                struct ath_wiring *out, struct ath_err *err)
{
    ath_auto_free char *name = ath_netns_name_of(node->macvlans[0].name);
    struct ath_plan_node first = *node;

    if (!ath_netns_exists(name)) {
        first.macvlan_count = 1;
        int status = ath_engine_wire(&first, NULL, is_dry_run, out, err);
        if (status || is_dry_run)
            return status;
    }
    int status = ath_engine_wire(node, path, is_dry_run, out, err);
    if (status || is_dry_run)
        return status;
    ath_auto_close int netns = ath_netns_open(path, err);
    return netns < 0 ? netns : ath_netns_run(netns, set_lo_up, NULL, err);
}

/* Returns the translated list of settings that the system refuses, or NULL. */
static char *limits_of(const struct launch *launch)
{
    struct ath_text text = { 0 };
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

    ath_text_add_part(&text, "; ", "%s", launch->cgroup.lack ? launch->cgroup.lack : "");
    getrlimit(RLIMIT_MEMLOCK, &limit);
    /* Raises the limit and restores it: there is no other way to learn whether it may be raised. */
    const struct rlimit most = { limit.rlim_cur, RLIM_INFINITY };
    if (launch->node->has_memlock && setrlimit(RLIMIT_MEMLOCK, &most))
        ath_text_add_part(&text, "; ", _("no more than %llu KiB of locked memory"),
                          (unsigned long long)limit.rlim_max / 1024);
    else if (launch->node->has_memlock)
        setrlimit(RLIMIT_MEMLOCK, &limit);
    return text.length ? ath_text_take(&text) : NULL;
}

static void fill_state(const struct launch *launch, struct ath_process_state *state)
{
    const struct ath_plan_node *node = launch->node;
    *state = (struct ath_process_state){
        .id = node->id,
        .name = ath_xstrdup(node->name),
        .runtime = ATH_UNKNOWN,
        .exit_code = ATH_UNKNOWN,
        .started_s = ATH_UNKNOWN,
        .plan = ath_xstrdup(launch->plan),
        .document = ath_xstrdup(ath_plan_label(node, ATH_PLAN_LABEL_DOCUMENT)),
        .macvlans = ath_xstrdup(ath_plan_label(node, ATH_PLAN_LABEL_MACVLANS)),
        .has_sim_flag = ath_plan_label(node, ATH_PLAN_LABEL_SIM) != NULL,
        .memory_percent = ath_xstrdup(ath_plan_label(node, ATH_PLAN_LABEL_MEMORY)),
        .socket = ath_xstrdup(node->socket),
        .netns = netns_path_of(node),
        .limits = limits_of(launch),
    };
    for (size_t i = 0; i < launch->cgroup.folders.count; i++)
        ath_texts_add(&state->cgroups, launch->cgroup.folders.items[i]);
}

/*
 * A killed start may leave a supervisor that has the folder's lock and has not written its state
 * yet. This waits for the state, and ends that supervisor.
 */
static int start_supervisor(const struct ath_supervisor_job *job, struct ath_err *err)
{
    uint64_t end = ath_now_ms() + FOUND_TIMEOUT_MS;

    for (;;) {
        ATH_AUTO(ath_process_state) found = { 0 };
        int status = ath_supervisor_start(job, err);
        if (status != -EAGAIN || ath_now_ms() >= end)
            return status;
        nanosleep(&(struct timespec){ .tv_nsec = ATH_ENGINE_POLL_MS * 1000000L }, NULL);
        if (!ath_process_state_read(job->folder, &found, NULL) &&
            ath_process_state_is_supervised(&found))
            ath_supervisor_stop(&found, ATH_ENGINE_STOP_S, NULL);
    }
}

static int launch_supervisor(struct launch *launch, struct ath_err *err)
{
    ATH_AUTO(ath_process_state) state = { 0 };
    ath_auto_free char *suffix = ath_process_cgroup_suffix(launch->engine);
    ath_auto_free char *name = ath_xasprintf("%s%s", launch->node->name, suffix);
    const struct ath_cgroup_wanted wanted = { .name = name,
                                              .cpus = &launch->node->cpus,
                                              .memory_nodes = &launch->node->memory_nodes,
                                              .limit_bytes = launch->node->memory_limit_bytes,
                                              .pids = ATH_PLAN_PIDS };
    int status = ath_process_check_program(launch->engine, NULL, err);
    if (!status)
        status = ath_node_make_folder(launch->node, err);
    if (!status)
        status = ath_run_folder_make_state(launch->engine->folder, launch->node->id, err);
    if (status)
        return status;
    report_step(launch, ATH_ENGINE_STEP_RUNTIME);
    ath_cgroup_make(&wanted, &launch->cgroup);
    fill_state(launch, &state);
    launch->result->limits = ath_xstrdup(state.limits);
    const struct ath_supervisor_job job = { launch->node, launch->folder, launch->engine->own,
                                            &launch->cgroup, &state };
    launch->has_started = true;
    ath_run_folder_set_memory(launch->engine->folder, launch->node->id, NULL);
    return start_supervisor(&job, err);
}

/* Returns why a supervised node must be restarted, translated; NULL if it must not. */
static const char *difference(const struct launch *launch, const struct ath_process_state *state)
{
    const char *macvlans = ath_plan_label(launch->node, ATH_PLAN_LABEL_MACVLANS);

    if (!state->plan || strcmp(state->plan, launch->plan) != 0 ||
        strcmp(macvlans ? macvlans : "", state->macvlans ? state->macvlans : "") != 0)
        return _("its settings have changed");
    return ath_process_state_has_runtime(state) ? NULL : _("it kept ending");
}

/* Returns why a node that matches must be restarted for its memory limit; or notes that the limit
 * can be changed. The kernel would end processes that have more than a new limit. */
static const char *compare_limit(struct launch *launch, const struct ath_process_state *state)
{
    int64_t present = ath_cgroup_limit(&state->cgroups), wanted = launch->node->memory_limit_bytes;
    ath_auto_free char *percent = ath_process_percent(launch->engine, state);

    if (!ath_node_percent_differs(launch->node, percent, present))
        return NULL;
    int64_t used = wanted < present ? ath_cgroup_usage(&state->cgroups) : 0;
    if (used == ATH_UNKNOWN || used > wanted)
        return _("it uses more memory than its new limit allows");
    ath_start_changed(launch->result, _("memory limit"));
    return NULL;
}

/* Changes the limit of a node that goes on. */
static int set_limit(const struct launch *launch, const struct ath_process_state *state,
                     struct ath_err *err)
{
    int status = ath_cgroup_set_limit(&state->cgroups, launch->node->memory_limit_bytes, err);
    if (!status)
        ath_run_folder_set_memory(launch->engine->folder, launch->node->id,
                                  ath_plan_label(launch->node, ATH_PLAN_LABEL_MEMORY));
    return status;
}

/* Sets the outcome and its reason for a node that is supervised. Returns 0, or a negative errno
 * with err. */
static int compare(struct launch *launch, const struct ath_process_state *state,
                   struct ath_err *err)
{
    const struct ath_owner owner = { state->document, state->socket, true };
    ATH_AUTO(ath_wiring) missing = { 0 };
    ath_auto_free char *path = netns_path_of(launch->node);
    struct ath_start_result *result = launch->result;
    int owned = ath_owner_check(&owner, launch->node, launch->node->name, err);
    if (owned && !launch->options->takes_over)
        return owned;
    const char *reason =
        owned ? _("it was started from another document") : difference(launch, state);
    if (!reason && path) {
        int status = wire(launch->node, path, true, &missing, err);
        if (status)
            return status;
    }
    bool is_restart = reason || ath_start_must_restart(launch->options, launch->node, &reason);
    result->outcome = missing.step_count ? ATH_START_REPAIRED
                      : is_restart       ? ATH_START_RESTARTED
                                         : ATH_START_SAME;
    if (result->outcome == ATH_START_SAME && (reason = compare_limit(launch, state)))
        result->outcome = ATH_START_RESTARTED;
    if (result->outcome != ATH_START_CHANGED)
        result->reason = ath_xstrdup(missing.step_count ? _("its macvlan was missing") : reason);
    return 0;
}

/* Returns whether the runtime that was found goes on. */
static bool stays(const struct launch *launch)
{
    return launch->result->outcome == ATH_START_SAME ||
           launch->result->outcome == ATH_START_CHANGED;
}

/* Ends what runs and does not match. Sets the outcome and its reason. */
static int look(struct launch *launch, struct ath_err *err)
{
    ATH_AUTO(ath_process_state) state = { 0 };
    struct ath_start_result *result = launch->result;

    result->outcome = ATH_START_STARTED;
    int status = ath_process_read_state(launch->folder, &state, err);
    if (status)
        return status == -ENOENT ? 0 : status;
    bool is_running = ath_process_state_is_supervised(&state);
    status = is_running ? compare(launch, &state, err) : 0;
    if (status)
        return status;
    if (stays(launch)) {
        launch->restarts = state.restarts;
        result->limits = ath_xstrdup(state.limits);
        return result->outcome == ATH_START_SAME || launch->options->is_dry_run
                   ? 0
                   : set_limit(launch, &state, err);
    }
    if (is_running)
        status = ath_start_end(launch->options, launch->node, result, err);
    if (status || launch->options->is_dry_run)
        return status;
    if (is_running)
        report_step(launch, ATH_ENGINE_STEP_REMOVE);
    return ath_supervisor_stop(&state, is_running ? ATH_ENGINE_STOP_S : 0, err);
}

static int begin(struct launch *launch, struct ath_err *err)
{
    ath_auto_free char *path = netns_path_of(launch->node);

    report_step(launch, ATH_ENGINE_STEP_LOOK);
    if (ath_plan_node_waits(launch->node))
        return ath_err_set(err, -EBUSY, ATH_E_BUSY,
                           _("the memory of a GPU of '%s' is not online yet"), launch->node->name);
    int status = look(launch, err);
    if (status || launch->options->is_dry_run || stays(launch))
        return status;
    if (path) {
        report_step(launch, ATH_ENGINE_STEP_MACVLAN);
        status = wire(launch->node, path, false, &launch->wiring, err);
    }
    return status ? status : launch_supervisor(launch, err);
}

/* Undoes a start, and keeps the log for the user. */
static void take_back(struct launch *launch)
{
    ATH_AUTO(ath_process_state) state = { 0 };
    struct ath_err err;

    if (!launch->has_started && !launch->wiring.count)
        return;
    report_step(launch, ATH_ENGINE_STEP_UNDO);
    if (launch->has_started && !ath_process_state_read(launch->folder, &state, &err))
        ath_supervisor_stop(&state, UNDO_GRACE_S, NULL);
    if (launch->has_started)
        ath_process_state_remove(launch->folder);
    ath_process_remove_cgroups(&launch->cgroup.folders);
    int status = ath_engine_unwire(&launch->wiring, &err);
    if (status)
        ath_err_append(&launch->result->err, status, _("; undoing the start failed too: %s"),
                       err.message);
}

static void end(struct launch *launch, int status, const struct ath_err *err)
{
    launch->is_waiting = false;
    launch->result->status = status;
    if (status) {
        launch->result->outcome = ATH_START_FAILED;
        launch->result->err = *err;
        take_back(launch);
    }
    report_step(launch, ATH_ENGINE_STEP_DONE);
}

static int died(struct launch *launch, const struct ath_process_state *state, struct ath_err *err)
{
    struct ath_texts *log = &launch->result->log;
    ath_supervisor_log_tail(launch->folder, log);
    return ath_node_died(launch->node, launch->node->name, state->exit_code, log, err);
}

/* Returns 0 if the node answers, -EAGAIN if not yet, or another error if it never will. */
static int ask(const struct launch *launch, int pid, struct ath_err *err)
{
    const struct ath_start_options *options = launch->options;
    int status = options->probe ? options->probe(options->context, launch->node, err) : -ENOTSUP;
    if (status != -ENOTSUP)
        return status;
    err->code = ATH_E_NONE;
    return ath_process_is_listener(pid, launch->node->socket) ? 0 : -EAGAIN;
}

static int timed_out(struct launch *launch, const struct ath_err *last, struct ath_err *err)
{
    int timeout_s = launch->options->timeout_ms / 1000;
    ath_supervisor_log_tail(launch->folder, &launch->result->log);
    ath_err_set(err, -ETIMEDOUT, ATH_E_START_TIMEOUT, _("'%s' does not answer after %d s%s%s"),
                launch->node->name, timeout_s, last->code ? ": " : "",
                last->code ? last->message : "");
    if (!launch->has_started) /* it runs, and has lost its socket or hangs */
        return ath_err_hint(err, -ETIMEDOUT, "aitherion restart %d", launch->node->id);
    return ath_err_hint(err, -ETIMEDOUT, "aitherion start %d --timeout %d", launch->node->id,
                        timeout_s * 2);
}

/* Checks once on a node for which the start waits. */
static int wait_once(struct launch *launch, bool is_late, struct ath_err *err)
{
    ATH_AUTO(ath_process_state) state = { 0 };
    struct ath_err last = { 0 };

    int status = ath_process_state_read(launch->folder, &state, err);
    if (status)
        return status;
    bool has_runtime = ath_process_state_has_runtime(&state);
    bool is_unsaid = state.runtime != ATH_UNKNOWN && ath_process_state_is_supervised(&state);
    if (!has_runtime && is_unsaid && !is_late)
        return -EAGAIN; /* the supervisor has not written yet how the runtime ended */
    if (!has_runtime || state.restarts > launch->restarts)
        return died(launch, &state, err);
    status = ask(launch, state.runtime, &last);
    launch->result->is_healthy = !status;
    if (status == -EAGAIN)
        return is_late ? timed_out(launch, &last, err) : status;
    if (status)
        ath_err_copy(err, &last);
    return status;
}

static bool is_any_waiting(const struct launch *launches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (launches[i].is_waiting)
            return true;
    return false;
}

static int interrupt(struct launch *launches, size_t count, struct ath_err *err)
{
    ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
    for (size_t i = 0; i < count; i++)
        if (launches[i].is_waiting)
            end(&launches[i], -EINTR, err);
    return -EINTR;
}

static int wait_all(const struct ath_engine *engine, struct launch *launches, size_t count,
                    int timeout_ms, struct ath_err *err)
{
    uint64_t limit = ath_now_ms() + (uint64_t)timeout_ms;
    while (is_any_waiting(launches, count)) {
        bool is_late = ath_now_ms() >= limit;
        if (ath_engine_is_stopped(engine))
            return interrupt(launches, count, err);
        for (size_t i = 0; i < count; i++) {
            struct ath_err one;
            if (!launches[i].is_waiting)
                continue;
            int status = wait_once(&launches[i], is_late, &one);
            if (status != -EAGAIN)
                end(&launches[i], status, &one);
        }
        nanosleep(&(struct timespec){ .tv_nsec = WAIT_STEP_MS * 1000000L }, NULL);
    }
    return 0;
}

static void begin_one(struct launch *launch)
{
    struct ath_err err;
    int status = begin(launch, &err);
    launch->is_waiting = !status && launch->options->is_waiting && !launch->options->is_dry_run;
    if (launch->is_waiting)
        report_step(launch, ATH_ENGINE_STEP_WAIT);
    else
        end(launch, status, &err);
}

int ath_process_start(struct ath_engine *engine, const struct ath_plan *plan,
                      const struct ath_start_options *options, struct ath_start_results *results,
                      struct ath_err *err)
{
    ath_auto_free struct launch *launches = ath_xalloc((plan->node_count + 1) * sizeof *launches);
    int status = 0;

    for (size_t i = 0; i < plan->node_count; i++) {
        const struct ath_plan_node *node = &plan->nodes[i];
        launches[i] = (struct launch){ .engine = engine,
                                       .options = options,
                                       .node = node,
                                       .result = &results->items[i],
                                       .folder = ath_run_folder_state(engine->folder, node->id),
                                       .plan = ath_docker_base(node, "") };
    }
    for (size_t i = 0; i < plan->node_count && !ath_engine_is_stopped(engine); i++)
        begin_one(&launches[i]);
    status = ath_engine_is_stopped(engine)
                 ? interrupt(launches, plan->node_count, err)
                 : wait_all(engine, launches, plan->node_count, options->timeout_ms, err);
    for (size_t i = 0; i < plan->node_count; i++)
        launch_free(&launches[i]);
    return status;
}
