/* aitherion status: shows what runs for each NUMA entry, as the system reports it. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/nodes.h"
#include "cli/output/status.h"
#include "cli/reach.h"
#include "cli/repeat.h"

struct options {
    const char *watch;
};

struct work {
    struct ath_nodes nodes;
    struct ath_engines engines;
    struct ath_node_statuses statuses;
    struct ath_status_report report;
    struct ath_reach reach; /* the servers of running nodes, and the key */
};

static void work_free(struct work *work)
{
    for (size_t i = 0; i < work->report.service_count; i++)
        ath_session_group_free(&work->report.services[i]);
    free(work->report.services);
    ath_reach_free(&work->reach);
    ath_status_report_free(&work->report);
    ath_node_statuses_free(&work->statuses);
    ath_engines_free(&work->engines);
    ath_nodes_free(&work->nodes);
}

static void find_drift(struct work *work, struct ath_status_item *item)
{
    const struct ath_node_status *status = item->status;
    struct ath_engine *engine = status ? ath_engines_find(&work->engines, status->engine) : NULL;
    ath_auto_free char *user = NULL;
    bool has_answer = item->service && !item->service->status;

    if (!item->is_recorded || !work->nodes.machine || !engine || status->state <= ATH_NODE_STOPPED)
        return;
    struct ath_plan_options options = ath_nodes_plan_options(&work->nodes, engine, false, &user);
    struct ath_nodes_drift drift =
        ath_nodes_drift(&work->nodes, status, has_answer ? &item->service->health : NULL, &options);
    item->drift = drift.text;
    item->needs_restart = drift.needs_restart;
}

static struct ath_status_item *add(struct work *work, int id)
{
    struct ath_status_item *item = ath_push(&work->report.items, &work->report.count, sizeof *item);
    const struct ath_document_numa *entry = ath_document_numa(work->nodes.document, id);

    item->id = id;
    item->is_recorded = entry != NULL;
    item->metrics_port = entry ? ath_document_metrics_port(entry) : ATH_UNKNOWN;
    item->data_port = entry ? ath_document_data_port(entry) : ATH_UNKNOWN;
    for (size_t i = 0; entry && i < entry->gpus.count; i++)
        *(char **)ath_push(&item->gpus.items, &item->gpus.count, sizeof(char *)) =
            ath_xstrdup(entry->gpus.items[i]);
    return item;
}

/* Adds the document's entries in its order, then other nodes that run. A node that two engines have
 * gets a row for each. */
static void fill(struct work *work)
{
    const struct ath_document *document = work->nodes.document;

    for (size_t i = 0; i < document->numa.count; i++) {
        int id = document->numa.items[i].id;
        if (ath_engine_wants(work->nodes.ids, work->nodes.id_count, id) &&
            !ath_node_statuses_find(&work->statuses, id))
            add(work, id);
    }
    for (size_t i = 0; i < work->statuses.count; i++) {
        const struct ath_node_status *status = &work->statuses.items[i];
        if (!ath_engine_wants(work->nodes.ids, work->nodes.id_count, status->id))
            continue;
        struct ath_status_item *item = add(work, status->id);
        item->status = status;
        item->other = ath_nodes_other_document(work->nodes.path, status);
    }
}

/* Takes the address from a runtime's answer if the kernel does not show it, because the runtime is
 * another user's. */
static void take_address(struct work *work, const struct ath_status_item *item)
{
    const struct ath_session_group *service = item->service;

    for (size_t i = 0; item->status && i < work->statuses.count; i++) {
        struct ath_node_status *status = &work->statuses.items[i];
        if (status == item->status && service && !service->status && service->health.address &&
            !status->ports.count && !status->listening.count)
            ath_texts_add(&status->listening, service->health.address);
    }
}

