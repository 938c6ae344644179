/* aitherion stop: ends runtimes. Their logs and what a later start needs stay. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/ending.h"
#include "cli/nodes.h"
#include "cli/output/status.h"
#include "cli/watch.h"

enum { GRACE_S = 10, GRACE_S_MAX = 3600 };

struct options {
    const char *timeout;
};

struct work {
    struct ath_nodes nodes;
    struct ath_engines engines;
    struct ath_node_statuses statuses;
    struct ath_ending ending;
    struct ath_stop_results results;
    bool is_partial; /* some of the wanted nodes are of other documents; those to stop: */
    int *ids;
    size_t id_count;
    int *missing;
    size_t missing_count;
};

static void work_free(struct work *work)
{
    free(work->missing);
    free(work->ids);
    ath_stop_results_free(&work->results);
    ath_ending_free(&work->ending);
    ath_node_statuses_free(&work->statuses);
    ath_engines_free(&work->engines);
    ath_nodes_free(&work->nodes);
}

static void add(struct ath_stop_results *results, const struct ath_stop_result *one)
{
    struct ath_stop_result *added = ath_push(&results->items, &results->count, sizeof *added);
    *added = *one;
}

static int stop_one(struct work *work, struct ath_engine *engine, int grace_s, struct ath_err *err)
{
    ATH_AUTO(ath_stop_results) results = { 0 };
    const int *ids = work->is_partial ? work->ids : work->nodes.ids;
    size_t id_count = work->is_partial ? work->id_count : work->nodes.id_count;
    int status = ath_engine_stop(engine, ids, id_count, grace_s, &results, err);

    for (size_t i = 0; i < results.count; i++)
        add(&work->results, &results.items[i]);
    return status;
}

/* Refuses a node that another document started, as start does, unless --yes takes it over. Returns
 * true if the node is refused. */
static bool refuse_other(struct work *work, bool takes_over, const struct ath_node_status *one)
{
    const char *other = ath_nodes_other_document(work->nodes.path, one);
    struct ath_stop_result result = { .id = one->id, .engine = one->engine, .was_running = true };

    if (!other || takes_over || one->state <= ATH_NODE_STOPPED)
        return false;
    result.status =
        ath_err_set(&result.err, -EPERM, ATH_E_FOREIGN,
                    _("'%s' was started from another document, '%s'"), one->name, other);
    ath_err_hint(&result.err, -EPERM,
                 _("aitherion stop -c '%s'; or take it over: aitherion stop %d --yes"), other,
                 one->id);
    add(&work->results, &result);
    work->is_partial = true;
    return true;
}

/* Finds the nodes to stop, and the programs that would end with them. */
static int look(struct work *work, bool takes_over, struct ath_err *err)
{
    int status = ath_engines_survey(&work->engines, &work->statuses, err);
    if (!status)
        status = ath_nodes_check_owner(&work->nodes, &work->statuses, err);
    if (!status)
        status = ath_nodes_check_ids(&work->nodes, &work->statuses, err);
    if (status)
        return status;
    for (size_t i = 0; i < work->statuses.count; i++) {
        const struct ath_node_status *one = &work->statuses.items[i];
        if (!ath_engine_wants(work->nodes.ids, work->nodes.id_count, one->id) ||
            refuse_other(work, takes_over, one))
            continue;
        *(int *)ath_push(&work->ids, &work->id_count, sizeof *work->ids) = one->id;
        ath_ending_add(&work->ending, one);
    }
    ath_ending_ask(&work->ending, &work->nodes);
    return 0;
}

/* The results of a dry run. */
static void foresee(struct work *work)
{
    for (size_t i = 0; i < work->statuses.count; i++) {
        const struct ath_node_status *one = &work->statuses.items[i];
        if (work->id_count && ath_engine_wants(work->ids, work->id_count, one->id))
            add(&work->results,
                &(struct ath_stop_result){ .id = one->id,
                                           .engine = one->engine,
                                           .was_running = one->state > ATH_NODE_STOPPED });
    }
}

