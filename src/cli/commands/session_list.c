/* aitherion session list: shows the programs that use the runtimes. */
#include "config.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/output/session.h"
#include "cli/reach.h"
#include "cli/repeat.h"

struct options {
    const char *watch;
    struct ath_reach_options reach;
    bool is_explained;
};

/* If only one runtime is asked, a failure is an error. With several runtimes, or while watching,
 * failures are part of the list. */
static int show(struct ath_cli *cli, const void *data, struct ath_repeat *repeat,
                struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_reach) reach = { 0 };
    ATH_AUTO(ath_session_report) report = { 0 };

    int status = ath_reach_open(cli, &options->reach, ATH_REACH_ALL, &reach, err);
    if (status)
        return status;
    reach.wants_figures = options->is_explained;
    report.is_explained = options->is_explained;
    report.shows_channels = cli->globals.verbosity > 0;
    report.count = reach.count;
    report.items = ath_xalloc(reach.count * sizeof *report.items);
    ath_reach_ask(&reach, report.items);
    if (report.count == 1 && report.items[0].status && !ath_repeat_is_watching(repeat)) {
        ath_err_copy(err, &report.items[0].err);
        return report.items[0].status;
    }
    return ath_repeat_show(repeat, &ath_session_list_view, &report, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    return ath_repeat_run(cli, options->watch, show, options, err);
}

static const struct ath_option option_table[] = {
    { .name = "explain",
      .offset = offsetof(struct options, is_explained),
      .help = N_("say which programs wait for a GPU, for whom, and why (`turn` of --json), and how "
                 "much of the time each one has held its GPUs") },
    ATH_REACH_LIST_OPTIONS(struct options),
    ATH_REPEAT_OPTION(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion session list", N_("of all runtimes on this machine") },
    { "aitherion session list --server 10.0.0.11:50051 --json", N_("of a runtime on another "
                                                                   "machine, as data") },
    { "aitherion session list --explain", N_("who waits for whom, and why") },
    { "aitherion session list -v", N_("and the paths of calls and copies") },
    { "aitherion session list --watch 5", N_("every five seconds, until Ctrl-C") },
    { .command = NULL },
};

const struct ath_command ath_command_session_list = {
    .name = "list",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show the programs that use runtimes"),
    .description =
        N_("Shows the sessions of all runtimes on this machine, or of those that --server or "
           "--numa names: the program's name and origin, the memory that it holds on each GPU, "
           "its own limit if it has one, and its age. A limit was asked for by the program, or is "
           "what its key may have, or was set later by `session limit`. \"not enforced\": the "
           "runtime only counts (`enforce: false`). If a program has a share of the GPUs' time, a "
           "priority, or waits for its turn, a column says so. With -v, a second table has the "
           "paths of each program: what they carry, their latency and speed, or why they are not "
           "used; a third one has the connections for large copies: their addresses, their bytes, "
           "and how often the runtime sent a segment again."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
