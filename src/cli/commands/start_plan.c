/* The plan of a start, and the engine and limits that it is made for. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/commands/start_work.h"

/* ---- the plan ---- */

int ath_start_make_plan(struct ath_start_work *work, struct ath_err *err)
{
    struct ath_plan plan = { 0 };
    int status = ath_nodes_plan(&work->nodes, &work->plan_options, &plan, err);
    if (status)
        return status;
    ath_plan_free(&work->plan);
    work->plan = plan;
    return 0;
}

/* A start without --sim does not change a runtime that runs with --sim. */
static void find_sims(struct ath_start_work *work)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };

    work->sim_id_count = 0;
    if (!work->engine || work->options->is_sim ||
        ath_engine_survey(work->engine, &statuses, NULL)) /* the start reports the error */
        return;
    for (size_t i = 0; i < statuses.count; i++)
        if (statuses.items[i].has_sim_flag && statuses.items[i].state > ATH_NODE_STOPPED)
            *(int *)ath_push(&work->sim_ids, &work->sim_id_count, sizeof *work->sim_ids) =
                statuses.items[i].id;
}

void ath_start_set_plan_options(struct ath_start_work *work, bool is_process)
{
    find_sims(work);
    free(ath_steal(&work->user));
    work->plan_options =
        ath_nodes_plan_options(&work->nodes, work->engine, is_process, &work->user);
    work->plan_options.is_sim = work->options->is_sim;
    work->plan_options.sim_ids = work->sim_ids;
    work->plan_options.sim_id_count = work->sim_id_count;
}

/* Says which nodes keep their simulated GPUs. */
static void say_sims(const struct ath_start_work *work)
{
    ATH_AUTO(ath_text) names = { 0 };

    for (size_t i = 0; i < work->sim_id_count; i++)
        if (ath_engine_wants(work->nodes.ids, work->nodes.id_count, work->sim_ids[i]))
            ath_text_add_part(&names, ", ", "NUMA%d", work->sim_ids[i]);
    if (!names.length)
        return;
    ath_auto_free char *text = ath_xasprintf(
        _("%s: simulated GPUs stay, because --sim started the runtime; for the GPUs of the "
          "document: aitherion stop, then aitherion start"),
        names.data);
    ath_auto_free char *whole = ath_style_suggest(&work->cli->style, text);
    ath_log(ath_nodes_log_level(&work->nodes), "%s", whole);
}

/* ---- the engine ---- */

int ath_start_take_engine(struct ath_start_work *work, enum ath_engine_kind kind,
                          struct ath_err *err)
{
    ath_engine_close(ath_steal(&work->engine));
    int status = ath_nodes_open_engine(&work->nodes, kind, &work->engine, err);
    if (status)
        return status;
    ath_start_set_plan_options(work, false);
    return ath_start_make_plan(work, err);
}

/* Returns the first of the plan's nodes that runs in an engine, or ATH_UNKNOWN. */
static int find_running(const struct ath_start_work *work, struct ath_engine *engine)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };

    if (ath_engine_survey(engine, &statuses, NULL))
        return ATH_UNKNOWN; /* the start reports the error if it matters */
    for (size_t i = 0; i < statuses.count; i++)
        for (size_t j = 0; j < work->plan.node_count; j++)
            if (work->plan.nodes[j].id == statuses.items[i].id &&
                statuses.items[i].state > ATH_NODE_STOPPED)
                return statuses.items[i].id;
    return ATH_UNKNOWN;
}

/*
 * A node runs in one engine at a time. If the user did not choose an engine, running nodes stay
 * where they are: after a boot at which Docker came late they run as processes, and a later start
 * must not try containers.
 */
static int settle_engine(struct ath_start_work *work, struct ath_err *err)
{
    ath_auto_engine struct ath_engine *other = NULL;
    struct ath_engine_options options = ath_nodes_engine_options(&work->nodes);
    bool is_auto = work->options->engine == ATH_ENGINE_AUTO &&
                   work->nodes.document->engine.kind == ATH_ENGINE_AUTO;
    bool is_process = !ath_engine_is_process(work->engine);
    enum ath_engine_kind kind = is_process ? ATH_ENGINE_PROCESS : ATH_ENGINE_DOCKER;

    if (ath_engine_open(kind, &options, &other, NULL))
        return 0;
    int id = find_running(work, other);
    if (id == ATH_UNKNOWN)
        return 0;
    if (is_auto && find_running(work, work->engine) == ATH_UNKNOWN) {
        ath_log(ath_nodes_log_level(&work->nodes),
                is_process ? _("staying with processes: NUMA%d already runs as a process")
                           : _("staying with Docker: NUMA%d already runs in Docker"),
                id);
        return ath_start_take_engine(work, kind, err);
    }
    ath_err_set(err, -EBUSY, ATH_E_BUSY,
                is_process ? _("NUMA%d already runs as a process")
                           : _("NUMA%d already runs in Docker"),
                id);
    return ath_err_hint(err, -EBUSY, "aitherion stop %d", id);
}

static bool locks_memory(const struct ath_plan *plan)
{
    bool is_any = false;
    for (size_t i = 0; i < plan->node_count; i++)
        is_any |= plan->nodes[i].has_memlock;
    return is_any && !plan->is_process;
}

/* Nodes that run in a Docker that may not raise limits are compared with a plan without them. */
static int take_limits(struct ath_start_work *work, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    struct ath_plan_options limited = work->plan_options;

    if (!locks_memory(&work->plan) || ath_engine_survey(work->engine, &statuses, NULL))
        return 0; /* the start reports the engine's error */
    limited.engine.is_limited = true;
    for (size_t i = 0; i < work->plan.node_count; i++) {
        const struct ath_plan_node *node = &work->plan.nodes[i];
        const struct ath_node_status *status = ath_node_statuses_find(&statuses, node->id);
        if (!node->has_memlock || !status || status->state == ATH_NODE_ABSENT ||
            !ath_nodes_is_as(&work->nodes, status, &limited))
            continue;
        work->plan_options = limited;
        return ath_start_make_plan(work, err);
    }
    return 0;
}

int ath_start_settle(struct ath_start_work *work, struct ath_err *err)
{
    int status = settle_engine(work, err);
    if (!status)
        status = take_limits(work, err);
    if (!status)
        say_sims(work);
    return status;
}