static int stop_all(struct work *work, int grace_s, struct ath_err *err)
{
    int status = 0;

    if (work->is_partial && !work->id_count)
        return 0; /* without ids an engine would stop all its nodes */
    for (size_t i = 0; i < work->engines.count && !status; i++)
        status = stop_one(work, work->engines.items[i], grace_s, err);
    return status;
}

static void find_missing(struct work *work)
{
    for (size_t i = 0; i < work->nodes.id_count; i++) {
        bool is_found = false;
        for (size_t j = 0; j < work->results.count; j++)
            is_found |= work->results.items[j].id == work->nodes.ids[i];
        if (!is_found)
            *(int *)ath_push(&work->missing, &work->missing_count, sizeof *work->missing) =
                work->nodes.ids[i];
    }
}

static bool has_failed(const struct ath_stop_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->items[i].status)
            return true;
    return false;
}

static int parse_timeout(const char *text, int *out_s, struct ath_err *err)
{
    *out_s = GRACE_S;
    if (!text || !ath_parse_int(text, 0, GRACE_S_MAX, out_s))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), text, "timeout");
    return ath_err_hint(err, -EINVAL, _("a whole number from %d to %d"), 0, GRACE_S_MAX);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(work) work = { 0 };
    bool is_dry_run = cli->globals.is_dry_run;
    int grace_s;

    int status = parse_timeout(options->timeout, &grace_s, err);
    if (!status)
        status = ath_nodes_open(cli, false, &work.nodes, err);
    if (status)
        return status;
    ath_stop_catch();
    struct ath_engine_options engine_options = ath_nodes_engine_options(&work.nodes);
    ath_engines_open(ATH_ENGINE_AUTO, &engine_options, &work.engines);
    status = look(&work, cli->globals.is_yes, err);
    if (!status && is_dry_run)
        foresee(&work);
    if (!status && !is_dry_run)
        status = ath_ending_confirm(cli, &work.ending, err);
    if (!status && !is_dry_run)
        status = stop_all(&work, grace_s, err);
    if (status)
        return status;
    find_missing(&work);
    const struct ath_stop_report report = { .is_dry_run = is_dry_run,
                                            .results = &work.results,
                                            .ends = &work.ending.report,
                                            .missing = work.missing,
                                            .missing_count = work.missing_count };
    bool is_failed = has_failed(&work.results);
    status = is_failed ? ath_cli_show(cli, &ath_stop_view, &report, ath_cli_format(cli), err)
                       : ath_cli_show_done(cli, &ath_stop_view, &report, err);
    /* a Docker that cannot be asked may still run containers */
    if (!status)
        status = ath_nodes_check_docker_left(&work.nodes, &work.engines, err);
    return status ? status : is_failed ? ATH_EXIT_FAILED : 0;
}

static const struct ath_option option_table[] = {
    { .name = "timeout",
      .type = ATH_OPTION_TEXT,
      .metavar = "S",
      .offset = offsetof(struct options, timeout),
      .help = N_("seconds that a runtime has to end before it is killed (default: 10)") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion stop", N_("stop all runtimes") },
    { "aitherion stop 1", N_("stop one runtime") },
    { .command = NULL },
};

const struct ath_command ath_command_stop = {
    .name = "stop",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("stop the runtimes"),
    .description =
        N_("Ends the runtimes of all entries or of those named, whatever their engine. Keeps "
           "their logs and what a later start needs. A macvlan that was moved into a pause "
           "container disappears with it; `aitherion start` makes it again. An entry that does "
           "not run is not an error. To remove everything: aitherion clean.\n\n"
           "A node that another document started is refused as long as that document exists; "
           "--yes takes it over.\n\n"
           "If programs use the runtimes, the command shows them and asks; without a terminal it "
           "needs --yes."),
    .arguments = ath_nodes_arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
