/* Changes and ends that a start makes: shares of GPU memory, rows of identities, running
 * programs. */
#include "config.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/start_work.h"
#include "cli/identities.h"
#include "cli/share.h"

static bool must_restart(void *context, const struct ath_plan_node *node, const char **out_reason)
{
    const struct ath_start_work *work = context;
    if (work->is_restart)
        return true;
    if (!work->fixed_id_count || !ath_engine_wants(work->fixed_ids, work->fixed_id_count, node->id))
        return false;
    *out_reason = _("its share of GPU memory cannot be changed while it runs");
    return true;
}

struct ath_start_options ath_start_engine_options(struct ath_start_work *work)
{
    return (struct ath_start_options){ .must_restart = must_restart,
                                       .is_waiting = !work->options->is_not_waiting,
                                       .timeout_ms = work->timeout_ms,
                                       .takes_over = work->cli->globals.is_yes,
                                       .context = work };
}

int ath_start_set_shares(struct ath_start_work *work, struct ath_start_results *results,
                         bool is_dry_run, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    int status = ath_engine_survey(work->engine, &statuses, err);

    for (size_t i = 0; i < results->count && !status; i++) {
        struct ath_start_result *one = &results->items[i];
        const struct ath_node_status *found = ath_node_statuses_find(&statuses, one->id);
        bool goes_on = one->outcome == ATH_START_SAME || one->outcome == ATH_START_CHANGED;
        if (!found || one->status || (is_dry_run && !goes_on))
            continue;
        int share = ath_share_set(&work->nodes, found, work->plan.nodes[i].vram_fraction,
                                  is_dry_run, &one->err);
        if (share == ATH_SHARE_CHANGED && goes_on)
            ath_start_changed(one, _("share of GPU memory"));
        if (share == ATH_SHARE_FIXED && is_dry_run)
            *(int *)ath_push(&work->fixed_ids, &work->fixed_id_count, sizeof(int)) = one->id;
        if (share >= 0)
            continue;
        one->outcome = ATH_START_FAILED;
        one->status = ath_err_hint(&one->err, share, "aitherion restart %d", one->id);
    }
    return status;
}

int ath_start_set_identities(struct ath_start_work *work, bool is_dry_run, struct ath_err *err)
{
    int status = 0;
    work->row_id_count = 0;
    for (size_t i = 0; i < work->plan.node_count && !status; i++) {
        bool has_changed;
        status = ath_identities_write(work->nodes.document, work->plan.nodes[i].folder, is_dry_run,
                                      &has_changed, err);
        if (!status && has_changed)
            *(int *)ath_push(&work->row_ids, &work->row_id_count, sizeof(int)) =
                work->plan.nodes[i].id;
    }
    return status;
}

void ath_start_note_identities(const struct ath_start_work *work, struct ath_start_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        struct ath_start_result *one = &results->items[i];
        bool goes_on = one->outcome == ATH_START_SAME || one->outcome == ATH_START_CHANGED;
        if (goes_on && !one->status && work->row_id_count &&
            ath_engine_wants(work->row_ids, work->row_id_count, one->id))
            ath_start_changed(one, _("identities"));
    }
}

/* Plans the start without doing it. A runtime whose share of GPU memory cannot change while it runs
 * must restart: if such runtimes are found, the plan is made again with them. */
static int foresee_nodes(struct ath_start_work *work, struct ath_err *err)
{
    struct ath_start_options options = ath_start_engine_options(work);
    size_t fixed = work->fixed_id_count;

    options.is_dry_run = true;
    ath_start_results_free(&work->foreseen);
    int status = ath_engine_start(work->engine, &work->plan, &options, &work->foreseen, err);
    if (!status)
        status = ath_start_set_shares(work, &work->foreseen, true, err);
    if (!status && work->fixed_id_count == fixed)
        status = ath_start_set_identities(work, true, err);
    if (!status && work->fixed_id_count == fixed)
        ath_start_note_identities(work, &work->foreseen);
    return status || work->fixed_id_count == fixed ? status : foresee_nodes(work, err);
}

int ath_start_foresee(struct ath_start_work *work, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };

    ath_ending_free(&work->ending);
    int status = foresee_nodes(work, err);
    if (!status)
        status = ath_engine_survey(work->engine, &statuses, err);
    if (status)
        return status;
    for (size_t i = 0; i < work->foreseen.count; i++) {
        const struct ath_start_result *one = &work->foreseen.items[i];
        const struct ath_node_status *found = ath_node_statuses_find(&statuses, one->id);
        if (one->ends_runtime && found)
            ath_ending_add(&work->ending, found);
    }
    ath_ending_ask(&work->ending, &work->nodes);
    return 0;
}

bool ath_start_may_end(void *context, const struct ath_plan_node *node)
{
    const struct ath_start_work *work = context;
    for (size_t i = 0; i < work->foreseen.count; i++)
        if (work->foreseen.items[i].id == node->id)
            return work->foreseen.items[i].ends_runtime;
    return false;
}
