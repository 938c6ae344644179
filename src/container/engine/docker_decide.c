/*
 * Decides what a node needs: compares its containers with the plan.
 *
 * A runtime that joined a pause container's network stays in it when the pause container ends. A
 * pause container that is started again gets a new network. The runtime must then be restarted, and
 * its macvlan, which ended with the old network, made again.
 */
#include "config.h"

#include "container/engine/docker_chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "container/docker/json.h"

int ath_docker_refuse_foreign(const char *name, struct ath_err *err)
{
    ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                _("there is a container '%s' that aitherion did not make"), name);
    return ath_err_hint(err, -EPERM, "docker rename %s %s-other", name, name);
}

/* Refuses if a foreign container has one of the node's names. */
static int check_names(const struct ath_docker_chain *chain, struct ath_err *err)
{
    const struct ath_docker_containers *all = &chain->all->present.all;
    for (int role = 0; role <= ATH_DOCKER_RUNTIME; role++) {
        const char *name = ath_docker_name(chain->node, (enum ath_docker_role)role);
        for (size_t i = 0; name && i < all->count; i++)
            if (!strcmp(all->items[i].name, name) &&
                ath_docker_container_node(&all->items[i]) != chain->node->id)
                return ath_docker_refuse_foreign(name, err);
    }
    return 0;
}

/* Nodes of two documents have the same names in one Docker daemon. */
static int check_owner(struct ath_docker_chain *chain, const struct ath_docker_container *container,
                       struct ath_err *err)
{
    ath_auto_free char *socket = NULL;
    if (!container)
        return 0;
    struct ath_owner owner = ath_docker_owner(chain->all->engine, container, &socket);
    int status = ath_owner_check(&owner, chain->node, container->name, err);
    if (!status || !chain->all->options->takes_over)
        return status;
    chain->is_taken_over = true;
    return 0;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Returns whether the container was made with all settings of the plan. */
static bool has_plan(const struct ath_docker_chain *chain,
                     const struct ath_docker_container *container, enum ath_docker_role role)
{
    ath_auto_free char *plan = ath_docker_fingerprint(chain->node, chain->all->plan->image, role);
    return is_same_text(plan, ath_docker_label(container->labels, ATH_PLAN_LABEL_PLAN));
}

/* The same, except that settings of a running runtime may differ if they can be changed. */
static bool has_settings(const struct ath_docker_chain *chain,
                         const struct ath_docker_container *container, enum ath_docker_role role)
{
    if (role == ATH_DOCKER_PAUSE || !container->is_running)
        return has_plan(chain, container, role);
    ath_auto_free char *base = ath_docker_base(chain->node, chain->all->plan->image);
    return is_same_text(base, ath_docker_label(container->labels, ATH_PLAN_LABEL_BASE));
}

/* Returns whether the runtime now uses more memory than the new limit. The kernel would end its
 * processes. */
static bool uses_more(const struct ath_docker_chain *chain)
{
    json_auto_t *json = NULL;
    if (ath_docker_do(chain->all->docker, ath_docker_container_stats(chain->runtime->id), &json,
                      NULL))
        return true;
    return ath_docker_json_number(json, "memory_stats.usage", INT64_MAX) >
           chain->node->memory_limit_bytes;
}

/* Returns NULL if a container matches the plan, otherwise the translated difference. */
const char *ath_docker_chain_difference(const struct ath_docker_chain *chain,
                                        const struct ath_docker_container *container,
                                        enum ath_docker_role role)
{
    const struct ath_docker_starting *all = chain->all;

