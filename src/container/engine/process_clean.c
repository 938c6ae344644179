/* Stopping nodes, and removing what is left of them. */
#include "config.h"

#include "container/engine/process_engine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "container/engine/cgroup.h"
#include "container/engine/run_folder.h"
#include "container/engine/supervisor.h"

struct stopping {
    const struct ath_engine *engine;
    const int *ids;
    size_t id_count;
    int grace_s;
    struct ath_stop_results *out;
};

/* Asks every supervisor to end before stop_one() waits for the first. */
static void ask_one(void *context, const char *folder, const struct ath_process_state *state)
{
    const struct stopping *stopping = context;
    (void)folder;
    if (!ath_engine_wants(stopping->ids, stopping->id_count, state->id))
        return;
    struct ath_stop_result *result =
        ath_push(&stopping->out->items, &stopping->out->count, sizeof *result);
    result->id = state->id;
    result->engine = stopping->engine->ops->name;
    result->was_running = ath_process_state_is_supervised(state);
    result->status = ath_supervisor_ask(state, &result->err);
}

static struct ath_stop_result *result_of(const struct ath_stop_results *results, int id)
{
    size_t i = 0;
    while (i < results->count && results->items[i].id != id)
        i++;
    return i < results->count ? &results->items[i] : NULL;
}

static void stop_one(void *context, const char *folder, const struct ath_process_state *state)
{
    const struct stopping *stopping = context;
    struct ath_stop_result *result = result_of(stopping->out, state->id);
    struct ath_process_state ended = *state;

    if (!result || result->status)
        return;
    result->status = ath_supervisor_stop(state, stopping->grace_s, &result->err);
    if (result->status)
        return;
    /* A supervisor that was killed has not written that the runtime ended. */
    ended.runtime = ATH_UNKNOWN;
    ended.is_waiting = false;
    if (!result->was_running && state->runtime != ATH_UNKNOWN)
        result->status = ath_process_state_write(folder, &ended, &result->err);
    ath_process_remove_cgroups(&state->cgroups);
}

int ath_process_stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                     struct ath_stop_results *out, struct ath_err *err)
{
    struct stopping stopping = { engine, ids, id_count, grace_s, out };
    ath_process_for_each(engine, ask_one, &stopping, NULL);
    return ath_process_for_each(engine, stop_one, &stopping, err);
}

struct cleaning {
    struct ath_engine *engine;
    const struct ath_clean_options *options;
    struct ath_clean_steps *out;
};

/* Returns true, and notes the node, if another document started it, even if it is stopped. */
static bool leave(const struct cleaning *cleaning, const struct ath_process_state *state)
{
    const struct ath_clean_options *options = cleaning->options;
    const struct ath_owner owner = { state->document, state->socket, true };
    struct ath_clean_left left = { 0 };

    if (!options->document || options->id_count ||
        !ath_owner_is_other(&owner, options->document, NULL, state->id, state->name, &left))
        return false;
    ath_clean_leave(cleaning->out, &left, state->macvlans);
    return true;
}

static void plan_one(void *context, const char *folder, const struct ath_process_state *state)
{
    const struct cleaning *cleaning = context;
    const struct ath_clean_options *options = cleaning->options;
    if (!ath_engine_wants(options->ids, options->id_count, state->id) || leave(cleaning, state))
        return;
    ath_clean_add(cleaning->out, ATH_CLEAN_PROCESS, cleaning->engine, state->id, state->name)->key =
        ath_xstrdup(folder);
    if (options->id_count)
        ath_clean_add_macvlans(cleaning->out, state->macvlans);
}

static void plan_cgroup(void *context, int id, const char *folder)
{
    const struct cleaning *cleaning = context;
    if (ath_engine_wants(cleaning->options->ids, cleaning->options->id_count, id) &&
        !ath_clean_leaves(cleaning->out, id))
        ath_clean_add(cleaning->out, ATH_CLEAN_CGROUP, cleaning->engine, id, folder);
}

int ath_process_clean_plan(struct ath_engine *engine, const struct ath_clean_options *options,
                           struct ath_clean_steps *out, struct ath_err *err)
{
    struct cleaning cleaning = { engine, options, out };
    ath_auto_free char *suffix = ath_process_cgroup_suffix(engine);
    int status = ath_process_for_each(engine, plan_one, &cleaning, err);
    if (status)
        return status;
    /* Found by name, because a killed start may not have written which groups it made. */
    ath_cgroup_find("aitherion-numa", suffix, plan_cgroup, &cleaning);
    return 0;
}

static int end_processes(const char *folder, struct ath_err *err)
{
    ATH_AUTO(ath_process_state) state = { 0 };
    int status = ath_process_state_read(folder, &state, err);
    if (status)
        return status == -ENOENT ? 0 : status;
    return ath_supervisor_stop(&state, ATH_ENGINE_STOP_S, err);
}

int ath_process_clean_step(struct ath_engine *engine, const struct ath_clean_step *step,
                           struct ath_err *err)
{
    (void)engine;
    return step->kind == ATH_CLEAN_CGROUP ? ath_cgroup_remove(step->object, err)
                                          : end_processes(step->key, err);
}
