/*
 * Starts nodes in Docker. Each node has a chain of requests, which docker_decide.c plans from what
 * exists. All chains run at once, in one batch.
 */
#include "config.h"

#include "container/engine/docker_chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "container/docker/image.h"
#include "container/docker/json.h"
#include "container/image/load.h"

static void chain_free(struct ath_docker_chain *chain)
{
    free(chain->ids[ATH_DOCKER_RUNTIME]);
    free(chain->ids[ATH_DOCKER_PAUSE]);
    ath_wiring_free(&chain->wiring);
}

static void report_step(struct ath_docker_chain *chain, enum ath_engine_step step)
{
    const struct ath_start_options *options = chain->all->options;
    if (chain->step == (int)step)
        return;
    chain->step = (int)step;
    if (options->progress)
        options->progress(options->context, chain->node, step);
}

static void note(void *context, struct ath_docker_batch *batch,
                 const struct ath_docker_answer *answer);

static void finish(struct ath_docker_chain *chain)
{
    if (chain->is_undoing && chain->wiring.count)
        ath_docker_chain_unwire(chain);
    chain->is_done = true;
    if (!chain->is_undoing)
        chain->result->status = 0;
    report_step(chain, ATH_ENGINE_STEP_DONE);
}

static void go_on(struct ath_docker_chain *chain, struct ath_docker_batch *batch)
{
    while (chain->todo) {
        chain->work = (enum ath_docker_work)__builtin_ctz(chain->todo);
        chain->todo &= ~(1u << chain->work);
        report_step(chain, ath_docker_works[chain->work].step);
        /* The macvlan moves back to the host while its network still exists. */
        if (chain->work == ATH_WORK_UNDO_PAUSE)
            ath_docker_chain_unwire(chain);
        struct ath_docker_request *request = ath_docker_works[chain->work].make(chain);
        if (request) {
            ath_docker_batch_add(batch, request, note, chain);
            return;
        }
    }
    finish(chain);
}

/* After an interruption nothing may be added to this batch; ath_docker_start() undoes the work with
 * another one. */
static void note(void *context, struct ath_docker_batch *batch,
                 const struct ath_docker_answer *answer)
{
    struct ath_docker_chain *chain = context;
    struct ath_err err = { 0 };
    int status = ath_docker_works[chain->work].end(chain, answer, &err);

    if (status == ATH_WORK_AGAIN)
        ath_docker_chain_plan(chain, chain->work);
    else if (status)
        ath_docker_chain_fail(chain, status, &err);
    if (answer->status != -EINTR)
        go_on(chain, batch);
}

/* Fills in the result of a node as a start would have it. */
static void foresee(struct ath_docker_chain *chain)
{
    struct ath_start_result *result = chain->result;
    result->status = ath_docker_chain_decide(chain, &result->err);
    if (result->status)
        result->outcome = ATH_START_FAILED;
}

static void begin(struct ath_docker_chain *chain, struct ath_docker_batch *batch)
{
    struct ath_err err;
    report_step(chain, ATH_ENGINE_STEP_LOOK);
    int status = ath_docker_chain_decide(chain, &err);
    if (status)
        ath_docker_chain_fail(chain, status, &err);
    chain->is_begun = true;
    go_on(chain, batch);
}

/* Undoes the work of all unfinished nodes, without the check that stopped the start. */
static void take_back(struct ath_docker_starting *all, struct ath_docker_chain *chains)
{
    struct ath_err stopped;
    ath_docker_set_stop(all->docker, NULL);
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(all->docker);

    ath_err_set(&stopped, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
    for (size_t i = 0; i < all->plan->node_count; i++) {
        struct ath_docker_chain *chain = &chains[i];
        if (chain->is_done || !chain->is_begun)
            continue;
        if (!chain->is_undoing)
            ath_docker_chain_fail(chain, -EINTR, &stopped);
        else
            ath_docker_chain_plan_undo(chain);
        go_on(chain, batch);
    }
    ath_docker_batch_run(batch, NULL);
    const struct ath_docker_stop stop = { all->engine->options.is_stopped,
                                          all->engine->options.context };
    ath_docker_set_stop(all->docker, &stop);
}

static int read_present(struct ath_docker_starting *all, struct ath_err *err)
{
    json_auto_t *json = NULL;
    struct ath_err missing;
    int status = ath_docker_present_read(all->docker, &all->present, err);
    if (status)
        return status;
    status =
        ath_docker_do(all->docker, ath_docker_image_inspect(all->plan->image), &json, &missing);
    if (!status)
        all->image_id = ath_docker_json_copy(json, "Id");
    else if (status != -ENOENT)
        ath_err_copy(err, &missing);
    return status == -ENOENT ? 0 : status;
}

static int run_chains(struct ath_docker_starting *all, struct ath_docker_chain *chains,
                      struct ath_err *err)
{
    ath_auto_docker_batch struct ath_docker_batch *batch = ath_docker_batch_new(all->docker);
    for (size_t i = 0; i < all->plan->node_count; i++)
        begin(&chains[i], batch);
    int status = ath_docker_batch_run(batch, err);
    if (status)
        take_back(all, chains);
    return status;
}

/* A new build takes the name from the old image, which containers may have kept until now. */
static void drop_old_images(const struct ath_docker_starting *all)
{
    for (size_t i = 0; i < all->present.ours.count; i++) {
        const char *id = all->present.ours.items[i].image_id;
        if (id && all->image_id && strcmp(id, all->image_id) != 0)
            ath_image_drop_nameless(all->docker, id);
    }
}

int ath_docker_start(struct ath_engine *engine, const struct ath_plan *plan,
                     const struct ath_start_options *options, struct ath_start_results *results,
                     struct ath_err *err)
{
    const struct ath_docker_engine *own = engine->own;
    struct ath_docker_starting all = {
        .engine = engine, .docker = own->docker, .plan = plan, .options = options
    };
    ath_auto_free struct ath_docker_chain *chains =
        ath_xalloc((plan->node_count + 1) * sizeof *chains);

    int status = read_present(&all, err);
    for (size_t i = 0; i < plan->node_count; i++)
        chains[i] = (struct ath_docker_chain){
            .all = &all, .node = &plan->nodes[i], .result = &results->items[i], .step = -1
        };
    for (size_t i = 0; i < plan->node_count && !status && options->is_dry_run; i++)
        foresee(&chains[i]);
    if (!status && !options->is_dry_run)
        status = run_chains(&all, chains, err);
    if (!status && !options->is_dry_run)
        drop_old_images(&all);
    for (size_t i = 0; i < plan->node_count; i++)
        chain_free(&chains[i]);
    ath_docker_present_free(&all.present);
    free(all.image_id);
    return status;
}