    if (chain->is_taken_over)
        return _("it was started from another document");
    if (!has_settings(chain, container, role) ||
        !is_same_text(ath_plan_label(chain->node, ATH_PLAN_LABEL_MACVLANS),
                      ath_docker_label(container->labels, ATH_PLAN_LABEL_MACVLANS)) ||
        !is_same_text(ath_docker_name(chain->node, role), container->name))
        return _("its settings have changed");
    if (all->image_id && container->image_id && strcmp(all->image_id, container->image_id) != 0)
        return _("the image was built again");
    return NULL;
}

bool ath_docker_is_in_state(const struct ath_docker_container *container, const char *state)
{
    return container && !strcmp(container->state, state);
}

/* The container does not run, and can be started as it is. */
static bool is_at_rest(const struct ath_docker_container *container)
{
    return ath_docker_is_in_state(container, "created") ||
           ath_docker_is_in_state(container, "exited");
}

void ath_docker_chain_use(struct ath_docker_chain *chain, enum ath_docker_role role,
                          const struct ath_docker_container *container)
{
    free(chain->ids[role]);
    chain->ids[role] = ath_xstrdup(container->id);
}

static void explain(struct ath_docker_chain *chain, enum ath_start_outcome outcome,
                    const char *reason)
{
    if (chain->result->outcome != ATH_START_SAME && chain->result->outcome != ATH_START_CHANGED)
        return;
    free(chain->result->reason);
    chain->result->outcome = outcome;
    chain->result->reason = ath_xstrdup(reason);
}

void ath_docker_chain_make_runtime(struct ath_docker_chain *chain)
{
    if (chain->runtime)
        ath_docker_chain_plan(chain, ATH_WORK_REMOVE_RUNTIME);
    ath_docker_chain_plan(chain, ATH_WORK_CREATE_RUNTIME);
    ath_docker_chain_plan(chain, ATH_WORK_START_RUNTIME);
}

void ath_docker_chain_make_pause(struct ath_docker_chain *chain)
{
    if (chain->pause)
        ath_docker_chain_plan(chain, ATH_WORK_REMOVE_PAUSE);
    ath_docker_chain_plan(chain, ATH_WORK_CREATE_PAUSE);
    ath_docker_chain_plan(chain, ATH_WORK_START_PAUSE);
    ath_docker_chain_plan(chain, ATH_WORK_WIRE);
    /* the runtime refers to the old pause container by its id */
    ath_docker_chain_make_runtime(chain);
}

/* Plans what the network of a running pause container lacks. */
static int decide_wiring(struct ath_docker_chain *chain, struct ath_err *err)
{
    ATH_AUTO(ath_wiring) missing = { 0 };
    ath_auto_free char *path = ath_docker_netns_path(chain->pause);

    ath_docker_chain_use(chain, ATH_DOCKER_PAUSE, chain->pause);
    if (chain->node->macvlan_count && path) {
        int status = ath_engine_wire(chain->node, path, true, &missing, err);
        if (status)
            return status;
        if (missing.step_count)
            ath_docker_chain_plan(chain, ATH_WORK_WIRE);
    }
    if (!chain->runtime || !chain->runtime->is_running)
        return 0;
    if (ath_docker_is_astray(chain->runtime, chain->pause)) {
        explain(chain, ATH_START_REPAIRED, _("its pause container was started again, without it"));
        ath_docker_chain_plan(chain, ATH_WORK_STOP_RUNTIME);
    } else if (missing.has_new_links) {
        explain(chain, ATH_START_REPAIRED, _("its macvlan was missing"));
        ath_docker_chain_plan(chain, ATH_WORK_STOP_RUNTIME);
    } else if (missing.step_count) {
        explain(chain, ATH_START_REPAIRED, _("its macvlan differed from the document"));
    }
    if (ath_docker_chain_has(chain, ATH_WORK_STOP_RUNTIME))
        ath_docker_chain_plan(chain, ATH_WORK_START_RUNTIME);
    return 0;
}

/* A runtime outside a pause container's network never had a pause container. */
static void explain_pause(struct ath_docker_chain *chain, const char *reason)
{
    const char *mode = chain->runtime->network_mode;
    bool had_one = mode && ath_starts_with(mode, "container:");

    if (!reason && !chain->pause && !had_one)
        reason = ath_docker_chain_difference(chain, chain->runtime, ATH_DOCKER_RUNTIME);
    explain(chain, reason ? ATH_START_RESTARTED : ATH_START_REPAIRED,
            reason ? reason : _("its pause container was missing"));
}

static int decide_pause(struct ath_docker_chain *chain, struct ath_err *err)
{
    bool was_running = chain->runtime && chain->runtime->is_running;
    const char *reason =
        chain->pause ? ath_docker_chain_difference(chain, chain->pause, ATH_DOCKER_PAUSE) : NULL;

    if (!chain->node->pause_name) {
        if (chain->pause) {
            ath_docker_chain_plan(chain, ATH_WORK_REMOVE_PAUSE);
            ath_docker_chain_make_runtime(chain);
        }
        return 0;
    }
    if (!chain->pause || reason ||
        !(ath_docker_is_in_state(chain->pause, "running") || is_at_rest(chain->pause))) {
        if (was_running)
            explain_pause(chain, reason);
        ath_docker_chain_make_pause(chain);
        return 0;
    }
    if (ath_docker_is_in_state(chain->pause, "running"))
        return decide_wiring(chain, err);
    ath_docker_chain_use(chain, ATH_DOCKER_PAUSE, chain->pause);
    ath_docker_chain_plan(chain, ATH_WORK_START_PAUSE);
    ath_docker_chain_plan(chain, ATH_WORK_WIRE);
    if (was_running) {
        explain(chain, ATH_START_REPAIRED, _("its pause container had ended"));
        ath_docker_chain_plan(chain, ATH_WORK_STOP_RUNTIME);
        ath_docker_chain_plan(chain, ATH_WORK_START_RUNTIME);
    }
    return 0;
}

/* Returns why a running runtime, which matches, must be made again; or plans to change its
 * limit. */
static const char *decide_limit(struct ath_docker_chain *chain)
{
    int64_t present = ath_docker_memory_limit(chain->runtime);
    ath_auto_free char *percent = ath_docker_memory_percent(chain->all->engine, chain->runtime);

    if (!ath_node_percent_differs(chain->node, percent, present))
        return NULL;
    if (chain->node->memory_limit_bytes < present && uses_more(chain))
        return _("it uses more memory than its new limit allows");
    ath_docker_chain_plan(chain, ATH_WORK_LIMIT);
    if (chain->result->outcome == ATH_START_SAME)
        ath_start_changed(chain->result, _("memory limit"));
    return NULL;
}

static void decide_runtime(struct ath_docker_chain *chain)
{
    const struct ath_docker_container *runtime = chain->runtime;
    const char *reason =
        runtime ? ath_docker_chain_difference(chain, runtime, ATH_DOCKER_RUNTIME) : NULL;

    if (runtime && runtime->is_running && !reason &&
        !ath_docker_chain_has(chain, ATH_WORK_CREATE_RUNTIME))
        reason = decide_limit(chain);
    if (ath_docker_chain_has(chain, ATH_WORK_CREATE_RUNTIME)) {
        if (runtime && runtime->is_running && reason)
            explain(chain, ATH_START_RESTARTED, reason);
        return;
    }
    if (!runtime || reason ||
        !(ath_docker_is_in_state(runtime, "running") || is_at_rest(runtime))) {
        if (runtime && runtime->is_running)
            explain(chain, ATH_START_RESTARTED,
                    reason ? reason : _("it was neither running nor stopped"));
        ath_docker_chain_make_runtime(chain);
        chain->todo &= ~(1u << ATH_WORK_STOP_RUNTIME);
        return;
    }
    ath_docker_chain_use(chain, ATH_DOCKER_RUNTIME, runtime);
    if (is_at_rest(runtime)) {
        ath_docker_chain_plan(chain, ATH_WORK_START_RUNTIME);
    } else if (ath_start_must_restart(chain->all->options, chain->node, &reason)) {
        explain(chain, ATH_START_RESTARTED, reason);
        if (has_plan(chain, runtime, ATH_DOCKER_RUNTIME)) {
            ath_docker_chain_plan(chain, ATH_WORK_STOP_RUNTIME);
            ath_docker_chain_plan(chain, ATH_WORK_START_RUNTIME);
        } else {
            ath_docker_chain_make_runtime(chain);
        }
    }
    /* Docker counts restarts from zero again after a start by request. */
    chain->restarts =
        ath_docker_chain_has(chain, ATH_WORK_START_RUNTIME) ? 0 : runtime->restart_count;
}

static bool ends_runtime(const struct ath_docker_chain *chain)
{
    return chain->runtime && chain->runtime->is_running &&
           (ath_docker_chain_has(chain, ATH_WORK_STOP_RUNTIME) ||
            ath_docker_chain_has(chain, ATH_WORK_REMOVE_RUNTIME));
}

bool ath_docker_chain_needs_image(const struct ath_docker_chain *chain)
{
    return ath_docker_chain_has(chain, ATH_WORK_CREATE_PAUSE) ||
           ath_docker_chain_has(chain, ATH_WORK_CREATE_RUNTIME);
}

int ath_docker_chain_decide(struct ath_docker_chain *chain, struct ath_err *err)
{
    const struct ath_docker_starting *all = chain->all;
    const struct ath_plan_node *node = chain->node;
    const struct ath_docker_engine *own = all->engine->own;

    if (ath_plan_node_waits(node))
        return ath_err_set(err, -EBUSY, ATH_E_BUSY,
                           _("the memory of a GPU of '%s' is not online yet"), node->name);
    int status = check_names(chain, err);
    if (status)
        return status;
    chain->runtime = ath_docker_present_find(&all->present, node->id, ATH_DOCKER_RUNTIME);
    chain->pause = ath_docker_present_find(&all->present, node->id, ATH_DOCKER_PAUSE);
    status = check_owner(chain, chain->pause, err);
    if (!status)
        status = check_owner(chain, chain->runtime, err);
    if (status)
        return status;
    chain->result->outcome = ATH_START_SAME;
    status = decide_pause(chain, err);
    if (status)
        return status;
    decide_runtime(chain);
    if (ath_docker_chain_has(chain, ATH_WORK_START_RUNTIME))
        explain(chain, ATH_START_STARTED, NULL);
    if (ath_docker_chain_needs_image(chain) && !all->image_id)
        return ath_image_missing(all->plan->image, err);
    if (ends_runtime(chain))
        status = ath_start_end(all->options, node, chain->result, err);
    if (status || all->options->is_dry_run)
        return status;
    if (all->options->is_waiting)
        ath_docker_chain_plan(chain, ATH_WORK_WAIT);
    return own->is_local && chain->todo ? ath_node_make_folder(node, err) : 0;
}
