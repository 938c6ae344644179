/* aitherion clean: removes all that aitherion made on this machine, and nothing else. */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
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
    struct ath_bar bar;
    size_t done;
};

static void work_free(struct work *work)
{
    ath_clean_steps_free(&work->steps);
    ath_engines_free(&work->engines);
    ath_nodes_free(&work->nodes);
}

static int show(const struct work *work, bool is_dry_run, struct ath_err *err)
{
    const struct ath_clean_report report = { .is_dry_run = is_dry_run,
                                             .is_of_some = work->nodes.id_count,
                                             .steps = &work->steps };
    return ath_cli_show(work->cli, &ath_clean_view, &report, ath_cli_format(work->cli), err);
}

/* Shows what would go, and asks. */
static int ask(const struct work *work, struct ath_err *err)
{
    const struct ath_globals *globals = &work->cli->globals;
    const struct ath_clean_report report = { .is_dry_run = true,
                                             .is_of_some = work->nodes.id_count,
                                             .steps = &work->steps };

    if (globals->is_yes)
        return 0;
    if (globals->is_no_input || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        ath_err_set(err, -EPERM, ATH_E_USAGE, _("nobody can be asked whether to remove it all"));
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
    __attribute__((cleanup(work_free))) struct work work = { .cli = cli };

    int status = ath_nodes_open(cli, false, &work.nodes, err);
    if (status)
        return status;
    const struct ath_clean_options wanted = { .ids = work.nodes.ids,
                                              .id_count = work.nodes.id_count,
                                              .wants_images = options->wants_images,
                                              .document = work.nodes.path };
    if (wanted.id_count && wanted.wants_images)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("an image is no entry's own: --images goes without N"));
    ath_stop_catch();
    struct ath_engine_options engine_options = ath_nodes_engine_options(&work.nodes);
    ath_engines_open(ATH_ENGINE_AUTO, &engine_options, &work.engines);
    status = ath_clean_plan(&work.engines, &wanted, &work.steps, err);
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
    /* What a Docker has that cannot be asked is still there. */
    status = ath_nodes_check_docker_left(&work.nodes, &work.engines, err);
    return status ? ath_err_wrap(err, status, _("what Docker has of aitherion's stays")) : 0;
}

static const struct ath_option option_table[] = {
    { .name = "images",
      .offset = offsetof(struct options, wants_images),
      .help = N_("remove the images that `aitherion image build` made, too") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion clean --dry-run", N_("what would go") },
    { "aitherion clean", N_("shows it and asks") },
    { "aitherion clean 1", N_("what was made for NUMA1 alone") },
    { "aitherion clean --yes --images", N_("all of it, without a question") },
    { .command = NULL },
};

const struct ath_command ath_command_clean = {
    .name = "clean",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("remove all that aitherion made, and nothing else"),
    .description =
        N_("Removes the runtimes of all entries, with their containers and pause containers, the "
           "macvlans and network namespaces, networks, control groups, and what lies in the run "
           "folder: sockets, state, logs. Only what bears aitherion's label, alias or name is "
           "removed; containers, links and images of others stay, and so do nodes that another "
           "document started, or somebody with another run folder, while those exist: "
           "aitherion clean -c THEIRS. The topology document and the "
           "shared key stay, too. With N, what was made for those entries alone goes, and nothing "
           "that they share.\n\n"
           "Shows what it is about to remove and asks; without a terminal it needs --yes."),
    .arguments = ath_nodes_arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