/* Asks the running nodes for their sessions, which they tell to anyone with the key. */
static void ask_runtimes(struct work *work)
{
    struct ath_status_report *report = &work->report;
    struct ath_reach *reach = &work->reach;

    reach->key = ath_xstrdup(work->nodes.has_key ? work->nodes.key_path : "");
    reach->items = ath_xalloc(report->count * sizeof *reach->items);
    report->services = ath_xalloc(report->count * sizeof *report->services);
    for (size_t i = 0; i < report->count; i++) {
        struct ath_status_item *item = &report->items[i];
        if (!item->status || item->status->state <= ATH_NODE_STOPPED)
            continue;
        item->service = &report->services[report->service_count++];
        ath_reach_node(item->status, false, &reach->items[reach->count++]);
    }
    ath_reach_ask(reach, report->services);
    for (size_t i = 0; i < report->count; i++)
        take_address(work, &report->items[i]);
}

static int by_id(const void *a, const void *b)
{
    const struct ath_status_item *one = a, *other = b;
    return (one->id > other->id) - (one->id < other->id);
}

static bool is_any_running(const struct ath_node_statuses *statuses)
{
    for (size_t i = 0; i < statuses->count; i++)
        if (statuses->items[i].state > ATH_NODE_STOPPED)
            return true;
    return false;
}

static int show(struct ath_cli *cli, const void *data, struct ath_repeat *repeat,
                struct ath_err *err)
{
    ATH_AUTO(work) work = { 0 };
    ath_auto_free char *start = ath_cli_suggest(cli, "start");
    struct ath_err docker_err = { 0 }, unused;

    (void)data;
    int status = ath_nodes_open(cli, false, &work.nodes, err);
    if (status)
        return status;
    ath_nodes_only_look(&work.nodes);
    /* without the machine only the drift is unknown */
    if (work.nodes.has_document)
        ath_nodes_read_machine(&work.nodes, &unused);
    struct ath_engine_options options = ath_nodes_engine_options(&work.nodes);
    ath_engines_open(ATH_ENGINE_AUTO, &options, &work.engines);
    status = ath_engines_survey(&work.engines, &work.statuses, err);
    if (!status)
        status = ath_nodes_check_ids(&work.nodes, &work.statuses, err);
    if (status)
        return status;
    if (ath_nodes_check_docker(&work.nodes, &work.engines, &docker_err))
        work.report.docker_err = &docker_err;
    fill(&work);
    if (work.report.count)
        qsort(work.report.items, work.report.count, sizeof *work.report.items, by_id);
    ask_runtimes(&work);
    for (size_t i = 0; i < work.report.count; i++)
        find_drift(&work, &work.report.items[i]);
    work.report.document = work.nodes.has_document ? work.nodes.path : NULL;
    work.report.start = start;
    work.report.shows_more = cli->globals.verbosity > 0;
    work.report.is_start_next = work.nodes.has_document && !is_any_running(&work.statuses);
    return ath_repeat_show(repeat, &ath_status_view, &work.report, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    return ath_repeat_run(cli, options->watch, show, options, err);
}

static const struct ath_option option_table[] = {
    ATH_REPEAT_OPTION(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion status", N_("one line for each entry") },
    { "aitherion status 0 --json", N_("everything about one entry") },
    { "aitherion status --watch", N_("every two seconds, until Ctrl-C") },
    { .command = NULL },
};

const struct ath_command ath_command_status = {
    .name = "status",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show what runs for each NUMA entry"),
    .description = N_(
        "Shows each entry of the document and everything else that aitherion started on this "
        "machine: whether it runs, in which engine, its addresses, the CPUs and memory nodes that "
        "the kernel lets its process use, the GPUs that it serves (those of the document if it "
        "does not answer), its macvlans, how it differs from the document, and the problems that "
        "it "
        "reports. Below that the programs that use the runtimes, as `aitherion session list` shows "
        "them. With -v it says where the logs are, and which programs wait for a GPU. Changes "
        "nothing. "
        "`aitherion health` shows what is wrong and how to fix it."),
    .arguments = ath_nodes_arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
