/* aitherion session list: who uses the runtimes. */
#include "config.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/output/session.h"
#include "cli/reach.h"

struct options {
    struct ath_reach_options reach;
};

/* The one that was asked for must answer; of several here one may be silent. */
static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_reach) reach = { 0 };
    ATH_AUTO(ath_session_report) report = { 0 };

    int status = ath_reach_open(cli, &options->reach, ATH_REACH_ALL, &reach, err);
    if (status)
        return status;
    report.count = reach.count;
    report.items = ath_xalloc(reach.count * sizeof *report.items);
    ath_reach_ask(&reach, report.items);
    if (report.count == 1 && report.items[0].status) {
        *err = report.items[0].err;
        return report.items[0].status;
    }
    return ath_cli_show(cli, &ath_session_list_view, &report, ath_cli_format(cli), err);
}

static const struct ath_option option_table[] = {
    ATH_REACH_LIST_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion session list", N_("of all runtimes of this machine") },
    { "aitherion session list --server 10.0.0.11:50051 --json", N_("of one elsewhere, as data") },
    { .command = NULL },
};

const struct ath_command ath_command_session_list = {
    .name = "list",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show the programs that use runtimes"),
    .description =
        N_("Shows the sessions of all runtimes that run on this machine, or of those that "
           "--server or --numa names: the program's name and where it comes from, what it holds of "
           "each GPU's memory, its own limit where it has one, and for how long it has been "
           "there."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
