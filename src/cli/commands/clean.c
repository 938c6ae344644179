/* aitherion clean: removes all that aitherion made on this machine, and nothing else. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/ending.h"
#include "cli/nodes.h"
#include "cli/output/status.h"
#include "cli/watch.h"

struct options {
    bool wants_images;
};

struct work {
    struct ath_cli *cli;
    struct ath_nodes nodes;
    struct ath_engines engines;
    struct ath_clean_steps steps;
    struct ath_ending ending;
    struct ath_bar bar;
    size_t done;
};

static void work_free(struct work *work)
{
    ath_ending_free(&work->ending);
    ath_clean_steps_free(&work->steps);
    ath_engines_free(&work->engines);
    ath_nodes_free(&work->nodes);
}

static struct ath_clean_report report_of(const struct work *work, bool is_dry_run)
{
    return (struct ath_clean_report){ .is_dry_run = is_dry_run,
                                      .is_of_some = work->nodes.id_count,
                                      .ends = &work->ending.report,
                                      .steps = &work->steps };
}

static int show(const struct work *work, bool is_dry_run, struct ath_err *err)
{
    const struct ath_clean_report report = report_of(work, is_dry_run);
    return ath_cli_show(work->cli, &ath_clean_view, &report, ath_cli_format(work->cli), err);
}

static bool goes(const struct ath_clean_steps *steps, const struct ath_node_status *status)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct ath_clean_step *step = &steps->items[i];
        if (step->engine && step->id == status->id &&
            (step->kind == ATH_CLEAN_PROCESS || step->kind == ATH_CLEAN_CONTAINER) &&
            !strcmp(ath_engine_name(step->engine), status->engine))
            return true;
    }
    return false;
}

/* Finds the programs that would end with the runtimes. */
static int look(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    int status = ath_engines_survey(&work->engines, &statuses, err);
    if (!status)
        status = ath_nodes_check_owner(&work->nodes, &statuses, err);
    if (!status)
        status = ath_nodes_check_ids(&work->nodes, &statuses, err);
    if (status)
        return status;
    for (size_t i = 0; i < statuses.count; i++)
        if (goes(&work->steps, &statuses.items[i]))
            ath_ending_add(&work->ending, &statuses.items[i]);
    ath_ending_ask(&work->ending, &work->nodes);
    return 0;
}

/* Shows what would be removed and which programs would end, and asks. */
static int ask(const struct work *work, struct ath_err *err)
{
    const struct ath_clean_report report = report_of(work, true);

    if (work->cli->globals.is_yes || (work->ending.report.count && !ath_cli_can_ask(work->cli)))
        return ath_ending_confirm(work->cli, &work->ending, err);
    if (!ath_cli_can_ask(work->cli)) {
        ath_err_set(err, -EPERM, ATH_E_USAGE, _("no terminal to ask whether to remove it all"));
        return ath_err_hint(err, -EPERM, "aitherion clean --yes");
    }
    int status =
        ath_output(&ath_clean_view, &report, ATH_FORMAT_TEXT, &work->cli->style, stderr, err);
    if (status || ath_cli_confirm(work->cli, _("Remove all this?")))
        return status;
    return ath_err_set(err, -ECANCELED, ATH_E_INTERRUPTED, _("nothing was removed"));
}

static void show_step(void *context, const struct ath_clean_step *step)
{
    struct work *work = context;
    ath_bar_show(
        &work->bar,
        &(struct ath_bar_step){ .phase = _("clean"),
                                .fraction = (double)work->done++ / (double)work->steps.count,
                                .note = step->text },
        _("removing what aitherion made"));
}

static bool has_failed(const struct ath_clean_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        if (steps->items[i].status)
            return true;
    return false;
}

static int apply(struct work *work, struct ath_err *err)
{
    work->bar = ath_cli_bar(work->cli);
    int status = ath_clean_apply(&work->engines, &work->steps, show_step, work, err);
    ath_bar_end(&work->bar);
    if (!has_failed(&work->steps))
        return status;
    status = show(work, false, err);
    return status ? status : ATH_EXIT_FAILED;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(work) work = { .cli = cli };

    int status = ath_nodes_open(cli, false, &work.nodes, err);
    if (status)
        return status;
    const struct ath_clean_options wanted = { .ids = work.nodes.ids,
                                              .id_count = work.nodes.id_count,
                                              .wants_images = options->wants_images,
                                              .document = work.nodes.path };
    if (wanted.id_count && wanted.wants_images)
        return ath_err_set(
            err, -EINVAL, ATH_E_USAGE,
            _("an image belongs to no single entry: --images cannot be used with N"));
    ath_stop_catch();
    struct ath_engine_options engine_options = ath_nodes_engine_options(&work.nodes);
    ath_engines_open(ATH_ENGINE_AUTO, &engine_options, &work.engines);
    status = ath_clean_plan(&work.engines, &wanted, &work.steps, err);
    if (!status)
        status = look(&work, err);
    if (status)
        return status;
    if (work.steps.count && !cli->globals.is_dry_run) {
        status = ask(&work, err);
        if (!status)
            status = apply(&work, err);
        if (status)
            return status;
    }
    if (!cli->globals.is_quiet || cli->globals.is_dry_run || ath_cli_format(cli) != ATH_FORMAT_TEXT)
        status = show(&work, cli->globals.is_dry_run, err);
    if (status)
        return status;
    /* A Docker that cannot be asked may still have containers. */
    status = ath_nodes_check_docker_left(&work.nodes, &work.engines, err);
    return status ? ath_err_wrap(err, status, _("aitherion's containers in Docker stay")) : 0;
}

static const struct ath_option option_table[] = {
    { .name = "images",
      .offset = offsetof(struct options, wants_images),
      .help = N_("also remove the images that `aitherion image build` made") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion clean --dry-run", N_("show what would be removed") },
    { "aitherion clean", N_("show it and ask") },
    { "aitherion clean 1", N_("remove only what was made for NUMA1") },
    { "aitherion clean --yes --images", N_("remove everything without asking") },
    { .command = NULL },
};

const struct ath_command ath_command_clean = {
    .name = "clean",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("remove all that aitherion made, and nothing else"),
    .description =
        N_("Removes the runtimes of all entries with their containers and pause containers, "
           "macvlans, network namespaces, networks, control groups, and the sockets, state and "
           "logs in the run folder. Only objects with aitherion's label, alias or name are "
           "removed. Containers, links and images of others stay.\n\n"
           "A node that another document started, or a user with another run folder, also stays "
           "as long as that document or folder exists, and so does a macvlan that was made for "
           "another document. Remove these with their own document: aitherion clean -c FILE. The "
           "topology document and the shared key stay. With N, only what was made for these "
           "entries alone is removed, and nothing that they share.\n\n"
           "The command shows what it is about to remove and which running programs would end, "
           "and asks; without a terminal it needs --yes."),
    .arguments = ath_nodes_arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
